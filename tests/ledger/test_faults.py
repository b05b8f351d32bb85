"""Ends of episodes that were recorded wrongly are found, although the residual is 0."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from own_worlds import Endless
from whatfor.ledger.faults import find_faults

LEARNING = {"step_size": 0.2, "discount": 0.9, "exploration": 0.2}


def lake_loop(next_state_at_end=False, new_episode=False, autoreset=False, order="forwards", episodes=300):
    """A training loop of somebody's own on FrozenLake, with mistakes; the ledger and its table."""
    world = wf.train("FrozenLake-v1", wf.QLearning(), episodes=1, seed=0).playing.place().world
    stepper = wf.testing.WorldStepper(world, 0)
    ledger, values, rng, origin = wf.Ledger(16, 4, order=order), np.zeros((16, 4)), np.random.default_rng(0), 0
    state = stepper.reset()
    for _ in range(episodes):
        ended = False
        while not ended:
            action = int(rng.integers(4))
            following, reward, code, _ = stepper.step(action)
            ended = code != 0
            after = stepper.reset() if ended else following
            to = None if ended and not next_state_at_end else after if autoreset else following
            best = None if to is None else int(values[to].argmax())
            target = reward + (0.0 if to is None else 0.9 * values[to, best])
            values[state, action] += 0.2 * (target - values[state, action])
            more = {"origin": origin} if order == "replayed" else {}
            ledger.record(state, action, reward, to, best, step_size=0.2, discount=0.9, **more)
            state, origin = after, origin + 1
        if new_episode:
            ledger.new_episode(origin) if order == "replayed" else ledger.new_episode()
    return ledger, values


def test_a_right_loop_has_no_faults():
    ledger, values = lake_loop()
    wf.testing.check_ledger(ledger, values)
    assert find_faults(wf.Ledger(2, 2)) == ()


@pytest.mark.parametrize(
    ("mistakes", "words"),
    [
        ({}, "and 2 other states were bootstrapped from 286 times and never updated: where the environment terminates"),
        ({"order": "replayed"}, "and 2 other states were bootstrapped from 286 times and never updated"),
        ({"new_episode": True}, "All episodes stop in states that are never updated"),
        ({"autoreset": True}, "No end of an episode is recorded in"),
    ],
    ids=str,
)
def test_a_next_state_instead_of_an_end_is_found_and_the_line_named(mistakes, words):
    ledger, values = lake_loop(next_state_at_end=True, **mistakes)
    audit = wf.Audit(ledger, values=values)
    assert audit.residual == 0.0, "the values are right for these updates"
    assert words in audit.faults[0]
    assert "ledger.record(state, action, reward, None if terminated else next_state, ...)" in audit.faults[0]
    with pytest.raises(AssertionError, match="record next_state=None"):
        wf.testing.check_ledger(ledger, values)
    run = wf.Run(labels=wf.Labels.plain(16, 4), values=values, ledger=ledger)
    for answer in (
        run.intention(0),
        run.outcomes(0),
        run.timeline(0),
        run.chance(0, event="state 5"),
        run.parts(0),
        run.provenance(0),
    ):
        assert str(answer).endswith(audit.faults[0])


def test_ends_that_are_not_recorded_show_as_jumps():
    """A time limit that was bootstrapped through, without ledger.new_episode()."""
    ledger = wf.Ledger(20, 1)
    for _ in range(5):
        for state in range(3):
            ledger.record(state, 0, 0.0, state + 1, 0, step_size=0.1, discount=0.9)
        ledger.record(3, 0, 0.0, 4, 0, step_size=0.1, discount=0.9)
        ledger.record(4, 0, 0.0, 3, 0, step_size=0.1, discount=0.9)
    (fault,) = find_faults(ledger)
    assert fault.startswith("At least 4 ends of episodes are not recorded")
    assert "ledger.new_episode()" in fault


def cut_lake_loop(unrecorded, *, cuts=True):
    """A loop on FrozenLake that records every end, and not the updates that ``unrecorded(action, rng)`` names; and the cuts."""
    env, rng, n_cuts = gym.make("FrozenLake-v1", is_slippery=False, max_episode_steps=12), np.random.default_rng(0), 0
    ledger = wf.Ledger(n_states=16, n_actions=4)
    for episode in range(300):
        state, _ = env.reset(seed=episode)
        done = False
        while not done:
            action = int(rng.integers(4))
            to, reward, terminated, truncated, _ = env.step(action)
            if terminated or not unrecorded(action, rng):
                ledger.record(state, action, reward, None if terminated else to, 0, step_size=0.1, discount=0.9)
            state, done = to, terminated or truncated
            if truncated and not terminated:
                n_cuts += 1
                if cuts:
                    ledger.new_episode()
    return ledger, n_cuts


@pytest.mark.parametrize(
    "unrecorded", [lambda action, _: action == 1, lambda _, rng: rng.random() < 0.3], ids=["an action", "at random"]
)
def test_updates_that_are_not_recorded_are_not_called_ends(unrecorded):
    (fault,) = find_faults(cut_lake_loop(unrecorded)[0])
    assert "an update was not recorded, or an episode ended without next_state=None or new_episode()" in fault
    assert " times the next recorded update starts in a state other than the previous next_state (first at" in fault
    assert "not recorded:" not in fault


def test_cuts_that_are_not_recorded_are_counted_from_below():
    """A cut in the state that the next episode starts in does not show."""
    ledger, cuts = cut_lake_loop(lambda *_: False, cuts=False)
    (fault,) = find_faults(ledger)
    counted = int(fault.split()[2])
    assert fault.startswith(f"At least {counted} ends of episodes are not recorded")
    assert 0.5 * cuts < counted < cuts
    assert find_faults(cut_lake_loop(lambda *_: False)[0]) == ()


def test_one_episode_that_was_cut_is_no_fault_of_the_loop():
    """``wf.train`` records its cuts: no advice about ``ledger.record``."""

    run = wf.train(Endless(), wf.QLearning(discount=0.9), episodes=1, max_steps=1_000, seed=0)
    (fault,) = find_faults(run.ledger)
    assert "cut after 1,000 updates" in fault
    assert "returns terminated=True, or set max_steps=" in fault
    assert "record" not in fault.replace("is recorded", "")


def with_a_wrong_end(run, which, new_episode=False):
    """The ledger of a run with one end recorded as a step into the final state; it stops there if it is the last."""
    ledger = run.ledger
    ends = np.flatnonzero(ledger.lines.source < -2)
    if ledger.order == "replayed":
        final = dict(ledger.finals.tolist())
        experience = np.unique(ledger.origins_of(ends))[which]
        lines = np.flatnonzero(ledger.origins == experience)
    else:
        final = dict(ledger.finals.tolist())
        experience = lines = int(ends[which])
    source = ledger.lines.source.copy()
    source[lines] = final[int(experience)] * ledger.n_actions
    wrong = ledger.revised(source=source)
    if new_episode:
        after = experience + (ledger.order == "forwards")
        store = wrong.writable()
        store.breaks = np.array(sorted([*ledger.breaks.tolist(), [after, after]]))
        store.n_breaks = len(store.breaks)
    return wrong[: experience + 1] if which == -1 and ledger.order == "forwards" else wrong


@pytest.mark.parametrize(
    ("learner", "replay"),
    [
        (wf.QLearning(**LEARNING), None),
        (wf.MonteCarlo(**LEARNING), None),
        (wf.LambdaReturns(**LEARNING, lambda_=0.7), None),
        (wf.QLearning(**LEARNING), wf.Replay(capacity=500, batch=4)),
    ],
    ids=["forwards", "Monte Carlo", "backwards", "replayed"],
)
@pytest.mark.parametrize("world", ["FrozenLake-v1", "CliffWalking-v1"])
def test_one_wrong_end_of_thousands_is_found(world, learner, replay):
    run = wf.train(world, learner, episodes=2_000, seed=0, replay=replay)
    assert find_faults(run.ledger) == ()
    places = [(-1, False), (1_000, False), *([(1_000, True)] if replay is None else [])]
    for which, new_episode in places:
        (fault,) = find_faults(with_a_wrong_end(run, which, new_episode))
        assert "1 end of an episode is not recorded" in fault, (which, new_episode)
        assert "ledger.record(state, action, reward, None if terminated else next_state, ...)" in fault


def test_a_wrong_end_is_called_so_where_episodes_start_anywhere():
    """A stair of six steps: episodes start on any of the inner ones, and end in two states that are never updated."""
    for wrong in (0, 150, 299):
        ledger, rng = wf.Ledger(8, 2), np.random.default_rng(0)
        for episode in range(300):
            state = int(rng.integers(1, 5))
            while 0 <= state < 6:
                action = int(rng.integers(2))
                to = state + (1, -1)[action]
                end = to in (-1, 6) and episode != wrong
                ledger.record(state, action, 0.0, None if end else to % 8, 0, step_size=0.2, discount=0.9)
                state = to
        (fault,) = find_faults(ledger)
        assert fault.startswith("1 end of an episode is not recorded:"), wrong
        assert "was never updated, and its state-action pair ended other episodes" in fault
        assert "ledger.record(state, action, reward, None if terminated else next_state, ...)" in fault


def test_a_ledger_that_stops_anywhere_has_no_faults():
    """A last update may lead to a new state where the agent is still finding new ones, or where a time limit is."""
    rng = np.random.default_rng(0)
    for world in ("Taxi-v4", "FrozenLake-v1", wf.worlds.chain()):
        for max_steps in (None, 7):
            ledger = wf.train(world, wf.QLearning(**LEARNING), episodes=300, seed=0, max_steps=max_steps).ledger
            for stop in rng.integers(1, len(ledger), 40).tolist():
                assert find_faults(ledger[:stop]) == (), (world, max_steps, stop)


def test_a_long_first_episode_has_no_faults():
    """CliffWalking's first episode may take 2,000 steps."""
    ledger = wf.train("CliffWalking-v1", wf.DoubleQLearning(**LEARNING), episodes=20, seed=0).ledger
    longest = np.diff(ledger.episode_starts).max()
    for stop in range(1, min(len(ledger), 3_000), 150):
        assert find_faults(ledger[:stop]) == ()
    assert longest > 100


def test_experiences_with_large_numbers_are_counted_anew():
    """The numbers of experiences come from a file: memory must not grow with them."""
    ledger = wf.Ledger(3, 1, order="replayed")
    ledger.new_episode(0)
    for origin in (0, 1, 2**31 - 2):
        ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9, origin=origin)
    assert find_faults(ledger) == () or find_faults(ledger)[0].startswith("1 time the next recorded update")


def test_updates_in_another_order_are_no_ends():
    ledger, rng = wf.Ledger(20, 1), np.random.default_rng(0)
    for state in rng.integers(19, size=500).tolist():
        ledger.record(
            state, 0, 0.0, state + 1 if state < 18 else None, 0 if state < 18 else None, step_size=0.1, discount=0.9
        )
    (fault,) = find_faults(ledger)
    assert "order='replayed'" in fault
    assert "not recorded" not in fault


def test_wrong_residuals_are_reported_by_the_same_check():
    ledger, values = lake_loop()
    with pytest.raises(AssertionError, match="give other values"):
        wf.testing.check_ledger(ledger, values + 1.0)


@pytest.mark.parametrize("time_limit", ["bootstrap", "terminal"])
@pytest.mark.parametrize("max_steps", [None, 4])
def test_learners_and_worlds_of_whatfor_have_no_faults(time_limit, max_steps):
    learners = (
        wf.QLearning(**LEARNING),
        wf.Sarsa(**LEARNING),
        wf.DoubleQLearning(**LEARNING),
        wf.MonteCarlo(**LEARNING),
        wf.LambdaReturns(**LEARNING, lambda_=0.7),
    )
    for world in ("Taxi-v4", "FrozenLake-v1", "CliffWalking-v1", wf.worlds.blackjack(), wf.worlds.chain()):
        for learner in learners:
            run = wf.train(world, learner, episodes=60, seed=0, time_limit=time_limit, max_steps=max_steps)
            assert find_faults(run.ledger) == (), (world, learner)
            assert find_faults(run.ledger.until(7)) == ()
        replay = wf.Replay(capacity=200, batch=4)
        run = wf.train(
            world, learners[0], episodes=60, seed=0, replay=replay, time_limit=time_limit, max_steps=max_steps
        )
        assert find_faults(run.ledger) == (), world


def lake_with_wrong_ends(wrong, order="forwards", limit=20, episodes=1_000, seed=0):
    """A random agent's ledger on a slippery lake with a time limit; the ends of ``wrong`` episodes, those that terminate, are wrong."""
    env, rng = gym.make("FrozenLake-v1").unwrapped, np.random.default_rng(seed)
    ledger, cuts, experience = wf.Ledger(16, 4, order=order), 0, 0
    bad = set(rng.permutation(episodes)[:wrong].tolist())
    env.reset(seed=seed)
    for episode in range(episodes):
        (state, _), terminated, steps = env.reset(), False, []
        while not terminated and len(steps) < limit:
            action = int(rng.integers(4))
            following, reward, terminated, *_ = env.step(action)
            to = None if terminated and episode not in bad else int(following)
            steps.append((state, action, float(reward), to))
            state = following
        cuts += not terminated
        if order != "forwards":
            ledger.new_episode(*[experience] * (order == "replayed"))
        for state, action, reward, to in reversed(steps) if order == "backwards" else steps:
            more = {"origin": experience} if order == "replayed" else {}
            ledger.record(state, action, reward, to, None if to is None else 0, step_size=0.1, discount=0.9, **more)
            experience += 1
        if order == "forwards":
            ledger.new_episode()
    assert cuts
    return ledger


@pytest.mark.parametrize("order", ["forwards", "backwards", "replayed"])
@pytest.mark.parametrize("wrong", [30, 1_000])
def test_wrong_ends_beside_real_time_limits_are_found(order, wrong):
    (fault,) = find_faults(lake_with_wrong_ends(wrong, order, seed=wrong))
    assert "record next_state=None" in fault
    if wrong == 1_000:
        assert "before any time limit, and no episode ever goes on from there. If they end there: " in fault
    assert find_faults(lake_with_wrong_ends(0, order)) == ()


def test_time_limits_that_change_and_rare_states_are_no_faults():
    """A long walk that is cut at one limit, then at a longer one, in states that are never updated."""
    for limits in ((5, 9), (9, 5), (5, 9, 12)):
        ledger = wf.Ledger(40, 1)
        ledger.record(39, 0, 1.0, None, step_size=0.1, discount=0.9)
        for place, limit in enumerate(limits):
            for _ in range(20):
                for step in range(limit):
                    state = 13 * place + step
                    ledger.record(state, 0, 0.0, state + 1, 0, step_size=0.1, discount=0.9)
                ledger.new_episode()
        assert find_faults(ledger) == (), limits


def test_a_fault_says_where_the_order_of_its_ledger_needs_new_episode():
    for order, words in (
        ("forwards", "after an episode that was cut"),
        ("backwards", "before the updates of an episode that was cut"),
    ):
        ledger = wf.Ledger(3, 1, order=order)
        for _ in range(1_001):
            ledger.record(0, 0, 0.0, 0, 0, step_size=0.1, discount=0.9)
        assert f"{words} by a time limit, call ledger.new_episode()" in find_faults(ledger)[0]


def corridor(order, wrong=True, episodes=30, slips=0.0):
    """A corridor whose last observation is that of the start, as some environments return it; the very last end recorded wrongly."""
    rng, ledger = np.random.default_rng(0), wf.Ledger(7, 2, order=order)
    for episode in range(episodes):
        state, path = 3, []
        while state not in (0, 6):
            action = int(rng.integers(2))
            to = state + (1 if (action == 1) != (rng.random() < slips) else -1)
            ended = to in (0, 6)
            path.append((state, action, 3 if ended else to, ended and not (wrong and episode == episodes - 1)))
            state = to
        if order == "backwards":
            ledger.new_episode()
        for state, action, to, ended in path[:: -1 if order == "backwards" else 1]:
            following = (None, None) if ended else (to, 0)
            ledger.record(state, action, 0.0, *following, step_size=0.2, discount=0.9)
    return ledger


@pytest.mark.parametrize("order", ["forwards", "backwards"])
def test_a_last_end_that_is_recorded_wrongly_is_found_though_its_state_is_an_ordinary_one(order):
    (fault,) = find_faults(corridor(order))
    assert "The last update bootstraps from state 3, but its state-action pair ended the episode in all" in fault
    assert "None if terminated else next_state" in fault
    assert find_faults(corridor(order, wrong=False)) == ()


def test_where_chance_decides_a_last_step_that_does_not_end_is_no_fault():
    for episodes in (30, 300):
        assert find_faults(corridor("forwards", episodes=episodes, slips=0.2)) == ()
        assert find_faults(corridor("forwards", episodes=3)) == (), "too little is recorded to tell"
