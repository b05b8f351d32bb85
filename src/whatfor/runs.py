"""Run: what training leaves behind, and the questions one can ask it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.protocol import Beliefs, Seeing
from whatfor.beliefs.simulated import LONGEST, SimulatedBeliefs, agent_rolled
from whatfor.checks import array_of, whole
from whatfor.explanations import (
    Chance,
    Change,
    Comparison,
    Contrast,
    Intention,
    Outcomes,
    Parts,
    Provenance,
    Simulation,
    Timeline,
    Trust,
)
from whatfor.explanations.parts import Part
from whatfor.explanations.phrases import count
from whatfor.history import Evaluation, History, Played
from whatfor.labels import Labels
from whatfor.learners.agent import TabularAgent
from whatfor.learners.protocol import Learner
from whatfor.learners.q_learning import QLearning
from whatfor.ledger import Ledger
from whatfor.limits import check_limit
from whatfor.playing import first_of, watched
from whatfor.training.places import env_again, place_again, place_of
from whatfor.training.session import Place, Session, Snapshot
from whatfor.worlds.entering import Enter
from whatfor.worlds.gymnasium import made, time_limit
from whatfor.worlds.rolling import Rollouts
from whatfor.worlds.stepping import TABLE

if TYPE_CHECKING:
    from whatfor.explorer.notebook import Inline
    from whatfor.worlds.world import World

#: Discounted below this, what follows does not matter.
NEGLIGIBLE = 1e-6
State = Any  # an index, an observation, or words
Action = int | str


class Run:
    """What training leaves behind: values, ledger, history, and the settings that made them.

    Made by ``train`` and ``load``; for an own training loop, ``Run(labels=..., values=..., ledger=...)``.

    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    >>> run = Run(labels=Labels.plain(1, 1), values=[[0.5]], ledger=ledger)
    >>> run.intention(0).residual
    0.0
    """

    def __init__(
        self,
        *,
        labels: Labels,
        values: ArrayLike,
        ledger: Ledger | None = None,
        beliefs: Beliefs | None = None,
        history: History | None = None,
        settings: dict[str, Any] | None = None,
        stopped: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        tables = array_of("values", values, "biuf", "numbers").astype(np.float64)  # a copy
        shape = (labels.n_states, labels.n_actions)
        if tables.shape[-2:] != shape or tables.ndim not in (2, 3):
            raise ValueError(f"values has shape {tables.shape}; the labels name {shape} states and actions")
        self.labels = labels
        self.tables = tables.reshape(-1, *shape)  # (tables, S, A)
        self.ledger = ledger
        self.history = history or History(np.empty(0), np.empty(0, np.int64))
        self.settings = settings or {}
        self.stopped = stopped  # why training ended early; None: it did not
        self.trust = trust  # how far a network's beliefs can be trusted; None: they are no estimates
        self._beliefs = beliefs
        self._env: Any = None  # where an agent plays that acts on observations
        self._place: Place | None = None
        self._snapshot: Snapshot | None = None
        self._learner: Learner | None = None
        self._table: World | None = None  # a world of arrays, for a loaded run

    def __repr__(self) -> str:
        lines = "no ledger" if self.ledger is None else count(len(self.ledger), "update")
        episodes = len(self.history) or (0 if self.ledger is None else self.ledger.n_episodes)
        learner = self.settings.get("learner", {}).get("name", "own loop")
        return f"Run({learner}, {count(episodes, 'episode')}, {lines}, engine={self.engine!r})"

    # -- what it knows ---------------------------------------------------------------------

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(S, A) The learner's own values; for several tables, their mean."""
        mean: NDArray[np.float64] = self.tables[0] if len(self.tables) == 1 else self.tables.mean(axis=0)
        return mean

    @property
    def engine(self) -> str:
        """The engine that trained it: "compiled" or "python"."""
        return str(self.settings.get("engine", "own loop"))

    @property
    def engine_reason(self) -> str:
        """Why that engine."""
        return str(self.settings.get("engine_reason", ""))

    @cached_property
    def beliefs(self) -> Beliefs:
        """What is behind every answer: the audit of the ledger, or the beliefs that were given."""
        if self._beliefs is not None:
            return self._beliefs
        return self.audit

    @cached_property
    def audit(self) -> Audit:
        """The audit of the ledger against the learner's own tables."""
        return Audit(self._need_ledger("this question"), values=self.tables)

    @property
    def policy(self) -> NDArray[np.float64]:
        """(S, A) Chances of the greedy policy; equally good actions share."""
        values = np.where(np.isnan(self.values), -np.inf, self.values)  # of a network that diverged
        best = values == values.max(axis=1, keepdims=True)
        chances: NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
        return chances

    def best(self, state: State) -> int:
        """The best action in a state; between equally good ones the run's seed decides."""
        return self._best(self.situated(state))

    @property
    def _agent(self) -> Seeing | None:
        """The agent's network, where it acts on observations."""
        return self._beliefs if isinstance(self._beliefs, Seeing) else None

    @property
    def plays_by_network(self) -> bool:
        """Whether only the network itself can be played: it sees more than states tell, or the world is not known."""
        return self._agent is not None and not (self._agent.whole and "world" in self.settings)

    def situated(self, state: State) -> int:
        """The index of a state; where the agent sees more, with the observation."""
        return self.labels.index(state) if self._agent is None else self._agent.situation(state)

    def values_at(self, state: State) -> NDArray[np.float64]:
        """(A,) What the agent thinks its actions are worth in a state."""
        return self._worth(self.situated(state))

    def tried_at(self, state: State) -> NDArray[np.int64] | None:
        """(A,) How often each action was learned from in a state; None: nobody counted."""
        index, beliefs = self.situated(state), self.beliefs
        counts = beliefs.tried if isinstance(beliefs, Audit) else self._agent.tried() if self._agent else None
        return None if counts is None else counts[index]

    def _worth(self, index: int) -> NDArray[np.float64]:
        worth: NDArray[np.float64] = self.values[index] if self._agent is None else self._agent.values_at(index)
        if np.isnan(worth).any() or not np.isfinite(worth.max()):  # -inf rules an action out
            raise ValueError(
                f"the agent's values in {self.labels.words(index)!r} are NaN or infinite: its learning has diverged, so there is nothing it expects"
            )
        return worth

    def _best(self, index: int) -> int:
        worth = self._worth(index)
        tied = np.flatnonzero(worth == worth.max())
        dice = np.random.default_rng([int(self.settings.get("seed", 0)), index])
        return int(dice.choice(tied)) if len(tied) > 1 else int(tied[0])

    def evaluate(self, episodes: int = 100, *, seed: int = 0, env: Any = None) -> Evaluation:
        """Play the greedy policy; returns with a 95 % interval for their mean.

        ``env`` gives a loaded run its environment back where it cannot make one itself.
        """
        if whole("episodes", episodes) < 1:
            raise ValueError(f"episodes is {episodes}; play at least one")
        check_limit("rollouts", episodes, "this evaluation")
        seed = whole("seed", seed, 0)
        if self.plays_by_network:
            played = self._network_played(None, None, env, episodes, seed, None)
            paid = np.add.reduceat(played.reward, played.first[:-1])
            return Evaluation.of(paid, played.lengths)
        place = self._placed(env)
        rule = QLearning().rule(self.labels.n_states, self.labels.n_actions, None, recording=False)
        agent = TabularAgent(rule._replace(learning=False), None, np.random.default_rng([seed, 2]))
        agent.memory.values[:] = self.values.ravel()
        session = Session(place, QLearning(), agent, place.stepper(seed), None, time_out_ends=True)
        greedy, error = session.play(np.zeros(episodes))
        if error is not None:
            raise error
        return Evaluation.of(greedy.returns, greedy.lengths)

    def _network_played(
        self, state: int | None, action: int | None, env: Any, rollouts: int, seed: int, enter: Enter | None
    ) -> Rollouts:
        """The network at play, from a situation or from the start of episodes."""
        assert self._agent is not None
        place, dice = self.environment(env), np.random.default_rng([seed, 2])
        limit = time_limit(place) or LONGEST
        limits: dict[str, Any] = {"rollouts": rollouts, "max_steps": limit, "generator": dice}
        return agent_rolled(self._agent, place, state, action, **limits, enter=enter)

    def environment(self, env: Any = None) -> Any:
        """The environment a network plays in: the given one, its own, or one like it."""
        if env is not None:
            return made(env) if isinstance(env, str) else env
        if self._env is None:
            again = env_again(self.settings.get("environment", {}))
            if self._agent is not None:
                self._agent.check_env(again)
            self._env = again
        return self._env

    def episode(
        self, state: State, *, seed: int = 0, env: Any = None, enter: Enter | None = None
    ) -> list[tuple[Any, int]]:
        """A greedy episode from a state: what the world shows and the action, for every step; each can be asked about."""
        return self.played(state, seed=seed, env=env, enter=enter).steps

    def played(self, state: State | None, *, seed: int = 0, env: Any = None, enter: Enter | None = None) -> Played:
        """The same episode, with what it paid and how it ended; of a network, ``state=None`` is where its environment begins."""
        if self._agent is not None and self.plays_by_network:
            start = None if state is None else self.situated(state)
            return watched(self._agent, self.environment(env), start, seed=seed, enter=enter)
        index, action = self._asked(state, None)
        simulated = self._simulated(env, 2, seed, enter)
        return first_of(simulated.rollouts(index, action), simulated.labels, limit_ends=self._limit_ends)

    def as_of(self, episodes: int) -> Run:
        """The run as it was after so many episodes, for any question; its values are those the ledger makes."""
        earlier = self._need_ledger("looking back").until(episodes)
        episodes = int(episodes)
        history = History(self.history.returns[:episodes], self.history.lengths[:episodes])
        run = Run(labels=self.labels, values=earlier.values(), ledger=earlier, history=history, settings=self.settings)
        run._place, run._table = self._place, self._table
        return run

    # -- questions -------------------------------------------------------------------------

    def intention(self, state: State, action: Action | None = None) -> Intention:
        """What the agent expects to follow; by default, its best action."""
        return self._intention(*self._asked(state, action))

    def contrast(self, state: State, chosen: Action | None = None, instead: Action | None = None) -> Contrast:
        """Why one action and not another; by default, the best against the second best."""
        if self.labels.n_actions < 2:
            raise ValueError("there is only one action, so there is nothing to compare it with")
        index, first = self._asked(state, chosen)
        others = self._worth(index).copy()
        others[first] = -np.inf
        second = int(others.argmax()) if instead is None else self.labels.action(instead)
        if first == second:
            raise ValueError(f"{self.labels.actions[first]!r} cannot be compared with itself; name another action")
        noise = self.beliefs.gap_error(index, first, second) if isinstance(self.beliefs, Audit) else None
        return Contrast.of(self._intention(index, first), self._intention(index, second), noise=noise)

    def outcomes(self, state: State, action: Action | None = None) -> Outcomes:
        """How the agent expects the episode to end; by default, after its best action."""
        if self._agent is not None:
            return Outcomes.estimated(self._agent, self._intention(*self._asked(state, action)))
        return Outcomes.of(self.audit, self.labels, *self._asked(state, action))

    def chance(self, state: State, action: Action | None = None, *, of: Any, before: Any = None) -> Chance:
        """Whether the agent expects something to be true after an action (by default, its best), and before something else.

        ``of`` and ``before``: anything that ``labels.where`` takes: words, an ending, a condition, states.
        """
        known = self._need_ledger("a chance").endings
        asked, other = (None if what is None else self.labels.where(what, endings=known) for what in (of, before))
        if asked is None:
            raise ValueError('of= says what the chance is of, e.g. of="row 1"')
        if other is not None and other.same_as(asked):
            raise ValueError(f"{asked.name!r} cannot come before itself; say what else should come later")
        return Chance.after(self.audit, self.labels, *self._asked(state, action), of=asked, before=other)

    def parts(self, state: State, action: Action | None = None, *, parts: Mapping[str, Part] | None = None) -> Parts:
        """Which parts of the reward a value is made of; by default, a part for each different reward.

        ``parts``: by name, what a part contributed to each update's reward: an array of one number for each update
        of the ledger, or a function of (state, action, reward), all three as numbers.
        """
        index, chosen = self._asked(state, action)
        value = float(self.values[index, chosen])
        return Parts.of(self.audit, self.labels, index, chosen, value=value, parts=parts)

    def timeline(
        self, state: State, action: Action | None = None, *, horizon: int = 20, discount: float | None = None
    ) -> Timeline:
        """When the agent expects what; by default, after its best action, discounted as learned (1: plain chances)."""
        return Timeline.of(self.audit, self.labels, *self._asked(state, action), horizon=horizon, discount=discount)

    def provenance(self, state: State, action: Action | None = None) -> Provenance:
        """Which experience a value is made of; by default, that of the best action."""
        index, chosen = self._asked(state, action)
        return Provenance.of(self.audit, self.labels, index, chosen, value=float(self.values[index, chosen]))

    def change(self, state: State, action: Action | None = None, *, since: int | Run) -> Change:
        """How the intention changed since so many episodes, or since another run of the same world.

        By default each is asked for its own best action.
        """
        before = since if isinstance(since, Run) else self.as_of(since)
        if before.labels != self.labels:
            raise ValueError("the two runs are not of the same world: their states or actions have other names")
        now, then = self._intention(*self._asked(state, action)), before._intention(*before._asked(state, action))
        return Change.of(now, then, another_run=before is since)

    def simulation(
        self,
        state: State,
        action: Action | None = None,
        *,
        rollouts: int = 1_000,
        seed: int = 0,
        env: Any = None,
        enter: Enter | None = None,
    ) -> Simulation:
        """What follows when the greedy policy is played from a state; by default, after its best action.

        ``env`` gives a loaded run its environment back where it cannot make one itself, or plays in another one;
        ``enter``, a function (env, state, rng), puts it into a state where whatfor does not know how.
        """
        beliefs = self._simulated(env, rollouts, seed, enter)
        return Simulation.of(beliefs, *self._asked(state, action))

    def comparison(
        self,
        state: State,
        action: Action | None = None,
        *,
        rollouts: int = 1_000,
        seed: int = 0,
        env: Any = None,
        enter: Enter | None = None,
    ) -> Comparison:
        """What the agent expects against what its greedy policy leads to: simulated, and exact where the world is known."""
        index, chosen = self._asked(state, action)
        believed = self._intention(index, chosen)
        simulated = Simulation.of(self._simulated(env, rollouts, seed, enter), index, chosen)
        if self.plays_by_network:
            return Comparison.of(None, believed, simulated, None, greedy=chosen == self._best(index))
        audit, policy = self.beliefs if isinstance(self.beliefs, Audit) else None, self.policy
        exact = self._exact(self._placed(env), index, chosen)
        return Comparison.of(audit, believed, simulated, exact, policy, greedy=bool(policy[index, chosen] > 0.0))

    def _asked(self, state: State, action: Action | None) -> tuple[int, int]:
        """The pair a question is about; by default, the best action."""
        index = self.situated(state)
        return index, self._best(index) if action is None else self.labels.action(action)

    def _intention(self, index: int, action: int) -> Intention:
        worth = self._worth(index)
        return Intention.of(self.beliefs, self.labels, index, action, values=worth, trust=self.trust)

    @property
    def discount(self) -> float:
        """The discount it learned with."""
        if "learner" in self.settings and "discount" in self.settings["learner"]:
            return float(self.settings["learner"]["discount"])
        discounts = np.unique(self._need_ledger("the discount of this run").lines.discount)
        if len(discounts) != 1:
            raise ValueError("this run was learned with several discounts, so no single one can be played by")
        return float(discounts[0])

    def _simulated(self, env: Any, rollouts: int, seed: int, enter: Enter | None) -> SimulatedBeliefs:
        played: dict[str, Any] = {"discount": self.discount, "rollouts": rollouts, "seed": seed, "enter": enter}
        if self._agent is not None and self.plays_by_network:
            scale = float(self.settings.get("reward_scale", 1.0))
            return SimulatedBeliefs(self.environment(env), self._agent, **played, reward_scale=scale)
        place = self._placed(env)
        longest = place.max_steps
        if not self._limit_ends and self.discount < 1.0:  # it looks past the limit; so do rollouts, as far as it counts
            longest = max(longest, min(LONGEST, math.ceil(math.log(NEGLIGIBLE) / math.log(max(self.discount, 1e-3)))))
        return SimulatedBeliefs(
            place.env if place.world is None or (enter and place.env is not None) else place.world,
            self.policy,
            max_steps=longest,
            **played,
        )

    @property
    def _limit_ends(self) -> bool:
        """Whether it learned that its time limit is an end."""
        return self.settings.get("time_limit") == "terminal"

    def _exact(self, place: Place, state: int, action: int) -> ExactBeliefs | None:
        """The exact future of the greedy policy; None where the world is not known, or has no end without a discount."""
        world, ledger = place.world, self.ledger
        if world is None or world.arrays.kind != TABLE:
            return None
        if self._limit_ends and (ledger is None or ledger.timed_out.any()):  # a table knows no limit
            return None
        exact = ExactBeliefs(world, self.policy, discount=self.discount)
        return exact if exact.ends(state, action) else None

    # -- keeping ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a folder: npz and JSON with checksums, all or nothing."""
        from whatfor.saving import save

        save(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        episodes: int = 20,
        states: Sequence[State] = (),
        enter: Enter | None = None,
    ) -> None:
        """Write a page to question this run with, as one HTML file: its greedy episodes, or those from given states.

        ``enter`` as in ``simulation``.
        """
        from whatfor.explorer.report import report

        report(self, path, episodes=episodes, states=states, enter=enter)

    def explore(
        self, *, episodes: int = 5, states: Sequence[State] = (), enter: Enter | None = None, height: int = 820
    ) -> Inline:
        """The same page, shown within a notebook."""
        from whatfor.explorer.notebook import Inline
        from whatfor.explorer.page import page
        from whatfor.explorer.report import told

        return Inline(page(told(self, episodes=episodes, states=states, enter=enter)), height)

    def _need_ledger(self, what: str) -> Ledger:
        if self.ledger is None and self._agent is not None:
            raise ValueError(
                f"{what} needs the ledger of a tabular run; a network keeps none: it can be asked for intention, contrast, "
                "outcomes, simulation, comparison and change since another run"
            )
        if self.ledger is None:
            raise ValueError(
                f"{what} needs the ledger, and this run has none: train with record=True, or pass ledger= to Run"
            )
        return self.ledger

    def _placed(self, env: Any = None) -> Place:
        """The world it was trained in, made again or given back."""
        settings = self.settings
        if env is None and self._place is not None:
            return self._place
        if "world" not in settings and env is None:
            raise ValueError("this run does not know its world, since it was made from an own loop: pass it as env=")
        world = settings.get("world", {})
        engine = (
            "auto" if self._agent is not None else settings.get("engine", "auto")
        )  # a network's was not this place's
        limits: dict[str, Any] = {"max_steps": settings.get("max_steps"), "engine": engine}
        try:
            if env is None:
                place = place_again(world, self._table, **limits)
            else:
                place = place_of(env, bins=world.get("bins"), bounds=world.get("bounds"), **limits)
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"the run's settings do not describe a world: {type(error).__name__} {error}") from error
        if (place.labels.n_states, place.labels.n_actions) != self.tables.shape[1:]:
            raise ValueError(
                f"the run has {self.labels.n_states} states and {self.labels.n_actions} actions, "
                f"this world {place.labels.n_states} and {place.labels.n_actions}"
            )
        if env is None:
            self._place = place
        return place
