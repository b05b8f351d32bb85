"""Conversion to JSON-compatible data: what is read by others has null for NaN and infinity, what is loaded again has their names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def jsonable(thing: Any) -> Any:
    """Convert to JSON-compatible data, without NaN, infinity, tuples or NumPy numbers.

    >>> jsonable({"a": (1.0, math.inf), "b": [np.float64("nan"), np.bool_(True)]})
    {'a': [1.0, None], 'b': [None, True]}
    """
    if thing is None or type(thing) in (str, int, bool):
        return thing
    if type(thing) is float:
        return thing if math.isfinite(thing) else None
    if isinstance(thing, Mapping):
        return {str(name): jsonable(one) for name, one in thing.items()}
    if isinstance(thing, list | tuple):
        return [jsonable(one) for one in thing]
    if isinstance(thing, np.generic):
        thing = thing.item()
    return jsonable(float(thing)) if isinstance(thing, float | np.floating) else thing


def loadable(number: float | None) -> Any:
    """A number of a document that is loaded again, by ``float``: NaN and infinity become strings, so that none is lost.

    >>> loadable(0.5), loadable(-math.inf), loadable(None)
    (0.5, '-inf', None)
    """
    return number if number is None or math.isfinite(number) else repr(float(number))
