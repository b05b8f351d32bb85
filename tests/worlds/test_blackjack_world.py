"""Blackjack's table against an independent exact count and against Gymnasium's game."""

from collections import Counter
from fractions import Fraction

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import chi2

import whatfor as wf
from whatfor.worlds.blackjack import dealer_finish, stick_chances

STICK, HIT = 0, 1
DECK = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]


@pytest.fixture(scope="module")
def world():
    return wf.worlds.blackjack()


@pytest.fixture(scope="module")
def game():
    return gym.make("Blackjack-v1", natural=False, sab=False)


def best_sum(total, aces):
    return total + 10 if aces and total + 10 <= 21 else total


def dealt_out(card):
    """Chance of each final sum of a dealer who shows ``card``: whole hands, counted in fractions (0: bust)."""
    hands = {(card, card == 1, 1): Fraction(1)}
    done = Counter()
    while hands:
        (total, aces, held), chance = hands.popitem()
        if held > 1 and best_sum(total, aces) >= 17:
            done[best_sum(total, aces) if total <= 21 else 0] += chance
            continue
        for drawn in DECK:
            hand = (total + drawn, aces or drawn == 1, min(held + 1, 2))
            hands[hand] = hands.get(hand, Fraction(0)) + chance / 13
    return done


@pytest.mark.parametrize("card", range(1, 11))
def test_sticking_pays_by_the_exact_chances_of_the_dealer(card):
    final = dealt_out(card)
    assert sum(final.values()) == 1
    for player in range(4, 22):
        won = sum(chance for total, chance in final.items() if total < player)
        chances = stick_chances(player, card)
        assert chances[1.0] == pytest.approx(float(won), abs=1e-14)
        assert chances[0.0] == pytest.approx(float(final[player]), abs=1e-14)
        assert sum(chances.values()) == pytest.approx(1.0, abs=1e-14)


def test_a_dealer_at_sixteen_goes_bust_with_eight_cards_of_thirteen():
    finish = dealer_finish(16, False)
    assert finish[0] == pytest.approx(8 / 13, abs=1e-15)
    assert [finish[total] for total in range(17, 22)] == pytest.approx([1 / 13] * 5, abs=1e-15)
    assert dealer_finish(17, True) == {17: 1.0}, "he sticks at a soft 17"


def entries(world, state, action):
    """The transitions of a pair: {(next state, reward, ended): chance}."""
    table, pair = world.table, 2 * state + action
    here = slice(*table.first[pair : pair + 2])
    chances = np.diff(table.chance[here], prepend=0.0)
    found = Counter()
    rows = zip(table.next_state[here], table.reward[here], table.ending[here] != 0, chances, strict=True)
    for to, reward, ended, chance in rows:
        found[int(to), float(reward), bool(ended)] += chance
    return found


def too_far(counts, chances, n):
    """Chi-square: the chance of counts at least this far off. Cells expected less than 5 times are counted as one."""
    assert set(counts) <= set(chances), "something happened that has no chance"
    large = [key for key in chances if n * chances[key] >= 5]
    expected = [n * chances[key] for key in large]
    seen = [counts[key] for key in large]
    if n - sum(expected) > 1e-6:
        expected.append(n - sum(expected))
        seen.append(n - sum(seen))
    statistic = sum((s - e) ** 2 / e for s, e in zip(seen, expected, strict=True))
    return chi2.sf(statistic, len(expected) - 1)


HANDS = {
    (20, 0): [10, 10],
    (12, 0): [10, 2],
    (16, 0): [9, 7],
    (5, 0): [2, 3],
    (13, 1): [1, 2],
    (18, 1): [1, 7],
    (21, 1): [1, 10],
}


@pytest.mark.parametrize("action", [STICK, HIT])
@pytest.mark.parametrize("hand", HANDS)
def test_transitions_have_the_frequencies_of_gymnasium(world, game, hand, action):
    """2,000 draws of Gymnasium's game each. Error rate: 1e-4 per test on other seeds, 14 tests."""
    core, n, card = game.unwrapped, 2_000, 7 if hand[0] % 2 else 1
    core.reset(seed=100 * hand[0] + action)
    state = world.labels.index((hand[0], card, hand[1]))
    counts = Counter()
    for _ in range(n):
        core.player, core.dealer = list(HANDS[hand]), [card, int(core.np_random.choice(DECK))]
        seen, reward, ended, _, _ = core.step(action)
        counts[world.labels.index(seen), float(reward), ended] += 1
    assert too_far(counts, entries(world, state, action), n) > 1e-4


def test_hands_are_dealt_as_gymnasium_deals_them(world, game):
    """20,000 deals. Error rate: 1e-4 on another seed."""
    n = 20_000
    game.reset(seed=0)
    counts = Counter(world.labels.index(game.reset()[0]) for _ in range(n))
    chances = np.diff(world.table.start, prepend=0.0)
    assert too_far(counts, {s: p for s, p in enumerate(chances.tolist()) if p > 0}, n) > 1e-4


def test_the_test_of_deals_detects_a_wrong_deck(world):
    """The test above can fail: it detects a deck without its last ten."""
    n, dice, deck = 20_000, np.random.default_rng(0), np.array(DECK[:-1])
    cards = dice.choice(deck, size=(n, 3))
    counts = Counter()
    for one, two, dealer in cards.tolist():
        total, ace = one + two, 1 in (one, two)
        counts[world.labels.index((best_sum(total, ace), dealer, int(best_sum(total, ace) > total)))] += 1
    chances = np.diff(world.table.start, prepend=0.0)
    assert too_far(counts, {s: p for s, p in enumerate(chances.tolist()) if p > 0}, n) < 1e-6


@pytest.mark.parametrize("place", ["world", "game"])
def test_four_endings_add_no_states(place, request):
    """Keyed by action and reward: no extra states or transitions, and values stay (704, 2)."""
    run = wf.train(request.getfixturevalue(place), wf.QLearning(exploration=1.0), episodes=1_500, seed=0)
    assert run.engine == "compiled"
    names = {(STICK, 1.0): "won", (STICK, 0.0): "drew", (STICK, -1.0): "lost", (HIT, -1.0): "bust"}
    ended = [update for update in run.ledger if update.next_state is None]
    assert {update.ending for update in ended} == set(names.values())
    assert all(update.ending == names[update.action, update.reward] for update in ended)
    assert len(ended) == 1_500
    assert run.values.shape == (704, 2)
    assert all(update.ending is None for update in run.ledger if update.next_state is not None)


def test_the_python_engine_names_the_same_endings(game):
    run = wf.train(game, wf.QLearning(exploration=1.0), episodes=300, seed=0, engine="python")
    ends = {(update.action, update.reward, update.ending) for update in run.ledger if update.ending}
    assert ends == {(STICK, 1.0, "won"), (STICK, 0.0, "drew"), (STICK, -1.0, "lost"), (HIT, -1.0, "bust")}
