"""Every table world equals Gymnasium's: the same table and, with the same seed, the same episodes."""

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.beliefs import value_iteration
from whatfor.worlds.gymnasium import labels_of, twin
from whatfor.worlds.steppers import EnvStepper, WorldStepper

WORLDS = {
    "taxi": ("Taxi-v4", {}),
    "rainy taxi": ("Taxi-v4", {"is_rainy": True}),
    "very rainy taxi": ("Taxi-v4", {"is_rainy": True, "rainy_probability": 0.4}),
    "dry lake": ("FrozenLake-v1", {"is_slippery": False}),
    "slippery lake": ("FrozenLake-v1", {"is_slippery": True}),
    "large lake that pays": ("FrozenLake-v1", {"map_name": "8x8", "success_rate": 0.6, "reward_schedule": (3, -2, -1)}),
    "cliff": ("CliffWalking-v1", {}),
    "slippery cliff": ("CliffWalking-v1", {"is_slippery": True}),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_table_has_the_transitions_of_the_environment(name):
    id, options = WORLDS[name]
    core = gym.make(id, **options).unwrapped
    world = twin(gym.make(id, **options))
    table, n_actions = world.table, world.labels.n_actions
    assert world.labels.n_states == core.observation_space.n
    for s, actions in core.P.items():
        for a, entries in actions.items():
            here = slice(*table.first[s * n_actions + a : s * n_actions + a + 2])
            chances, following, rewards, ended = zip(*entries, strict=True)
            assert table.chance[here].tolist() == np.cumsum(chances).tolist()
            assert table.next_state[here].tolist() == list(following)
            assert table.reward[here].tolist() == list(rewards)
            assert (table.ending[here] != 0).tolist() == list(ended)
    assert table.start.tolist() == np.cumsum(core.initial_state_distrib).tolist()


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_seed_gives_the_same_episodes(name):
    """200 episodes; most actions are good ones, so that episodes end."""
    id, options = WORLDS[name]
    env = gym.make(id, max_episode_steps=80, **options)
    labels, world = labels_of(env), twin(env)
    ours, theirs = WorldStepper(world, 11), EnvStepper(env, labels, 11)
    good = value_iteration(world, discount=0.99).argmax(axis=1)
    dice = np.random.default_rng(0)
    ended = 0
    for _ in range(200):
        state = ours.reset()
        assert state == theirs.reset()
        over = False
        while not over:
            action = int(good[state]) if dice.random() < 0.8 else int(dice.integers(labels.n_actions))
            *mine, _ = ours.step(action)
            *its, truncated = theirs.step(action)
            assert mine == its
            state, _, ending = mine
            ended += ending != 0
            over = truncated or ending != 0
    assert ended > 10


def reached(world, seed, names, episodes=400):
    """The names of endings in a run, with their last action and reward."""
    run = wf.train(world, wf.QLearning(step_size=0.5, exploration=0.3), episodes=episodes, seed=seed)
    ends = {(update.ending, update.action, update.reward) for update in run.ledger if update.ending is not None}
    assert {name for name, _, _ in ends} == names
    return ends


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_endings_have_names(engine):
    def world(id, **options):
        place = gym.make(id, **options)
        return place if engine == "python" else twin(place)

    assert reached(world("Taxi-v4"), 0, {"delivered"}) == {("delivered", 5, 20.0)}
    ends = reached(world("FrozenLake-v1"), 0, {"fell into a hole", "reached the goal"})
    assert {(name, reward) for name, _, reward in ends} == {("fell into a hole", 0.0), ("reached the goal", 1.0)}
    assert {name for name, _, _ in reached(world("CliffWalking-v1"), 0, {"reached the goal"}, 100)}


def test_the_chain_has_the_rewards_of_the_paper():
    """2 for the same action again, 1 for the other one, 0 for the first step."""
    chain = wf.worlds.chain()
    paid = {}
    for first, second in np.ndindex(2, 2):
        play = WorldStepper(chain, 0)
        assert chain.labels.words(play.reset()) == "the start"
        node, reward, ending, _ = play.step(first)
        assert (reward, ending) == (0.0, 0)
        assert chain.labels.words(node) == ("the upper node", "the lower node")[first]
        _, paid[chain.labels.actions[first], chain.labels.actions[second]], ending, _ = play.step(second)
        assert ending != 0
    assert paid == {("up", "up"): 2.0, ("up", "down"): 1.0, ("down", "up"): 1.0, ("down", "down"): 2.0}
