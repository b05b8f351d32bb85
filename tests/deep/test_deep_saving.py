"""Deep runs, saved and loaded: JSON, npz and safetensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_agents import CONCEPTS, ENDINGS, cart, lake, settled, train_agent
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


def test_a_loaded_countable_run_answers_the_same(tmp_path: Path) -> None:
    run = lake()
    run.save(tmp_path / "run")
    assert_same(run, wf.load(tmp_path / "run"), 0)
    kinds = {path.suffix for path in (tmp_path / "run").iterdir()}
    assert kinds == {"", ".json", ".npz", ".safetensors"}  # the one without a suffix is the lock
    loaded = wf.load(tmp_path / "run")
    loaded.save(tmp_path / "copy")  # saving a loaded run writes the same bytes
    assert contents(tmp_path / "copy") == contents(tmp_path / "run")


def test_what_was_checked_is_loaded(tmp_path: Path) -> None:
    """Also how far visits are off near an observation."""
    _, callback = settled()
    for name, run in (("settled", callback.run), ("learned", callback.learned)):
        run.save(tmp_path / name)
        loaded = wf.load(tmp_path / name, cells={**CONCEPTS, **ENDINGS})
        assert_same(run, loaded, UPRIGHT)
        assert run.trust is not None
        assert run.trust.checked is not None
        assert loaded.trust == run.trust
        at = run.situation(UPRIGHT)
        near = [one.beliefs.row(at, 0).trust.here for one in (run, loaded)]  # type: ignore[union-attr]
        assert near[0] == near[1] > 0.0
        loaded.save(tmp_path / "copy")
        assert contents(tmp_path / "copy") == contents(tmp_path / name)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of a run's files, by the part of their names that is not random."""
    return {file.name.partition("-")[0]: file.read_bytes() for file in folder.iterdir() if "-" in file.name}


def test_concepts_must_be_passed_to_load(tmp_path: Path) -> None:
    _, run = cart()
    run.save(tmp_path / "run")
    with pytest.raises(
        ValueError,
        match=r"^the concepts and endings of this run .* are Python functions and are not saved: pass them again",
    ):
        wf.load(tmp_path / "run")
    with pytest.raises(ValueError, match="cells= lacks 'fell left'"):
        wf.load(tmp_path / "run", cells=CONCEPTS)
    with pytest.raises(ValueError, match="cells=3; give the dictionary of concepts and endings"):
        wf.load(tmp_path / "run", cells=3)
    assert_same(run, wf.load(tmp_path / "run", cells={**CONCEPTS, **ENDINGS}), UPRIGHT)


@pytest.mark.parametrize("cells", [Bins((3, 3, 6, 3), bounds=BOUNDS), Clusters(5)], ids=["bins", "clusters"])
def test_bins_and_clusters_are_loaded(cells: object, tmp_path: Path) -> None:
    run = train_agent("CartPole-v1", cells, steps=300)[1].run
    run.save(tmp_path / "run")
    assert_same(run, wf.load(tmp_path / "run"), UPRIGHT)


@pytest.mark.parametrize("clip", [10.0, np.inf])
def test_the_normaliser_of_observations_is_loaded(clip: float, tmp_path: Path) -> None:
    vector = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0), clip_obs=clip)
    callback = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS), settling=False)
    model = DQN("MlpPolicy", vector, seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8]})
    model.learn(300, callback=callback)
    callback.run.save(tmp_path / "run")
    one, two = callback.run.intention(UPRIGHT), wf.load(tmp_path / "run").intention(UPRIGHT)
    assert np.allclose(one.values, two.values, atol=1e-5)
    assert np.allclose(one.visits, two.visits, atol=1e-5)


def test_an_agent_with_an_unknown_activation_must_be_passed_to_load(tmp_path: Path) -> None:
    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8], "activation_fn": torch.nn.Hardswish})  # fmt: skip
    callback = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS), settling=False)
    model.learn(200, callback=callback)
    callback.run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"wf.load\(path, agent=model\)"):
        wf.load(tmp_path / "run")
    assert_same(callback.run, wf.load(tmp_path / "run", agent=model), UPRIGHT)
    for wrong, message in (
        (5, "agent=5; give the DQN"),
        (byte_agent(), r"agent= reads Box\(0, 255, .*; the run's agent"),
    ):
        with pytest.raises(ValueError, match=message):
            wf.load(tmp_path / "run", agent=wrong)
    three_actions = wf.load(tmp_path / "run", agent=lambda obs: np.zeros((len(obs), 3)))
    with pytest.raises(ValueError, match=r"have the shape \(1, 3\); they must have \(1, 2\)"):
        three_actions.intention(UPRIGHT)


def byte_agent() -> DQN:
    """An agent of CartPole whose observations are bytes."""
    space = gym.spaces.Box(0, 255, (4,), np.uint8)
    return DQN("MlpPolicy", gym.wrappers.TransformObservation(gym.make("CartPole-v1"), np.abs, space), device="cpu")


def test_an_agent_with_a_changed_network_must_be_passed_to_load(tmp_path: Path) -> None:
    """Weights are saved only of networks that can be rebuilt from the document."""
    model, callback = train_agent("CartPole-v1", Bins((3, 3, 6, 3), bounds=BOUNDS), steps=200)
    assert copy_of(model) is not None
    model.q_net.double()
    assert copy_of(model) is None
    model.q_net.float().q_net.append(torch.nn.Linear(2, 2))
    assert copy_of(model) is None
    del model.q_net.q_net[-1]
    model.policy.normalize_images = False
    assert copy_of(model) is None
    run = callback.run
    run.beliefs.agent = copy_of(model)  # type: ignore[union-attr]
    run.save(tmp_path)
    with pytest.raises(ValueError, match=r"Pass the agent, wf.load\(path, agent=model\)"):
        wf.load(tmp_path)


def test_the_agent_passed_to_load_is_saved_with_the_run(tmp_path: Path) -> None:
    model, callback = train_agent("CartPole-v1", Bins((3, 3, 6, 3), bounds=BOUNDS), steps=200)
    callback.run.save(tmp_path / "run")
    with torch.no_grad():
        for weights in model.q_net.parameters():
            weights.mul_(2.0)
    loaded = wf.load(tmp_path / "run", agent=model)
    loaded.save(tmp_path / "copy")
    assert_same(loaded, wf.load(tmp_path / "copy"), UPRIGHT)
    assert loaded.values_at(UPRIGHT).tolist() != callback.run.values_at(UPRIGHT).tolist()


def test_a_memory_optimised_replay_buffer_is_supported(tmp_path: Path) -> None:
    callback = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS), settling=False)
    model = DQN(
        "MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, buffer_size=300, optimize_memory_usage=True,
        replay_buffer_kwargs={"handle_timeout_termination": False}, policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    model.learn(500, callback=callback)  # the buffer is full and overwrites its oldest entries
    callback.run.save(tmp_path)
    assert_same(callback.run, wf.load(tmp_path), UPRIGHT)


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
def test_saved_spaces_are_loaded_unchanged(space: gym.Space[Any]) -> None:
    part, tensors = space_to_document(space)
    loaded = space_from_document(part, unpack(pack(prefixed("space", tensors))))
    assert loaded == space
    assert loaded.dtype == space.dtype


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
def test_a_seed_that_cannot_be_saved_is_refused_in_the_settings(seed: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"64 bits|integer"):
        BeliefSettings(seed=seed)


def test_damaged_networks_are_refused(tmp_path: Path) -> None:
    lake().save(tmp_path / "run")
    (network,) = (tmp_path / "run").glob("belief-*")
    network.write_bytes(network.read_bytes()[:-1] + b"x")
    with pytest.raises(wf.FolderError, match="checksum"):
        wf.load(tmp_path / "run")


def test_trust_with_infinite_and_nan_numbers_is_loaded(tmp_path: Path) -> None:
    """Without visited pairs the gap to Q is infinite; with infinite Q-values the correlation is NaN."""
    trust = lake().trust
    assert trust is not None
    extreme = replace(trust, mean_residual=np.inf, correlation=np.nan, by_visits=np.nan)
    assert extreme.grade == "poor"
    run = _with_trust(extreme)
    run.save(tmp_path / "run")
    loaded = wf.load(tmp_path / "run").trust
    assert loaded is not None
    assert loaded.to_json() == extreme.to_json()
    assert (loaded.mean_residual, str(loaded.correlation), str(loaded.by_visits)) == (np.inf, "nan", "nan")


def test_a_custom_loop_without_visits_is_saved(tmp_path: Path) -> None:
    cells = make_partition(None, gym.spaces.Discrete(3), None, np.zeros(0), n_actions=2)

    def q_values(observations: Any) -> Any:
        return np.zeros((len(observations), 2))

    run = run_of(BeliefNetwork(cells, q_values, discount=0.9), (np.zeros(0, int), np.zeros(0, int)))
    run.save(tmp_path / "run")
    assert str(wf.load(tmp_path / "run", agent=q_values).intention(0)) == str(run.intention(0))


@pytest.mark.parametrize(
    ("damage", "message"),
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
            lambda run: setattr(run.beliefs, "trust", replace(run.trust, mean_residual=-1.0)),
            "cannot be saved: .* at `network.trust",
        ),
        (lambda run: run.beliefs.experience.count.fill_(0.5), "cannot be saved: its counts of samples"),
    ],
    ids=["Q", "beliefs", "settings", "agent", "updates", "trust", "counts"],
)
def test_a_save_that_fails_names_the_reason_and_keeps_the_earlier_run(
    damage: Any, message: str, tmp_path: Path
) -> None:
    lake().save(tmp_path / "run")
    before = contents(tmp_path / "run")
    run = _with_trust(lake().trust)
    damage(run)
    with pytest.raises(ValueError, match=message):
        run.save(tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_saving_a_diverged_agent_fails_and_keeps_the_earlier_run(tmp_path: Path) -> None:  # attack 10
    lake().save(tmp_path)
    before = contents(tmp_path)
    callback = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS), settling=False)
    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, learning_rate=1e30)
    model.learn(200, callback=callback)
    run = callback.run
    assert run.trust is not None
    assert run.trust.grade == "poor"
    with pytest.raises(ValueError, match="NaN or infinite: training has diverged"):
        run.intention(UPRIGHT)
    with pytest.raises(
        ValueError, match=r"cannot be saved: training has diverged. Train again with a smaller learning"
    ):
        run.save(tmp_path)
    assert contents(tmp_path) == before


def _with_trust(trust: Any) -> wf.Run:
    """A copy of the lake's run that a test may change."""
    run, belief = lake(), lake().beliefs
    assert isinstance(belief, BeliefNetwork)
    copied = belief.snapshot(belief.q_values)
    assert belief.agent is not None
    copied.agent = belief.agent._replace(
        weights={name: tensor.clone() for name, tensor in belief.agent.weights.items()}
    )
    copied.trust = trust
    return wf.Run(labels=run.labels, values=run.tables, beliefs=copied, settings=dict(run.settings))


def test_rewards_can_be_normalised_without_observations(tmp_path: Path) -> None:
    vector = VecNormalize(make_vec_env("CartPole-v1", n_envs=2, seed=0), norm_obs=False)
    callback = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS), settling=False)
    model = DQN("MlpPolicy", vector, seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8]})
    model.learn(300, callback=callback)
    run = callback.run
    run.save(tmp_path / "run")
    assert_same(run, wf.load(tmp_path / "run"), UPRIGHT)
    scale = float(1.0 / np.sqrt(vector.ret_rms.var + vector.epsilon))
    simulation = run.simulation(UPRIGHT, rollouts=2)
    assert simulation.value == pytest.approx(
        scale * simulation.visits.sum()
    )  # the reward is 1 at every step, scaled as Q is


def test_the_command_line_explains_a_saved_deep_run(tmp_path: Path, whatfor: object) -> None:
    lake().save(tmp_path / "run")
    code, out, err = whatfor("explain", tmp_path / "run", "--state", "row 0, column 0")  # type: ignore[operator]
    assert code == 0, err
    assert "Estimated by a belief network" in out
    code, _, err = whatfor("explain", tmp_path / "run", "--state", "0", "--question", "provenance")  # type: ignore[operator]
    assert code == 2
    assert "needs the ledger, and this run has none: only tabular agents record one" in err


def test_the_command_line_imports_concepts_by_name(tmp_path: Path, whatfor: Any) -> None:
    _, run = cart()
    run.save(tmp_path / "cart")
    words = run.labels.words(run.situation(np.zeros(4, np.float32)).index)
    command = ("explain", str(tmp_path / "cart"), "--state", words)
    assert "--cells module:NAME" in whatfor(*command)[2]
    in_shell = str(run.intention(words)).replace("run.comparison(state)", "--question comparison")
    assert in_shell in whatfor(*command, "--cells", "fuzz.deep_corpus:CELLS")[1]
    for cells, message in (
        ("small_agents:NONE", "has no 'NONE'"),
        ("nowhere:X", "no module 'nowhere'"),
        ("small_agents", "takes module:NAME"),
    ):
        code, _, err = whatfor(*command, "--cells", cells)
        assert (code, message in err) == (2, True)


def test_a_world_with_other_states_is_refused(tmp_path: Path) -> None:
    env = gym.make("FrozenLake-v1", is_slippery=False)
    with pytest.raises(ValueError, match="the states of this one have other names"):
        _ = train_agent(env, steps=200, world="Taxi-v4")[1].run
