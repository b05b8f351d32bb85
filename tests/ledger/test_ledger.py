"""The ledger: its content, memory, prefixes and slices."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.ledger import Update

STEP = {"step_size": 0.5, "discount": 0.9}


def small():
    ledger = wf.Ledger(n_states=3, n_actions=2)
    ledger.record(0, 1, 0.0, 1, 0, **STEP)
    ledger.record(1, 0, 1.0, None, ending="won", **STEP)
    ledger.record(2, 0, 0.0, 0, 1, **STEP)
    ledger.new_episode()  # a time limit, bootstrapped through
    ledger.record(0, 1, 2.0, None, timed_out=True, **STEP)
    return ledger


def test_an_update_reads_back_as_it_was_written():
    ledger = small()
    assert ledger[0] == Update(0, 0, 1, 0.0, 0, 1, 0, 0.5, 0.9, 0.0, None, 0, 0)
    assert ledger[1] == Update(0, 1, 0, 1.0, None, None, None, 0.5, 0.9, 0.0, "won", 0, 1)
    assert [update.ending for update in ledger] == [None, "won", None, "timed out"]
    assert ledger[-1].episode == 2
    assert ledger.endings == ["timed out", "terminated", "won"]


def test_episodes_steps_and_endings():
    ledger = small()
    assert ledger.episode_starts.tolist() == [0, 2, 3]
    episodes, steps = ledger.episodes_and_steps()
    assert episodes.tolist() == [0, 0, 1, 2]
    assert steps.tolist() == [0, 1, 0, 0]
    assert ledger.ended.tolist() == [False, True, False, True]
    assert ledger.timed_out.tolist() == [False, False, False, True]
    assert ledger.tries().tolist() == [[0, 2], [1, 0], [1, 0]]


def test_an_update_takes_16_bytes_while_its_parameters_are_constant():
    ledger = wf.Ledger(n_states=2, n_actions=2)
    for _ in range(1_000):
        ledger.record(0, 0, 1.0, 1, 1, **STEP)
    assert ledger.nbytes == 1_000 * 16 + 3 * 8, "and one number for each constant column"
    ledger.record(0, 0, 1.0, 1, 1, step_size=0.25, discount=0.9)
    assert ledger.nbytes == 1_001 * 24 + 2 * 8
    assert [ledger[i].step_size for i in (0, 999, 1_000)] == [0.5, 0.5, 0.25]


def test_prefixes_share_memory_and_slices_have_initial_values():
    ledger = small()
    assert np.array_equal(ledger[:2].values(), wf.Audit(ledger).as_of(updates=2).recomputed)
    assert ledger.until(1).n_episodes == 1
    assert np.shares_memory(ledger[:2].lines.cell, ledger.lines.cell)
    cut = ledger[2:]
    assert np.array_equal(cut.values(), ledger.values()), "the values before it are its initial values"
    row = wf.Audit(cut, values=ledger.values()).account(1, 0)
    assert (row.earnings.sum(), row.initial_share) == (0.0, 0.5), "nothing of it was learned in this part"
    with pytest.raises(ValueError, match="has 3 episodes"):
        ledger.until(4)


def test_a_lambda_return_is_not_sliced_in_the_middle():
    run = wf.train(wf.testing.random_world(0), wf.MonteCarlo(), episodes=5, seed=0)
    start = int(run.ledger.episode_starts[2])
    assert np.array_equal(run.ledger[start:].values(), run.tables)
    inside = next(i for i in range(1, len(run.ledger)) if i not in run.ledger.episode_starts)
    with pytest.raises(ValueError, match="slice where an episode starts"):
        run.ledger[inside:]


def test_continuing_does_not_change_the_earlier_ledger():
    ledger = small()
    audit = wf.Audit(ledger)
    before = audit.account(0, 1)
    ledger.record(0, 1, 100.0, None, **STEP)
    assert len(audit.ledger) == 4
    assert np.array_equal(audit.account(0, 1).visits, before.visits)
    one, two = ledger.continued(), ledger.continued()
    one.record(0, 0, 1.0, None, **STEP)
    two.record(0, 0, 2.0, None, **STEP)
    assert (len(ledger), one[-1].reward, two[-1].reward) == (5, 1.0, 2.0)


def test_initial_values_other_than_zero():
    start = np.arange(6.0).reshape(3, 2)
    ledger = wf.Ledger(n_states=3, n_actions=2, initial=start)
    ledger.record(0, 1, 1.0, 2, 1, **STEP)
    row = wf.Audit(ledger).account(0, 1)
    assert row.earnings.sum() == 0.5
    assert row.initial_share == pytest.approx(0.5 * 1.0 + 0.5 * 0.9 * 5.0, abs=1e-15)
    assert row.total == pytest.approx(ledger.values()[0, 0, 1], abs=1e-15)
    untried = wf.Audit(ledger).account(2, 0)
    assert (untried.total, untried.initial_weights.sum()) == (4.0, 1.0)


def test_two_tables_and_a_lambda_return_by_hand():
    ledger = wf.Ledger(n_states=2, n_actions=1, n_tables=2, order="backwards")
    ledger.record(1, 0, 4.0, None, table=1, lambda_=0.0, step_size=0.5, discount=0.5)
    ledger.record(0, 0, 1.0, 1, 0, table=0, next_table=1, lambda_=0.5, step_size=1.0, discount=0.5)
    # Table 1 at state 1 is 2; the target of state 0 is 1 + .5 * (.5 * 2 + .5 * 4).
    assert ledger.values().ravel().tolist() == [2.5, 0.0, 0.0, 2.0]
    assert wf.Audit(ledger).account(0, 0).total == 1.25, "half of each table"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"state": 3}, "state 3 is out of range"),
        ({"state": -1}, "state -1 is out of range"),
        ({"action": 2}, "action 2 is out of range"),
        ({"next_state": 7}, "state 7 is out of range"),
        ({"reward": float("nan")}, "reward is nan"),
        ({"reward": float("inf")}, "reward is inf"),
        ({"step_size": 1.5}, r"step_size is 1.5; it must lie in \[0, 1\]"),
        ({"discount": -0.1}, "discount is -0.1"),
        ({"lambda_": 2.0}, "lambda_ is 2.0"),
        ({"table": 1}, "table 1 is out of range"),
        ({"next_action": None}, "next_action is missing"),
        ({"ending": "won"}, "pass next_state=None"),
        ({"origin": 3}, "order='replayed'"),
    ],
)
def test_invalid_updates_are_refused_and_nothing_is_lost(wrong, message):
    ledger = small()
    before = ledger.values()
    line = {"state": 0, "action": 0, "reward": 0.0, "next_state": 1, "next_action": 0, **STEP, **wrong}
    with pytest.raises(ValueError, match=message):
        ledger.record(**line)
    assert len(ledger) == 4
    assert np.array_equal(ledger.values(), before)


def test_a_step_size_of_zero_is_a_target_only():
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(1, 0, 3.0, None, step_size=0.0, discount=1.0)
    ledger.record(0, 0, 1.0, 1, lambda_=1.0, step_size=0.5, discount=1.0)
    assert ledger.values().ravel().tolist() == [2.0, 0.0]
    assert wf.Audit(ledger).account(0, 0).total == 2.0


def test_impossible_ledgers_are_refused():
    with pytest.raises(ValueError, match="n_states is 0; it must be a whole number of at least 1"):
        wf.Ledger(n_states=0, n_actions=1)
    with pytest.raises(ValueError, match="more than a ledger can number"):
        wf.Ledger(n_states=2**31, n_actions=2)
    with pytest.raises(ValueError, match=r"pass a number, \(2, 1\) or \(1, 2, 1\)"):
        wf.Ledger(n_states=2, n_actions=1, initial=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="cannot be sliced with a step"):
        small()[::2]


def test_the_residual_detects_one_wrong_update():
    """The ledger is compared with the learner's own table."""
    run = wf.train("Taxi-v4", wf.QLearning(step_size=0.4, discount=0.9), episodes=50, seed=0)
    assert run.audit.residual == 0.0
    run.ledger.lines.reward[len(run.ledger) // 2] += 1e-6
    assert wf.Audit(run.ledger, values=run.tables).residual > 0.0
    state, action = run.ledger[len(run.ledger) - 1][1:3]
    run.ledger.lines.reward[-1] += 0.5
    assert wf.Run(labels=run.labels, values=run.tables, ledger=run.ledger).intention(state, action).residual > 0.1


def test_the_residual_shows_whether_a_custom_loop_records_in_the_right_place():
    """The README's custom loop: the residual is zero only if updates are recorded in the right place."""

    def loop(wrong: bool) -> float:
        dice = np.random.default_rng(0)
        values, ledger = np.zeros((4, 2)), wf.Ledger(n_states=4, n_actions=2)
        for _ in range(50):
            state = 0
            while state is not None:
                action = int(dice.integers(2))
                following = min(state + action, 3) if dice.random() < 0.9 else None
                reward = float(following == 3)
                best = None if following is None else int(values[following].argmax())
                target = reward + (0.0 if following is None else 0.9 * values[following, best])
                values[state, action] += 0.1 * (target - values[state, action])
                if wrong and following is not None:
                    best = 1 - best
                ledger.record(state, action, reward, following, best, step_size=0.1, discount=0.9)
                state = following
        return wf.Audit(ledger, values=values).residual

    assert loop(wrong=False) < 1e-15
    assert loop(wrong=True) > 1e-3


def test_the_ledger_and_the_audit_copy_the_tables_they_get():
    """A loop that changes its table in place changes neither the initial values nor the audit."""
    values = np.ones((2, 1))
    ledger = wf.Ledger(n_states=2, n_actions=1, initial=values)
    values[0, 0] += 0.5 * (4.0 - values[0, 0])
    ledger.record(0, 0, 4.0, None, step_size=0.5, discount=0.9)
    audit = wf.Audit(ledger, values=values)
    assert audit.residual == 0.0
    values[0, 0] += 0.5 * (4.0 - values[0, 0])
    ledger.record(0, 0, 4.0, None, step_size=0.5, discount=0.9)
    assert audit.residual == 0.0
    assert wf.Audit(ledger, values=values).residual == 0.0


def test_empty_ledgers_can_be_continued_twice():
    empty = wf.Ledger(n_states=1, n_actions=1)
    branch = empty.continued()
    branch.record(0, 0, 1.0, None, **STEP)
    assert (len(empty), len(branch)) == (0, 1)
    part = small()[2:]
    part.continued().record(0, 0, 1.0, None, **STEP)
    assert len(part) == 2


def test_a_listener_may_continue_the_ledger():
    branches = []

    def listener(ledger, first):
        branches.append(ledger.continued())
        branches[-1].record(0, 0, 123.0, None, step_size=0.5, discount=0.5)

    for engine in ("python", "compiled"):
        run = wf.train("FrozenLake-v1", episodes=30, seed=0, engine=engine, listeners=[listener])
        assert run.audit.residual == 0.0
        assert branches[-1][-1].reward == 123.0
        assert len(branches[-1]) == len(run.ledger) + 1


def test_replay_in_a_custom_loop_records_experiences_and_episodes():
    ledger = wf.Ledger(n_states=2, n_actions=1, order="replayed")
    ledger.record(0, 0, 1.0, None, origin=0, **STEP)
    assert (ledger[0].episode, ledger[0].step) == (0, 0)
    ledger.new_episode(experiences=5)
    ledger.record(1, 0, 1.0, None, origin=4, **STEP)
    ledger.record(1, 0, 1.0, None, origin=6, **STEP)
    assert [episodes.tolist() for episodes in ledger.episodes_and_steps()] == [[0, 0, 1], [0, 4, 1]]
    assert ledger.episode_starts.tolist() == [0, 1]
    with pytest.raises(ValueError, match="experiences="):
        ledger.new_episode()
    with pytest.raises(ValueError, match="origin is -5; it must be a whole number from 0"):
        ledger.record(0, 0, 1.0, None, origin=-5, **STEP)


def test_contradictory_endings_are_refused():
    ledger = small()
    with pytest.raises(ValueError, match="did not time out"):
        ledger.record(0, 0, 1.0, None, ending="won", timed_out=True, **STEP)
    ledger.record(0, 0, 1.0, None, ending=-4, **STEP)
    assert ledger[-1].ending == "won", "a transition's code"
    with pytest.raises(ValueError, match="not the code of an ending"):
        ledger.record(0, 0, 1.0, None, ending=-9, **STEP)


def test_a_long_truncated_first_episode_keeps_its_lambda():
    """Space is reserved at the truncation: the λ of 0 must not be lost."""
    for length in (32_766, 32_767, 32_768, 32_769):
        world = wf.worlds.table(next_state=[[0]], reward=[[1.0]])
        learner = wf.MonteCarlo(step_size=0.5, discount=0.5, initial=5.0)
        run = wf.train(world, learner, episodes=1, seed=0, max_steps=length, engine="python")
        assert run.ledger.lines.lambda_[0] == 0.0
        assert run.audit.residual == 0.0


ENDED = {
    "Q-learning": (wf.QLearning(), None),
    "Q-learning, replayed": (wf.QLearning(), wf.Replay(batch=2, warmup=50)),
    "double Q-learning, replayed": (wf.DoubleQLearning(), wf.Replay(batch=2, warmup=50)),
    "Monte Carlo": (wf.MonteCarlo(), None),
}


@pytest.mark.parametrize(("learner", "replay"), ENDED.values(), ids=ENDED)
def test_a_ledger_records_final_states(learner, replay, tmp_path):
    finals = []

    class Remembering(gym.Wrapper):
        def step(self, action):
            observation, reward, terminated, truncated, info = super().step(action)
            if terminated or truncated:
                finals.append(observation)
            return observation, reward, terminated, truncated, info

    env = Remembering(gym.make("FrozenLake-v1"))
    run = wf.train(env, learner, episodes=40, seed=1, replay=replay, engine="python")
    assert run.ledger.final_states.tolist() == finals
    assert run.as_of(30).ledger.final_states.tolist() == finals[:30]
    run.save(tmp_path / "run")
    assert wf.load(tmp_path / "run").ledger.final_states.tolist() == finals
    later = run.ledger[run.ledger.episode_starts[25] :]
    assert later.final_states.tolist()[-15:] == finals[25:]


def test_a_final_state_needs_an_ended_episode():
    ledger = wf.Ledger(n_states=3, n_actions=1)
    with pytest.raises(ValueError, match="pass it with next_state=None"):
        ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9, final_state=1)
    with pytest.raises(ValueError, match="final_state"):
        ledger.record(0, 0, 0.0, None, step_size=0.5, discount=0.9, final_state=3)
    assert len(ledger) == 0


def first_visit(episodes, step_size=0.5):
    """First-visit Monte Carlo: further visits of a pair are recorded with a step size of 0; lists of (state, action, reward)."""
    ledger = wf.Ledger(2, 1, order="backwards")
    for steps in episodes:
        for at in range(len(steps) - 1, -1, -1):
            state, action, reward = steps[at]
            again = any(earlier[:2] == (state, action) for earlier in steps[:at])
            to = {} if at == len(steps) - 1 else {"lambda_": 1.0, "next_state": 1 - state, "next_action": 0}
            size = 0.0 if again else step_size
            ledger.record(state, action, reward, step_size=size, discount=0.5, **to)
    return ledger


def test_first_visit_monte_carlo_counts_every_experience_and_every_update():
    """Pair 0 is visited twice an episode, with rewards 1 and 5; the second visit is in the return and is no update."""
    ledger = first_visit([[(0, 0, 1.0), (1, 0, 2.0), (0, 0, 5.0)]] * 4)
    assert ledger.tries().ravel().tolist() == [4, 4], "first visits only"
    assert ledger.learned_from.all()
    target = 1.0 + 0.5 * (2.0 + 0.5 * 5.0)
    assert ledger.values()[0, 0, 0] == pytest.approx(target * (1.0 - 0.5**4))
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    assert "4 updates of" not in repr(run)
    assert run.audit.mean_rewards.ravel().tolist() == [3.0, 2.0], "the mean of 1 and 5"
    assert run.audit.experienced.counts.tolist() == [8.0, 4.0]
    why = run.provenance(0)
    weight = 1.0 - 0.5**4
    assert why.luck == pytest.approx(weight * ((1.0 - 3.0) + 0.25 * (5.0 - 3.0)))
    assert why.weights @ why.rewards == pytest.approx(why.value)
    assert "on 4 episodes, from 0 to 3" in str(why)
    assert run.parts(0).totals == pytest.approx({"reward +1": weight, "reward +2": weight, "reward +5": weight * 1.25})
    assert run.repriced(factors={"reward +5": 0.0}, how="replay").values[0, 0] == pytest.approx(2.0 * weight)
    assert "(tried 4 times)" in str(run.outcomes(0))
    deleted = run.without([0, 1])
    assert deleted.ledger.learned_from.sum() == 6, "what was deleted was not learned from"
    assert "2 episodes" in str(deleted.provenance(0))
    assert deleted.audit.experienced.counts.tolist() == [4.0, 2.0]
