"""Pieces of sentences that several answers are made of."""

from __future__ import annotations

from itertools import groupby

from whatfor.beliefs.course import Course
from whatfor.labels import Labels

#: A course at least this likely is told as what the agent expects; below, as one of the ways it may go.
LIKELY = 0.8
#: An action learned from less often than this has been learned from "only" so often.
FEW = 10


def plan(labels: Labels, course: Course | None, endings: dict[str, float], unknown: float) -> str:
    """What an agent means to come to: "to pick up the passenger at Y in 7 steps and to deliver at R 5 steps later"."""
    if course is not None and course.comes_back_to is not None and course.ending_chance >= LIKELY:
        pair = course.pairs[course.comes_back_to]
        again = "here" if course.comes_back_to == 0 else f"to {labels.words(pair[0])!r}"
        return f"to come back {again} after {_steps(len(course.pairs))}, again and again"
    if course is not None and course.ending_chance >= LIKELY:
        found = _milestones(labels, course)
        if found:
            return _listed(labels, found, course)
    ends = {name: chance for name, chance in endings.items() if chance >= 0.005}
    if course is not None and ends and abs(sum(endings.values()) + unknown - 1.0) < 1e-6:  # without a discount: chances
        last = course.pairs[-1][0]
        said = [f"{labels.ending_said(name, last)} ({chance:.0%})" for name, chance in _largest_first(ends)]
        return "to " + _and(said)
    return ""


def as_way(labels: Labels, course: Course | None) -> str:
    """A likely course as one line of actions: "south, west × 2, pick up"; nothing where none is likely."""
    if course is None or course.ending_chance < LIKELY or len(course.pairs) < 2:
        return ""
    runs = [(name, len(list(group))) for name, group in groupby(labels.actions[a] for _, a in course.pairs)]
    way = ", ".join(name if times == 1 else f"{name} × {times}" for name, times in runs)
    if course.ending is not None:
        return way
    return way + (", and again" if course.comes_back_to is not None else ", and what then follows it has not learned")


def experience(tries: int | None, start: float, unknown: float) -> list[str]:
    """How much an expectation rests on: how often it was tried, and what is still the start."""
    if tries is None:
        return []
    only = "only " if tries < FEW else ""
    times = "once" if tries == 1 else f"{tries:,} times"
    said = [f"It has learned from that {only}{times}"]
    if start >= 0.005:
        said.append(f"{start:.0%} of the value is still what it started with")
    if unknown - start >= 0.005:
        said.append(f"it expects to come {unknown - start:.2g} times to where it has not learned what follows")
    return ["; ".join(said) + "."]


def _milestones(labels: Labels, course: Course) -> list[tuple[int, str, float]]:
    """Step, what happens then, and the reward of it."""
    found = []
    for step, ((state, _), (following, _)) in enumerate(zip(course.pairs, course.pairs[1:], strict=False)):
        said = labels.reached(state, following)
        if said is not None:
            found.append((step, said, 0.0))
    if course.ending is not None:
        last = len(course.pairs) - 1
        found.append((last, labels.ending_said(course.ending, course.pairs[last][0]), course.rewards[last]))
    return found


def _listed(labels: Labels, found: list[tuple[int, str, float]], course: Course) -> str:
    said, before = [], 0
    for n, (step, what, reward) in enumerate(found):
        ahead = step - before
        when = "at once" if step == 0 else f"in {_steps(ahead)}" if n == 0 else f"{_steps(ahead)} later"
        said.append(f"to {what} {when}" + (f" ({reward:+.3g})" if reward > 0.0 else ""))
        before = step
    sure = "" if course.ending_chance >= 0.99 else f", with a chance of {course.ending_chance:.0%}"
    return _and(said) + sure


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _largest_first(numbers: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(numbers.items(), key=lambda item: -item[1])
