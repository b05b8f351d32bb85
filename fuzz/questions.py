"""The questions for a loaded run; every answer is also printed, written as JSON and laid out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import whatfor as wf
from whatfor.layouts.shapes import Layout
from whatfor.question import layout_of

Question = Callable[[wf.Run, random.Random, Path], Any]


def _state(run: wf.Run, rng: random.Random) -> Any:
    """A state, by its index, its observation or its words."""
    n = run.labels.n_states
    index = rng.choice(
        [0, n - 1, rng.randrange(n) if n > 0 else 0, n, -1] if rng.random() < 0.1 else [rng.randrange(max(1, n))]
    )
    way = rng.random()
    if way < 0.6:
        return index
    return run.labels.observation(index) if way < 0.8 else run.labels.words(index)


def _action(run: wf.Run, rng: random.Random) -> Any:
    return None if rng.random() < 0.5 or not run.labels.n_actions else rng.randrange(run.labels.n_actions)


def _used(answer: Any) -> None:
    """Use an answer as the terminal, the page and the pictures do."""
    str(answer)
    json.dumps(answer.to_json())
    layout = layout_of(answer)
    if isinstance(layout, Layout):
        json.dumps(layout.to_json())


def _asking(name: str, **options: Any) -> Question:
    def ask(run: wf.Run, rng: random.Random, _: Path) -> None:
        _used(getattr(run, name)(_state(run, rng), _action(run, rng), **options))

    return ask


def summary(run: wf.Run, rng: random.Random, _: Path) -> None:
    """Properties of the run."""
    print(
        repr(run),
        run.settings.get("engine_reason"),
        run.stopped,
        run.trust,
        run.history.returns[-100:].mean() if len(run.history) else None,
    )
    run.values.sum()
    run.policy.sum()
    run.best(_state(run, rng))
    run.tries_at(_state(run, rng))
    for state in range(min(3, run.labels.n_states)):
        print(run.labels.words(state))


def words(run: wf.Run, rng: random.Random, _: Path) -> None:
    """States to words and back, and states where a concept is true."""
    index = rng.randrange(max(1, run.labels.n_states))
    run.labels.index(run.labels.words(index))
    run.labels.index(run.labels.observation(index))
    text = run.labels.words(index)
    for what in (text, text.split(",")[0], "timed out", *run.labels.ending_names[:2], [index]):
        run.labels.where(what)
    for action in range(min(3, run.labels.n_actions)):
        run.labels.action(run.labels.actions[action])


def audit(run: wf.Run, _rng: random.Random, _: Path) -> None:
    """Whether the ledger gives the values."""
    print(run.audit.residual, run.beliefs, len(run.ledger or ()))
    for update in list(run.ledger or ())[:3]:
        print(update)


def chance(run: wf.Run, rng: random.Random, _: Path) -> None:
    """The probability of an event."""
    events = [run.labels.words(0), "terminated", [0], *run.labels.ending_names]
    _used(
        run.chance(
            _state(run, rng), _action(run, rng), event=rng.choice(events), before=rng.choice([None, "timed out"])
        )
    )


def change(run: wf.Run, rng: random.Random, _: Path) -> None:
    """The updates behind a value."""
    since = run if run.ledger is None else rng.choice([0, 1, 5, len(run.history), 10**9])
    _used(run.change(_state(run, rng), _action(run, rng), since=since))


def as_of(run: wf.Run, rng: random.Random, folder: Path) -> None:
    """A question to an earlier state of the run."""
    earlier = run.as_of(rng.choice([0, 1, 3, len(run.history)]))
    _used(earlier.intention(_state(run, rng)))
    earlier.save(folder.parent / "again")
    wf.load(folder.parent / "again")


def evaluate(run: wf.Run, _rng: random.Random, _: Path) -> None:
    """Two greedy episodes."""
    print(run.evaluate(2))


def episode(run: wf.Run, rng: random.Random, _: Path) -> None:
    """A greedy episode, step by step."""
    for state, action in run.episode(_state(run, rng))[:3]:
        run.intention(state, action)


def resume(run: wf.Run, rng: random.Random, folder: Path) -> None:
    """Resume training, ask a question, save and load."""
    more = wf.train(run, episodes=2, progress=False)
    if more.ledger is not None and len(more.ledger):
        print(more.audit.residual)
        pairs = more.labels.n_states * more.labels.n_actions
        last = divmod(int(more.ledger.lines.cell[-1]) % pairs, more.labels.n_actions)
        for name in ("outcomes", "timeline", rng.choice(["intention", "provenance", "parts", "contrast"])):
            str(getattr(more, name)(*last))
    more.save(folder.parent / "again")
    wf.load(folder.parent / "again")


def save_again(run: wf.Run, _rng: random.Random, folder: Path) -> None:
    """Save it elsewhere; load it again unless it needs functions."""
    run.save(folder.parent / "again")
    if run.trust is None:
        again = wf.load(folder.parent / "again")
        if again.labels != run.labels or again.tables.tobytes() != run.tables.tobytes():
            raise AssertionError("the run came back as another")


def save_over(run: wf.Run, _rng: random.Random, folder: Path) -> None:
    """Save it over itself."""
    run.save(folder)


QUESTIONS: dict[str, Question] = {
    "summary": summary,
    "words": words,
    "audit": audit,
    "intention": _asking("intention"),
    "contrast": _asking("contrast"),
    "outcomes": _asking("outcomes"),
    "timeline": _asking("timeline", horizon=5),
    "provenance": _asking("provenance"),
    "parts": _asking("parts"),
    "chance": chance,
    "change": change,
    "as_of": as_of,
    "simulation": _asking("simulation", rollouts=5),
    "comparison": _asking("comparison", rollouts=5),
    "evaluate": evaluate,
    "episode": episode,
    "resume": resume,
    "save again": save_again,
    "save over": save_over,
}
