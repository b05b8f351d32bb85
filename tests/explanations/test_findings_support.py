"""Loops are claimed where experience and play support them, and nowhere else."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.explanations.findings import Finding
from whatfor.explanations.findings.ground import Ground
from whatfor.explanations.findings.rewards import merge_loops
from whatfor.text import speaking_shell


class Slippery(gym.Env):
    """A square on which an action is sometimes another one; the goal pays -1, and a step in the upper rows nothing."""

    action_space = gym.spaces.Discrete(4)

    def __init__(self, side, slip):
        self.side, self.slip = side, slip
        self.observation_space = gym.spaces.MultiDiscrete([side, side])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = tuple(self.np_random.integers(0, self.side - 1, 2).tolist())
        return np.array(self.at), {}

    def step(self, action):
        if self.np_random.random() < self.slip:
            action = self.np_random.integers(4)
        move = [(-1, 0), (0, 1), (1, 0), (0, -1)][action]
        self.at = tuple(min(self.side - 1, max(0, one + by)) for one, by in zip(self.at, move, strict=True))
        ended = self.at == (self.side - 1, self.side - 1)
        return np.array(self.at), -1.0 if ended else 0.0 if self.at[0] < 2 else -0.1, ended, False, {}


def slippery_run(side, slip, limit, seed, episodes=600):
    learner = wf.QLearning(step_size=0.2, discount=0.95, exploration=wf.linear(1.0, 0.1, episodes=300))
    return wf.train(Slippery(side, slip), learner, episodes=episodes, max_steps=limit, seed=seed, progress=False)


def left_by_play(run, states, *, first):
    """How many of 50 greedy episodes get into some states, and how many of these leave them or end."""
    entered = left = 0
    for seed in range(first, first + 50):
        episode = run.episode(None, seed=seed)
        inside = [run.labels.index(state) in states for state, _ in episode]
        entered += any(inside)
        left += any(inside) and (not all(inside[inside.index(True) :]) or episode.ending == "terminated")
    return entered, left


def claimed_loops(run):
    return [one for one in run.findings() if "without end" in one.sentence or "no action leads" in one.sentence]


@pytest.mark.parametrize("seed", [5, 14])
def test_few_experiences_that_all_stayed_are_no_loop(seed):
    """The step of a state in a corner has about 20 updates, which all stayed; it is left with a probability of 5 %."""
    run = slippery_run(6, 0.1, 60, seed)
    ground = Ground.of(run)
    assert any(len(core) == 1 for core in ground.cores), "its experience alone shows one"
    assert claimed_loops(run) == []


@pytest.mark.long
@pytest.mark.parametrize(("side", "slip", "limit"), [(6, 0.1, 60), (5, 0.05, 40), (7, 0.02, 60)])
def test_no_loop_is_claimed_that_play_leaves(side, slip, limit):
    for seed in range(20):
        run = slippery_run(side, slip, limit, seed)
        for found in claimed_loops(run):
            entered, left = left_by_play(run, {*found.states}, first=1_000)
            assert entered > 0, (seed, found.sentence)
            assert left <= 0.5 * entered, (seed, found.sentence)


def test_a_loop_that_only_play_can_confirm_is_a_note_where_nothing_can_be_played(tmp_path):
    """Without an environment to play in, findings said nothing about loops, which intentions named with a probability of 98 %."""
    run = slippery_run(6, 0.1, 60, 0)
    run.save(tmp_path / "run")
    played, alone = run.findings(), wf.load(tmp_path / "run").findings()
    assert not any("get into a loop" in note for note in played.notes)
    (note,) = [note for note in alone.notes if "get into a loop" in note]
    assert note.startswith("In its recorded transitions, too few to be sure, ")
    assert note.endswith("to check this by play, pass env= to whatfor.load or whatfor.Run.")
    with speaking_shell():
        assert str(wf.load(tmp_path / "run").findings()).endswith("to check this by play, add --module MODULE[:NAME].")


def test_getting_into_a_loop_is_limited_to_the_length_of_an_episode():
    """With a chance of 1 % in each step it gets into a state that no action leaves; an episode has 10 steps."""
    trap = wf.worlds.table(
        [[[0, 1], [2, 2]], [[1, 1], [1, 1]], [[2, 2], [2, 2]]],
        [[[0.0, 0.0], [-1.0, -1.0]], [[0.0, 0.0]] * 2, [[0.0, 0.0]] * 2],
        [[[False, False], [True, True]], [[False, False]] * 2, [[True, True]] * 2],
        probability=[[[0.99, 0.01], [1.0, 0.0]], [[1.0, 0.0]] * 2, [[1.0, 0.0]] * 2],
        max_steps=10,
    )
    run = wf.train(trap, wf.QLearning(discount=0.9, exploration=0.1), episodes=300, seed=0, progress=False)
    ground = Ground.of(run)
    assert run.values[0].argmax() == 0
    assert ground.entered[1] == pytest.approx(1.0 - 0.99**10)


def test_a_reward_that_is_earned_again_is_no_loop_of_a_surprising_one():
    run = wf.train("FrozenLake-v1", wf.QLearning(exploration=0.3), episodes=200, seed=0, progress=False)
    ground = Ground.of(run)
    assert not ground.future.cannot_end[0]
    surprising = Finding("surprise", "It paid 9.", 0, 0.5, 0.5, "provenance", 1, states=(0,), episode=3)
    repeated = Finding("reward", "It comes back.", 0, 0.5, 0.5, "parts", 1, states=(0,))
    assert merge_loops(ground, [surprising], [repeated]) == ([surprising], [])
