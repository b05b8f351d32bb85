"""Settling: a frozen policy is played when training ends, and the agent does not notice."""

from __future__ import annotations

import random
import signal
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from scripted import Corridor, limited
from small_agents import CONCEPTS, ENDINGS, LITTLE, SMALL, settled, train_agent
from stable_baselines3 import DQN

import whatfor as wf
from whatfor.beliefs import value_iteration
from whatfor.deep import BeliefCallback, Settling, after, learn_after
from whatfor.deep import settling as settling_module
from whatfor.deep.targets import LambdaTargets

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)


def optimal(env: gym.Env[Any, Any], discount: float) -> DQN:
    """A DQN without hidden layers whose Q-values are exact: one-hot observations make its weights a table."""
    model = DQN("MlpPolicy", env, seed=0, device="cpu", gamma=discount, buffer_size=10, policy_kwargs={"net_arch": []})
    table: Any = model.q_net.q_net[0]
    with torch.no_grad():
        table.weight.copy_(torch.as_tensor(value_iteration(env, discount=discount).T))
        table.bias.zero_()
    return model


# -- what is learned ---------------------------------------------------------------------------


def errors_of(name: str, settling: Settling, **more: Any) -> tuple[float, float]:
    """How far visits and chances of endings of an exact agent are from the exact ones, weighted by its own visits."""
    run = learn_after(optimal(gym.make(name), 0.95), settling=settling, **more)
    assert run.trust is not None
    assert run.trust.distance is not None
    assert run.trust.endings_distance is not None
    return run.trust.distance, run.trust.endings_distance


def test_what_an_exact_agent_leads_to_where_ice_is_slippery() -> None:
    """Single futures differ; the mean of all is learned, and kept as the best."""
    visits, endings = errors_of("FrozenLake-v1", Settling(steps=60_000, updates=3_000, exploration=0.1))
    assert visits < 0.1
    assert endings < 0.1


@pytest.mark.long
@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1"])
def test_visits_of_an_exact_agent_come_close_to_the_exact_ones(name: str) -> None:
    visits, endings = errors_of(name, Settling())
    assert visits < 0.05
    assert endings < 0.05


def test_without_held_out_play_to_compare_with_all_updates_are_made() -> None:
    """The end is farther away than play to compare with goes."""
    model = optimal_right(Corridor(300))
    run = learn_after(model, settling=Settling(steps=200, updates=100), settings=SMALL, play_in=lambda: Corridor(300))
    assert run.trust is not None
    assert run.trust.checked is None
    assert run.trust.updates == 100
    assert "not checked" in str(run.trust)


def optimal_right(env: gym.Env[Any, Any]) -> DQN:
    """Goes to the right, with a discount that nothing is left of after 700 steps."""
    model = DQN("MlpPolicy", env, seed=0, device="cpu", gamma=0.99, buffer_size=10, policy_kwargs={"net_arch": []})
    table: Any = model.q_net.q_net[0]
    with torch.no_grad():
        table.weight.zero_()
        table.bias.copy_(torch.tensor([0.0, 1.0]))
    return model


def test_a_policy_that_is_played_for_long_in_an_environment_without_a_limit_comes_to_an_end() -> None:
    """Many copies at once would all be cut before their first episode ends: no situation would be known."""
    run = learn_after(optimal(gym.make("CliffWalking-v1"), 0.95), settling=Settling(steps=2_000, updates=10))
    assert run.trust is not None
    assert run.trust.checked is not None
    assert run.trust.checked.episodes > 5


# -- Ctrl-C --------------------------------------------------------------------------------------


def press_once() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupt_at_once() -> None:
    raise KeyboardInterrupt


class Rounds:
    """Records the weights and errors of all rounds, and interrupts one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, interrupt: Callable[[], None]) -> None:
        refresh, compare = LambdaTargets.refresh, settling_module.squared_error
        self.count, self.errors = 0, [0.0]
        self.weights: list[Any] = []

        def counted_refresh(targets: LambdaTargets, rng: np.random.Generator) -> None:
            self.count += 1
            if self.count == at:
                interrupt()
            refresh(targets, rng)
            self.errors.append(0.0)

        def recorded_compare(belief: Any, held: Any) -> float:
            error = compare(belief, held)
            self.errors[-1] += error
            if len(self.weights) < self.count:
                self.weights.append({name: x.clone() for name, x in belief.training.target.state_dict().items()})
            return error

        monkeypatch.setattr(LambdaTargets, "refresh", counted_refresh)
        monkeypatch.setattr(settling_module, "squared_error", recorded_compare)


@pytest.mark.parametrize("interrupt", [press_once, interrupt_at_once])
def test_ctrl_c_keeps_the_best_so_far(interrupt: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    model = optimal(gym.make("FrozenLake-v1"), 0.95)
    rounds, handler = Rounds(monkeypatch, 9, interrupt), signal.getsignal(signal.SIGINT)
    budget = Settling(steps=1_000, updates=500, exploration=0.2)
    evaluated = after.evaluate(model, gym.make("FrozenLake-v1"), after.GivenCells(None, None, None), SMALL, budget)
    assert not evaluated.finished
    assert rounds.count == 9, "no more"
    assert len(rounds.weights) == 8
    best = rounds.weights[int(np.argmin(rounds.errors[1:9]))]
    assert all(torch.equal(x, best[name]) for name, x in evaluated.belief.network.state_dict().items())
    assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_while_beliefs_settle_leaves_a_run_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    Rounds(monkeypatch, 3, press_once)
    with pytest.warns(UserWarning, match="settling was stopped: the best beliefs so far are kept"):
        _, callback = train_agent("CartPole-v1", CONCEPTS, steps=200, settling=LITTLE)
    assert callback.run.trust is not None
    assert callback.run.trust.source == "evaluated"
    assert callback.run.trust.checked is not None


# -- the agent is the same -----------------------------------------------------------------------


def random_states() -> list[Any]:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return [random.getstate(), kind, keys.tolist(), rest, torch.random.get_rng_state().tolist()]


class Careless(gym.Wrapper[Any, Any, Any, Any]):
    """Draws from random states that are not its own."""

    def reset(self, **more: Any) -> Any:
        random.random()
        np.random.random()  # noqa: NPY002
        torch.rand(1)
        return self.env.reset(**more)


def trained_twice(settling: Settling | None) -> tuple[list[Any], list[Any]]:
    """The weights and the random states after one call of learn(), and after a second."""
    random.seed(5)
    callback = None
    if settling is not None:
        make = lambda: Careless(gym.make("CartPole-v1"))  # noqa: E731
        callback = BeliefCallback(CONCEPTS, settings=SMALL, settling=settling, play_in=make)
    model = DQN("MlpPolicy", "CartPole-v1", seed=3, device="cpu", learning_starts=50, policy_kwargs={"net_arch": [16]})
    found, states = [], []
    for more in (False, True):
        model.learn(200, callback=callback, reset_num_timesteps=not more)
        found.append([x.clone() for x in model.policy.state_dict().values()])
        states.append(random_states())
        if callback is not None:
            assert callback.run.trust is not None
            assert callback.run.trust.source == "evaluated"
    return found, states


def test_the_agent_and_all_random_states_are_the_same_with_settling() -> None:
    settled_weights, settled_states = trained_twice(LITTLE)
    weights, states = trained_twice(None)
    for ours, alone in zip(settled_weights, weights, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, alone, strict=True))
    assert settled_states == states
    assert any(not torch.equal(a, b) for a, b in zip(*weights, strict=True)), "it learned on"


def test_a_seed_gives_the_same_answers_again() -> None:
    one, two, other = (
        train_agent("CartPole-v1", CONCEPTS, steps=200, settling=replace(LITTLE, seed=seed))[1].run
        for seed in (1, 1, 2)
    )
    assert one.intention(UPRIGHT).to_json() == two.intention(UPRIGHT).to_json()
    assert one.intention(UPRIGHT).to_json() != other.intention(UPRIGHT).to_json()


def test_training_goes_on_from_what_was_learned_alongside() -> None:
    """Settling has a network of its own; with more training, the answers that it gave are no longer the agent's."""
    model, callback = train_agent("CartPole-v1", CONCEPTS, steps=200, settling=LITTLE)
    alongside, first = callback.belief, callback.run
    assert alongside is not None
    before = str(first.intention(UPRIGHT))
    updates = alongside.updates
    model.learn(200, callback=callback, reset_num_timesteps=False)
    assert callback.belief is alongside
    assert alongside.updates > updates
    assert callback.run is not first
    assert str(first.intention(UPRIGHT)) == before


# -- two runs --------------------------------------------------------------------------------------


def test_what_was_learned_and_what_playing_gives_are_kept_apart() -> None:
    _, callback = settled()
    run, learned = callback.run, callback.learned
    assert run.trust is not None
    assert learned.trust is not None
    assert (run.trust.source, learned.trust.source) == ("evaluated", "trained alongside")
    why, before = run.intention(UPRIGHT), learned.intention(UPRIGHT)
    assert why.residual is None, "it is not about the agent's Q-value"
    assert before.residual == pytest.approx(abs(before.earnings.sum() - before.value))
    assert "playing its policy" in str(why)
    assert "it expects" not in str(why).lower()
    assert "expects" in str(before)
    assert np.array_equal(why.values, before.values), "the same agent"
    assert why.action == before.action
    for trust in (run.trust, learned.trust):  # both are checked, against the same play
        assert trust.checked is not None
        assert f"Q says {trust.checked.q:.4g} on average" in str(trust)
    assert run.trust.checked.played == learned.trust.checked.played
    assert run.trust.checked.q == learned.trust.checked.q
    assert run.trust.checked.total != learned.trust.checked.total


def test_without_settling_there_is_what_was_learned_alone() -> None:
    _, callback = train_agent("CartPole-v1", CONCEPTS, steps=200, settling=False)
    assert callback.run is callback.learned
    assert callback.run.trust is not None
    assert callback.run.trust.checked is None
    assert "visit error not checked" in str(callback.run.trust)


def test_an_action_that_was_never_played_is_called_a_guess() -> None:
    run = learn_after(
        optimal(gym.make("FrozenLake-v1", is_slippery=False), 0.95), settling=replace(LITTLE, exploration=0.0)
    )
    state, action = 0, next(a for a in range(4) if run.beliefs.tries[0, a] == 0)  # type: ignore[attr-defined]
    guess = f"{run.labels.actions[action]!r} was never played there: what follows it is a guess."
    for answer in (run.intention(state, action), run.contrast(state, action)):
        assert guess in str(answer)
    own = int(run.beliefs.tries[0].argmax())  # type: ignore[attr-defined]
    assert "was never played" not in str(run.intention(state, own))


def test_what_playing_gives_is_hedged_by_what_was_checked() -> None:
    run = settled()[1].run
    assert run.trust is not None
    assert run.trust.grade == "poor"
    for answer in (run.intention(UPRIGHT), run.contrast(UPRIGHT)):
        assert "by an unreliable estimate, playing its policy after" in str(answer).splitlines()[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [("steps", 0), ("updates", 0), ("batch_size", 2.5), ("seed", -1), ("exploration", 1.5), ("learning_rate", 0.0)],
)
def test_impossible_budgets_are_refused(field: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=field):
        Settling(**{field: value})


# -- where it is played ----------------------------------------------------------------------------

PLACES: dict[str, Any] = {"far": lambda obs: obs > 2}


def corridor_agent(**more: Any) -> tuple[DQN, BeliefCallback]:
    return train_agent(limited(Corridor(6), 30), PLACES, steps=200, settling=LITTLE, **more)


def test_play_in_makes_the_environment_to_play_in() -> None:
    made = []

    def make() -> gym.Env[Any, Any]:
        made.append(limited(Corridor(6), 30))
        return made[-1]

    model, callback = corridor_agent(play_in=make)
    assert made
    assert callback.run.trust is not None
    assert callback.run.trust.checked is not None
    again = learn_after(model, PLACES, settling=LITTLE, play_in=make)
    assert again.trust is not None
    assert again.trust.source == "evaluated"
    assert callback.run.simulation(0, rollouts=2).rollouts == 2


def test_an_environment_with_other_observations_is_refused() -> None:
    model, _ = train_agent(limited(Corridor(6), 30), PLACES, steps=200)
    with pytest.raises(ValueError, match=r"play_in= makes an environment with observations of Discrete\(7\); the agent observes Discrete\(6\)"):  # fmt: skip
        learn_after(model, PLACES, settling=LITTLE, play_in=lambda: Corridor(7))


def test_without_an_environment_one_warning_says_what_to_pass() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, callback = corridor_agent()
    texts = [str(one.message) for one in caught if "settled" in str(one.message)]
    assert len(texts) == len(caught) == 1
    assert "the beliefs have not settled, and their visits are not checked" in texts[0]
    assert "pass play_in=, a function that makes one" in texts[0]
    assert callback.run is callback.learned
    assert callback.run.trust is not None
    assert callback.run.trust.checked is None
    assert "visit error not checked" in str(callback.run.intention(0))
    with pytest.raises(ValueError, match="pass play_in=, a function that makes one"):
        learn_after(model, PLACES, settling=LITTLE)


def test_an_agent_without_an_environment_is_told_how_to_set_one(tmp_path: Any) -> None:
    model, _ = settled()
    model.save(tmp_path / "agent")
    loaded = DQN.load(tmp_path / "agent", device="cpu")
    with pytest.raises(
        ValueError, match=r"the agent has no environment; set one with model.set_env\(env\), or pass play_in="
    ):
        learn_after(loaded, CONCEPTS, endings=ENDINGS, settling=LITTLE)
    run = learn_after(loaded, CONCEPTS, endings=ENDINGS, settling=LITTLE, play_in=lambda: gym.make("CartPole-v1"))
    assert isinstance(run, wf.Run)


def test_a_setting_that_was_changed_is_not_forgotten() -> None:
    """An environment made anew from what it was registered as would have the usual gravity."""
    env: Any = gym.make("CartPole-v1")
    env.unwrapped.gravity = 1.0
    with pytest.warns(UserWarning, match="have not settled"):
        model, _ = train_agent(env, CONCEPTS, steps=200, settling=LITTLE)
    with pytest.raises(ValueError, match="cannot be made anew"):
        learn_after(model, CONCEPTS, settling=LITTLE)

    def make() -> gym.Env[Any, Any]:
        changed: Any = gym.make("CartPole-v1")
        changed.unwrapped.gravity = 1.0
        return changed  # type: ignore[no-any-return]

    assert learn_after(model, CONCEPTS, settling=LITTLE, play_in=make).playing.environment().unwrapped.gravity == 1.0
