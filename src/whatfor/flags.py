"""Parse the values of command-line flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
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
    """Parse an option of an environment: its name, and its value as JSON, a word of Python's, or else as text.

    >>> option_in("map_name=8x8"), option_in("is_slippery=FALSE"), option_in("desc=None"), option_in("size=[3, 4]")
    (('map_name', '8x8'), ('is_slippery', False), ('desc', None), ('size', [3, 4]))
    """
    import json

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"--option takes name=value, not {text!r}")
    words: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None}
    if value.lower() in words:
        return name, words[value.lower()]
    try:
        return name, json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        return name, value


def environment_in(id: str, options: Sequence[str]) -> Any:
    """Create a Gymnasium environment; an error becomes one line that says which options it takes."""
    from whatfor.training.places import ARGUMENTS_OF_MAKE, module_of
    from whatfor.worlds.making import NoEnvironment, make_env, options_of

    given = dict(option_in(text) for text in options)
    if wrong := sorted(ARGUMENTS_OF_MAKE & given.keys()):
        instead = "add --max-steps instead" if wrong[0] == "max_episode_steps" else "leave it out"
        raise ValueError(f"--option {wrong[0]} is not an option of an environment: {instead}")
    if module := module_of(id).get("module"):
        import_module("the environment's module", module)
    try:
        env = make_env(id, given)
    except NoEnvironment:
        raise
    except Exception as error:
        flags = " with" + "".join(f" --option {text}" for text in options) if options else ""
        takes = options_of(id)
        if options and takes is not None:
            first = next((name for name in given if name not in takes), None)
            close = get_close_matches(first or "", takes, n=1, cutoff=0.5)
            listed = ", ".join(f"{name}={value}" for name, value in takes.items()) or "none"
            meant = f". Did you mean {close[0]!r}?" if close else ""
            if first:
                raise ValueError(f"{id} has no option {first!r}; its options are {listed}{meant}") from error
            flags += f" (its options are {listed})"
        raise ValueError(f"{id} cannot be created{flags}: {type(error).__name__}: {error}") from error
    _check_options(env.unwrapped, given)
    return env


def _check_options(core: Any, given: dict[str, Any]) -> None:
    """Raise ``ValueError`` for an option of another kind than its default: any text counts as true in an environment."""
    import inspect

    known = inspect.signature(type(core).__init__).parameters
    for name, value in given.items():
        default = known[name].default if name in known else None
        wrong = not isinstance(value, bool) if isinstance(default, bool) else isinstance(value, str)
        if isinstance(default, bool | int | float) and wrong:
            expected = "true or false" if isinstance(default, bool) else f"a number, such as {default}"
            raise ValueError(f"--option {name} takes {expected}, not {value!r}")


def concepts_in(text: str) -> Any:
    """Import the concepts and endings of a deep agent's run from ``module:NAME``; the current folder is searched too."""
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"--cells takes module:NAME, a dictionary of concepts and endings, not {text!r}")
    return _member("--cells", module, name)


def environment_of(text: str) -> Any:
    """Import the module of an environment; for ``module:NAME``, the environment that this class or function creates, else None."""
    module, colon, name = text.partition(":")
    if not colon:
        import_module("--module", module)
        return None
    found = _member("--module", module, name)
    try:
        return found() if callable(found) else found
    except Exception as error:  # third-party code
        raise ValueError(f"--module {text} cannot create an environment: {type(error).__name__}: {error}") from error


def _member(flag: str, module: str, name: str) -> Any:
    """What a module calls so."""
    try:
        return getattr(import_module(flag, module), name)
    except AttributeError:
        raise ValueError(f"{flag} {module}:{name}: the module {module!r} has no {name!r}") from None


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
