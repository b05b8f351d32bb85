"""The deep examples, run short: what the pages say of them is so."""

import importlib.util
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

import whatfor as wf

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def acrobot():
    return example("deep_acrobot")


@pytest.fixture(scope="module")
def ran(acrobot, tmp_path_factory):
    """The example's main, for a short time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("acrobot"))
        agent, run, said = acrobot.main(2_000, rollouts=2)
        assert sorted(path.name for path in Path("out").iterdir()) == [
            "deep_acrobot.png",
            "deep_acrobot_comparison.png",
        ]
    return agent, run, said


@pytest.fixture(scope="module")
def run(ran):
    return ran[1]


@pytest.fixture(scope="module")
def own():
    return example("own_dqn_loop")


@pytest.fixture(scope="module")
def looped(own):
    return own.train(2_000)


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))


def test_answers_about_acrobot_hold_together(acrobot, run):
    why = run.intention(acrobot.HANGING)
    assert why.residual == pytest.approx(abs(why.earnings.sum() - why.value), abs=1e-9)
    assert f"{why.value:.4f}" in str(why)
    assert why.visits.shape == (24, 3)
    assert why.visits.sum() > 1.0
    ends = run.outcomes(acrobot.HANGING)
    assert set(ends.chances) <= {"swung up", "terminated"}
    assert sum(ends.chances.values()) + ends.unknown == pytest.approx(1.0, abs=1e-6)
    assert run.trust.updates == 250  # two of 500 batches at a time
    assert run.trust.source == "trained alongside"


def test_the_tip_is_where_the_environment_says(acrobot):
    env = gym.make("Acrobot-v1").unwrapped
    env.reset(seed=0)
    for angles in np.random.default_rng(0).uniform(-3, 3, (50, 2)):
        env.state = np.array([*angles, 0.0, 0.0])
        assert acrobot.ENDINGS["swung up"](env._get_ob()) == env._terminal()


def test_the_contrast_is_where_its_choice_matters_most(acrobot, ran):
    _, run, said = ran
    along = [seen for seen, _ in run.episode(acrobot.HANGING)]
    assert len(along) > 10
    assert said["contrast"].gap == max(run.contrast(seen).gap for seen in along)
    assert said["contrast"].gap > 0.0
    assert said["comparison"].simulated.rollouts == 2


def test_dqn_is_the_same_to_the_bit(acrobot, ran):
    alone = acrobot.made().learn(2_000)
    assert same(alone.q_net, ran[0].q_net)
    assert not same(alone.q_net, acrobot.made().q_net), "it learned something"


def test_a_saved_run_asks_for_its_concepts_again(acrobot, run, tmp_path):
    run.save(tmp_path / "kept")
    with pytest.raises(ValueError, match="pass them again"):
        wf.load(tmp_path / "kept")
    again = wf.load(tmp_path / "kept", cells=acrobot.CELLS | acrobot.ENDINGS)
    assert str(again.intention(acrobot.HANGING)) == str(run.intention(acrobot.HANGING))


def test_the_own_loop_is_the_same_to_the_bit(own, looped):
    alone, nothing = own.train(2_000, explained=False)
    assert nothing is None
    assert same(alone, looped[0])
    assert not same(alone, own.train(1_000, explained=False)[0]), "it learned something"


def test_a_belief_draws_no_random_numbers_of_the_loop(own):
    dice = np.random.default_rng(0)
    replay = own.Replay(10, (4,))
    for _ in range(10):
        replay.add(dice.normal(size=4), 1, 1.0, dice.normal(size=4), 0.0)
    batch = replay.sample(10, dice)
    before, kept = (torch.random.get_rng_state(), np.random.get_state()[1].copy()), [x.clone() for x in batch]  # noqa: NPY002
    env = gym.make("CartPole-v1")
    belief = wf.deep.BeliefNetwork.of(env, np.zeros, own.CELLS, endings=own.ENDINGS, discount=0.9)
    weights = [x.clone() for x in belief.network.parameters()]
    belief.update(batch, batch.actions)
    belief.sync()
    assert any(not torch.equal(a, b) for a, b in zip(weights, belief.network.parameters(), strict=True))
    assert same(belief.network, belief.trainer.target)
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002
    assert all(torch.equal(a, b) for a, b in zip(kept, batch, strict=True)), "the batch is as it was"


def test_answers_of_the_own_loop_hold_together(own, looped):
    network, run = looped
    said = own.answers(run, rollouts=5)
    why = said["why"]
    seen = torch.tensor([[0.0, 0.0, 0.1, 0.5]])
    assert why.values == pytest.approx(network(seen)[0].detach().numpy(), rel=1e-6), "the agent's own values"
    assert why.residual == pytest.approx(abs(why.earnings.sum() - why.value), abs=1e-9)
    assert sum(why.chances.values()) + why.endings_unknown == pytest.approx(1.0, abs=1e-6)
    assert set(why.chances) <= {"the pole fell", "it left the track", "terminated"}
    assert "custom loop" in repr(run)


def test_an_own_loop_can_be_kept(own, looped, tmp_path):
    network, run = looped
    run.save(tmp_path / "kept")
    cells = own.CELLS | own.ENDINGS
    with pytest.raises(ValueError, match="agent="):
        wf.load(tmp_path / "kept", cells=cells)

    def q_values(observations):
        with torch.no_grad():
            return network(torch.as_tensor(observations, dtype=torch.float32)).numpy()

    seen = np.array([0.0, 0.0, 0.1, 0.5], np.float32)
    again = wf.load(tmp_path / "kept", cells=cells, agent=q_values)
    assert str(again.intention(seen)) == str(run.intention(seen))


def test_a_network_of_an_environment_without_countable_actions_is_refused():
    with pytest.raises(ValueError, match="countable"):
        wf.deep.BeliefNetwork.of(gym.make("Pendulum-v1"), np.zeros, wf.deep.Clusters(4), discount=0.9)


def test_clusters_of_an_own_loop_are_made_of_what_was_visited():
    seen = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    make = wf.deep.BeliefNetwork.of
    belief = make(gym.make("CartPole-v1"), np.zeros, wf.deep.Clusters(5), discount=0.9, visited=seen)
    assert belief.labels.n_states == 5
    assert belief.labels.actions == ("push left", "push right")
    with pytest.raises(ValueError, match="5 clusters"):
        make(gym.make("CartPole-v1"), np.zeros, wf.deep.Clusters(5), discount=0.9)


def test_a_number_on_an_edge_is_in_the_bin_above():
    edges = (-1.0, 0.0, 0.5)
    cells = wf.deep.Concepts({"x": (lambda obs: obs[0], edges)}).partition(spaces.Box(-2, 2, (1,)), None, np.zeros(0))
    numbers = np.array([-2.0, -1.0, -0.5, 0.0, 0.2, 0.5, 1.0])
    assert cells.index(numbers[:, None]).tolist() == np.digitize(numbers, edges).tolist()
