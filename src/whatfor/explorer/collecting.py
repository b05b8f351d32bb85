"""Collector: asks a desk for the answers of a report, until their budget is spent."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from whatfor.explorer.desk import Desk
from whatfor.explorer.packing import Packer
from whatfor.explorer.page import build_page

#: Numbers of maps below this share of the largest are left out.
MIN_KEPT_SHARE = 1e-6
#: Called while a report is written: with what is being done, and the share of the work that is done.
OnProgress = Callable[[str, float], None]


class BudgetSpent(Exception):
    """There is no room for another answer."""


@dataclass
class CollectingStage:
    """Jobs of one kind: one for each state, or for each episode."""

    doing: str  # for a progress bar
    words: str  # to count those that are done, as in "all questions for {} states"; empty: they are not counted
    job: Callable[[str], None]
    find_jobs: Callable[[], Sequence[str]]  # called when the stages before are done
    n_jobs: int = 0
    done: list[list[str]] = field(default_factory=list)  # the requests of each job


class Collector:
    """Answers by request. While ``required`` is set, answers are added whatever they cost."""

    def __init__(self, desk: Desk, max_bytes: int, on_progress: OnProgress | None = None) -> None:
        self.desk, self.max_bytes, self.on_progress = desk, max_bytes, on_progress
        self.answers: dict[str, Any] = {}
        self.required = True
        self._n_required = 0
        self._stages: Sequence[CollectingStage] = ()
        self._requests: list[str] = []  # of the current job
        self._packer, self._compressor = Packer(), zlib.compressobj()
        self._size = len(build_page(None).encode())

    def ask(self, what: str, **parameters: str) -> dict[str, Any]:
        """The answer to a request, added to the report."""
        request = request_of(what, parameters)
        self._requests.append(request)
        if request not in self.answers:
            if self._size >= self.max_bytes and not self.required:
                raise BudgetSpent
            self.answers[request] = without_faint(self.desk.ask(what, parameters))
            self._add_size(request)
            self._n_required += self.required
        answer: dict[str, Any] = self.answers[request]
        return answer

    def _add_size(self, request: str) -> None:
        """Add what an answer takes in the file: only what is new in it, compressed, in base64."""
        self._packer.fold(self.answers[request])
        text = request + self._packer.new_text()
        self._size += len(self._compressor.compress(text.encode())) * 4 // 3

    def run(self, stages: Sequence[CollectingStage]) -> None:
        """Do the jobs of all stages; those that the budget has no room for are left out."""
        self._stages = stages
        for number, stage in enumerate(stages):
            jobs = stage.find_jobs()
            stage.n_jobs = len(jobs)
            for at, one in enumerate(jobs):
                self._report(stage.doing, (number + at / len(jobs)) / len(stages))
                self._requests = []
                try:
                    stage.job(one)
                except BudgetSpent:
                    break
                stage.done.append(self._requests)
        self._report("writing", 1.0)

    def _report(self, doing: str, share: float) -> None:
        if self.on_progress is not None:
            self.on_progress(doing, share)

    def drop(self, excess: int) -> None:
        """Drop the last answers, since the file is larger than expected by ``excess`` bytes."""
        droppable = len(self.answers) - self._n_required
        if not droppable:
            least = (self.max_bytes + excess) / 1e6
            raise ValueError(
                f"a budget of {self.max_bytes / 1e6:g} MB is too small: the page and its first answer take {least:.2f} MB; give at least {least + 0.01:.2f}"
            )
        share = excess / (self.max_bytes + excess)
        number = min(droppable, 1 + round(share * len(self.answers)))
        for request in list(self.answers)[-number:]:
            del self.answers[request]

    def left_out(self) -> list[str]:
        """The stages that are not complete, with how much of each is there."""
        counts = [
            (stage, sum(all(request in self.answers for request in requests) for requests in stage.done))
            for stage in self._stages
            if stage.words
        ]
        return [stage.words.format(f"{n:,} of {stage.n_jobs:,}") for stage, n in counts if n < stage.n_jobs]


def request_of(what: str, parameters: dict[str, str]) -> str:
    """A request as one line, its parameters in alphabetical order, as the page's script writes it.

    >>> request_of("state", {"state": "3", "as_of": "10"})
    'state?as_of=10&state=3'
    """
    return what + "?" + "&".join(f"{name}={parameters[name]}" for name in sorted(parameters))


def without_faint(thing: Any) -> Any:
    """An answer without the numbers of maps that are too small to be visible.

    >>> without_faint({"visits": [{"state": 0, "number": 1.0}, {"state": 1, "number": 1e-9}]})
    {'visits': [{'state': 0, 'number': 1.0}]}
    """
    if isinstance(thing, dict):
        return {name: without_faint(one) for name, one in thing.items()}
    if not isinstance(thing, list):
        return thing
    if thing and isinstance(thing[0], dict) and "number" in thing[0]:
        least = MIN_KEPT_SHARE * max(abs(one["number"]) for one in thing)
        return [one for one in thing if abs(one["number"]) >= least]
    if thing and isinstance(thing[0], list) and thing[0] and isinstance(thing[0][0], float):
        least = MIN_KEPT_SHARE * max(abs(number) for row in thing for number in row)
        return [[number if abs(number) >= least else 0.0 for number in row] for row in thing]
    return [without_faint(one) for one in thing]
