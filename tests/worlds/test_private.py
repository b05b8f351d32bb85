"""Private names of other libraries: each is used in one file, and exists in the installed version."""

import ast
from collections import defaultdict
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import whatfor
from whatfor.worlds import private

SOURCE = Path(whatfor.__file__).parent
#: Methods of named tuples and os._exit, which are public in spite of their names.
PUBLIC = {"_asdict", "_exit", "_fields", "_make", "_replace"}


def broken(name):
    return f"Gymnasium {gym.__version__} has changed {name}: adapt whatfor/worlds/private.py, or the range in pyproject.toml"


@pytest.mark.parametrize("steps", [7, 30])
def test_the_steps_of_a_time_limit(steps):
    limited = gym.wrappers.TimeLimit(gym.make("CliffWalking-v1").unwrapped, steps)
    limited.reset(seed=0)
    cut = next(n for n in range(1, 99) if limited.step(0)[3])
    assert private.max_episode_steps(limited) == cut, broken("TimeLimit._max_episode_steps")


def test_the_cells_of_the_cliff():
    env = gym.make("CliffWalking-v1").unwrapped
    below = [state for state in range(48) if any(reward == -100 for _, _, reward, _ in env.P[max(state - 12, 0)][2])]
    assert private.cliff_cells(env).tolist() == below == [*range(37, 47)], broken("CliffWalkingEnv._cliff")


@pytest.mark.parametrize("barto", [False, True])
def test_the_reward_of_cartpole(barto):
    env = gym.make("CartPole-v1", sutton_barto_reward=barto).unwrapped
    env.reset(seed=0)
    assert env.step(0)[1] == (0.0 if barto else 1.0)
    assert private.has_sutton_barto_reward(env) is barto, broken("CartPoleEnv._sutton_barto_reward")


def test_the_generator_of_an_environment():
    env = gym.make("FrozenLake-v1")
    assert private.random_generator(gym.Env()) is None, broken("Env._np_random")
    env.reset(seed=3)
    found = private.random_generator(env)
    assert isinstance(found, np.random.Generator), broken("Env._np_random")
    assert found is env.unwrapped.np_random


def test_each_private_name_of_a_library_is_used_in_one_file():
    own, used = set(), defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                    own.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                    own.add(name)
                case ast.Attribute(attr=name) if name.startswith("_") and not name.endswith("__"):
                    used[name].add(path.relative_to(SOURCE).as_posix())
    foreign = {name: sorted(files) for name, files in used.items() if name not in own | PUBLIC}
    assert {name for name, files in foreign.items() if "worlds/private.py" in files} == {
        "_cliff", "_max_episode_steps", "_sutton_barto_reward",
    }  # fmt: skip
    assert {name: files for name, files in foreign.items() if len(files) > 1} == {}
