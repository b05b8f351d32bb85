"""Any map of states and actions, laid out as its world is best seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from whatfor.labels import Labels
from whatfor.layouts.blackjack import blackjack_panels
from whatfor.layouts.cartpole import cartpole_axes, cartpole_panels
from whatfor.layouts.facets import by_axes, facets_here
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Layout
from whatfor.layouts.taxi import taxi_board

Facets = Literal["all", "here"]
#: Worlds with a look of their own, by ``Labels.kind``; all others are laid out by their axes.
KINDS: dict[str, Callable[[Map], Layout]] = {
    "taxi": taxi_board,
    "blackjack": blackjack_panels,
    "cartpole": cartpole_panels,
}


def map_of(
    labels: Labels,
    numbers: ArrayLike,
    *,
    title: str = "",
    caption: str = "",
    quantity: str = "expected visits",
    diverging: bool = False,
    unknown: ArrayLike | None = None,
    state: int | None = None,
    facets: Facets = "all",
) -> Layout:
    """Lay out a number for every state and action.

    Taxi is shown on its board, Blackjack by hand, ace and action, CartPole by pole for every cart; other worlds by the
    axes of their labels. Where actions have no place of their own, they are summed up.

    ``unknown``: (S, A), true where there is no experience; a cell without any is marked, never shown as zero.
    ``diverging``: signed numbers, zero in the middle. ``facets="here"``: of three axes or more, only the grids where
    all but the last two are as in ``state``, by action.

    >>> lake = Labels.from_json({**Labels.plain(1, 2).to_json(), "axes": [
    ...     {"name": name, "size": 2, "values": (), "start": 0, "edges": ()} for name in ("row", "column")]})
    >>> map_of(lake, [[1, 0], [0, 0.5], [0, 0.25], [0, 0]]).numbers
    ((1.0, 0.5), (0.25, 0.0))
    """
    expected = (labels.n_states, labels.n_actions)
    array: Any = np.asarray(numbers, dtype=np.float64)
    mask: Any = None if unknown is None else np.asarray(unknown, dtype=np.bool_)
    for what, given in (("numbers", array), ("unknown", mask)):
        if given is not None and given.shape != expected:
            raise ValueError(f"{what} has shape {given.shape}; a map of these labels has shape {expected}")
    if not np.isfinite(array).all():
        raise ValueError("numbers must be finite; what is not known is said with unknown=")
    shown = Map(labels, array, title, caption, quantity, diverging, mask, state)
    if facets == "here":
        return facets_here(shown, cartpole_axes(labels))
    return KINDS.get(labels.kind, by_axes)(shown)
