"""Blackjack by the player's sum, the dealer's card, the ace and the action."""

from __future__ import annotations

import numpy as np

from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Grid, Panels

#: The sums that hands without and with a usable ace can have; the highest on top, as on an axis that points upwards.
SUMS = (range(21, 3, -1), range(21, 11, -1))
CARDS = range(1, 11)


def blackjack_panels(shown: Map) -> Panels:
    """Two by two: actions across, aces down. Observations that no hand can have are left out."""
    labels = shown.labels
    return Panels(
        shown.title,
        shown.caption,
        tuple(_hands(shown, ace, action) for ace in range(2) for action in range(labels.n_actions)),
        columns=labels.n_actions,
        column_heads=labels.actions,
        row_heads=labels.axes[2].values,
    )


def _hands(shown: Map, ace: int, action: int) -> Grid:
    labels, sums, cards = shown.labels, SUMS[ace], CARDS
    hands = np.ix_(sums, cards)
    unknown = None if shown.unknown_states is None else shown.unknown_states[:, :, ace][hands]
    marked = None
    if shown.at is not None and shown.at[2] == ace and shown.at[0] in sums and shown.at[1] in cards:
        marked = (sums.index(shown.at[0]), cards.index(shown.at[1]))
    return shown.grid(
        shown.by_pair[:, :, ace, action][hands],
        ("player's sum", tuple(str(total) for total in sums)),
        ("dealer's card", ("A", *(str(card) for card in cards[1:]))),
        title=f"{labels.actions[action]}, {labels.axes[2].word(ace)}",
        unknown=unknown,
        marked=marked,
    )
