"""Public checks of the learner and belief contracts, for third-party classes.

>>> from whatfor import QLearning
>>> check_learner(QLearning())  # raises AssertionError if the learner breaks the contract
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.protocol import CAPABILITIES, Beliefs
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.learners.protocol import Agent, Learner
from whatfor.learners.schedules import explorations
from whatfor.ledger import Ledger
from whatfor.training.loop import Plan, Progress, play_python
from whatfor.worlds.steppers import WorldStepper
from whatfor.worlds.table import table
from whatfor.worlds.world import World

N_STATES, N_ACTIONS, N_EPISODES, MAX_EPISODE_LENGTH = 5, 3, 40, 8
#: Identities hold to this, relative to the sum of |weight * reward|.
EXACT = 1e-12
#: Probabilities of endings sum to 1 to this.
MAX_LOST_PROBABILITY = 1e-6


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
        "record each update with the step size, discount and bootstrap cell that were used, in the order of use"
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
        "record each update with the step size, discount and bootstrap cell that were used, in the order of use"
    )
    assert not audit.faults, " ".join(audit.faults)


def check_beliefs(beliefs: Any, n_states: int, n_actions: int, *, tolerance: float | None = EXACT) -> None:
    """Raise ``AssertionError`` unless beliefs keep the contract, for every state and action.

    Earnings and the initial share sum to the value, endings and the unknown share to 1 where ``can`` has "endings", and the
    source agrees with its rows. ``tolerance``: the largest difference of those sums, relative to the largest value or to 1;
    None for estimates, whose earnings do not sum to their values.

    >>> check_beliefs(Audit(Ledger(n_states=2, n_actions=1)), 2, 1)
    """
    assert isinstance(beliefs, Beliefs), "beliefs are a subclass of whatfor.beliefs.Beliefs, with row(at, action)"
    unknown = [name for name in beliefs.can if name not in CAPABILITIES]
    assert not unknown, f"can has {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, CAPABILITIES))}"
    values = np.array([[beliefs.value(s, a) for a in range(n_actions)] for s in range(n_states)])
    assert np.isfinite(values).all(), "a value is not finite"
    for s in range(n_states):
        for a in range(n_actions):
            _check_row(beliefs, beliefs.row(Situation(s), a), f"row({s}, {a})")
            visits, earnings = beliefs.visits(s, a), beliefs.earnings(s, a)
            for name, map_ in (("visits", visits), ("earnings", earnings)):
                assert map_.shape == (n_states, n_actions), (
                    f"{name}({s}, {a}) has shape {map_.shape}, not {(n_states, n_actions)}"
                )
                assert np.isfinite(map_).all(), f"{name}({s}, {a}) is not finite everywhere"
            assert visits.min() >= 0.0, f"visits({s}, {a}) has negative numbers"
            if tolerance is not None:
                initial = beliefs.row(Situation(s), a).initial
                gap = abs(float(earnings.sum()) + initial - values[s, a])
                scale = max(1.0, float(np.abs(values).max()), float(np.abs(earnings).sum()))
                assert gap <= tolerance * scale, (
                    f"earnings({s}, {a}) and the initial share sum to {earnings.sum() + initial:.6g}, the value is {values[s, a]:.6g}"
                )
            visits += 1.0
            assert not np.array_equal(beliefs.visits(s, a), visits), (
                "visits() returns its internal array; return a copy"
            )


def _check_row(beliefs: Beliefs, row: Row, name: str) -> None:
    """What a row says of endings, tries and trust, against what its source declares."""
    if "endings" in beliefs.can:
        assert row.endings is not None, f'can has "endings", but {name} has none: leave it out of can, or return them'
        chances = [*row.endings.values(), row.endings_unknown or 0.0]
        assert min(chances) >= 0.0, f"{name} has a negative probability of an ending"
        assert abs(sum(chances) - 1.0) <= MAX_LOST_PROBABILITY, (
            f"the endings of {name} and endings_unknown sum to {sum(chances):.6g}, not to 1"
        )
    assert row.trust == beliefs.trust, f"{name} has another trust than the source: set the source's in every row"
    counted, tries = row.tries, beliefs.tries
    same = counted is tries if counted is None or tries is None else np.array_equal(counted, tries)
    assert same, f"{name} has other tries than the source: they are of all pairs, the same in every row"
