"""Endings and milestones: conditions by function, number or words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from whatfor.axes import Ending, LastStep, Milestone, Observe, check_distinct
from whatfor.labels import ENDINGS, NEVER_ENDS, NO_RECORDED_END, Labels
from whatfor.naming.given import check_keys, objects, one_of
from whatfor.text import normalized

#: Parameters of a condition on the last observation, and of one on the whole last step.
FINAL, WHOLE_STEP = 1, 4
#: The names that endings have without being named, and what they say.
OWN_ENDINGS = dict(
    zip(
        (*ENDINGS, NEVER_ENDS, NO_RECORDED_END),
        (
            "a time limit cut an episode",
            "an episode ended without a name",
            "an episode goes on without end",
            "an episode goes on without a recorded end",
        ),
        strict=True,
    )
)
#: What describes an ending.
ENDING_KEYS = ("when", "action", "reward", "state", "phrase", "bad")

#: (last observation), or (observation, action, reward, last observation), to True or False.
Condition = Callable[..., Any]


@dataclass(frozen=True)
class FunctionEnding(Ending):
    """An ending that is recognised by a function."""

    condition: Condition | None = field(default=None)

    def fits(self, step: LastStep, observe: Observe | None = None) -> bool:
        """Whether the function is true of a last step, and the ending's other conditions hold."""
        if step.final_state is None or observe is None or not super().fits(step, observe):
            return False
        if self.reads_step:
            return step.state is not None and self._is_true(
                observe(step.state), step.action, step.reward, observe(step.final_state)
            )
        return self._is_true(observe(step.final_state))

    def _is_true(self, *arguments: Any) -> bool:
        assert self.condition is not None
        try:
            result = self.condition(*arguments)
            if getattr(result, "size", None) == 1:
                result = result.item()  # of NumPy
        except Exception as error:
            raise ValueError(
                f"the condition of ending {self.name!r} failed for {_listed(arguments)}: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(result, bool):
            raise ValueError(
                f"the condition of ending {self.name!r} returns {result!r} for {_listed(arguments)}; it must return True or False"
            )
        return result

    def recorded(self, steps: Sequence[LastStep], observe: Observe) -> Ending:
        """This ending as data: by those of some last steps that the function is true of."""
        true = [step for step in steps if self.fits(step, observe)]
        if not self.reads_step:
            true = list(dict.fromkeys(LastStep(None, None, None, step.final_state) for step in true))
        given = {one.name: getattr(self, one.name) for one in fields(Ending)}
        return Ending(**{**given, "last_steps": tuple(true)})

    @property
    def conditional(self) -> bool:
        """Always: it has a function."""
        return True

    @property
    def reads_final(self) -> bool:
        """Always: it reads the last observation."""
        return True

    @cached_property
    def reads_step(self) -> bool:
        """Whether the function has parameters for the whole last step."""
        return n_parameters(self.condition) == WHOLE_STEP


def n_parameters(function: Any) -> int | None:
    """How many arguments a condition takes: 1 or 4; None: neither.

    >>> n_parameters(lambda observation: True), n_parameters(lambda a, b: True)
    (1, None)
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in function
        return FINAL
    for n in (FINAL, WHOLE_STEP):
        try:
            signature.bind(*range(n))
            return n
        except TypeError:
            continue
    return None


def revived(labels: Labels, live: Labels) -> Labels:
    """Labels whose endings by function have their functions again, if other labels have them under the same names."""
    functions = {one.name: one for one in live.endings if isinstance(one, FunctionEnding)}
    endings = tuple(one if one.last_steps is None else functions.get(one.name, one) for one in labels.endings)
    return replace(labels, endings=endings)


def without_functions(labels: Labels) -> Labels:
    """The labels without the endings that are recognised by functions."""
    return replace(labels, endings=tuple(one for one in labels.endings if not isinstance(one, FunctionEnding)))


def endings_of(labels: Labels, given: Any) -> tuple[Ending, ...]:
    """Endings from names and conditions.

    >>> won, *_ = endings_of(Labels.plain(3, 1), {"won": lambda state: state == 2})
    >>> won.fits(LastStep(None, 0, 1.0, 2), observe=int), won.fits(LastStep(None, 0, 1.0, 1), observe=int)
    (True, False)
    """
    if isinstance(given, Mapping):
        own = next((name for name in given if normalized(str(name)) in OWN_ENDINGS), None)
        if own is not None:
            raise ValueError(
                f"an ending cannot be called {own!r}: whatfor itself says so where {OWN_ENDINGS[normalized(own)]}. Choose another name"
            )
        check_distinct("the endings", list(given))
        endings = tuple(_ending(labels, name, one) for name, one in given.items())
    elif isinstance(given, Sequence) and all(isinstance(one, Ending) for one in given):
        endings = tuple(given)
    else:
        raise ValueError(
            f'endings is a dictionary from names to conditions, e.g. {{"won": lambda observation: observation == 5}}, not {given!r}'
        )
    for ending in endings:
        if isinstance(ending, FunctionEnding):  # an error in it is better found before training
            first, data = labels.observation(0), LastStep(0, 0, 0.0, 0)
            ending._is_true(*((first, data.action, data.reward, first) if ending.reads_step else (first,)))
    return endings


def _ending(labels: Labels, name: str, given: Any) -> Ending:
    """An ending from a name and what describes it."""
    if isinstance(given, Ending):
        return replace(given, name=name)
    if callable(given):
        given = {"when": given}
    elif isinstance(given, int | float) and not isinstance(given, bool):
        given = {"reward": given}
    if not isinstance(given, Mapping):
        raise ValueError(
            f"the ending {name!r} is {given!r}: give a function of the last observation, the last reward, or a dictionary with {', '.join(ENDING_KEYS)}"
        )
    check_keys(f"the ending {name!r}", given, ENDING_KEYS)
    more: dict[str, Any] = {one: given[one] for one in ("phrase", "bad") if one in given}
    if given.get("action") is not None:
        more["action"] = labels.action(given["action"])
    if given.get("state") is not None:
        more["state"] = labels.index(given["state"])
    if given.get("reward") is not None:
        more["reward"] = float(given["reward"])
    when = given.get("when")
    if when is None:
        return Ending(name, **more)
    if not callable(when) or n_parameters(when) is None:
        raise ValueError(
            f"the condition of ending {name!r} must be a function of the last observation, or of (observation, action, reward, last observation)"
        )
    return FunctionEnding(name, condition=when, **more)


def milestones_of(labels: Labels, given: Any) -> tuple[Milestone, ...]:
    """Milestones from phrases and the values that axes take."""
    if not isinstance(given, Mapping):
        return objects("milestones", given, Milestone, '{"fetch the key": {"key": "carried"}}')
    found = []
    for phrase, what in given.items():
        if not isinstance(what, Mapping) or len(what) != 1:
            raise ValueError(
                f'the milestone {phrase!r} is {what!r}; give the axis and the value that it takes, e.g. {{"key": "carried"}}'
            )
        [(axis, value)] = what.items()
        known = {one.name: one for one in labels.axes}
        if axis in known:
            words = [known[axis].word(at) for at in range(known[axis].size)]
            if str(value) not in words:
                raise ValueError(f"the milestone {phrase!r} is about {axis} {value!r}; it is one of {one_of(words)}")
        found.append(Milestone(axis, str(value), phrase))
    return tuple(found)


def _listed(things: Sequence[Any]) -> str:
    return ", ".join(map(repr, things))
