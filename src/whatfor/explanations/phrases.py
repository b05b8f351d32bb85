"""Parts of sentences that several answers share."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from whatfor.beliefs.course import Course
from whatfor.labels import Labels
from whatfor.text import amount, count, percent

#: A course at least this likely counts as what the agent expects.
LIKELY = 0.8
#: An action with fewer updates than this was learned from "only" so often.
FEW_UPDATES = 10


class Expectation(NamedTuple):
    """What an agent expects to reach, in words."""

    text: str = ""  # "to pick up the passenger at Y in 8 steps and to deliver at R 5 steps later"; empty: no single way
    reason: bool = False  # whether it is a reason to act


def expectation(
    labels: Labels, course: Course | None, chances: dict[str, float], unknown: float, state: int
) -> Expectation:
    """What an agent expects to reach: by its likeliest course, or by how it expects the episode to end."""
    if course is None:
        return _ends(labels, chances, unknown, state)
    if course.comes_back_to is not None and course.ending_chance >= LIKELY:
        pair = course.pairs[course.comes_back_to]
        again = "here" if course.comes_back_to == 0 else f"to {labels.words(pair[0])!r}"
        return Expectation(f"to come back {again} after {count(len(course.pairs), 'step')}, again and again")
    if course.ending_chance >= LIKELY:
        found = _milestones(labels, course)
        if found:
            good = (
                course.ending is not None and course.ending != "timed out" and not labels.ending_is_bad(course.ending)
            )
            return Expectation(_in_order(found, course), good or course.ending is None)
    return _ends(labels, chances, unknown, course.pairs[-1][0])


def _ends(labels: Labels, chances: dict[str, float], unknown: float, last: int) -> Expectation:
    """By how it expects the episode to end."""
    if chances:
        ways = [f"{labels.ending_phrase(name, last)} ({percent(chance)})" for name, chance in _largest_first(chances)]
        rest = f", as far as it knows ({percent(unknown)} unknown)" if unknown >= 0.005 else ""
        return Expectation("to " + _and(ways) + rest)
    return Expectation()


def expecting(why: Expectation, hedged: str = "") -> str:
    """What follows "it moves south": a reason, or an expectation that is not one; a hedged expectation is never a reason."""
    if why.reason and not hedged:
        return f" because it expects {why.text}"
    return f"; {hedged}it expects {why.text}" if why.text else ""


def as_way(labels: Labels, course: Course | None) -> str:
    """A likely course as one line of actions: "south, west × 2, pick up"; nothing where none is likely."""
    if course is None or course.ending_chance < LIKELY or len(course.pairs) < 2:
        return ""
    runs = [(name, len(list(group))) for name, group in groupby(labels.actions[a] for _, a in course.pairs)]
    way = ", ".join(name if times == 1 else f"{name} × {times}" for name, times in runs)
    if course.ending is not None:
        return way
    return way + (", and again" if course.comes_back_to is not None else ", and it has not learned what follows")


def experience(tries: int | None, start: float, unknown: float) -> list[str]:
    """How much an expectation rests on: how many updates, and the share of the initial value."""
    if tries is None:
        return []
    only = "only " if tries < FEW_UPDATES else ""
    parts = [f"It has learned from this {only}{'once' if tries == 1 else count(tries, 'time')}"]
    if start >= 0.005:
        parts.append(f"{percent(start)} of the weight is still on the initial value")
    if unknown - start >= 0.005:
        parts.append(f"it expects {unknown - start:.2g} visits to pairs it has not learned about")
    return ["; ".join(parts) + "."]


def _milestones(labels: Labels, course: Course) -> list[tuple[int, str, float]]:
    """Step, what happens then, and the reward of it."""
    found = []
    for step, ((state, _), (following, _)) in enumerate(zip(course.pairs, course.pairs[1:], strict=False)):
        phrase = labels.milestone_phrase(state, following)
        if phrase is not None:
            found.append((step, phrase, 0.0))
    if course.ending is not None:
        last = len(course.pairs) - 1
        found.append((last, labels.ending_phrase(course.ending, course.pairs[last][0]), course.rewards[last]))
    return found


def _in_order(found: list[tuple[int, str, float]], course: Course) -> str:
    parts, before = [], -1
    for n, (step, what, reward) in enumerate(found):
        ahead = step - before
        when = "at once" if step == 0 else f"in {count(ahead, 'step')}" if n == 0 else f"{count(ahead, 'step')} later"
        parts.append(f"to {what} {when}" + (f" ({amount(reward, signed=True)})" if reward > 0.0 else ""))
        before = step
    sure = "" if course.ending_chance >= 0.99 else f", with a chance of {percent(course.ending_chance)}"
    return _and(parts) + sure


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _largest_first(numbers: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(numbers.items(), key=lambda item: -item[1])
