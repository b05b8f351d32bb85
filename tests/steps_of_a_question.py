"""What is missing until a question is part of the project, as CONTRIBUTING.md lists it, and how any question is asked."""

import re
from pathlib import Path

import whatfor as wf
from whatfor import explanations

ROOT = Path(__file__).parent.parent
PAGES = Path("docs") / "questions"


def steps_left(question):
    """What is still to do, one line each."""
    called = "".join(word.capitalize() for word in question.name.split("_"))
    name, answer, page = question.name, question.answer.__name__, PAGES / f"{question.name}.md"
    index = (ROOT / PAGES / "index.md").read_text()
    table, _, tree = index.partition("{toctree}")
    row = f"[`run.{name}(state"
    done = {
        f"call the class of the answer {called}, like the question, not {answer}": answer == called,
        f"export {answer} in src/whatfor/explanations/__init__.py": answer in explanations.__all__,
        f"add `{name} = {name}.ask` in src/whatfor/explanations/methods.py": getattr(wf.Run, name, None) is question.ask,
        f"write {page}": (ROOT / page).exists(),
        f"add {name} to the toctree at the end of {PAGES / 'index.md'}": re.search(rf"^{name}$", tree, re.MULTILINE),
        f"run {FILL} README.md {PAGES / 'index.md'}": row in table and row in (ROOT / "README.md").read_text(),
        f"run {CORPUS}, and read the difference": f"run.{name}(" in (ROOT / "tests/words/answers.txt").read_text(),
    }  # fmt: skip
    return [step for step, is_done in done.items() if not is_done]


def needed_by(question, run):
    """Values for the parameters that a question needs, as a page suggests them."""
    needed = [(one, next(iter(one.suggestions(run)), one.example)) for one in question.parameters if one.needed]
    return {one.name: int(text) if one.kind == "number" else text for one, text in needed}


FILL = ".venv/bin/python docs/fill_readme.py --quick"
CORPUS = ".venv/bin/python tests/words/make_corpus.py"
