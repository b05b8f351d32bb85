"""Blackjack by the paper's rules, as an exact table.

The deck is infinite, so the future of an observation does not depend on the past, and the dealer's hidden play can be
summed out: *stick* wins, draws or loses with known probabilities.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.axes import Axis, Ending
from whatfor.labels import Labels
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Grid, Panels
from whatfor.worlds.adapter import Adapter, Enter, Look, NoTwin, Places, cells_of
from whatfor.worlds.table import table
from whatfor.worlds.world import World

STICK, HIT = 0, 1
CARDS = {
    card: (4 if card == 10 else 1) / 13 for card in range(1, 11)
}  # ace to ten; ten, jack, queen and king count ten
SUMS, DEALER, ACE = 32, 11, 2  # the sizes of Gymnasium's observation

LABELS = Labels(
    axes=(
        Axis("player", SUMS),
        Axis("dealer", DEALER, ("nothing", "ace", *(str(card) for card in range(2, 11)))),
        Axis("ace", ACE, ("no usable ace", "usable ace")),
    ),
    actions=("stick", "hit"),
    template="player {player}, dealer {dealer}, {ace}",
    endings=(
        Ending("bust", HIT, -1.0, "bust", bad=True),
        Ending("won", STICK, 1.0, "win"),
        Ending("drew", STICK, 0.0, "draw"),
        Ending("lost", STICK, -1.0, "lose", bad=True),
    ),
    kind="blackjack",
    observed="tuple",
    verbs=("sticks", "hits"),
)


def with_card(total: int, ace: bool, card: int) -> tuple[int, bool]:
    """A hand's sum, and whether it holds an ace that counts eleven, after one more card.

    >>> with_card(13, True, 10), with_card(6, False, 1)
    ((13, False), (17, True))
    """
    hard = total - 10 * ace + card
    has_ace = ace or card == 1
    usable = has_ace and hard + 10 <= 21
    return hard + 10 * usable, usable


@cache
def dealer_finish(total: int, ace: bool) -> dict[int, float]:
    """The probability of each final sum of a dealer who draws below 17; 0: bust."""
    if total > 21:
        return {0: 1.0}
    if total >= 17:
        return {total: 1.0}
    chances: dict[int, float] = {}
    for card, chance in CARDS.items():
        for final, more in dealer_finish(*with_card(total, ace, card)).items():
            chances[final] = chances.get(final, 0.0) + chance * more
    return chances


def stick_chances(player: int, dealer: int) -> dict[float, float]:
    """The probability of each reward for sticking.

    >>> {reward: round(chance, 3) for reward, chance in stick_chances(20, 10).items()}
    {1.0: 0.546, 0.0: 0.342, -1.0: 0.111}
    """
    shown = with_card(0, False, dealer)
    score = player if player <= 21 else 0
    chances = {1.0: 0.0, 0.0: 0.0, -1.0: 0.0}
    for card, chance in CARDS.items():
        # The second card is dealt before the dealer decides, so it is always drawn.
        for final, more in dealer_finish(*with_card(*shown, card)).items():
            chances[float(np.sign(score - final))] += chance * more
    return chances


def blackjack() -> World:
    """Blackjack as ``Blackjack-v1`` with ``natural=False, sab=False``: hit or stick, no extra reward for a natural.

    >>> blackjack()
    World(blackjack, 704 states, 2 actions)
    """
    transitions: list[list[list[tuple[float, int, float, bool]]]] = []
    for state in range(LABELS.n_states):
        player, dealer, ace = LABELS.values(state)
        if not _possible(player, dealer, bool(ace)):
            transitions.append([[(1.0, state, 0.0, True)]] * 2)  # impossible: ends at once with reward 0
            continue
        stick = [(chance, state, reward, True) for reward, chance in stick_chances(player, dealer).items() if chance]
        hit = []
        for card, chance in CARDS.items():
            total, usable = with_card(player, bool(ace), card)
            bust = total > 21
            hit.append((chance, LABELS.index((total, dealer, int(usable))), -1.0 if bust else 0.0, bust))
        transitions.append([stick, hit])
    world = table(transitions, start=_deal(), labels=LABELS)
    return World(world.labels, world.arrays, recipe={"kind": "blackjack"})


def _possible(player: int, dealer: int, ace: bool) -> bool:
    return (12 if ace else 4) <= player <= 21 and dealer >= 1


def _deal() -> NDArray[np.float64]:
    """The probability of each first observation."""
    start = np.zeros(LABELS.n_states)
    for one, p in CARDS.items():
        for two, q in CARDS.items():
            total, usable = with_card(*with_card(0, False, one), two)
            for dealer, r in CARDS.items():
                start[LABELS.index((total, dealer, int(usable)))] += p * q * r
    start /= start.sum()
    return start


def twin(core: Any, labels: Labels, limit: int | None) -> World:
    """The paper's game; with other rules, rewards depend on hidden cards."""
    if core.natural or core.sab:
        raise NoTwin(
            "by sab=True or natural=True, rewards depend on cards that the observation does not show; "
            "with sab=False, it has a compiled version"
        )
    world = blackjack()
    return World(world.labels, world.arrays, limit, world.recipe)


def enter(core: Any, labels: Labels) -> Enter | None:
    """Deals hands with the sums of an observation; by the paper's rules all such hands are equivalent."""
    if core.natural or core.sab:
        return None

    def deal(env: Any, state: int, generator: np.random.Generator) -> None:
        total, shown, ace = labels.observation(state)
        hard = total - 10 * ace
        hand = [1, hard - 1] if ace else [min(10, hard - 2), hard - min(10, hard - 2)]
        cards = [*range(1, 10), 10, 10, 10, 10]
        env.unwrapped.player = hand
        env.unwrapped.dealer = [shown, cards[int(generator.integers(len(cards)))]]

    return deal


#: The possible sums of hands without and with a usable ace; the highest first, at the top of the grid.
HAND_SUMS = (range(21, 3, -1), range(21, 11, -1))
HAND_CARDS = range(1, 11)


def panels(shown: Map) -> Panels:
    """Two by two grids: a column for each action, a row without and one with a usable ace. Impossible hands are left out."""
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
    labels, sums, cards = shown.labels, HAND_SUMS[ace], HAND_CARDS
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


def places(labels: Labels, _: int) -> Places:
    """The hands of each grid."""
    states = np.arange(labels.n_states).reshape(labels.shape)
    hands = [cells_of(states[:, :, ace][np.ix_(HAND_SUMS[ace], HAND_CARDS)]) for ace in range(2)]
    return tuple(cells for cells in hands for _ in labels.actions)


ADAPTER = Adapter(
    "BlackjackEnv",
    LABELS.actions,
    labels=lambda _: LABELS,
    twin=twin,
    enter=enter,
    kind=LABELS.kind,
    look=Look({axis.name: axis.size for axis in LABELS.axes}, panels, places),
)
