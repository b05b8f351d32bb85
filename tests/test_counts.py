"""The counts of ``make lint`` find what they are to find, however it is written."""

import ast
import importlib.util
import textwrap
from pathlib import Path

import pytest

COUNTS = Path(__file__).parents[1] / ".ci" / "counts.py"
SOURCES = "class Beliefs: ...\nclass Audit(Beliefs): ...\nclass Prefix(Audit): ..."


@pytest.fixture(scope="module")
def counts():
    spec = importlib.util.spec_from_file_location("counts", COUNTS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parsed(**files):
    return {Path(f"{name}.py"): ast.parse(text) for name, text in files.items()}


def test_sources_are_the_subclasses_of_beliefs_of_any_depth(counts):
    assert counts.sources(parsed(a=SOURCES, b="class Other: ...")) == {"Audit", "Prefix"}


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(x, Audit)",
        "isinstance(x, (int, beliefs.Prefix))",
        "from whatfor.beliefs.audit import Audit as Ledgered\nisinstance(x, Ledgered)",
        "type(x) is Audit",
        "issubclass(type(x), Audit)",
        "match x:\n    case Audit(): ...",
        "KINDS = (Audit, Prefix)",
        "type(x).__name__ == 'Audit'",
        "{Audit: 1}[type(x)]",
    ],
)
def test_asking_for_the_class_of_a_source_is_found(counts, text):
    assert counts.class_questions(parsed(runs=text), {"Audit", "Prefix"}), text


def test_making_and_annotating_a_source_asks_nothing(counts):
    text = "def f(x: Audit | None) -> Audit:\n    return Audit(1)\nclass Mine(Audit): ...\ny: Audit = Audit.of(2)\n__all__ = ['Audit']"
    assert counts.class_questions(parsed(runs=text), {"Audit"}) == []


@pytest.mark.parametrize("text", ["hasattr(run.beliefs, 'ledger')", "getattr(self._source, 'ledger', None)"])
def test_searching_a_source_for_an_attribute_is_found(counts, text):
    assert counts.attribute_questions(parsed(runs=text)) == ["runs.py:1"]


@pytest.mark.parametrize(
    "text",
    [
        "run.trust is None",
        "trust is not None",
        "None is trust",
        "self._trust == None",
        "if run.trust: pass",
        "x = 1 if not self._trust else 2",
        "x = run.trust and 3",
        "[one for one in many if one.trust]",
        "bool(trust)",
        "isinstance(run.trust, Trust)",
        "type(trust).__name__",
        "match run.trust:\n    case _: ...",
        "if (found := run.trust): pass",
        "assert trust",
    ],
)
def test_asking_what_trust_is_is_found(counts, text):
    assert "runs.py:1" in counts.kind_questions(parsed(runs=text), ("trust",))


def test_using_what_trust_says_asks_nothing(counts):
    text = "x = run.trust.tie\nif run.trust.tie > 0: ...\ny = f(trust)\nassert row.trust == beliefs.trust"
    assert counts.kind_questions(parsed(runs=text), ("trust",)) == []


def test_all_parameters_count(counts):
    eight = parsed(a="def f(a, b, /, c, *rest, d, e, f, **more): ...")
    assert counts.wide(eight) == ["a.py:1 f takes 8"]
    assert counts.wide_public(eight) == []
    assert counts.wide_public(parsed(a="def f(a, b, c, d, e, f, g, h, **more): ...")) == ["a.py:1 f takes 9"]


def test_one_name_is_one_type(counts):
    one = "class _Map: ...\nBounds = list[float]\nMAX = 3"
    assert counts.homonyms(parsed(a=one, b="class Map: ...\nBounds: type = tuple\nMAX = 4")) == [
        "Map: a.py, b.py",
        "Bounds: a.py, b.py",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f(env):\n    for _ in range(3):\n        x = 1\n        env.step(env.sample())",
        "while True:\n    if x:\n        a, b, c = step(world, x)",
        "x = [player.step(env, 0) for env in envs]",
    ],
)
def test_a_loop_that_steps_an_environment_is_found_once(counts, text):
    assert len(counts.step_loops(parsed(a=f"for _ in many:\n{textwrap.indent(text, '    ')}"))) == 1


def test_a_single_step_is_no_loop(counts):
    assert counts.step_loops(parsed(a="for x in y:\n    steps(x)\nenv.step(0)")) == []
