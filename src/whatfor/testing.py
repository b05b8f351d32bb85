"""Public checks of the learner and belief contracts, for third-party classes.

>>> from whatfor import QLearning
>>> check_learner(QLearning())  # raises AssertionError if the learner breaks the contract
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.contract import EXACT, check_beliefs
from whatfor.learners.protocol import Agent, Learner
from whatfor.learners.schedules import explorations
from whatfor.ledger import Ledger
from whatfor.training.loop import Plan, Progress, play_python
from whatfor.worlds.steppers import WorldStepper
from whatfor.worlds.table import table
from whatfor.worlds.world import World

__all__ = ["EXACT", "check_beliefs", "check_learner", "check_ledger", "random_world"]

N_STATES, N_ACTIONS, N_EPISODES, MAX_EPISODE_LENGTH = 5, 3, 40, 8


def random_world(seed: int, *, states: int = N_STATES, actions: int = N_ACTIONS, noisy: bool = True) -> World:
    """A small random world; with ``noisy=False``, the reward is a function of state and action.

    >>> random_world(0).labels.n_states
    5
    """
    rng = np.random.default_rng(seed)
    shape = (states, actions, 3)
    rewards = rng.normal(size=shape) if noisy else np.repeat(rng.normal(size=(states, actions, 1)), 3, axis=2)
    return table(
        next_state=rng.integers(states, size=shape),
        reward=rewards,
        terminated=rng.random(shape) < 0.15,
        probability=rng.dirichlet(np.ones(3), size=(states, actions)),
        start=rng.dirichlet(np.ones(states)),
    )


def check_learner(learner: Any, *, seed: int = 0) -> None:
    """Raise ``AssertionError``, with advice, unless a learner keeps the contract.

    It trains on a small random world and compares the agent's tables with the values recomputed from the ledger.

    >>> from whatfor.learners import QLearning
    >>> check_learner(QLearning())
    """
    lacking = [name for name in ("discount", "exploration", "n_tables", "order", "start") if not hasattr(learner, name)]
    assert not lacking, f"a learner needs {', '.join(lacking)}: see whatfor.learners.Learner"
    agent, ledger, played = _train(learner, seed)
    assert ledger is not None
    shape = (learner.n_tables, N_STATES, N_ACTIONS)
    assert np.shape(agent.tables) == shape, (
        f"agent.tables has shape {np.shape(agent.tables)}; it must be {shape}: (tables, states, actions)"
    )
    assert len(ledger) > 0, "no update was recorded: call ledger.record(...) for every change of a value"
    audit = Audit(ledger, values=agent.tables)
    scale = max(1.0, float(np.abs(agent.tables).max()))
    assert audit.residual <= EXACT * scale, (
        f"the recorded updates give other values than the agent's own (off by {audit.residual:.2g}): "
        "record each update, in order, with its step size, its discount and the state-action pair that it bootstrapped from"
    )
    assert ledger.n_episodes == len(played.lengths), (
        f"{len(played.lengths)} episodes were played, but the ledger has {ledger.n_episodes}: after a truncation that is "
        "bootstrapped through, call ledger.new_episode()"
    )
    assert not ledger.timed_out.any(), "a truncation that should be bootstrapped through was recorded as an end"
    limited, limited_ledger, limited_played = _train(learner, seed, time_out_ends=True)
    assert limited_ledger is not None
    assert limited_ledger.timed_out.sum() == limited_played.cuts, (
        f"{limited_played.cuts} episodes ended at a time limit that counts as an end, but {limited_ledger.timed_out.sum()} were recorded as such: "
        "bootstrap from transition.following (None: an end), and record ending=transition.ending"
    )
    residual = Audit(limited_ledger, values=limited.tables).residual
    assert residual <= EXACT * scale, (
        f"with a time limit as an end, the recorded updates give other values than the agent's own (off by {residual:.2g})"
    )
    again, _, _ = _train(learner, seed)
    assert np.array_equal(again.tables, agent.tables), (
        "two runs with the same seed differ: draw only from the generator that is passed to start()"
    )
    silent, _, _ = _train(learner, seed, record=False)
    assert np.array_equal(silent.tables, agent.tables), (
        "recording changes what is learned: start(ledger=None) must learn the same values"
    )


def _train(
    learner: Learner, seed: int, record: bool = True, time_out_ends: bool = False
) -> tuple[Agent, Ledger | None, Progress]:
    ledger = None
    if record:
        ledger = Ledger(
            N_STATES,
            N_ACTIONS,
            n_tables=learner.n_tables,
            initial=getattr(learner, "initial", None),
            order=learner.order,
        )
    agent = learner.start(N_STATES, N_ACTIONS, ledger=ledger, generator=np.random.default_rng(seed))
    epsilons = explorations(learner.exploration, 0, N_EPISODES)
    played = Progress.empty(N_EPISODES)
    stepper = _Checking(random_world(seed), seed)
    play_python(stepper, agent, Plan(epsilons, MAX_EPISODE_LENGTH, time_out_ends), played, lambda: None)
    settle: Callable[[], None] = getattr(agent, "settle", lambda: None)
    settle()
    return agent, ledger, played


class _Checking(WorldStepper):
    """A stepper that validates the actions."""

    def step(self, action: int) -> tuple[int, float, int, bool]:
        """Validate the action and take the step."""
        assert isinstance(action, (int, np.integer)), f"the agent chose {action!r}; an action is an int"
        assert 0 <= action < N_ACTIONS, f"the agent chose action {action}; there are 0 to {N_ACTIONS - 1}"
        return super().step(action)


def check_ledger(ledger: Ledger, values: Any) -> None:
    """Raise ``AssertionError``, with advice, unless a ledger of a custom training loop gives the values and its ends look right.

    ``values``: the learner's own table, (S, A) or (tables, S, A).

    >>> ledger = Ledger(n_states=2, n_actions=1)
    >>> ledger.record(0, 0, 0.0, 1, 0, step_size=0.5, discount=0.9)
    >>> ledger.record(1, 0, 1.0, None, step_size=0.5, discount=0.9)
    >>> check_ledger(ledger, [[0.0], [0.5]])
    """
    audit = Audit(ledger, values=values)
    scale = max(1.0, float(np.abs(np.asarray(values)).max()))
    assert audit.residual <= EXACT * scale, (
        f"the recorded updates give other values (off by {audit.residual:.2g}): "
        "record each update, in order, with its step size, its discount and the state-action pair that it bootstrapped from"
    )
    assert not audit.faults, " ".join(audit.faults)
