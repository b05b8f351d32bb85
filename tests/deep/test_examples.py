"""The deep examples, with short trainings."""

import importlib.util
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

import whatfor as wf
from whatfor.text import amount

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def load_example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def acrobot():
    return load_example("deep_acrobot")


@pytest.fixture(scope="module")
def acrobot_results(acrobot, tmp_path_factory):
    """The results of the example's main(), with little training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("acrobot"))
        agent, run, results = acrobot.main(2_000, rollouts=2)
        assert sorted(path.name for path in Path("out").iterdir()) == [
            "deep_acrobot.png",
            "deep_acrobot_comparison.png",
        ]
    return agent, run, results


@pytest.fixture(scope="module")
def run(acrobot_results):
    return acrobot_results[1]


@pytest.fixture(scope="module")
def own_loop():
    return load_example("own_dqn_loop")


@pytest.fixture(scope="module")
def trained(own_loop):
    return own_loop.train(2_000)


def same_weights(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))


def test_answers_about_acrobot_are_consistent(acrobot, acrobot_results):
    _, run, results = acrobot_results
    why, learned = run.intention(acrobot.HANGING), results["learned"]
    assert why.residual is None
    assert learned.residual == pytest.approx(abs(learned.earnings.sum() - learned.value), abs=1e-9)
    assert f"Its estimated return is {amount(learned.value)}" in str(learned)
    assert f"gives a return of {amount(why.earnings.sum())}" in str(why)
    for answer in (why, learned):
        assert answer.visits.shape == (24, 3)
        assert answer.visits.sum() > 1.0
    outcomes = run.outcomes(acrobot.HANGING)
    assert set(outcomes.chances) <= {"swung up", "terminated"}
    assert sum(outcomes.chances.values()) + outcomes.unknown == pytest.approx(1.0, abs=1e-6)
    assert learned.trust.updates == 250  # of two batches each
    assert (run.trust.source, learned.trust.source) == ("evaluated", "trained alongside")
    assert run.trust.checked is not None


def test_the_ending_matches_the_termination_of_the_environment(acrobot):
    env = gym.make("Acrobot-v1").unwrapped
    env.reset(seed=0)
    for angles in np.random.default_rng(0).uniform(-3, 3, (50, 2)):
        env.state = np.array([*angles, 0.0, 0.0])
        assert acrobot.ENDINGS["swung up"](env._get_ob()) == env._terminal()


def test_the_contrast_is_the_one_with_the_largest_gap(acrobot, acrobot_results):
    _, run, results = acrobot_results
    episode = [obs for obs, _ in run.episode(acrobot.HANGING)]
    assert len(episode) > 10
    assert results["contrast"].gap == max(run.contrast(obs).gap for obs in episode)
    assert results["contrast"].gap > 0.0
    assert results["comparison"].simulated.rollouts == 2


def test_the_dqn_is_bit_for_bit_identical_to_one_without_beliefs(acrobot, acrobot_results):
    alone = acrobot.make_agent().learn(2_000)
    assert same_weights(alone.q_net, acrobot_results[0].q_net)
    assert not same_weights(alone.q_net, acrobot.make_agent().q_net), "it was trained"


def test_loading_a_saved_run_needs_its_concepts(acrobot, run, tmp_path):
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match="pass them again"):
        wf.load(tmp_path / "run")
    loaded = wf.load(tmp_path / "run", cells=acrobot.CELLS | acrobot.ENDINGS)
    assert str(loaded.intention(acrobot.HANGING)) == str(run.intention(acrobot.HANGING))


def test_the_custom_loop_is_bit_for_bit_identical_to_one_without_beliefs(own_loop, trained):
    alone, no_run = own_loop.train(2_000, explained=False)
    assert no_run is None
    assert same_weights(alone, trained[0])
    assert not same_weights(alone, own_loop.train(1_000, explained=False)[0]), "it was trained"


def test_a_belief_network_does_not_change_random_states_or_batches(own_loop):
    rng = np.random.default_rng(0)
    replay = own_loop.Replay(10, (4,))
    for _ in range(10):
        replay.add(rng.normal(size=4), 1, 1.0, rng.normal(size=4), 0.0)
    batch = replay.sample(10, rng)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    copied = [x.clone() for x in batch]
    env = gym.make("CartPole-v1")
    belief = wf.deep.BeliefNetwork.of(env, np.zeros, own_loop.CELLS, endings=own_loop.ENDINGS, discount=0.9)
    weights = [x.clone() for x in belief.network.parameters()]
    belief.update(batch, batch.actions)
    belief.sync()
    assert any(not torch.equal(a, b) for a, b in zip(weights, belief.network.parameters(), strict=True))
    assert same_weights(belief.network, belief.trainer.target)
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002
    assert all(torch.equal(a, b) for a, b in zip(copied, batch, strict=True))


def test_answers_of_the_custom_loop_are_consistent(own_loop, trained):
    network, run = trained
    why = own_loop.answers(run, rollouts=5)["why"]
    obs = torch.tensor([[0.0, 0.0, 0.1, 0.5]])
    assert why.values == pytest.approx(network(obs)[0].detach().numpy(), rel=1e-6), "the agent's own values"
    assert why.residual == pytest.approx(abs(why.earnings.sum() - why.value), abs=1e-9)
    assert sum(why.chances.values()) + why.endings_unknown == pytest.approx(1.0, abs=1e-6)
    assert set(why.chances) <= {"the pole fell", "it left the track", "terminated"}
    assert "custom loop" in repr(run)


def test_a_run_of_the_custom_loop_can_be_saved(own_loop, trained, tmp_path):
    network, run = trained
    run.save(tmp_path / "run")
    cells = own_loop.CELLS | own_loop.ENDINGS
    with pytest.raises(ValueError, match="agent="):
        wf.load(tmp_path / "run", cells=cells)

    def q_values(observations):
        with torch.no_grad():
            return network(torch.as_tensor(observations, dtype=torch.float32)).numpy()

    obs = np.array([0.0, 0.0, 0.1, 0.5], np.float32)
    loaded = wf.load(tmp_path / "run", cells=cells, agent=q_values)
    assert str(loaded.intention(obs)) == str(run.intention(obs))


def test_a_network_of_an_environment_without_countable_actions_is_refused():
    with pytest.raises(ValueError, match="Discrete"):
        wf.deep.BeliefNetwork.of(gym.make("Pendulum-v1"), np.zeros, wf.deep.Clusters(4), discount=0.9)


def test_clusters_of_a_custom_loop_are_of_visited_observations():
    visited = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    make = wf.deep.BeliefNetwork.of
    belief = make(gym.make("CartPole-v1"), np.zeros, wf.deep.Clusters(5), discount=0.9, visited=visited)
    assert belief.labels.n_states == 5
    assert belief.labels.actions == ("push left", "push right")
    with pytest.raises(ValueError, match="5 clusters"):
        make(gym.make("CartPole-v1"), np.zeros, wf.deep.Clusters(5), discount=0.9)


def test_a_number_on_an_edge_is_in_the_bin_above():
    edges = (-1.0, 0.0, 0.5)
    cells = wf.deep.Concepts({"x": (lambda obs: obs[0], edges)}).partition(spaces.Box(-2, 2, (1,)), None, np.zeros(0))
    numbers = np.array([-2.0, -1.0, -0.5, 0.0, 0.2, 0.5, 1.0])
    assert cells.index(numbers[:, None]).tolist() == np.digitize(numbers, edges).tolist()
