"""Parse the values of command-line flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def step_size_in(text: str) -> Any:
    """Parse --step-size."""
    from whatfor.learners import visit_count

    return visit_count() if text == "visit-count" else _number("--step-size", text, 'a number or "visit-count"')


def exploration_in(text: str) -> Any:
    """Parse --exploration: a number or a schedule."""
    from whatfor.learners import exponential, linear

    found = re.fullmatch(r"\s*(linear|exponential)\s*\(([^()]*)\)\s*", text)
    if not found:
        return _number(
            "--exploration", text, 'a number, "linear(start, end, episodes)" or "exponential(start, end, decay)"'
        )
    parts = [_number("--exploration", part, "three numbers in the brackets") for part in found[2].split(",")]
    if len(parts) != 3:
        raise ValueError(f'--exploration {text!r}: write e.g. "linear(1, 0.1, 250)" or "exponential(1, 0.05, 0.9999)"')
    if found[1] == "linear":
        if not parts[2].is_integer():  # infinite and NaN are not
            raise ValueError(f"--exploration {text!r}: the number of episodes, {parts[2]:g}, must be a whole number")
        return linear(parts[0], parts[1], episodes=int(parts[2]))
    return exponential(parts[0], parts[1], decay=parts[2])


def _number(flag: str, text: str, expected: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{flag} takes {expected}, not {text!r}") from None


def reward_parts_in(texts: Sequence[str]) -> dict[str, str] | None:
    """Parse --reward-part, given once for each part: name=key, or a key, which names its part by its last component.

    >>> reward_parts_in(["costs/energy", "shaping=reward_terms/shaping"])
    {'energy': 'costs/energy', 'shaping': 'reward_terms/shaping'}
    """
    pairs: list[tuple[str, str]] = []
    for text in texts:
        name, equals, key = text.partition("=")
        name, key = (name, key) if equals else (name.rpartition("/")[2], name)
        if not name or not key:
            raise ValueError(f"--reward-part takes name=key, the name of a part and its key in info, not {text!r}")
        if name in dict(pairs):
            raise ValueError(f"--reward-part names {name!r} twice: give each part another name, as name=key")
        pairs.append((name, key))
    return dict(pairs) or None


def option_in(text: str) -> tuple[str, Any]:
    """Parse an option of an environment: its name, and its value as JSON or else as text."""
    import json

    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option takes name=value, not {text!r}")
    try:
        return name, json.loads(value.lower() if value in ("True", "False", "None") else value)
    except (json.JSONDecodeError, RecursionError):
        return name, value


def environment_in(id: str, options: Sequence[str]) -> Any:
    """Create a Gymnasium environment; an error becomes one line."""
    from whatfor.worlds.making import make_env

    given = dict(option_in(text) for text in options)
    try:
        return make_env(id, given)
    except Exception as error:
        flags = " with" + "".join(f" --option {text}" for text in options) if options else ""
        raise ValueError(f"{id} cannot be created{flags}: {type(error).__name__}: {error}") from error


def concepts_in(text: str) -> Any:
    """Import the concepts and endings of a deep run from ``module:NAME``; the current folder is searched too."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"--cells takes module:NAME, a dictionary of concepts and endings, not {text!r}")
    try:
        return getattr(import_module("--cells", module), name)
    except AttributeError:
        raise ValueError(f"--cells {text}: the module {module!r} has no {name!r}") from None


def import_module(flag: str, module: str) -> Any:
    """Import a module that a flag names; the current folder is searched too."""
    import importlib
    import os
    import sys

    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{flag} {module}: there is no module {error.name!r}; run the command in its folder, or install it"
        ) from None
    finally:
        sys.path.pop(0)
