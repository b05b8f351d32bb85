"""A report: the page with its answers, in one file that opens from disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from whatfor.explorer.collecting import MIN_KEPT_SHARE, CollectingStage, Collector, OnProgress
from whatfor.explorer.desk import Desk
from whatfor.explorer.episodes import key_of, state_in
from whatfor.explorer.packing import DIGITS, pack
from whatfor.explorer.page import build_page
from whatfor.files import replacing
from whatfor.pictures.files import check_path
from whatfor.question import QUESTIONS, first_question, is_played
from whatfor.runs import Run
from whatfor.text import count, either, one_line
from whatfor.worlds.adapter import Enter

SUFFIXES = (".html", ".htm")
#: Megabytes of a report.
BUDGET = 3.0
#: The longest reason why a question was not answered.
MAX_REASON = 200
#: Past episodes to replay, for each value.
REPLAYS = 3
#: States in a report; and where a network has to be played, states to play from.
MAX_STATES, MAX_PLAYED = 300, 5


def report(
    run: Run,
    path: str | os.PathLike[str],
    *,
    episodes: int = 20,
    states: Sequence[Any] = (),
    budget: float = BUDGET,
    name: str = "",
    on_progress: OnProgress | None = None,
    enter: Enter | None = None,
) -> Path:
    """Write a report of a run: its greedy episodes from as many starts, or from the states you name, with answers about each state.

    ``budget`` is the size of the file in megabytes. Answers are added in the order of their importance until it is spent; the page lists
    what is left out. ``on_progress`` is called with what is being done and the share of the work that is done.

    >>> from tempfile import TemporaryDirectory
    >>> from whatfor.labels import Labels
    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    >>> run = Run(labels=Labels.plain(1, 1), values=[[0.5]], ledger=ledger)
    >>> with TemporaryDirectory() as folder:
    ...     report(run, f"{folder}/page.html", budget=1).stat().st_size < 1_000_000
    True
    """
    target = check_path(path, SUFFIXES)  # before the work, not after it
    payload = build_payload(
        run, episodes=episodes, states=states, budget=budget, name=name, on_progress=on_progress, enter=enter
    )
    with replacing(target) as fresh:
        fresh.write_text(build_page(payload), encoding="utf-8")
    return target


def build_payload(
    run: Run,
    *,
    episodes: int = 20,
    states: Sequence[Any] = (),
    budget: float = BUDGET,
    name: str = "",
    on_progress: OnProgress | None = None,
    enter: Enter | None = None,
) -> str:
    """The data of a report: answers by request, and what it contains and leaves out in sentences, packed."""
    given: Any = states
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"states is a list of states: pass [{given!r}]")
    if episodes < 1:
        raise ValueError(f"episodes is {episodes}; a report shows at least one")
    if not budget > 0:
        raise ValueError(f"budget is {budget}; give the megabytes of the file, such as {BUDGET:g}")
    keys = [key_of(run, state_in(run, state) if isinstance(state, str) else state) for state in states] or None
    desk = Desk(run, name=name, episodes=episodes, starts=keys, enter=enter)
    collector = Collector(desk, round(budget * 1e6), on_progress)
    plan = _ReportPlan(collector, desk.starts if keys else [])
    plan.collect()
    while True:
        payload = pack({"limits": plan.limits(budget), "answers": collector.answers})
        excess = len(build_page(payload).encode()) - collector.max_bytes
        if excess <= 0:
            return payload
        collector.drop(excess)


class _ReportPlan:
    """What a report asks, the most important first."""

    def __init__(self, collector: Collector, starts: Sequence[str]) -> None:
        self.collector, self.desk, self.run = collector, collector.desk, collector.desk.run
        self.unanswered: dict[str, str] = {}  # questions that raised an error once, and why
        self.about = collector.ask("run")
        self.findings = list(dict.fromkeys(one["state"] for one in collector.ask("findings")["findings"]))
        self.choices = collector.ask("episodes")["episodes"]
        self.on_episodes: dict[str, set[str]] = {key: set() for key in starts}  # by state, the actions chosen there
        for one in self.choices:
            for step in collector.ask("episode", key=one["key"])["steps"]:
                self.on_episodes.setdefault(step["state"], set()).add(str(step["action"]))
        if not self.on_episodes:
            raise ValueError(
                f"the starts of this run are unknown: {either('name states with states=', 'name them with --states')}"
            )
        self.states = list(self.on_episodes)[:MAX_STATES]
        self.actions = [str(action) for action in range(len(self.about["actions"]))]
        every = [*self.states, *self.findings]
        played = self.desk.starts[:MAX_PLAYED] if self.run.playing.player.slow else every
        self.played = {key for key in played if key in every and self.desk.rolls_out_from(key)}

    def collect(self) -> None:
        """Ask for all of it, until the budget is spent."""
        states = self.states
        times = states if self.about["checkpoints"][:-1] else []
        self._open(states[0])
        self.collector.required = False
        self.collector.run(
            [
                CollectingStage("the first state", "", self._ask_all, lambda: states[:1]),
                CollectingStage(
                    "the findings", "all questions for {} states of findings", self._ask_all, lambda: self.findings
                ),
                CollectingStage("the states", "the first answer for {} states", self._open, lambda: states),
                CollectingStage("all questions", "all questions for {} states", self._ask_all, lambda: states),
                CollectingStage("earlier times", "earlier times for {} states", self._look_back, lambda: times),
                CollectingStage("replays", "replays of {} past episodes", self._replay, self._past_episodes),
            ]
        )

    def _open(self, key: str) -> None:
        """The state and its first answer, of the best action and of those chosen there: between equal ones, these may be others."""
        for action in self._chosen(key):
            self.collector.ask("answer", question=first_question().name, state=key, action=action)

    def _chosen(self, key: str) -> list[str]:
        return sorted({self._best(key), *self.on_episodes.get(key, ())})

    def _best(self, key: str) -> str:
        return str(self.collector.ask("state", state=key)["best"])

    def _ask_all(self, key: str) -> None:
        """All questions about a state."""
        best = self._best(key)
        for name, question in QUESTIONS.items():
            if name in self.about["unavailable"] or (is_played(self.run, question) and key not in self.played):
                continue
            if name in self.unanswered:
                continue
            try:
                for action in self.actions if question.every_action else self._chosen(key):
                    for values in self._values(name, action, is_best=action == best):
                        self.collector.ask("answer", question=name, state=key, action=action, **values)
            except ValueError as error:  # it needs parameters that a report cannot choose
                self.unanswered[name] = one_line(str(error), MAX_REASON)

    def _values(self, question: str, action: str, *, is_best: bool) -> Iterator[dict[str, str]]:
        """The parameters of a question: none; each other action, for the best one; or each suggestion, where one is required."""
        for one in self.about["questions"][question]["parameters"]:
            if one["kind"] == "action":
                yield from ({one["name"]: other} for other in self.actions if other != action and is_best)
                return
            if one["required"]:
                yield from ({one["name"]: words} for words in one["suggestions"])
                return
        yield {}

    def _look_back(self, key: str) -> None:
        """The state and the best action at earlier times."""
        for episodes in map(str, self.about["checkpoints"][:-1]):
            best = str(self.collector.ask("state", state=key, as_of=episodes)["best"])
            self.collector.ask("answer", question=first_question().name, state=key, action=best, as_of=episodes)

    def _past_episodes(self) -> list[str]:
        """The most influential episodes behind each value."""
        found: dict[str, None] = {}
        for answer in self.collector.answers.values():
            strip = sorted(answer.get("strip", ()), key=lambda one: -abs(one["deletion"]))
            found |= {f"past:{one['episode']}": None for one in strip[:REPLAYS]}
        return list(found)

    def _replay(self, key: str) -> None:
        for step in self.collector.ask("episode", key=key)["steps"]:
            self.collector.ask("state", state=step["state"])

    def limits(self, budget: float) -> list[str]:
        """What the report contains and leaves out, in sentences."""
        about, n_states, total = self.about, len(self.states), len(self.on_episodes)
        on = f"on {count(len(self.choices), 'episode')}"
        which = "those" if n_states == total else f"the first of {total:,}"
        lines = [f"{count(n_states, 'state')}: {which} {on}."]
        every = " and ".join(f'"{one.title}"' for one in QUESTIONS.values() if one.every_action)
        lines.append(
            f"Questions: {every} for every action; the others for the best action and the action on the episode."
        )
        played = [
            f'"{one.title}"'
            for one in QUESTIONS.values()
            if is_played(self.run, one) and one.name not in about["unavailable"]
        ]
        if self.run.playing.player.slow and played:
            which = ", ".join(played)
            lines.append(f"Played, so only for {len(self.played):,} of these situations: {which}.")
        if earlier := about["checkpoints"][:-1]:
            times = ", ".join(f"{episodes:,}" for episodes in earlier)
            lines.append(
                f"Earlier times: after {times} {'episode' if earlier == [1] else 'episodes'}, with the best action at that time."
            )
        lines.append(
            f"Numbers are rounded to {DIGITS} digits. Maps leave out numbers below 1/{1 / MIN_KEPT_SHARE:,.0f} of the largest."
        )
        for name, why in self.unanswered.items():
            lines.append(f'Not answered everywhere: "{QUESTIONS[name].title}": {why}.')
        if missing := self.collector.left_out():
            lines.append(f"The budget of {budget:g} MB is spent. Incomplete: {', '.join(missing)}.")
        return lines
