"""Every change of wording is seen: some 200 answers, as they were last read."""

import difflib
import sys
from pathlib import Path

from saved import trained
from steps_of_a_question import CORPUS

sys.path.insert(0, str(Path(__file__).parent))
import make_corpus


def test_answers_are_worded_as_they_were_last_read():
    kept, said = make_corpus.ANSWERS.read_text(encoding="utf-8"), make_corpus.text()
    changed = difflib.unified_diff(kept.splitlines(), said.splitlines(), "answers.txt", "now", n=1, lineterm="")
    assert kept == said, "\n".join([f"run {CORPUS} and read:", *list(changed)[:60]])


def test_the_corpus_covers_all_questions_worlds_learners_and_stages():
    asked = make_corpus.ANSWERS.read_text(encoding="utf-8")
    heads = [line for line in asked.splitlines() if line.startswith("== ")]
    assert len(set(heads)) == 105, "worlds, learners and stages"
    missing = [name for name in make_corpus.QUESTIONS if f"run.{name}(" not in asked]
    assert missing == [], f"run {CORPUS}, and read the difference"
    times = {name: asked.count(f"\nrun.{name}(") for name in make_corpus.QUESTIONS}
    assert times == {name: 21 if name in make_corpus.IN_TURN else 3 for name in make_corpus.QUESTIONS}
    assert len(heads) == sum(times.values())


def test_a_further_question_is_asked_in_three_worlds_and_changes_no_other_answer(lead):
    assert "lead" not in make_corpus.IN_TURN
    assert "lead" in make_corpus.QUESTIONS
    run = trained()
    (block,) = make_corpus.further("lead", {"FrozenLake slippery": run})
    assert block.splitlines() == [
        "== FrozenLake slippery, QLearning, 5,000 episodes",
        "run.lead('row 0, column 0', times=1)",
        *str(run.ask("lead", 0, times=1)).splitlines(),
    ]
    assert len(make_corpus.FURTHER_WORLDS) == 3
