"""What parts of the reward contributed to each reward behind a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.futures import Payments
from whatfor.kernels.recursion import TERMINATED, ending_place
from whatfor.labels import Labels
from whatfor.text import amount, either

#: With more distinct rewards than this, the caller has to pass the parts.
MAX_REWARDS = 12
_BY_FUNCTION = 'name the parts: parts={"name": lambda state, action, reward: ..., ...}'
_BY_TERMS = "or train with reward_parts=, the terms of the reward in info"
FUNCTIONS_IN_PYTHON = f"{_BY_FUNCTION}; {_BY_TERMS}"
PARTS_IN_SHELL = "train with --reward-part name=key, for each term of the reward that the environment reports in info"
#: A number for each update, or a function of (state, action, reward).
Part = ArrayLike | Callable[[int, int, float], float]


def default_parts(paid: Payments) -> dict[str, NDArray[np.float64]]:
    """The recorded terms of the rewards and the rest; else one part for each distinct reward, or where there are many, for each ending."""
    if paid.terms is not None:
        return paid.terms
    if len(paid.rewards) > MAX_REWARDS:
        return _parts_by_ending(paid)
    return {name: np.where(paid.reward == each, each, 0.0) for name, each in by_reward(paid.rewards).items()}


def _parts_by_ending(paid: Payments) -> dict[str, NDArray[np.float64]]:
    """What each ending pays, and what is paid on the way: gains and costs."""
    ended = paid.ending <= TERMINATED
    masks = {"gains on the way": ~ended & (paid.reward > 0.0), "costs on the way": ~ended & (paid.reward < 0.0)}
    for place in range(ending_place(TERMINATED), len(paid.endings)):
        name = "the end" if place == ending_place(TERMINATED) else repr(paid.endings[place])
        masks[f"reward at {name}"] = ended & (paid.ending == ending_place(place))
    return {name: np.where(mask, paid.reward, 0.0) for name, mask in masks.items() if mask.any()}


def by_reward(rewards: NDArray[np.float64]) -> dict[str, float]:
    """The distinct rewards other than 0, by the name of their part.

    >>> by_reward(np.array([-1.0, 0.0, 20.0]))
    {'reward -1': -1.0, 'reward +20': 20.0}
    """
    if len(rewards) > MAX_REWARDS:
        raise ValueError(f"there are {len(rewards):,} different rewards; {either(FUNCTIONS_IN_PYTHON, PARTS_IN_SHELL)}")
    paid = [float(reward) for reward in rewards if reward]
    names = [f"reward {amount(reward, signed=True)}" for reward in paid]
    if len({*names}) < len(names):  # four digits do not tell them apart
        names = [f"reward {reward:+}" for reward in paid]
    return dict(zip(names, paid, strict=True))


def amounts_of(name: str, part: Part, paid: Payments, labels: Labels) -> NDArray[np.float64]:
    """What a part contributed to each reward."""
    if callable(part):
        return amounts_by_function(f"part {name!r}", part, paid.pair, paid.reward, labels.n_actions)
    if paid.update is None:
        raise ValueError(
            f"part {name!r} is {type(part).__name__}, and there are no updates that it could have a number for: "
            "give a function of (state, action, reward)"
        )
    try:
        amounts = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"part {name!r} is {type(part).__name__}: give an array with a number for each update, "
            "or a function of (state, action, reward)"
        ) from None
    if amounts.shape != (paid.n_updates,):
        raise ValueError(
            f"parts[{name!r}] has shape {amounts.shape}; it must have shape (n_updates,) = ({paid.n_updates},)"
        )
    if not np.isfinite(amounts).all():
        where = int(np.flatnonzero(~np.isfinite(amounts))[0])
        raise ValueError(f"part {name!r} is {amounts[where]} at update {where}; parts are finite numbers")
    return amounts[paid.update]


def amounts_by_function(
    name: str,
    part: Callable[[int, int, float], float],
    pairs: NDArray[np.integer[Any]],
    rewards: NDArray[np.float64],
    n_actions: int,
) -> NDArray[np.float64]:
    """The amounts that a function returns, called once for each distinct (state, action, reward)."""
    paid, which = np.unique(rewards, return_inverse=True)
    keys, back = np.unique(pairs.astype(np.int64) * max(1, len(paid)) + which, return_inverse=True)
    amounts = np.empty(len(keys))
    for i, key in enumerate(keys.tolist()):
        pair, reward = divmod(key, len(paid))
        state, action = divmod(pair, n_actions)
        result = part(state, action, float(paid[reward]))
        if not isinstance(result, (int, float, np.number)) or not np.isfinite(result):
            raise ValueError(
                f"{name} returned {result!r} for {(state, action, float(paid[reward]))}; it must be a finite number"
            )
        amounts[i] = result
    return amounts[back]
