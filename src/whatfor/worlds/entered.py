"""Check that a function which enters a state of an environment did so, where that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np

from whatfor.labels import Labels
from whatfor.worlds.adapter import Enter
from whatfor.worlds.entering import enter_bins
from whatfor.worlds.gymnasium import keeps_meaning, layers
from whatfor.worlds.known import adapter_of

#: Attributes with more elements than this are not copied in order to see what changed.
MAX_COPIED = 1_000
#: Attributes in which no state is kept.
NO_STATE = ("spec", "observation_space", "action_space", "metadata", "reward_range", "render_mode")


def enter_checked(
    enter: Enter, env: Any, labels: Labels, before: int, state: int, generator: np.random.Generator
) -> None:
    """Enter a state after a reset to ``before``; ``ValueError`` if the environment is seen not to be in it.

    The state is read from a table environment's ``s``, the observation ``state`` of a known environment with bins, or the
    environment's own ``_get_obs``. Elsewhere it is only noticed if no attribute of the environment has changed.
    """
    core = env.unwrapped
    readable = _state_of(env, labels) == before  # else what is read there is something else
    attributes = _attributes(core) if not readable and state != before else None
    try:
        enter(env, state, generator)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"enter= failed for {labels.words(state)!r}: {type(error).__name__}: {error}") from error
    found = _state_of(env, labels) if readable else state
    if found is not None and found != state:
        raise ValueError(
            f"enter= was to put the environment into {labels.words(state)!r}, and it is in {labels.words(found)!r}"
        )
    after = None if attributes is None else _attributes(core)
    if attributes is not None and after is not None:
        new = [name for name in after if name not in attributes and not hasattr(type(core), name)]
        if {name: text for name, text in after.items() if name not in new} == attributes:
            wrote = f", except for the new attribute {new[0]!r}" if new else ""
            raise ValueError(
                f"enter= was to put the environment into {labels.words(state)!r} after a reset to {labels.words(before)!r}, and it changed nothing{wrote}"
            )


def _state_of(env: Any, labels: Labels) -> int | None:
    """The state that an environment is in; None: it cannot be read."""
    core, known = env.unwrapped, adapter_of(env.unwrapped)
    if labels.observed == "bins":
        if known is None or known.enter is not enter_bins:
            return None
        return int(labels.indices(np.asarray(core.state, np.float64)[None].astype(np.float32))[0])
    if not keeps_meaning(layers(env)):
        return None
    held = getattr(core, "s", None)
    if len(getattr(core, "P", ())) == labels.n_states and isinstance(held, int | np.integer):
        return int(held)
    observe = getattr(core, "_get_obs", None)
    try:
        return None if observe is None else labels.index(observe())
    except Exception:  # third-party code, which may need arguments
        return None


def _attributes(core: Any) -> dict[str, str] | None:
    """The attributes of an environment, written out; None: one of them cannot be."""
    found = {}
    for name, value in vars(core).items():
        if name in NO_STATE or isinstance(value, np.random.Generator):
            continue
        if not _is_plain(value):
            return None
        found[name] = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return found


def _is_plain(value: Any) -> bool:
    """Whether a value is a number, a text, or a small array or collection of these."""
    if isinstance(value, np.ndarray):
        return value.size <= MAX_COPIED and value.dtype.kind in "biuf"
    if isinstance(value, list | tuple | set | frozenset):
        return len(value) <= MAX_COPIED and all(_is_plain(one) for one in value)
    if isinstance(value, dict):
        return len(value) <= MAX_COPIED and all(_is_plain(one) for pair in value.items() for one in pair)
    return value is None or isinstance(value, bool | int | float | str | np.number | np.bool_)
