"""Deep runs on disk: npz, JSON and safetensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_agents import CONCEPTS, ENDINGS, cart, lake, learned
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import whatfor as wf
from whatfor.deep import BeliefCallback, BeliefNetwork, BeliefSettings, Bins, Clusters, run_of
from whatfor.deep.agent import copy_of
from whatfor.deep.cells import make_partition
from whatfor.deep.spaces import space_from_document, space_to_document
from whatfor.deep.tensors import pack, prefixed, unpack

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)
BOUNDS = [(-2.4, 2.4), (-2.5, 2.5), (-0.21, 0.21), (-1.0, 1.0)]


def assert_same(one: wf.Run, two: wf.Run, state: object) -> None:
    assert one.intention(state).to_json() == two.intention(state).to_json()
    assert one.outcomes(state).to_json() == two.outcomes(state).to_json()
    assert one.simulation(state, rollouts=3).to_json() == two.simulation(state, rollouts=3).to_json()


def test_a_countable_run_comes_back_the_same(tmp_path: Path) -> None:
    run = lake()
    run.save(tmp_path / "run")
    assert_same(run, wf.load(tmp_path / "run"), 0)
    kinds = {path.suffix for path in (tmp_path / "run").iterdir()}
    assert kinds == {"", ".json", ".npz", ".safetensors"}  # the first is the lock's
    again = wf.load(tmp_path / "run")
    again.save(tmp_path / "again")  # a loaded run can be saved too, and is the same to the last byte
    assert contents(tmp_path / "again") == contents(tmp_path / "run")


def contents(folder: Path) -> dict[str, bytes]:
    """What the files of a run hold; their names end in random digits."""
    return {file.name.partition("-")[0]: file.read_bytes() for file in folder.iterdir() if "-" in file.name}


def test_concepts_are_given_again(tmp_path: Path) -> None:
    _, run = cart()
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"^its concepts .* are functions, which are not saved: pass them again"):
        wf.load(tmp_path / "run")
    with pytest.raises(ValueError, match="cells= lacks 'fell left'"):
        wf.load(tmp_path / "run", cells=CONCEPTS)
    with pytest.raises(ValueError, match="cells=3; give the dictionary of concepts and endings"):
        wf.load(tmp_path / "run", cells=3)
    assert_same(run, wf.load(tmp_path / "run", cells={**CONCEPTS, **ENDINGS}), UPRIGHT)


@pytest.mark.parametrize("cells", [Bins((3, 3, 6, 3), bounds=BOUNDS), Clusters(5)], ids=["bins", "clusters"])
def test_other_cells_come_back(cells: object, tmp_path: Path) -> None:
    run = learned("CartPole-v1", cells, steps=300)[1].run
    run.save(tmp_path / "run")
    assert_same(run, wf.load(tmp_path / "run"), UPRIGHT)


@pytest.mark.parametrize("clip", [10.0, np.inf])
def test_normalised_observations_come_back(clip: float, tmp_path: Path) -> None:
    vector = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0), clip_obs=clip)
    beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
    model = DQN("MlpPolicy", vector, seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8]})
    model.learn(300, callback=beside)
    beside.run.save(tmp_path / "run")
    one, two = beside.run.intention(UPRIGHT), wf.load(tmp_path / "run").intention(UPRIGHT)
    assert np.allclose(one.values, two.values, atol=1e-5)
    assert np.allclose(one.visits, two.visits, atol=1e-5)


def test_an_agent_of_somebodys_own_making_is_given_again(tmp_path: Path) -> None:
    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8], "activation_fn": torch.nn.Hardswish})  # fmt: skip
    beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
    model.learn(200, callback=beside)
    beside.run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"wf.load\(path, agent=model\)"):
        wf.load(tmp_path / "run")
    assert_same(beside.run, wf.load(tmp_path / "run", agent=model), UPRIGHT)
    for wrong, says in (
        (5, "agent=5; give the DQN"),
        (cart_pixels(), r"agent= reads Box\(0, 255, .*; the run's agent"),
    ):
        with pytest.raises(ValueError, match=says):
            wf.load(tmp_path / "run", agent=wrong)
    odd = wf.load(tmp_path / "run", agent=lambda seen: np.zeros((len(seen), 3)))
    with pytest.raises(ValueError, match=r"have the shape \(1, 3\); they must have \(1, 2\)"):
        odd.intention(UPRIGHT)


def cart_pixels() -> DQN:
    space = gym.spaces.Box(0, 255, (4,), np.uint8)
    return DQN("MlpPolicy", gym.wrappers.TransformObservation(gym.make("CartPole-v1"), np.abs, space), device="cpu")


def test_a_network_that_was_changed_is_given_again(tmp_path: Path) -> None:
    """Only a network that can be built again from its description is rebuilt; of others, no weights are saved."""
    model, beside = learned("CartPole-v1", Bins((3, 3, 6, 3), bounds=BOUNDS), steps=200)
    assert copy_of(model) is not None
    model.q_net.double()
    assert copy_of(model) is None
    model.q_net.float().q_net.append(torch.nn.Linear(2, 2))
    assert copy_of(model) is None
    del model.q_net.q_net[-1]
    model.policy.normalize_images = False
    assert copy_of(model) is None
    run = beside.run
    run.beliefs.agent = copy_of(model)  # type: ignore[union-attr]
    run.save(tmp_path)
    with pytest.raises(ValueError, match=r"Pass the agent, wf.load\(path, agent=model\)"):
        wf.load(tmp_path)


def test_the_agent_given_at_loading_is_the_one_that_is_saved_again(tmp_path: Path) -> None:
    model, beside = learned("CartPole-v1", Bins((3, 3, 6, 3), bounds=BOUNDS), steps=200)
    beside.run.save(tmp_path / "run")
    with torch.no_grad():
        for weights in model.q_net.parameters():
            weights.mul_(2.0)
    given = wf.load(tmp_path / "run", agent=model)
    given.save(tmp_path / "again")
    assert_same(given, wf.load(tmp_path / "again"), UPRIGHT)
    assert given.values_at(UPRIGHT).tolist() != beside.run.values_at(UPRIGHT).tolist()


def test_a_replay_buffer_that_saves_memory_is_explained_and_saved(tmp_path: Path) -> None:
    beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
    model = DQN(
        "MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, buffer_size=300, optimize_memory_usage=True,
        replay_buffer_kwargs={"handle_timeout_termination": False}, policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    model.learn(500, callback=beside)  # the buffer is full and begins again
    beside.run.save(tmp_path)
    assert_same(beside.run, wf.load(tmp_path), UPRIGHT)


SPACES = [
    gym.spaces.Discrete(5, start=-2),
    gym.spaces.MultiDiscrete([3, 4], start=[1, -1]),
    gym.spaces.MultiDiscrete(np.array([[3, 4], [1, 2]], np.int32), dtype=np.int32),
    gym.spaces.MultiBinary(4),
    gym.spaces.MultiBinary([2, 3]),
    gym.spaces.Box(-np.inf, np.inf, (2, 3), np.float64),
    gym.spaces.Box(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (2,), np.int64),
    gym.spaces.Box(0, 255, (3, 3), np.uint8),
    gym.spaces.Box(-0.1, 0.1, (), np.float32),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_spaces_come_back_the_same(space: gym.Space[Any]) -> None:
    part, tensors = space_to_document(space)
    back = space_from_document(part, unpack(pack(prefixed("space", tensors))))
    assert back == space
    assert back.dtype == space.dtype


def test_other_spaces_are_refused() -> None:
    with pytest.raises(ValueError, match=r"observations of Text.* cannot be saved"):
        space_to_document(gym.spaces.Text(3))


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> object:
        return (open, (self.path, "w"))


@pytest.mark.parametrize("seed", [2**64, -(2**64), 0.5])
def test_a_seed_that_could_not_be_saved_is_refused_at_once(seed: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"64 bits|integer"):
        BeliefSettings(seed=seed)


def test_damaged_networks_are_refused(tmp_path: Path) -> None:
    lake().save(tmp_path / "run")
    (network,) = (tmp_path / "run").glob("belief-*")
    network.write_bytes(network.read_bytes()[:-1] + b"x")
    with pytest.raises(wf.FolderError, match="checksum"):
        wf.load(tmp_path / "run")


def test_a_run_that_nobody_looked_at_comes_back(tmp_path: Path) -> None:
    """Where nothing was visited, the gap to Q is infinite; where Q is, the correlation is no number."""
    trust = lake().trust
    assert trust is not None
    odd = replace(trust, residual=np.inf, correlation=np.nan, by_visits=np.nan)
    assert odd.grade == "poor"
    run = _with_trust(odd)
    run.save(tmp_path / "run")
    back = wf.load(tmp_path / "run").trust
    assert back is not None
    assert back.to_json() == odd.to_json()
    assert (back.residual, str(back.correlation), str(back.by_visits)) == (np.inf, "nan", "nan")


def test_an_own_loop_that_visited_nothing_is_saved(tmp_path: Path) -> None:
    cells = make_partition(None, gym.spaces.Discrete(3), None, np.zeros(0), n_actions=2)

    def worth(seen: Any) -> Any:
        return np.zeros((len(seen), 2))

    run = run_of(BeliefNetwork(cells, worth, discount=0.9), (np.zeros(0, int), np.zeros(0, int)))
    run.save(tmp_path / "run")
    assert str(wf.load(tmp_path / "run", agent=worth).intention(0)) == str(run.intention(0))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda run: run.tables.fill(np.nan), r"Q-values are NaN or infinite in 16 of 16 states, .* learning_rate"),
        (lambda run: run.beliefs.experience.rewards.fill_(np.nan), r"belief network holds NaN .* look for rewards"),
        (lambda run: run.settings.update(reward_scale=np.nan), r"settings.reward_scale is nan, so .* cannot be saved"),
        (lambda run: run.beliefs.agent.weights["q_net.0.bias"].fill_(np.inf), "agent's network holds NaN or infinite"),
        (
            lambda run: setattr(run.beliefs.experience, "updates", -1),
            "belief network cannot be saved: expected `int` >= 0",
        ),
        (
            lambda run: setattr(run.beliefs, "trust", replace(run.trust, residual=-1.0)),
            "cannot be saved: .* at `network.trust",
        ),
        (lambda run: run.beliefs.experience.count.fill_(0.5), "cannot be saved: its counts of samples"),
    ],
    ids=["Q", "beliefs", "settings", "agent", "updates", "trust", "counts"],
)
def test_what_cannot_be_saved_is_named_and_harms_nothing(spoil: Any, says: str, tmp_path: Path) -> None:
    lake().save(tmp_path / "run")
    before = contents(tmp_path / "run")
    run = _with_trust(lake().trust)
    spoil(run)
    with pytest.raises(ValueError, match=says):
        run.save(tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_an_agent_that_diverged_is_named_and_the_earlier_run_stays(tmp_path: Path) -> None:  # attack 10
    lake().save(tmp_path)
    before = contents(tmp_path)
    beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, learning_rate=1e30)
    model.learn(200, callback=beside)
    run = beside.run
    assert run.trust is not None
    assert run.trust.grade == "poor"
    with pytest.raises(ValueError, match="NaN or infinite: its learning has diverged"):
        run.intention(UPRIGHT)
    with pytest.raises(
        ValueError, match=r"cannot be saved: its learning has diverged. Train again with a smaller learning"
    ):
        run.save(tmp_path)
    assert contents(tmp_path) == before


def _with_trust(trust: Any) -> wf.Run:
    """The lake's run again, for changes."""
    run, belief = lake(), lake().beliefs
    assert isinstance(belief, BeliefNetwork)
    copied = belief.snapshot(belief.q_values)
    assert belief.agent is not None
    copied.agent = belief.agent._replace(
        weights={name: tensor.clone() for name, tensor in belief.agent.weights.items()}
    )
    copied.trust = trust
    return wf.Run(labels=run.labels, values=run.tables, beliefs=copied, settings=dict(run.settings))


def test_rewards_alone_can_be_normalised(tmp_path: Path) -> None:
    vector = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0), norm_obs=False)
    beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
    model = DQN("MlpPolicy", vector, seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8]})
    model.learn(300, callback=beside)
    run = beside.run
    run.save(tmp_path / "run")
    assert_same(run, wf.load(tmp_path / "run"), UPRIGHT)
    scale = float(1.0 / np.sqrt(vector.ret_rms.var + vector.epsilon))
    played = run.simulation(UPRIGHT, rollouts=2)
    assert played.value == pytest.approx(scale * played.visits.sum())  # every step pays 1, in the units of Q


def test_the_command_line_asks_a_saved_deep_run(tmp_path: Path, whatfor: object) -> None:
    lake().save(tmp_path / "run")
    code, out, err = whatfor("explain", tmp_path / "run", "--state", "row 0, column 0")  # type: ignore[operator]
    assert code == 0, err
    assert "Estimated by a network" in out
    code, _, err = whatfor("explain", tmp_path / "run", "--state", "0", "--question", "provenance")  # type: ignore[operator]
    assert code == 2
    assert "a network keeps none" in err


def test_the_command_line_is_told_where_concepts_are(tmp_path: Path, whatfor: Any) -> None:
    _, run = cart()
    run.save(tmp_path / "cart")
    words = run.labels.words(run.situation(np.zeros(4, np.float32)).index)
    asked = ("explain", str(tmp_path / "cart"), "--state", words)
    assert "--cells module:NAME" in whatfor(*asked)[2]
    assert str(run.intention(words)) in whatfor(*asked, "--cells", "small_agents:ALL")[1]
    for cells, says in (
        ("small_agents:NONE", "has no 'NONE'"),
        ("nowhere:X", "no module 'nowhere'"),
        ("small_agents", "takes module:NAME"),
    ):
        code, _, err = whatfor(*asked, "--cells", cells)
        assert (code, says in err) == (2, True)


def test_a_wrapped_world_is_named(tmp_path: Path) -> None:
    env = gym.make("FrozenLake-v1", is_slippery=False)
    with pytest.raises(ValueError, match="the states of this one have other names"):
        _ = learned(env, steps=200, world="Taxi-v4")[1].run
