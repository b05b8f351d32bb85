"""Limits on the resources that a file or a question may use; environment variables raise them."""

from __future__ import annotations

import os

#: The largest number allowed, by name. ``WHATFOR_MAX_STATES=20000000`` raises the limit on states.
DEFAULTS = {
    "bytes": 8 << 30,  # in the files of one run
    "states": 10_000_000,  # of one environment or run
    "steps": 50_000_000,  # played to answer one question, or allowed in one episode
    "rollouts": 1_000_000,  # played to answer one question
    "search": 500_000,  # steps of fresh episodes on the way to a state, for the rollouts from there
    "seconds": 60,  # for one answer of the live explorer
}
#: The longest an episode or a rollout may get where no time limit applies.
MAX_EPISODE_STEPS = 10_000
#: The most digits that a limit may have. Python itself fails on some thousands.
MAX_DIGITS = 30


class LimitError(ValueError):
    """A number is above its limit, or the limit cannot be parsed; the message names the variable to set."""


def limit(name: str) -> int:
    """The largest number allowed: the environment variable, or the default.

    >>> limit("rollouts")
    1000000
    """
    given = os.environ.get(variable(name))
    if given is None:
        return DEFAULTS[name]
    if not given.isdecimal() or len(given) > MAX_DIGITS or int(given) < 1:
        raise LimitError(
            f"{variable(name)} is {given[:MAX_DIGITS]!r}; set it to a whole number of at least 1, or unset it"
        )
    return int(given)


def check_limit(name: str, number: int, what: str, instead: str = "") -> None:
    """Raise ``LimitError`` if a number is above its limit; ``instead``: what else to do, after a comma.

    >>> check_limit("rollouts", 3_000_000, "this simulation")
    Traceback (most recent call last):
    whatfor.limits.LimitError: this simulation needs 3,000,000 rollouts, and the limit is 1,000,000. To allow it, set WHATFOR_MAX_ROLLOUTS=3000000
    """
    if number > limit(name):
        needed, allowed = (_amount(name, one) for one in (number, limit(name)))
        raise LimitError(
            f"{what} needs {needed}, and the limit is {allowed.removesuffix(f' {name}')}. To allow it, set {variable(name)}={number}{instead}"
        )


def _amount(name: str, number: int) -> str:
    """A number with its unit; bytes as GiB from one on."""
    return f"{number / (1 << 30):,.3g} GiB" if name == "bytes" and number >= 1 << 30 else f"{number:,} {name}"


def variable(name: str) -> str:
    """The environment variable that sets a limit."""
    return f"WHATFOR_MAX_{name.upper()}"
