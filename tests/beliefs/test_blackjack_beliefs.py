"""Blackjack's beliefs against a recursion over cards: exact ones up to rounding, learned ones within their error."""

import blackjack_oracle
import numpy as np
import pytest

import whatfor as wf

HANDS = [(10, 7, 0), (17, 9, 0), (20, 1, 0), (13, 10, 1), (21, 6, 1), (4, 2, 0)]
ASKED = [(10, 7, 0), (17, 9, 0)]


@pytest.fixture(scope="module")
def world():
    return wf.worlds.blackjack()


def policies(labels):
    """The dealer's own rule, always and never hit, a rule that uses the whole observation, and a random one."""
    seen = [labels.values(state) for state in range(labels.n_states)]
    dice = np.random.default_rng(0)
    rules = {
        "dealer's": [float(player < 17) for player, _, _ in seen],
        "never": [0.0] * len(seen),
        "always": [1.0] * len(seen),
        "careful": [float(player < (18 if ace else 12 if 2 <= dealer <= 6 else 17)) for player, dealer, ace in seen],
        "random": dice.random(len(seen)).tolist(),
    }
    return {name: np.column_stack([1.0 - np.array(hit), hit]) for name, hit in rules.items()}


def real(labels, policy, hand, action):
    """The oracle's visits as a map, and its chances."""

    def hits(player, shown, ace):
        return float(policy[labels.index((player, shown, int(ace))), 1])

    visits, ends = blackjack_oracle.future(hits, *hand, action)
    expected = np.zeros(policy.shape)
    for (player, ace, then), number in visits.items():
        expected[labels.index((player, hand[1], int(ace))), then] = number
    return expected, dict(ends)


def furthest(one, two):
    """The largest difference between chances by name."""
    return max(abs(one.get(name, 0.0) - two.get(name, 0.0)) for name in {*one, *two})


@pytest.mark.parametrize("name", policies(wf.worlds.blackjack().labels))
def test_exact_beliefs_are_the_count_over_cards(world, name):
    policy = policies(world.labels)[name]
    exact = wf.ExactBeliefs(world, policy, discount=1.0)
    for hand in HANDS:
        for action in (0, 1):
            visits, ends = real(world.labels, policy, hand, action)
            state = world.labels.index(hand)
            assert np.abs(exact.visits(state, action) - visits).max() < 1e-12
            assert furthest(exact.outcomes(state, action), ends) < 1e-12
            assert sum(ends.values()) == pytest.approx(1.0, abs=1e-12)


def test_the_oracle_gives_known_probabilities():
    """Hitting at 17 busts with 9 cards of 13; at 4 never; sticking never busts."""
    _, ends = blackjack_oracle.future(lambda *_: 0.0, 17, 9, False, 1)
    assert ends["bust"] == pytest.approx(9 / 13, abs=1e-15)
    visits, ends = blackjack_oracle.future(lambda *_: 0.0, 4, 9, False, 1)
    assert ends["bust"] == 0.0
    assert visits[15, True, 0] == pytest.approx(1 / 13), "an ace makes 15 of 4"
    assert blackjack_oracle.future(lambda *_: 1.0, 20, 9, False, 0)[1]["bust"] == 0.0


def test_learned_beliefs_converge_to_the_exact_ones(world):
    """Within 0.02, for the actions it would take and those it would not.

    Needed: steps that fall (a constant step never stops averaging few games), but slower than 1/n, which would keep
    the bad first policies in its averages; and exploration that stays, so that both actions are tried to the end.
    Ten seeds were within 0.012.
    """
    learner = wf.QLearning(step_size=wf.visit_count(0.95), discount=1.0, exploration=0.5)
    run = wf.train(world, learner, episodes=4_000_000, seed=0)
    for hand in ASKED:
        for action in (0, 1):
            visits, ends = real(world.labels, run.policy, hand, action)
            assert np.abs(run.intention(hand, action).visits - visits).max() < 0.02
            assert furthest(run.outcomes(hand, action).chances, ends) < 0.02
            assert run.chance(hand, action, event="bust").probability == pytest.approx(ends.get("bust", 0.0), abs=0.02)
            twenty = run.chance(hand, action, event="player 20")
            assert twenty.probability == pytest.approx(visits[run.labels.where("player 20").states].sum(), abs=0.02)


def test_at_the_papers_settings_beliefs_are_within_their_error(world):
    """A constant step of 0.1 averages about 19 games: value and chances within four standard errors, for the action it would take."""
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=wf.exponential(1, 0.05, decay=0.9999))
    run = wf.train(world, learner, episodes=500_000, seed=0)
    for hand in ASKED:
        comparison = run.comparison(hand)
        assert comparison.verdict in ("agrees", "off-policy targets", "initial value")
        for measure in comparison.measures:
            assert abs(measure.difference - measure.off_policy) < 4 * measure.error + 1e-3, measure
        assert 0.02 < comparison.measures[0].error < 0.5, "an error that allows anything proves nothing"
        assert {measure.name for measure in comparison.measures} >= {"value", "won", "drew", "lost"}
