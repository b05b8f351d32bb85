"""Deep runs on disk: npz, JSON and safetensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_agents import CONCEPTS, ENDINGS, cart, lake, learned
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import whatfor as wf
from whatfor.deep import BeliefCallback, BeliefNetwork, Bins, Clusters, run_of
from whatfor.deep.cells import cells_of

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
    assert kinds == {".json", ".npz", ".safetensors"}
    again = wf.load(tmp_path / "run")
    again.save(tmp_path / "again")  # a loaded run can be kept too
    assert_same(run, wf.load(tmp_path / "again"), 0)


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
    import torch

    model = DQN("MlpPolicy", "CartPole-v1", seed=0, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [8], "activation_fn": torch.nn.Hardswish})  # fmt: skip
    beside = BeliefCallback(Bins((3, 3, 6, 3), bounds=BOUNDS))
    model.learn(200, callback=beside)
    beside.run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"wf.load\(path, agent=model\)"):
        wf.load(tmp_path / "run")
    assert_same(beside.run, wf.load(tmp_path / "run", agent=model), UPRIGHT)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> object:
        return (open, (self.path, "w"))


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
    cells = cells_of(None, gym.spaces.Discrete(3), None, np.zeros(0), n_actions=2)

    def worth(seen: Any) -> Any:
        return np.zeros((len(seen), 2))

    run = run_of(BeliefNetwork(cells, worth, discount=0.9), (np.zeros(0, int), np.zeros(0, int)))
    run.save(tmp_path / "run")
    assert str(wf.load(tmp_path / "run", agent=worth).intention(0)) == str(run.intention(0))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda run: run.tables.fill(np.nan), r"Q-values are NaN or infinite in 16 of 16 states, .* learning_rate"),
        (lambda run: run._beliefs._brought.fill_(np.nan), r"belief network holds NaN .* look for rewards"),
        (lambda run: run.settings.update(reward_scale=np.nan), r"settings.reward_scale is nan, so .* cannot be saved"),
    ],
    ids=["Q", "beliefs", "settings"],
)
def test_what_cannot_be_saved_is_named_and_harms_nothing(spoil: Any, says: str, tmp_path: Path) -> None:
    lake().save(tmp_path / "run")
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    run = _with_trust(lake().trust)
    spoil(run)
    with pytest.raises(ValueError, match=says):
        run.save(tmp_path / "run")
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


def _with_trust(trust: Any) -> wf.Run:
    """The lake's run again, for changes."""
    run, belief = lake(), lake()._beliefs
    assert isinstance(belief, BeliefNetwork)
    still = belief.snapshot(belief.q_values)
    return wf.Run(labels=run.labels, values=run.tables, beliefs=still, settings=dict(run.settings), trust=trust)


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
    words = run.labels.words(run.beliefs.situation(np.zeros(4, np.float32)))  # type: ignore[attr-defined]
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
    with pytest.raises(ValueError, match="states have other names"):
        _ = learned(env, steps=200, world="Taxi-v4")[1].run
