"""The terms of a reward that an environment reports in ``info``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whatfor.checks import number
from whatfor.ledger.parts import REST, check_part_names, scaled_reward
from whatfor.text import check_plain, shortened

#: Names of parts, or a dictionary from names to the keys of ``info``.
RewardParts = Mapping[str, str] | Iterable[str]
#: The most keys that a message lists.
MAX_LISTED = 12


@dataclass(frozen=True)
class RewardTerms:
    """Where ``info`` has the parts of the reward, and with which factors they are paid.

    A key may be a path: ``"reward_terms/shaping"`` is ``info["reward_terms"]["shaping"]``.

    >>> terms = RewardTerms.named(["shaping", "costs/energy"])
    >>> terms.parts_in({"shaping": 0.5, "costs": {"energy": -1}})
    {'shaping': 0.5, 'energy': -1.0}
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def named(cls, given: RewardParts | None) -> RewardTerms:
        """The terms of the argument ``reward_parts``; a key in a list names its part by its last component."""
        if given is None:
            return cls()
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"reward_parts is a list of keys of info, e.g. reward_parts=[{shortened(repr(given))}], or a dictionary "
                'from names to keys, e.g. reward_parts={"shaping": "reward_terms/shaping"}'
            )
        pairs = list(given.items()) if isinstance(given, Mapping) else [(_last(key), key) for key in given]
        for _, key in pairs:
            check_plain("the key of a part of the reward in info", key)
        names = check_part_names(name for name, _ in pairs)
        if not names:
            raise ValueError("reward_parts is empty: name at least one key of info, or leave it out")
        return cls(dict(zip(names, (key for _, key in pairs), strict=True)))

    @classmethod
    def scaled(cls, keys: Mapping[str, str] | None, factors: Mapping[str, float]) -> RewardTerms:
        """Terms with factors; ``keys``: those of a run's settings, None for a custom training loop."""
        if keys is None:
            raise ValueError(
                "the parts of these rewards were recorded by a custom training loop, so a run with other factors on them cannot be "
                "played: ask the original run"
            )
        return replace(cls.named(keys), factors=factors)

    def parts_in(self, info: Any) -> dict[str, float]:
        """The parts of one step, by name; ``ValueError`` if one is missing or is not a finite number."""
        return {name: self._part(info, name, key) for name, key in self.keys.items()}

    def paid(self, reward: float, parts: Mapping[str, float]) -> float:
        """The reward with the factors on its parts."""
        if not self.factors:
            return reward
        return float(scaled_reward(reward, {**parts, REST: reward - sum(parts.values())}, self.factors))

    def _part(self, info: Any, name: str, key: str) -> float:
        found = info
        for piece in (key,) if isinstance(info, Mapping) and key in info else key.split("/"):
            if not isinstance(found, Mapping) or piece not in found:
                raise ValueError(_missing(info, name, key))
            found = found[piece]
        if isinstance(found, Mapping):
            entries = ", ".join(repr(f"{key}/{entry}") for entry in list(found)[:MAX_LISTED])
            raise ValueError(
                f"info[{key!r}] is a dictionary: name its entries as parts of the reward ({entries or 'it is empty'})"
            )
        if isinstance(found, np.ndarray) and found.shape == ():
            found = found.item()
        return number(f"part {name!r} of the reward, info[{key!r}],", found)


def _last(key: Any) -> Any:
    """The last component of a key."""
    return key.rpartition("/")[2] if isinstance(key, str) else key


def _missing(info: Any, name: str, key: str) -> str:
    """Says that a step does not report a part."""
    keys = [repr(one) for one in info] if isinstance(info, Mapping) else []
    listed = ", ".join(keys[:MAX_LISTED]) + (", ..." if len(keys) > MAX_LISTED else "")
    return (
        f"the environment's info has no {key!r} in this step, which is part {name!r} of the reward; it has "
        f"{listed or 'no entries'}. Report every part in every step, as 0.0 where it was not paid"
    )
