"""Where to look: what is planted is found, what is listed can be asked, and healthy agents have few findings."""

import json

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from circles import CIRCLE
from planted import GRID, LAKE, WORLDS, grid, with_bad_episode, with_loop, with_reward_flaw
from sameness import LEARNERS
from whatfor.beliefs.deletion import deletion, episode_deletions
from whatfor.explanations.findings.ground import Ground
from whatfor.explanations.findings.rewards import surprises
from whatfor.kernels.recursion import NOT_ENDED


def first_three(run):
    return run.findings()[:3]


def finds_loop(run, states):
    return any("without end" in one.sentence and states & {*one.states} for one in first_three(run))


def finds_flaw(run, pair):
    return any(one.kind == "reward" and (one.state, one.action) == pair for one in first_three(run))


def finds_episode(run, state, episode):
    return any(one.episode == episode and state in one.states for one in first_three(run))


@pytest.fixture(scope="module")
def warehouse():
    return wf.train(grid(), GRID, episodes=1_000, seed=0, progress=False)


@pytest.fixture(scope="module")
def straight():
    return wf.train(grid(slip=0.0), GRID, episodes=300, seed=0, progress=False)


def test_a_planted_loop_is_found(straight):
    run, states = with_loop(straight, 0)
    found = next(one for one in first_three(run) if one.kind == "loop")
    assert {*found.states} == states
    assert found.stake == 1.0
    assert "loops over 2 states without end" in found.sentence
    assert run.ledger is straight.ledger, "only its table differs, so its belief is another one"
    assert "this is not what it expects" in found.sentence


def test_a_loop_that_one_reward_causes_is_one_finding(straight):
    run, states = with_loop(straight, 0, recorded=True)
    found = run.findings()[0]
    assert found.kind == "surprise"
    assert states <= {*found.states}
    assert "because of it, the agent loops over" in found.sentence
    assert not any(one.kind == "loop" for one in run.findings())
    assert finds_loop(run, states)


def test_a_planted_reward_flaw_is_found():
    run, pair = with_reward_flaw(grid(), GRID, 300, 0)
    assert finds_flaw(run, pair)
    fixed = run.repriced(lambda state, action, reward: -0.1 if (state, action) == pair else reward)
    assert not any(one.kind == "reward" for one in fixed.findings())


def test_a_planted_bad_episode_is_found(warehouse):
    run, state, episode = with_bad_episode(warehouse, 0)
    assert finds_episode(run, state, episode)
    found = next(one for one in run.findings() if one.episode == episode)
    assert f"In episode {episode}," in found.sentence
    assert not any(one.episode is not None for one in warehouse.findings() if one.kind == "surprise")


@pytest.mark.long
@pytest.mark.parametrize("name", WORLDS)
def test_plants_are_among_the_first_three_in_19_of_20_seeds(name):
    world, certain, learner, episodes = WORLDS[name]
    found = {"loop": 0, "recorded loop": 0, "flaw": 0, "episode": 0}
    for seed in range(20):
        run = wf.train(world(), learner, episodes=episodes, seed=seed, progress=False)
        straight = wf.train(certain(), learner, episodes=episodes, seed=seed, progress=False)
        found["loop"] += finds_loop(*with_loop(straight, seed))
        found["recorded loop"] += finds_loop(*with_loop(straight, seed, recorded=True))
        found["flaw"] += finds_flaw(*with_reward_flaw(world(), learner, episodes, seed))
        found["episode"] += finds_episode(*with_bad_episode(run, seed, most=100 if name == "Taxi" else 10_000))
    assert min(found.values()) >= 19, found


def test_a_good_circle_is_found_and_is_what_the_agent_expects():
    run = wf.train(CIRCLE, wf.QLearning(discount=0.95, exploration=0.2), episodes=500, seed=0, progress=False)
    (found,) = run.findings()
    assert found.sentence == (
        "From 'state 0', where it takes 'action 0', it loops over 2 states without end (100 % of its episodes get there)."
    )


def test_going_on_is_no_finding_where_it_is_the_task():
    """Every step pays 1, and an end pays no more."""
    balance = wf.worlds.table([[0, 1], [0, 1]], [[1.0, 1.0], [1.0, 1.0]], [[False, False], [False, True]], max_steps=30)
    run = wf.train(balance, wf.QLearning(discount=0.9, exploration=0.3), episodes=300, seed=0, progress=False)
    assert Ground.of(run).future.cannot_end[0]
    assert not [one for one in run.findings() if one.kind in ("loop", "reward")]


def test_a_state_that_no_action_leaves_is_called_so():
    trap = wf.worlds.table(
        [[[1, 2], [1, 2]], [[1, 1], [1, 1]], [[2, 2], [2, 2]]],
        [[[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0]] * 2, [[0.0, 0.0]] * 2],
        [[[False, True], [False, True]], [[False, False]] * 2, [[True, True]] * 2],
        probability=[[[0.25, 0.75], [0.75, 0.25]], [[1.0, 0.0]] * 2, [[1.0, 0.0]] * 2],
        max_steps=20,
    )
    run = wf.train(trap, wf.QLearning(discount=0.9, exploration=0.3), episodes=300, seed=0, progress=False)
    found = run.findings()[0]
    assert "From 'state 1' no action leads to an end (25 % of its episodes get there)" in found.sentence
    assert found.met == pytest.approx(0.25)


def test_rewards_that_it_comes_back_for_are_found():
    """A reward of 1 for staying, with a chance of 10 % to slip to the end, which pays 2."""
    world = wf.worlds.table(
        [[[0, 1], [1, 1]], [[1, 1], [1, 1]]],
        [[[1.0, 2.0], [2.0, 2.0]], [[0.0, 0.0]] * 2],
        [[[False, True], [True, True]], [[True, True]] * 2],
        probability=[[[0.9, 0.1], [1.0, 0.0]], [[1.0, 0.0]] * 2],
    )
    run = wf.train(world, wf.QLearning(discount=0.95, exploration=0.3), episodes=300, seed=0, progress=False)
    assert Ground.of(run).usual_reward > 1.0, "of two pairs: no usual reward"
    many = wf.worlds.table(
        [[[0, 1], [1, 1]], [[2, 2], [2, 2]], [[3, 3], [3, 3]], [[3, 3], [3, 3]]],
        [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0]] * 2, [[2.0, 2.0]] * 2, [[0.0, 0.0]] * 2],
        [[[False, False], [False, False]], [[False, False]] * 2, [[True, True]] * 2, [[True, True]] * 2],
        probability=[[[0.9, 0.1], [1.0, 0.0]], [[1.0, 0.0]] * 2, [[1.0, 0.0]] * 2, [[1.0, 0.0]] * 2],
    )
    run = wf.train(many, wf.QLearning(discount=0.95, exploration=0.3), episodes=300, seed=0, progress=False)
    found = next(one for one in run.findings() if one.kind == "reward")
    assert "'action 0' pays +0.9 on average, and the agent comes back for it about 10 times" in found.sentence


def test_rewards_that_it_comes_back_for_are_found_beside_other_ends_of_the_same_pair():
    """State 0 pays 5 for staying. Each step there may end the episode (or lead into a trap, from which none ends)."""
    for ends, to in ((True, 0), (False, 1)):
        world = wf.worlds.table(
            [[[0, to], [2, 2]], [[1, 1], [1, 1]], [[2, 2], [2, 2]]],
            [[[5.0, 0.0 if ends else 5.0], [-1.0, -1.0]], [[0.0, 0.0]] * 2, [[8.0, 8.0], [-1.0, -1.0]]],
            [[[False, ends], [False, False]], [[False, False]] * 2, [[True, True], [False, False]]],
            probability=[[[0.9, 0.1], [1.0, 0.0]], [[1.0, 0.0]] * 2, [[1.0, 0.0]] * 2],
            start=[0.8, 0.0, 0.2],
            max_steps=50,
        )
        run = wf.train(world, wf.QLearning(discount=0.95, exploration=0.3), episodes=300, seed=0, progress=False)
        found = [one for one in run.findings()[:3] if one.kind == "reward"]
        assert [(one.state, one.action) for one in found] == [(0, 0)]
        assert "pays +5 each time, and the agent comes back for it about 10 times" in found[0].sentence


@pytest.mark.parametrize("name", LEARNERS)
def test_deleting_blocks_of_several_values_is_deleting_them_for_each(name):
    run = wf.train("FrozenLake-v1", LEARNERS[name], episodes=60, seed=3, progress=False)
    audit = run.audit
    pairs = [(0, 0), (4, 1), (14, 2)]
    together = audit.episode_deletions(pairs)
    for column, pair in enumerate(pairs):
        alone = deletion(audit.ledger, audit._cells(*pair), audit.errors)
        known = ~np.isnan(together[:, column])
        assert known.sum() >= 0.9 * len(known)
        assert together[known, column] == pytest.approx(alone.episodes[known], abs=1e-14)
    replayed = wf.train("FrozenLake-v1", LAKE, episodes=30, seed=3, replay=wf.Replay(), progress=False).audit
    several = episode_deletions(replayed.ledger, [replayed._cells(4, 1)], replayed.errors)
    assert several[:, 0] == pytest.approx(replayed.deletion(4, 1).episodes, nan_ok=True)


def test_an_episode_that_decides_is_found_and_without_it_the_decision_flips(warehouse):
    """The last episode that took the best action in a state paid too much there, within the usual rewards of the world."""
    ledger, state = warehouse.ledger, 0
    worst = int(warehouse.values[state].argmin())
    own = np.flatnonzero(ledger.lines.cell == state * 4 + worst)
    rewards = ledger.lines.reward.copy()
    rewards[own[-1]] = (warehouse.values[state].max() - warehouse.values[state, worst] + 1.0) / 0.2
    wrong = ledger.revised(reward=rewards)
    run = warehouse.derived(values=wrong.values(), ledger=wrong)
    episode = int(ledger.episodes_and_steps([own[-1]])[0][0])
    found = next(one for one in run.findings() if one.episode == episode)
    assert found.states[0] == state
    assert run.values[state].argmax() == worst
    assert run.without([episode]).values[state].argmax() != worst


def test_the_share_of_episodes_that_meet_a_state_is_that_of_play(warehouse):
    ground = Ground.of(warehouse)
    met = np.zeros(25)
    for seed in range(400):
        states = {warehouse.labels.index(state) for state, _ in warehouse.episode(None, seed=seed)}
        met[list(states)] += 1 / 400
    assert ground.exact
    assert np.abs(ground.entered - met).max() < 0.1
    assert ground.future.visits_from(ground.start)[21] > 1.0, "it bumps there, again and again"
    assert ground.entered[21] < 0.3


def test_an_unknown_world_is_the_one_that_was_experienced(warehouse):
    own = wf.Run(labels=warehouse.labels, values=warehouse.values, ledger=warehouse.ledger)
    ground, exact = Ground.of(own), Ground.of(warehouse)
    assert not ground.exact
    best, rows = exact.best, np.arange(25)
    met = exact.entered > 0.05
    off = np.abs(ground.real - exact.real)[rows, best][met]
    assert off.max() < 0.15 * exact.range


def test_noisy_rewards_are_not_surprising():
    dice, ledger = np.random.default_rng(0), wf.Ledger(n_states=2, n_actions=1)
    for _ in range(3_000):
        ledger.record(0, 0, float(dice.normal()), 1, 0, step_size=0.1, discount=0.9)
        ledger.record(1, 0, float(dice.choice([-1.0, 1.0], p=[0.9, 0.1])), None, step_size=0.1, discount=0.9)
    assert surprises(ledger) == []
    ledger.record(0, 0, 40.0, 1, 0, step_size=0.1, discount=0.9)
    ledger.record(1, 0, 1.0, None, step_size=0.1, discount=0.9)
    (one,) = surprises(ledger)
    assert (one.line, one.usual, one.moved) == (6_000, pytest.approx(0.0, abs=0.1), pytest.approx(4.0, abs=0.1))


def test_rewards_that_depend_on_time_are_not_surprising():
    """As in MiniGrid, an early episode is paid less for the same last step; a single other reward is surprising."""
    ledger = wf.Ledger(n_states=1, n_actions=1)
    paid = [0.2, 0.4, 0.6, *[0.9 + 0.01 * (n % 4) for n in range(4_000)]]
    for reward in paid:
        ledger.record(0, 0, reward, None, step_size=0.3, discount=0.9)
    assert surprises(ledger) == []
    ledger.record(0, 0, -0.9, None, step_size=0.3, discount=0.9)
    assert surprises(ledger) == [], "its rewards vary"
    steady = wf.Ledger(n_states=1, n_actions=1)
    for reward in (*paid[3:], -0.9):
        steady.record(0, 0, reward, None, step_size=0.3, discount=0.9)
    assert [one.line for one in surprises(steady)] == [4_000]


def test_rare_rewards_of_the_environment_are_not_surprising():
    """1 % of the steps pay 5."""
    dice, ledger = np.random.default_rng(0), wf.Ledger(n_states=1, n_actions=1)
    for _ in range(5_000):
        ledger.record(0, 0, 5.0 * (dice.random() < 0.01), None, step_size=0.1, discount=0.9)
    assert surprises(ledger) == []


def test_every_call_can_be_made(straight, warehouse):
    early = wf.train("FrozenLake-v1", LAKE, episodes=60, seed=0, progress=False)
    blackjack = wf.train(wf.worlds.blackjack(), wf.QLearning(discount=1.0), episodes=3_000, seed=0, progress=False)
    runs = [early, blackjack, with_loop(straight, 1)[0], with_bad_episode(warehouse, 1)[0]]
    kinds = set()
    for run in runs:
        found = run.findings()
        json.dumps(found.to_json())
        for one in found:
            kinds.add(one.kind)
            answer = eval(one.call, {"run": run})
            assert answer.state == one.state, one.call
            assert one.states[0] == one.state or one.state in one.states
            assert 0.0 <= one.met <= 1.0
            assert 0.0 <= one.stake <= 1.0
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(kinds) >= 4, kinds


def test_nothing_stands_out_in_a_well_trained_agent(taxi_5k):
    assert len(taxi_5k.findings()) == 0
    lake = wf.train(
        "FrozenLake-v1",
        wf.QLearning(step_size=0.05, discount=0.95, exploration=0.3),
        episodes=20_000,
        seed=0,
        progress=False,
    )
    assert str(lake.findings()) == "Nothing stands out in the 11 states that its episodes visit."
    assert repr(lake.findings()) == "Findings(none)"
    assert lake.findings()._repr_html_().startswith("<pre")


def test_what_cannot_be_said_is_not_said(warehouse):
    unrecorded = wf.train("FrozenLake-v1", LAKE, episodes=500, seed=0, record=False, progress=False)
    assert not [one for one in unrecorded.findings() if one.kind in ("surprise", "episode")]
    assert all(eval(one.call, {"run": unrecorded}).state == one.state for one in unrecorded.findings())
    bare = wf.Run(labels=warehouse.labels, values=warehouse.values)
    assert "loops were not searched for" in str(bare.findings())
    assert all(one.call == "" for one in bare.findings()), "no question can be asked without a world"
    new = wf.train("FrozenLake-v1", episodes=0, seed=0, progress=False)
    assert str(new.findings()) == "All its values are equal: nothing that it has learned favours an action."
    one = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.0]], ledger=wf.Ledger(n_states=1, n_actions=1))
    assert len(one.findings()) == 0


def test_bins_are_compared_with_play():
    run = wf.train("MountainCar-v0", wf.QLearning(), episodes=3, seed=0, bins=6, progress=False)
    found = run.findings()
    assert found[0].kind == "loop"
    assert "100 % of" in found[0].sentence
    assert "simulated episodes reach the time limit" in found[0].sentence
    assert "compared with" in found.notes[0]


def test_faults_of_the_record_are_named():
    ledger = wf.Ledger(n_states=3, n_actions=1)
    for _ in range(20):
        ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
        ledger.record(1, 0, 1.0, 2, 0, step_size=0.5, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(3, 1), values=ledger.values(), ledger=ledger)
    assert "next_state=None" in str(run.findings())


def test_differences_are_those_of_change(warehouse, straight):
    other = wf.train(grid(), GRID, episodes=1_000, seed=5, progress=False)
    found, flips = warehouse.findings(since=other), warehouse.change(0, since=other).flips
    assert [one.state for one in found] == [state for state, _, _ in flips][: len(found)]
    assert len(flips) > 0
    assert all(one.question == "change" and one.parameters["since"] is other for one in found)
    assert eval(found[0].call, {"run": warehouse, "other": other}).state == found[0].state
    json.dumps(found.to_json())
    before = warehouse.findings(since=50)
    assert "after 50 episodes, it chose" in before[0].sentence
    assert eval(before[0].call, {"run": warehouse}).since == 50
    assert (
        str(warehouse.findings(since=warehouse))
        == "The best action is the same in every state that both agents have updated."
    )
    with pytest.raises(ValueError, match="not of the same environment"):
        warehouse.findings(since=wf.train("FrozenLake-v1", episodes=1, seed=0, progress=False))
    with pytest.raises(ValueError, match="pass since=0 to"):
        warehouse.findings(since=2_000)


def test_a_counterfactual_run_says_what_it_is(warehouse):
    assert str(warehouse.without([3]).findings()).startswith("Counterfactual: the run without episode 3 (replayed).")


def test_the_planted_grid_is_what_it_says():
    table = grid().table
    assert np.diff(table.first).tolist() == [2] * 100
    assert (table.ending != NOT_ENDED).sum() > 0
    assert gym.make("FrozenLake-v1", is_slippery=False).observation_space.n == 16


def test_findings_of_a_hardly_trained_agent_rest_on_more_than_an_update_each():
    """After 300 hands, most pairs of Blackjack were updated once: nothing is nearly the same for different reasons."""
    learner = wf.MonteCarlo(step_size=wf.visit_count(), discount=1.0, exploration=0.1)
    run = wf.train(wf.worlds.blackjack(), learner, episodes=300, seed=6)
    found = run.findings()
    assert [one.kind for one in found if one.kind == "near-tie"] == []
    (costly,) = [one for one in found if "and then its policy gives" in one.sentence]
    assert np.ptp(run.values[costly.state]) == 0.0
    assert "is among the actions with the best value, but playing 'stick' (updated 1 time)" in costly.sentence
    contrast = run.contrast(costly.state, **costly.parameters)
    assert {contrast.one.action, contrast.other.action} == {0, 1}
