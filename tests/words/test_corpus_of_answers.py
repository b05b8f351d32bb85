"""Every change of wording is seen: some 200 answers, as they were last read."""

import difflib
import sys
from pathlib import Path

from whatfor.explanations import Explanation  # noqa: F401  puts the questions on the list
from whatfor.question import QUESTIONS

sys.path.insert(0, str(Path(__file__).parent))
import make_corpus


def test_answers_are_worded_as_they_were_last_read():
    kept, said = make_corpus.ANSWERS.read_text(encoding="utf-8"), make_corpus.text()
    changed = difflib.unified_diff(kept.splitlines(), said.splitlines(), "answers.txt", "now", n=1, lineterm="")
    assert kept == said, "\n".join(["run python tests/words/make_corpus.py and read:", *list(changed)[:60]])


def test_the_corpus_covers_all_questions_worlds_learners_and_stages():
    heads = [line for line in make_corpus.ANSWERS.read_text(encoding="utf-8").splitlines() if line.startswith("== ")]
    asked = make_corpus.ANSWERS.read_text(encoding="utf-8")
    assert len(heads) == 210
    assert len(set(heads)) == 105
    assert all(asked.count(f"run.{name}(") == 21 for name in make_corpus.QUESTIONS)
    assert {*make_corpus.QUESTIONS} <= {*QUESTIONS}
