"""Parts of sentences that several answers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.course import Course
from whatfor.beliefs.loop import MIN_ENDLESS, Loop, LoopRecord
from whatfor.explanation import MIN_SHOWN
from whatfor.labels import NO_RECORDED_END, Labels
from whatfor.text import amount, count, percent, rough

#: A course that is at least this likely counts as expected.
LIKELY = 0.8
#: A probability from which on it is not stated.
MIN_CERTAIN = 0.99
#: With at least this probability unknown, a chance near 0 is called unknown.
MIN_ALL_UNKNOWN = 0.995
#: A smaller share is not stated in a sentence.
MIN_STATED_SHARE = 0.005
#: A smaller number of updates is called "only" that many.
FEW_UPDATES = 10
#: What a course that stays where it starts leads to.
STAY = "to stay here"
#: How the phrases of endings without one of their own begin.
END_WITH = "end with "

#: Why rollouts go on beyond the time limit.
PAST_LIMIT = "Its values bootstrap through the time limit, so rollouts continue past it"
#: Above this probability, what is unknown outweighs what is expected.
MOSTLY_UNKNOWN = 0.5
#: Below this weight on its own updates, an action is not known.
MIN_KNOWN = 0.5


class Expectation(NamedTuple):
    """What an agent expects to reach, in words."""

    text: str = ""  # "to pick up the passenger at Y in 8 steps and to deliver at R 5 steps later"; empty: no likely one
    reason: bool = False  # whether it is a reason to take the action


def expectation(
    labels: Labels, course: Course | None, chances: dict[str, float], unknown: float, state: int
) -> Expectation:
    """What an agent expects to reach: by its likeliest course, or else by the chances of endings."""
    if course is None:
        return _endings(labels, chances, unknown, state)
    if course.comes_back_to is not None and course.ending_chance >= LIKELY:
        back = _back(labels, course)
        stays = back == STAY
        if chances.get(NO_RECORDED_END, 0.0) >= LIKELY:
            return Expectation(f"{back}{'' if stays else ', again and again,'} without a recorded end")
        if chances:
            return _endings(labels, chances, unknown, course.pairs[-1][0])
        return Expectation(f"{back} at first" if stays else back)
    if course.ending_chance >= LIKELY:
        milestones = _milestones(labels, course)
        if milestones:
            good = (
                course.ending is not None and course.ending != "timed out" and not labels.ending_is_bad(course.ending)
            )
            return Expectation(_in_order(milestones, course), good or course.ending is None)
    return _endings(labels, chances, unknown, course.pairs[-1][0])


def _back(labels: Labels, course: Course) -> str:
    """Where a course comes back to: "to come back here after 2 steps"."""
    if all(state == course.pairs[0][0] for state, _ in course.pairs):
        return STAY
    pair = course.pairs[course.comes_back_to or 0]
    again = "here" if course.comes_back_to == 0 else f"to {labels.words(pair[0])!r}"
    return f"to come back {again} after {count(len(course.pairs) - (course.comes_back_to or 0), 'step')}"


def without_end(loop: Loop) -> list[str]:
    """A sentence if what it learned, or its greedy policy, stays in a loop, with what is recorded about ways out.

    >>> without_end(Loop(0.4)), without_end(Loop(1.0, 1.0, LoopRecord(600, 0.005, 0)))  # doctest: +NORMALIZE_WHITESPACE
    ([], ['By what it has learned, the episode stays in a loop, with no way out in 600 recorded steps
    (95 % confidence: less than 0.5 % a step).'])
    >>> without_end(Loop(0.0, 1.0, LoopRecord(600, 0.005, 0, ended=False)))
    ['No recorded episode terminated: its greedy policy goes on (600 recorded steps).']
    >>> without_end(Loop(1.0, known=True))
    ['By the transition probabilities of this environment, playing its policy never ends the episode.']
    """
    if not loop.stated:
        return []
    if loop.known:
        chance = "" if loop.never >= MIN_CERTAIN else f" (probability {percent(loop.never)})"
        return [
            f"By the transition probabilities of this environment, playing its policy never ends the episode{chance}."
        ]
    learned = loop.never >= MIN_ENDLESS
    if loop.is_the_task and loop.record is not None:
        who = "by what it has learned, the episode" if learned else "its greedy policy"
        return [f"No recorded episode terminated: {who} goes on ({count(loop.record.steps, 'recorded step')})."]
    who = (
        "By what it has learned, the episode stays"
        if learned
        else "In its recorded transitions, its greedy policy stays"
    )
    probability = loop.never if learned else loop.exploiting
    chance = "" if probability >= MIN_CERTAIN else f" (probability {percent(probability)})"
    return [f"{who} in a loop{chance}{_ways_out(loop.record)}."]


def _ways_out(record: LoopRecord | None) -> str:
    """What is recorded about ways out of a loop.

    >>> _ways_out(LoopRecord(2, 1.0, 0)), _ways_out(LoopRecord(12, 0.25, 4_031))  # doctest: +NORMALIZE_WHITESPACE
    (', with no way out in 2 recorded steps, too few to rule one out',
    ', with no way out in 12 recorded steps; all 4,031 recorded repetitions of a state-action pair had the same outcome')
    """
    if record is None:
        return ""
    none = f", with no way out in {count(record.steps, 'recorded step')}"
    if record.repeats:
        return f"{none}; all {record.repeats:,} recorded repetitions of a state-action pair had the same outcome"
    if record.settles_little:
        return f"{none}, too few to rule one out"
    return f"{none} (95 % confidence: less than {percent(record.bound).removeprefix('< ')} a step)"


def beyond_limit(number: float, limit: int | None, what: str) -> list[str]:
    """How much of an answer lies beyond the time limit of episodes; empty: rollouts did not go on beyond one.

    >>> beyond_limit(2.5, 200, "visits")  # doctest: +NORMALIZE_WHITESPACE
    ['Beyond the time limit of 200 steps: 2.5 visits. Its values bootstrap through the time limit, so rollouts continue
    past it.']
    """
    if limit is None or not number:
        return []
    return [f"Beyond the time limit of {count(limit, 'step')}: {amount(number)} {what}. {PAST_LIMIT}."]


def learned_from(explores: bool, exploiting: float) -> str:
    """The words before an expectation that holds with exploration, where the best actions alone go round.

    >>> learned_from(True, 1.0), learned_from(True, 0.0)
    ('with the exploration it learned from, ', '')
    """
    return "with the exploration it learned from, " if explores and exploiting >= MIN_ENDLESS else ""


def _endings(labels: Labels, chances: dict[str, float], unknown: float, last: int) -> Expectation:
    """What it expects by the chances of endings; nothing if most of them are unknown."""
    if chances and unknown <= MOSTLY_UNKNOWN:
        ways = [f"{labels.ending_phrase(name, last)} ({percent(chance)})" for name, chance in _largest_first(chances)]
        if all(way.startswith(END_WITH) for way in ways):  # "to end with +50 (90 %) or -30 (10 %)"
            ways = [ways[0], *(way.removeprefix(END_WITH) for way in ways[1:])]
        rest = f"; {percent(unknown)} unknown" if unknown >= MIN_STATED_SHARE else ""
        return Expectation("to " + _join(ways, "or") + rest)
    return Expectation()


def little_known(chances: dict[str, float], unknown: float, after: str = "") -> list[str]:
    """A sentence if most of how an episode ends is unknown; empty if not.

    >>> little_known({"terminated": 0.2}, 0.8)
    ['It has learned little about how the episode ends (80 % unknown; 20 % terminated).']
    """
    if unknown <= MOSTLY_UNKNOWN:
        return []
    known = [f"{percent(chance)} {name}" for name, chance in _largest_first(chances) if chance >= MIN_STATED_SHARE]
    texts = "; ".join([f"{percent(unknown)} unknown", *known])
    return [f"It has learned little about how the episode ends{after} ({texts})."]


def expectation_clause(why: Expectation, hedge: str = "") -> str:
    """The clause after "it moves south": a reason, or an expectation that is not one; a hedged expectation is never a reason."""
    if why.reason and not hedge:
        return f" because it expects {why.text}"
    return f"; {hedge}it expects {why.text}" if why.text else ""


def largest_earnings(
    earnings: NDArray[np.float64], initial: float, magnitude: float, name_of: Callable[[int, int], str], most: int = 5
) -> list[tuple[float, str]]:
    """The largest earnings by pair, and the sum of the rest; ``initial``: what remains from initial values."""
    least = MIN_SHOWN * min(1.0, magnitude)  # small rewards are rewards
    order = np.argsort(-np.abs(earnings), axis=None, kind="stable")[:most]
    pairs = [divmod(int(at), earnings.shape[1]) for at in order]
    largest = [(float(earnings[s, a]), name_of(s, a)) for s, a in pairs if abs(earnings[s, a]) >= least]
    rest = float(earnings.sum()) - sum(earned for earned, _ in largest)
    others = int((np.abs(earnings) >= least).sum()) - len(largest)
    if others > 0 or abs(rest) >= least:
        largest.append((rest, f"at {count(others, 'other state-action pair')}" if others > 0 else "elsewhere"))
    return [*largest, (initial, "remaining from initial values")] if initial else largest


def action_sequence(labels: Labels, course: Course | None) -> str:
    """The actions of a likely course: "south, west × 2, pick up"; empty if none is likely."""
    if course is None or course.ending_chance < LIKELY or len(course.pairs) < 2:
        return ""
    runs = [(name, len(list(group))) for name, group in groupby(labels.actions[a] for _, a in course.pairs)]
    sequence = ", ".join(name if times == 1 else f"{name} × {times}" for name, times in runs)
    if course.ending is not None:
        return sequence
    return sequence + (", and again" if course.comes_back_to is not None else ", then unknown")


def experience(
    updated: str, tries: int | None, initial: float, unknown: float, *, discounted: bool = True
) -> list[str]:
    """The number of updates behind an expectation, and the weight on its initial value and on those of later pairs."""
    if tries is None:
        return []
    if tries == 0:
        return [f"{updated} 0 times: what it expects is a guess."]
    only = "only " if tries < FEW_UPDATES else ""
    parts = [f"{updated} {only}{'once' if tries == 1 else count(tries, 'time')}"]
    if initial >= MIN_STATED_SHARE:
        parts.append(f"its initial value still has a weight of {percent(initial)}")
    if unknown - initial >= MIN_STATED_SHARE:
        weight = "a discounted weight" if discounted else "a weight"
        parts.append(f"initial values of later state-action pairs have {weight} of {percent(unknown - initial)}")
    return ["; ".join(parts) + "."]


def tied_actions(labels: Labels, values: NDArray[np.float64]) -> str:
    """The names of equally good actions, which share the probability in play; empty if one is the best.

    >>> tied_actions(Labels.plain(1, 3), np.array([0.5, 0.5, 0.0])), tied_actions(Labels.plain(1, 2), np.array([1.0, 0.0]))
    ("'action 0' and 'action 1'", '')
    """
    names = [repr(labels.actions[action]) for action in np.flatnonzero(values == values.max())]
    return _join(names, "and") if len(names) > 1 else ""


def not_significant(gap: float, noise: float | None) -> str:
    """Whether a gap is within two standard errors, in words; empty if it is not, or if they are unknown.

    >>> not_significant(0.024, 0.013), not_significant(-1.0, 0.013), not_significant(1.0, None)
    ('not significant: two standard errors are 0.026', '', '')
    """
    if noise is None or abs(gap) >= 2.0 * noise:
        return ""
    return f"not significant: two standard errors are {rough(2.0 * noise)}"


def all_unknown(chance: float, unknown: float) -> bool:
    """Whether a chance is near 0 only because nearly everything is unknown."""
    return chance < MIN_SHOWN and unknown >= MIN_ALL_UNKNOWN


def counted(number: str, noun: str) -> str:
    """A formatted number with its noun.

    >>> counted("1", "step"), counted("1.5", "step")
    ('1 step', '1.5 steps')
    """
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def signed_lines(rows: Iterable[tuple[float, str]]) -> list[str]:
    """A line for each signed number and its name, aligned.

    >>> signed_lines([(0.002182, "south"), (0.0, "others")])
    ['  +0.002182  south', '          0  others']
    """
    texts = [(amount(number, signed=True), name) for number, name in rows]
    width = max((8, *(len(number) for number, _ in texts)))
    return [f"  {number:>{width}}  {name}" for number, name in texts]


def _milestones(labels: Labels, course: Course) -> list[tuple[int, str, float]]:
    """The milestones of a course: step, phrase, and the reward at the end."""
    milestones = []
    for step, ((state, _), (following, _)) in enumerate(zip(course.pairs, course.pairs[1:], strict=False)):
        phrase = labels.milestone_phrase(state, following)
        if phrase is not None:
            milestones.append((step, phrase, 0.0))
    if course.ending is not None:
        last = len(course.pairs) - 1
        milestones.append((last, labels.ending_phrase(course.ending, course.pairs[last][0]), course.rewards[last]))
    return milestones


def _in_order(milestones: list[tuple[int, str, float]], course: Course) -> str:
    parts, before = [], -1
    for n, (step, what, reward) in enumerate(milestones):
        ahead = step - before
        when = "at once" if step == 0 else f"in {count(ahead, 'step')}" if n == 0 else f"{count(ahead, 'step')} later"
        parts.append(f"to {what} {when}" + _reward_words(what, reward))
        before = step
    sure = "" if course.ending_chance >= MIN_CERTAIN else f", with probability {percent(course.ending_chance)}"
    return _join(parts, "and") + sure


def _reward_words(what: str, reward: float) -> str:
    """A positive reward in brackets, unless the phrase says it."""
    words = amount(reward, signed=True)
    return f" ({words})" if reward > 0.0 and not what.endswith(words) else ""


def _join(parts: list[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _largest_first(numbers: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(numbers.items(), key=lambda item: -item[1])
