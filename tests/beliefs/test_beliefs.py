"""Exact beliefs against other ways to compute them, and the limits of learned ones."""

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from taxi_runs import train_taxi
from whatfor.beliefs import Beliefs, Row, Situation, value_iteration
from whatfor.explorer.report import build_payload
from whatfor.question import QUESTIONS, layout_of
from whatfor.testing import check_beliefs, random_world
from whatfor.worlds import blackjack, chain, table
from whatfor.worlds.gymnasium import twin

#: What a source that only answers ``row`` cannot tell.
NOT_OF_A_ROW = {"depths", "arrivals", "payments"}


@pytest.mark.parametrize("seed", range(5))
def test_exact_visits_are_the_sum_over_steps(seed):
    world = random_world(seed)
    dice = np.random.default_rng(seed)
    policy = dice.dirichlet(np.ones(3), size=5)
    beliefs = wf.ExactBeliefs(world, policy, discount=0.9)
    chances = np.diff(world.table.chance.reshape(5, 3, 3), axis=2, prepend=0.0)
    following, ended = world.table.next_state.reshape(5, 3, 3), world.table.ending.reshape(5, 3, 3) != 0
    for s, a in np.ndindex(5, 3):
        now, expected = np.zeros((5, 3)), np.zeros((5, 3))
        now[s, a] = 1.0
        for step in range(400):
            expected += 0.9**step * now
            states = np.zeros(5)
            np.add.at(states, following[~ended], (now[:, :, None] * chances)[~ended])
            now = states[:, None] * policy
        assert np.abs(beliefs.visits(s, a) - expected).max() < 1e-12
        rewards = (chances * world.table.reward.reshape(5, 3, 3)).sum(axis=2)
        assert beliefs.value(s, a) == pytest.approx((expected * rewards).sum(), abs=1e-12)


def test_value_iteration_is_optimal_for_taxi():
    """The paper's closed form: 30 * 0.9 ** n - 10 with n steps of -1 before delivery."""
    world = twin(gym.make("Taxi-v4"))
    best = value_iteration(world, discount=0.9).max(axis=1)
    at = world.labels.index
    one_step_away = at("taxi at row 0, column 1; passenger aboard; destination R")
    assert best[one_step_away] == pytest.approx(30 * 0.9 - 10, abs=1e-10)
    assert best[at("taxi at row 0, column 2; passenger aboard; destination B")] == pytest.approx(
        30 * 0.9**5 - 10, abs=1e-10
    )


def test_loops_without_a_discount_are_found_and_named():
    # 0 -> 1 -> end; 2 loops forever; 3 may go to either.
    world = table(
        next_state=[[1, 2], [1, 1], [2, 2], [1, 2]], reward=np.ones((4, 2)), terminated=[[0, 0], [1, 1], [0, 0], [0, 0]]
    )
    beliefs = wf.ExactBeliefs(world, [0, 0, 0, 0], discount=1.0)
    assert beliefs.value(0, 0) == 2.0
    with pytest.raises(ValueError, match="from 'state 2' this policy may never end"):
        beliefs.visits(0, 1)
    half = np.full((4, 2), 0.5)
    both = wf.ExactBeliefs(world, half, discount=1.0)
    assert both.value(3, 0) == 2.0, "from 1 it always ends"
    with pytest.raises(ValueError, match="may never end"):
        both.visits(3, 1)
    assert wf.ExactBeliefs(world, half, discount=0.5).value(2, 0) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="no finite values"):
        value_iteration(world, discount=1.0, max_sweeps=1000)


def test_exact_outcomes_include_never_ending():
    # 0 -> 1 -> end; 2 loops forever; 3 may go to either.
    world = table(
        next_state=[[1, 2], [1, 1], [2, 2], [1, 2]], reward=np.ones((4, 2)), terminated=[[0, 0], [1, 1], [0, 0], [0, 0]]
    )
    for discount in (1.0, 0.5):
        half = wf.ExactBeliefs(world, np.full((4, 2), 0.5), discount=discount)
        assert half.outcomes(0, 0) == {"terminated": 1.0}
        assert half.outcomes(3, 1) == {"never ends": 1.0}
        first = wf.ExactBeliefs(world, [0, 0, 0, 0], discount=discount)
        assert first.outcomes(0, 1) == {"never ends": 1.0}
        assert first.outcomes(3, 0) == {"terminated": 1.0}
    either = table(
        next_state=[[[1, 2]], [[1, 1]], [[0, 2]]],
        reward=np.zeros((3, 1, 2)),
        terminated=[[[0, 0]], [[0, 0]], [[0, 1]]],
        probability=[[[0.5, 0.5]], [[1.0, 0.0]], [[0.5, 0.5]]],
    )
    outcomes = wf.ExactBeliefs(either, [0, 0, 0], discount=1.0).outcomes(0, 0)
    assert outcomes == {"never ends": pytest.approx(2 / 3), "terminated": pytest.approx(1 / 3)}


@pytest.mark.parametrize("seed", range(5))
def test_exact_outcomes_sum_to_one_and_give_the_value(seed):
    """Only the goal gives a reward, of 1: the value is the probability to reach it."""
    policy = np.random.default_rng(seed).dirichlet(np.ones(4), size=16)
    exact = wf.ExactBeliefs("FrozenLake-v1", policy, discount=1.0)
    for state in (0, 6, 14):
        chances = exact.outcomes(state, 1)
        assert set(chances) == {"fell into a hole", "reached the goal"}
        assert sum(chances.values()) == pytest.approx(1.0, abs=1e-12)
        assert exact.value(state, 1) == pytest.approx(chances["reached the goal"], abs=1e-12)


def test_exact_beliefs_of_a_gymnasium_environment():
    best = value_iteration("FrozenLake-v1", discount=0.9)
    exact = wf.ExactBeliefs(gym.make("FrozenLake-v1"), best.argmax(axis=1), discount=0.9)
    assert exact.value(0, int(best[0].argmax())) == pytest.approx(best[0].max(), abs=1e-10)
    with pytest.raises(ValueError, match="fickle"):
        value_iteration(gym.make("Taxi-v4", fickle_passenger=True), discount=0.9)


def test_a_map_that_joins_late_reads_all_updates():
    world = random_world(1)
    learner = wf.QLearning(exploration=0.5, initial=3.0)
    before = wf.train(world, learner, episodes=20, seed=0)
    late = wf.BeliefMap(world.labels)
    run = wf.train(before, episodes=20, listeners=[late])
    for s, a in np.ndindex(run.values.shape):
        assert late.value(s, a) == run.values[s, a]
        assert late.initial_share(s, a) == pytest.approx(run.audit.account(s, a).initial_share, abs=1e-12)
    other = wf.Run(labels=world.labels, values=run.values, beliefs=late)
    assert other.intention(0, 0).residual < 1e-12
    with pytest.raises(ValueError, match="it belongs to another ledger"):
        late(before.ledger, 0)


def test_invalid_policies_are_refused():
    with pytest.raises(ValueError, match="actions that do not exist"):
        wf.ExactBeliefs(chain(), [-1, 0, 0], discount=1.0)
    with pytest.raises(ValueError, match="sum to 1 in each state"):
        wf.ExactBeliefs(chain(), np.full((3, 2), 0.7), discount=1.0)
    with pytest.raises(ValueError, match=r"discount is 1\.2"):
        wf.ExactBeliefs(chain(), [0, 0, 0], discount=1.2)


def test_taxi_is_learned_to_the_exact_values(taxi_50k):
    """95 % of the 400 reachable states within 1e-6 of the exact best value, the paper's three among them."""
    run = taxi_50k
    exact = value_iteration(twin(gym.make("Taxi-v4")), discount=0.9).max(axis=1)
    met = np.unique(run.ledger.lines.cell // 6)
    best = run.values.max(axis=1)
    assert len(met) == 400
    assert (np.abs(best - exact)[met] <= 1e-6).mean() >= 0.95
    for n, printed in ((5, 7.7147), (3, 11.87), (13, -2.3744)):
        closed = 30 * 0.9**n - 10
        assert closed == pytest.approx(printed, abs=5e-5)
        assert (np.abs(best[met] - closed) <= 1e-6).any()
        assert (np.abs(exact[met] - closed) <= 1e-6).any()


def test_learned_visits_converge_to_the_exact_ones():
    """Taxi is deterministic, so where values have converged, expected visits are exact."""
    run = train_taxi(50_000, seed=1)
    state = run.labels.index("taxi at row 2, column 0; passenger aboard; destination R")
    exact = wf.ExactBeliefs(twin(gym.make("Taxi-v4")), run.policy, discount=0.9)
    assert np.abs(run.intention(state).visits - exact.visits(state, run.best(state))).max() < 1e-9


def test_random_initial_visits_converge_to_the_exact_visits():
    world = random_world(7, noisy=False)
    shape = (world.labels.n_states, world.labels.n_actions)
    rewards = world.table.reward[::3].reshape(shape)
    random = np.random.default_rng(0).random((rewards.size, rewards.size))
    learner = wf.QLearning(step_size=wf.visit_count(0.8), discount=0.8, exploration=0.5)
    run = wf.train(world, learner, episodes=60_000, seed=0)
    early = run.ledger.until(1)
    first = wf.BeliefMap.from_ledger(early, initial_visits=random)
    gaps = [abs((first.visits(s, a) * rewards).sum() - early.values()[0, s, a]) for s, a in np.ndindex(shape)]
    assert max(gaps) > 0.5, "after one episode the initial visits still matter"
    learned, zero = wf.BeliefMap.from_ledger(run.ledger, initial_visits=random), wf.BeliefMap.from_ledger(run.ledger)
    exact = wf.ExactBeliefs(world, run.policy, discount=0.8)
    for s, a in np.ndindex(shape):
        initial = (run.audit.account(s, a).initial_weights.ravel() @ random).reshape(shape)
        assert np.abs(learned.visits(s, a) - zero.visits(s, a) - initial).max() < 1e-12
        assert np.abs(learned.visits(s, a) - exact.visits(s, a)).max() < 0.1, "at most the noise of the last visits"


def test_ambiguity_chain_has_equal_values_and_opposite_intentions():
    """Theorem 1: two seeds, one value of the start, two futures."""
    learner = wf.QLearning(step_size=0.5, discount=1.0, exploration=0.1)
    futures = {}
    for seed in range(10):
        run = wf.train(chain(), learner, episodes=200, seed=seed)
        assert run.values[0].max() == pytest.approx(2.0, abs=1e-9)
        futures[seed] = tuple(run.intention("the start").visits.sum(axis=1).round(6).tolist())
    assert set(futures.values()) == {(1.0, 1.0, 0.0), (1.0, 0.0, 1.0)}, "up or down, never both"


def test_blackjack_outcomes_are_probabilities():
    learner = wf.QLearning(step_size=wf.visit_count(), discount=1.0, exploration=1.0)
    run = wf.train(blackjack(), learner, episodes=300_000, seed=0)
    assert run.values.shape == (704, 2)
    row = run.audit.account(run.labels.index((17, 9, 0)), 1)
    chances = dict(zip(run.ledger.endings, row.endings, strict=True))
    assert sum(chances.values()) + row.initial_weights.sum() + row.dropped == pytest.approx(1.0, abs=1e-12)
    assert abs(chances["bust"] - 9 / 13) < 0.05, "hitting at 17 busts with 9 cards of 13"
    assert row.total == pytest.approx(chances["won"] - chances["bust"] - chances["lost"], abs=1e-12)


@pytest.mark.parametrize("source", ["audit", "map", "exact"])
def test_sources_keep_the_contract(source):
    world = random_world(3)
    belief_map = wf.BeliefMap(world.labels)
    run = wf.train(world, wf.QLearning(exploration=0.5), episodes=30, seed=0, listeners=[belief_map])
    exact = wf.ExactBeliefs(world, run.policy, discount=0.99)
    check_beliefs({"audit": run.audit, "map": belief_map, "exact": exact}[source], 5, 3, tolerance=1e-10)


class Toy(Beliefs):
    """A source in one file: what follows in the chain if the agent repeats its action."""

    can = frozenset({"endings"})

    def row(self, at, action):
        visits, rewards = np.zeros((3, 2)), np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 2.0]])
        visits[at.index, action] = 1.0
        if at.index == 0:
            visits[1 + action, action] = 1.0
        earnings = visits * rewards
        return Row(visits, earnings, value=float(earnings.sum()), endings={"terminated": 1.0})


@pytest.fixture
def toy_run():
    """An agent in the chain without a ledger, answered for by the toy source."""
    values = [[2.0, 2.0], [2.0, 1.0], [1.0, 2.0]]
    trained = wf.train(chain(), wf.QLearning(discount=1.0), episodes=5, seed=0, record=False)
    more = {"settings": trained.settings, "origin": trained.origin}
    return wf.Run(labels=chain().labels, values=values, beliefs=Toy(), **more)


def test_a_custom_source_answers_every_question_that_it_can(toy_run):
    check_beliefs(Toy(), 3, 2)
    run = toy_run
    assert run.intention(0).residual == 0.0
    assert run.contrast(1).gap == 1.0
    assert run.outcomes(0).chances == {"terminated": 1.0}
    assert run.comparison(0).verdict == "unjudged", "its sampling error is unknown"
    assert run.comparison(0).distance == 0.0
    assert run.simulation(0).value == 2.0
    other = {"change": {"since": run}, "chance": {"event": "the upper node"}}
    for name, question in QUESTIONS.items():
        if "updates" in question.needs:
            with pytest.raises(ValueError, match=f"^{name} needs the ledger, and this run has none"):
                run.ask(name, 0, **other.get(name, {}))
        else:
            answer = run.ask(name, 0, **other.get(name, {}))
            assert answer.sentences()
            if question.needs & NOT_OF_A_ROW:
                assert "playing its policy" in str(answer).lower(), "its world is played instead"
                assert not answer.learned


def test_a_custom_source_without_an_environment_says_what_to_pass():
    run = wf.Run(labels=chain().labels, values=np.zeros((3, 2)), beliefs=Toy())
    with pytest.raises(
        ValueError, match=r"^timeline needs a ledger, or an environment: pass ledger=, or env= and discount="
    ):
        run.timeline(0)
    with pytest.raises(ValueError, match=r"Without it, this run can answer intention, contrast, outcomes, change$"):
        run.provenance(0)
    with pytest.raises(ValueError, match=r"the discount of this run is unknown: pass discount= or ledger= to Run"):
        run.simulation(0, env=chain())


def test_a_custom_source_is_played_and_reported(toy_run, tmp_path):
    """It has a world and no ledger: its starts are those of the world."""
    toy_run.report(tmp_path / "page.html")
    assert toy_run.evaluate(10).mean == 2.0
    assert [len(toy_run.episode(state)) for state in (None, 1)] == [2, 1]
    payload = build_payload(toy_run)
    answered = [name for name, question in QUESTIONS.items() if "updates" not in question.needs]
    for name in {*answered} - {"change", "chance"}:  # there are no earlier times and no endings to suggest
        assert f"question={name}&state=0" in payload


def test_a_source_that_does_not_know_endings_says_so():
    run = wf.train("FrozenLake-v1", episodes=20, seed=0)
    with pytest.raises(ValueError, match="outcomes needs beliefs that know how episodes end, and BeliefMap does not"):
        run.believing(wf.BeliefMap.from_ledger(run.ledger)).outcomes(0)


@pytest.mark.parametrize("source", [wf.ExactBeliefs, wf.SimulatedBeliefs])
def test_what_a_policy_leads_to_is_not_called_what_it_expects(source):
    """No residual and no badge: the numbers are not the agent's."""
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=300, seed=0)
    other = run.believing(source("FrozenLake-v1", run.policy, discount=0.9))
    for name in ("intention", "outcomes", "contrast", "comparison"):
        why = other.ask(name, 14)
        assert not why.learned
        assert why.residual is None
        assert "expect" not in str(why)
        assert "estimated return" not in str(why)
        assert "expects" not in json.dumps(layout_of(why).to_json())
    assert "playing its policy after" in str(other.intention(14))
    assert other.intention(14).badge() is None
    assert sum(other.outcomes(14).chances.values()) == pytest.approx(1.0)
    contrast = other.contrast(14)
    assert contrast.gap == pytest.approx(contrast.parts.sum(), abs=1e-12), "the gap is that of the source"
    assert contrast.gap != pytest.approx(run.contrast(14).gap, abs=0.1), "not that of the agent's table"
    assert other.comparison(14).measures[0].believed == other.beliefs.value(14, other.best(14))
    with pytest.raises(ValueError, match="does not know what it was at an earlier time"):
        other.change(14, since=100)
    with pytest.raises(ValueError, match="the difference would not be a change"):
        other.change(14, since=run)
    again = other.change(14, since=other)
    assert "expect" not in str(again)
    assert again.tied


def test_a_gap_between_rollouts_has_a_standard_error():
    """Rollouts of two actions are independent: the variances add up."""
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=300, seed=0)
    beliefs = [wf.SimulatedBeliefs("FrozenLake-v1", run.policy, discount=0.9, rollouts=200, seed=n) for n in range(40)]
    gaps = [one.value(14, 1) - one.value(14, 2) for one in beliefs]
    error = beliefs[0].gap_error(Situation(14), 1, 2)
    assert error == pytest.approx(np.std(gaps), rel=0.35)
    assert "not significant" in str(run.believing(beliefs[0]).contrast(14))


def test_a_source_is_judged_by_its_own_updates():
    """Not by those of the run: the errors of the run's ledger say nothing about another source."""
    run = wf.train(chain(), wf.QLearning(discount=0.9), episodes=300, seed=0)
    assert run.comparison(0).verdict != "unjudged"
    assert run.believing(wf.BeliefMap.from_ledger(run.ledger)).comparison(0).verdict == "unjudged"
    without = wf.Run(labels=run.labels, values=run.values, beliefs=run.audit, settings=run.settings, origin=run.origin)
    assert without.comparison(0).verdict == run.comparison(0).verdict, "an audit brings its own ledger"


def test_beliefs_that_do_not_add_up_are_reported():
    class Wrong(Beliefs):
        def row(self, at, action):
            return Row(visits=np.zeros((2, 1)), earnings=np.zeros((2, 1)), value=1.0)

    with pytest.raises(AssertionError, match="earnings"):
        check_beliefs(Wrong(), 2, 1)


class Counting(Toy):
    """A source whose rows have an initial share and count tries; it implements ``row`` alone."""

    def row(self, at, action):
        counted = {"tries": np.array([[3, 0], [2, 1], [0, 0]]), "initial": 1.0}
        known = super().row(at, action)
        return replace(known, value=known.value + 1.0, endings={"terminated": 0.25}, endings_unknown=0.75, **counted)


def test_what_a_row_says_is_what_the_answers_say():
    check_beliefs(Counting(), 3, 2)
    run = wf.Run(labels=wf.Labels.plain(3, 2), values=[[3.1, 3.0], [3.0, 2.0], [2.0, 3.0]], beliefs=Counting())
    assert run.intention(0).tries == run.outcomes(0).tries == 3
    assert run.tries_at(1).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"endings": None}, 'can has "endings", but row'),
        ({"endings": {"terminated": 0.5}}, r"endings of row\(0, 0\) and endings_unknown sum to 0.5, not to 1"),
        ({"endings": {"terminated": 1.5, "timed out": -0.5}}, "negative probability"),
        ({"initial": 1.0}, "earnings.* and the initial share sum to"),
        ({"trust": "close"}, "another trust than the source"),
    ],
)
def test_rows_that_break_the_contract_are_reported(changes, message):
    class Broken(Toy):
        def row(self, at, action):
            return replace(super().row(at, action), **changes)

    with pytest.raises(AssertionError, match=message):
        check_beliefs(Broken(), 3, 2)


def test_unknown_capabilities_are_reported():
    class Boasting(Toy):
        can = frozenset({"endings", "nonsense"})

    with pytest.raises(AssertionError, match="can has 'nonsense'; there are 'endings'"):
        check_beliefs(Boasting(), 3, 2)


def test_dense_maps_that_would_not_fit_are_refused():
    ledger = wf.Ledger(n_states=100_000, n_actions=4)
    with pytest.raises(ValueError, match=r"need 2,384 GiB; use Audit"):
        wf.BeliefMap.from_ledger(ledger)


def test_long_ledgers_are_walked_and_the_error_is_stated():
    run = train_taxi(30_000)  # its own: it builds an index
    state = run.labels.index("taxi at row 0, column 3; passenger at Y; destination R")
    assert run.audit.account(state, run.best(state)).updates_read == len(run.ledger), (
        "one question is answered by a scan"
    )
    run.audit.build_index()
    walked = run.audit.account(state, run.best(state))
    exact = run.audit.account(state, run.best(state), method="scan")
    assert walked.updates_read < len(run.ledger) / 20
    assert exact.updates_read == len(run.ledger)
    assert abs(walked.total - exact.total) <= walked.value_error + 1e-12 * exact.scale
    assert walked.value_error < 1e-9
    falling = wf.train(
        "FrozenLake-v1",
        wf.QLearning(step_size=wf.visit_count(), discount=0.9, exploration=1.0),
        episodes=60_000,
        seed=0,
    )
    falling.audit.build_index()
    first = falling.audit.account(0, 0)
    assert first.updates_read == len(falling.ledger), "with falling step sizes too many updates carry weight: it scans"
    assert first.value_error == 0.0


def test_a_row_has_a_repr_of_one_line():
    run = wf.train("Taxi-v4", episodes=20, seed=0, progress=False)
    assert len(repr(run.audit.row(run.situation(0), 0))) < 80
