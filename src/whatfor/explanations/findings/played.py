"""What greedy episodes show, where the world is unknown or its states merge observations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from whatfor.explanations.findings.answer import Finding
from whatfor.history import CUT, Episode
from whatfor.labels import ENDINGS
from whatfor.text import amount, count, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

#: Episodes that are played, at most, and the number of steps after which no further one begins: about a second.
MAX_EPISODES, MAX_STEPS = 100, 5_000
#: A state is judged if at least so many episodes visited it.
MIN_EPISODES = 10
#: A difference is a finding from this share of the range of the values on, and from this many standard errors on.
MIN_DIFFERENCE, MIN_ERRORS = 0.1, 4.0
#: Episodes that reach the time limit are a finding from this share on.
MIN_TIMED_OUT = 0.1


@dataclass
class PlayedState:
    """A state in the greedy episodes: where each of them visited it first, what the agent expected there, and what followed."""

    expected: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Played:
    """Greedy episodes."""

    states: dict[int, PlayedState]
    first: list[int]  # the state in which each episode began
    timed_out: list[bool]
    paths: list[list[int]]  # the states of each episode

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return len(self.first)


def play(run: Run) -> Played | None:
    """Play greedy episodes; None: the run cannot be played."""
    played, steps = Played({}, [], [], []), 0
    try:
        discount = run.playing.discount
        while played.episodes < MAX_EPISODES and steps < MAX_STEPS:
            episode = run.episode(None, seed=played.episodes)
            steps += max(1, len(episode))
            _add(played, run, episode, discount)
    except Exception:  # it has no environment, or one from elsewhere that fails
        return None
    return played


def _add(played: Played, run: Run, episode: Episode, discount: float) -> None:
    cut = episode.ending in (ENDINGS[0], CUT)
    ahead, returns = 0.0, []
    for reward in reversed(episode.rewards):
        ahead = reward + discount * ahead
        returns.append(ahead)
    first: dict[int, tuple[float, float]] = {}
    path: list[int] = []
    for (observation, action), total in zip(episode, reversed(returns), strict=True):
        at = run.situation(observation)
        path.append(at.index)
        if at.index not in first:
            first[at.index] = float(run.values_at(at)[action]), total
    for state, (expected, total) in first.items():
        one = played.states.setdefault(state, PlayedState())
        one.expected.append(expected)
        one.returns += [] if cut and not run.playing.limit_is_terminal else [total]  # the rest of its return is unknown
    played.first.append(next(iter(first), 0))
    played.paths.append(path)
    played.timed_out.append(cut)


def find_by_play(run: Run, played: Played, *, ends_pay: bool) -> list[Finding]:
    """Episodes that reach the time limit, and values that are too high or too low."""
    return [*find_timed_out(run, played, ends_pay=ends_pay), *_find_wrong_values(run, played)]


def find_timed_out(run: Run, played: Played, *, ends_pay: bool) -> list[Finding]:
    """Episodes that reach the time limit."""
    share = float(np.mean(played.timed_out)) if played.episodes else 0.0
    if share < MIN_TIMED_OUT or not ends_pay:
        return []
    state = played.first[played.timed_out.index(True)]
    text = (
        f"From {run.labels.words(state)!r}, {percent(share)} of {count(played.episodes, 'simulated episode')} "
        "reach the time limit."
    )
    return [Finding("loop", text, state, share, 1.0, "intention", states=(state,))]


def expected_return(run: Run, value: float) -> str:
    """A value of the agent, as its expectation; of a table without a ledger, as what it is."""
    return f"it expects a return of {amount(value)}" if run.beliefs.learned else f"its Q-value is {amount(value)}"


def _find_wrong_values(run: Run, played: Played) -> list[Finding]:
    labels, episodes = run.labels, played.episodes
    every = [value for one in played.states.values() for value in one.expected]
    spread = float(np.ptp(every)) if every else 0.0
    found, off = [], {1: [], -1: []}  # type: ignore[var-annotated]
    for state, one in played.states.items():
        returns = np.array(one.returns)
        if len(returns) < max(MIN_EPISODES, len(one.expected)):  # cut episodes are missing among the returns
            continue
        difference = float(np.mean(one.expected) - returns.mean())
        error = float(np.hypot(returns.std(ddof=1), np.std(one.expected, ddof=1)) / np.sqrt(len(returns)))
        if abs(difference) >= max(MIN_DIFFERENCE * spread, 1e-9) + MIN_ERRORS * error:
            met, stake = len(returns) / episodes, min(1.0, abs(difference) / spread if spread else 1.0)
            off[1 if difference > 0 else -1].append(
                (met * stake, met, stake, state, float(np.mean(one.expected)), returns.mean())
            )
    for sign, several in off.items():
        if several:
            _, met, stake, state, expected, real = max(several)
            more = f"; values are too {'high' if sign > 0 else 'low'} in {count(len(several) - 1, 'more state')}"
            text = (
                f"In {labels.words(state)!r}, {expected_return(run, expected)}, and playing its policy gave {amount(float(real))} "
                f"on average over {count(round(met * episodes), 'episode')}{more if len(several) > 1 else ''}."
            )
            states = tuple(one[3] for one in sorted(several, reverse=True))
            found.append(Finding("reality", text, state, met, stake, "comparison", states=states))
    return found
