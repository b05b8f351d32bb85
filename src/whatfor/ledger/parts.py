"""Parts of the reward: the terms that a reward was summed from, recorded with every update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import number
from whatfor.text import check_plain, shortened

if TYPE_CHECKING:
    from whatfor.ledger.reader import Columns

#: What is left of the reward besides its parts.
REST = "rest"
MAX_PARTS = 100


def check_part_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of parts: distinct, plain text, and none of them "rest".

    >>> check_part_names(["shaping", "rest"])
    Traceback (most recent call last):
    ValueError: a part cannot be called 'rest', which is what is left of the reward besides its parts: choose another name
    """
    checked: list[str] = []
    for name in names:
        check_plain("the name of a part of the reward", name)
        if name == REST:
            raise ValueError(
                "a part cannot be called 'rest', which is what is left of the reward besides its parts: choose another name"
            )
        if not name.strip() or name in checked:
            wrong = "twice" if name in checked else "empty"
            raise ValueError(f"parts of the reward need distinct names; {name!r} is {wrong}")
        checked.append(name)
    if len(checked) > MAX_PARTS:
        raise ValueError(f"{len(checked)} parts of the reward were named; the limit is {MAX_PARTS}")
    return tuple(checked)


def part_row(names: tuple[str, ...], reward: float, parts: Mapping[str, Any] | None) -> list[float]:
    """The parts of one reward in the order of their names; ``ValueError`` unless exactly these are given, as finite numbers.

    >>> part_row(("shaping", "energy"), 1.0, {"energy": -0.5, "shaping": 0.25})
    [0.25, -0.5]
    """
    if parts is None:
        raise ValueError(
            f"this ledger records parts of the reward ({_listed(names)}): pass parts= with every update "
            "(a learner gets them as step.parts). Nothing was recorded"
        )
    if not isinstance(parts, Mapping):
        raise ValueError(
            f'parts must be a dictionary of names and numbers, e.g. parts={{"shaping": -0.1}}, not {shortened(repr(parts))}. '
            "Nothing was recorded"
        )
    if len(parts) != len(names) or not all(name in parts for name in names):
        raise ValueError(
            f"every update of this ledger has the parts {_listed(names)}; this one has {_listed(parts)}. Pass 0.0 for a part "
            "that was not paid. Nothing was recorded"
        )
    row = [parts[name] for name in names]
    if not all(type(part) is float and isfinite(part) for part in row):
        row = [number(f"part {name!r} of the reward", part) for name, part in zip(names, row, strict=True)]
    if not isfinite(reward - sum(row)):
        raise ValueError(f"the parts of the reward are too large: {shortened(repr(dict(parts)))}. Nothing was recorded")
    return row


def reward_parts(ledger: Columns) -> dict[str, NDArray[np.float64]]:
    """(n,) by name: every recorded part of each update's reward, and the rest; they sum to the rewards. Empty without parts.

    >>> from whatfor.ledger import Ledger
    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9, parts={"shaping": -0.5})
    >>> {name: amounts.tolist() for name, amounts in reward_parts(ledger).items()}
    {'shaping': [-0.5], 'rest': [1.5]}
    """
    if not ledger.parts:
        return {}
    columns = ledger.part_columns
    amounts = dict(zip(ledger.parts, columns.T, strict=True))
    return amounts | {REST: ledger.lines.reward - columns.sum(axis=1)}


def scaled_reward(reward: Any, parts: Mapping[str, Any], factors: Mapping[str, float]) -> Any:
    """A reward, or many, with factors on some of its parts, or on the rest.

    >>> scaled_reward(1.0, {"shaping": -0.5, "rest": 1.5}, {"shaping": 0.0})
    1.5
    """
    return reward + sum((factor - 1.0) * parts[name] for name, factor in factors.items())


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(repr(name) for name in names) or "none"
