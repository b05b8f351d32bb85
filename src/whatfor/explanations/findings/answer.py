"""Findings: the states that are worth asking about, ranked, each with a sentence and the question that shows it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from whatfor.explanation import MAX_REPR, Badge, Explanation
from whatfor.labels import Labels
from whatfor.question import QUESTIONS
from whatfor.text import shortened

FindingKind = Literal[
    "loop", "reward", "surprise", "reality", "evidence", "ending", "episode", "near-tie", "tie", "difference"
]


@dataclass(frozen=True, repr=False)
class Finding:
    """One state, or several with the same cause, and why to look there.

    ``met`` is the share of episodes that visit the state, ``stake`` what depends on it, relative to the range of the values, at most 1.
    """

    kind: FindingKind
    sentence: str
    state: int  # the one to ask about
    met: float
    stake: float
    question: str  # the question that shows it; empty: the run cannot answer any
    action: int | None = None  # None: the best one
    parameters: Mapping[str, Any] = field(default_factory=dict)
    states: tuple[int, ...] = ()  # all that have the same cause
    episode: int | None = None  # the episode that it is about
    words: str = ""  # the state in words

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind}, {shortened(self.sentence, MAX_REPR)})"

    @property
    def score(self) -> float:
        """What findings are ranked by: met × stake."""
        return self.met * self.stake

    @property
    def call(self) -> str:
        """The question in Python; another run is called ``other``."""
        if not self.question:
            return ""
        given = [repr(self.words), *([str(self.action)] if self.action is not None else [])]
        return f"run.{self.question}({', '.join([*given, *(f'{name}={_python(one)}' for name, one in self.parameters.items())])})"

    def command(self, run: Sequence[str], other: str = "") -> str:
        """The question in a shell; ``run``: the folder of the run, and the flags with which it is loaded."""
        if not self.question:
            return ""
        words = ["whatfor", "explain", *run, "--state", self.words, "--question", self.question]
        if self.action is not None:
            words += ["--action", str(self.action)]
        for name, one in self.parameters.items():
            parameter = QUESTIONS[self.question].parameter(name)
            words += [f"--{name if parameter is None else parameter.shell}", other if _is_run(one) else str(one)]
        return shlex.join(words)

    def to_json(self) -> dict[str, Any]:
        """Its numbers, with the call."""
        parameters = {name: one for name, one in self.parameters.items() if not _is_run(one)}
        names = (
            "kind",
            "sentence",
            "state",
            "words",
            "action",
            "question",
            "met",
            "stake",
            "score",
            "states",
            "episode",
            "call",
        )
        return {**{name: getattr(self, name) for name in names}, "parameters": parameters}


@dataclass(frozen=True)
class Findings(Explanation):
    """Where to look: findings, the most important first. A sequence of findings, and an answer with sentences and JSON.

    ``notes`` say what was not looked at, and what is wrong with the record.
    """

    labels: Labels
    found: tuple[Finding, ...]
    looked_at: int  # the number of states
    nothing: str  # what to say if there are none
    notes: tuple[str, ...] = ()
    residual: float | None = None

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.found)

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, at: int | slice) -> Finding | tuple[Finding, ...]:
        return self.found[at]

    @property
    def actions(self) -> tuple[int, ...]:
        """None: findings are about states."""
        return ()

    def badge(self) -> Badge | None:
        """None: there is nothing to add up."""
        return None

    def __repr__(self) -> str:
        kinds = ", ".join(one.kind for one in self.found)
        return f"Findings({kinds or 'none'})"

    def sentences(self) -> list[str]:
        """One line for each finding, and below it the question that shows it."""
        return self.lines()

    def in_shell(self, run: Sequence[str], other: str | None = None) -> str:
        """The findings with commands of the shell; ``run``: its folder and flags; ``other``: the folder of the run that it differs from."""
        return "\n".join([*self._premise_text(), *self.lines(run, other or "")])

    def lines(self, run: Sequence[str] | None = None, other: str = "") -> list[str]:
        """The sentences; ``run``: a folder and flags, for commands of the shell instead of calls."""
        lines = [] if self.found else [self.nothing]
        for number, one in enumerate(self.found, 1):
            shown = one.call if run is None else one.command(run, other)
            lines += [f"{number}. {one.sentence}", *([f"   {shown}"] if shown else [])]
        return [*lines, *self.notes]

    def numbers(self) -> dict[str, Any]:
        """The findings as JSON."""
        return {
            "question": "findings",
            "findings": [one.to_json() for one in self.found],
            "looked_at": self.looked_at,
            "notes": self.notes,
            "sentences": self.sentences(),
        }


def _is_run(thing: Any) -> bool:
    return hasattr(thing, "as_of")


def _python(thing: Any) -> str:
    return "other" if _is_run(thing) else repr(thing)
