"""train() and Run: what training leaves behind, and the questions one can ask it."""

from __future__ import annotations

import operator
import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.protocol import Beliefs
from whatfor.explanations import Chance, Contrast, Intention, Outcomes, Parts, Provenance, Timeline
from whatfor.explanations.parts import Part
from whatfor.history import Evaluation, History
from whatfor.labels import Labels
from whatfor.learners.agent import TabularAgent
from whatfor.learners.named import learner_from
from whatfor.learners.protocol import Learner
from whatfor.learners.q_learning import QLearning
from whatfor.learners.replay import Replay
from whatfor.learners.schedules import explorations, to_json
from whatfor.learners.tabular import Tabular
from whatfor.ledger import Ledger
from whatfor.training.places import Bins, Bounds, Engine, place_again, place_of
from whatfor.training.session import Listener, Place, Session, Snapshot

if TYPE_CHECKING:
    from whatfor.worlds.world import World

TimeLimit = Literal["bootstrap", "terminal"]
State = Any  # an index, an observation, or words
Action = int | str


class TrainingStopped(RuntimeError):
    """The world failed; ``run`` holds everything up to then."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


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
    ) -> None:
        tables = np.array(values, dtype=np.float64)
        shape = (labels.n_states, labels.n_actions)
        if tables.shape[-2:] != shape or tables.ndim not in (2, 3):
            raise ValueError(f"values has shape {tables.shape}; the labels name {shape} states and actions")
        self.labels = labels
        self.tables = tables.reshape(-1, *shape)  # (tables, S, A)
        self.ledger = ledger
        self.history = history or History(np.empty(0), np.empty(0, np.int64))
        self.settings = settings or {}
        self.stopped = stopped  # why training ended early; None: it did not
        self._beliefs = beliefs
        self._place: Place | None = None
        self._snapshot: Snapshot | None = None
        self._learner: Learner | None = None
        self._table: World | None = None  # a world of arrays, for a loaded run

    def __repr__(self) -> str:
        lines = "no ledger" if self.ledger is None else f"{len(self.ledger):,} updates"
        return f"Run({self.settings.get('learner', {}).get('name', 'own loop')}, {len(self.history):,} episodes, {lines}, engine={self.engine!r})"

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
        return Audit(self._need_ledger("an audit"), values=self.tables)

    @property
    def policy(self) -> NDArray[np.float64]:
        """(S, A) Chances of the greedy policy; equally good actions share."""
        values = self.values
        best = values == values.max(axis=1, keepdims=True)
        chances: NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
        return chances

    def best(self, state: State) -> int:
        """The best action in a state; between equally good ones the run's seed decides."""
        return self._best(self.labels.index(state))

    def _best(self, index: int) -> int:
        worth = self.values[index]
        tied = np.flatnonzero(worth == worth.max())
        dice = np.random.default_rng([int(self.settings.get("seed", 0)), index])
        return int(dice.choice(tied)) if len(tied) > 1 else int(tied[0])

    def evaluate(self, episodes: int = 100, *, seed: int = 0, env: Any = None) -> Evaluation:
        """Play the greedy policy; returns with a 95 % interval for their mean.

        ``env`` gives a loaded run its environment back where it cannot make one itself.
        """
        if episodes < 1:
            raise ValueError(f"episodes is {episodes}; play at least one")
        place = self._placed(env)
        rule = QLearning().rule(self.labels.n_states, self.labels.n_actions, None, recording=False)
        agent = TabularAgent(rule._replace(learning=False), None, np.random.default_rng([seed, 2]))
        agent.memory.values[:] = self.values.ravel()
        session = Session(place, QLearning(), agent, place.stepper(seed), None, time_out_ends=True)
        played, error = session.play(np.zeros(episodes))
        if error is not None:
            raise error
        return Evaluation.of(played.returns, played.lengths)

    def as_of(self, episodes: int) -> Run:
        """The run as it was after so many episodes, for any question; its values are those the ledger makes."""
        earlier = self._need_ledger("looking back").until(episodes)
        history = History(self.history.returns[:episodes], self.history.lengths[:episodes])
        return Run(labels=self.labels, values=earlier.values(), ledger=earlier, history=history, settings=self.settings)

    # -- questions -------------------------------------------------------------------------

    def intention(self, state: State, action: Action | None = None) -> Intention:
        """What the agent expects to follow; by default, its best action."""
        index = self.labels.index(state)
        return self._intention(index, self._best(index) if action is None else self.labels.action(action))

    def contrast(self, state: State, chosen: Action | None = None, instead: Action | None = None) -> Contrast:
        """Why one action and not another; by default, the best against the second best."""
        index = self.labels.index(state)
        if self.labels.n_actions < 2:
            raise ValueError("there is only one action, so there is nothing to compare it with")
        first = self._best(index) if chosen is None else self.labels.action(chosen)
        others = self.values[index].copy()
        others[first] = -np.inf
        second = int(others.argmax()) if instead is None else self.labels.action(instead)
        if first == second:
            raise ValueError(f"{self.labels.actions[first]!r} cannot be compared with itself; name another action")
        return Contrast.of(self._intention(index, first), self._intention(index, second))

    def outcomes(self, state: State, action: Action | None = None) -> Outcomes:
        """How the agent expects the episode to end; by default, after its best action."""
        index = self.labels.index(state)
        chosen = self._best(index) if action is None else self.labels.action(action)
        return Outcomes.of(self.audit, self.labels, index, chosen)

    def chance(self, state: State, action: Action | None = None, *, of: Any, before: Any = None) -> Chance:
        """Whether the agent expects something to be true after an action (by default, its best), and before something else.

        ``of`` and ``before``: anything that ``labels.where`` takes: words, an ending, a condition, states.
        """
        index, known = self.labels.index(state), self._need_ledger("a chance").endings
        chosen = self._best(index) if action is None else self.labels.action(action)
        other = None if before is None else self.labels.where(before, endings=known)
        return Chance.after(
            self.audit, self.labels, index, chosen, of=self.labels.where(of, endings=known), before=other
        )

    def parts(self, state: State, action: Action | None = None, *, parts: Mapping[str, Part] | None = None) -> Parts:
        """Which parts of the reward a value is made of; by default, a part for each different reward.

        ``parts``: by name, what a part contributed to each update's reward: an array of one number for each update
        of the ledger, or a function of (state, action, reward), all three as numbers.
        """
        index = self.labels.index(state)
        chosen = self._best(index) if action is None else self.labels.action(action)
        value = float(self.values[index, chosen])
        return Parts.of(self.audit, self.labels, index, chosen, value=value, parts=parts)

    def timeline(
        self, state: State, action: Action | None = None, *, horizon: int = 20, discount: float | None = None
    ) -> Timeline:
        """When the agent expects what; by default, after its best action, discounted as learned (1: plain chances)."""
        index = self.labels.index(state)
        chosen = self._best(index) if action is None else self.labels.action(action)
        return Timeline.of(self.audit, self.labels, index, chosen, horizon=horizon, discount=discount)

    def provenance(self, state: State, action: Action | None = None) -> Provenance:
        """Which experience a value is made of; by default, that of the best action."""
        index = self.labels.index(state)
        chosen = self._best(index) if action is None else self.labels.action(action)
        return Provenance.of(self.audit, self.labels, index, chosen, value=float(self.values[index, chosen]))

    def _intention(self, index: int, action: int) -> Intention:
        return Intention.of(self.beliefs, self.labels, index, action, value=float(self.values[index, action]))

    # -- keeping ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a folder: npz and JSON with checksums, all or nothing."""
        from whatfor.saving import save

        save(self, path)

    def _need_ledger(self, what: str) -> Ledger:
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
        if "world" not in settings:
            raise ValueError("this run does not know its world: it was made from an own loop")
        world, limits = settings["world"], {"max_steps": settings["max_steps"], "engine": settings["engine"]}
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
        self._place = place
        return place


def train(
    world: Any,
    learner: Learner | None = None,
    *,
    episodes: int,
    seed: int | None = None,
    bins: Bins = None,
    bounds: Bounds = None,
    max_steps: int | None = None,
    time_limit: TimeLimit = "bootstrap",
    replay: Replay | None = None,
    listeners: Sequence[Listener] = (),
    engine: Engine = "auto",
    progress: bool | None = None,
    record: bool = True,
    env: Any = None,
) -> Run:
    """Train an agent, and keep every update it makes.

    ``world``: an environment's id, any ``gymnasium.Env`` with countable observations (or a Box with
    ``bins``), a world of ``whatfor.worlds``, or a ``Run`` to go on from (``env`` gives it its
    environment back where it cannot make one itself). ``time_limit``: bootstrap through a time
    limit, or treat it as an end. ``listeners`` are called with the ledger and its first new line.
    ``engine="auto"`` takes the compiled twin of an environment where it is the same world.
    Ctrl-C ends training early and returns what there is; an error of the environment raises
    ``TrainingStopped``, which carries the run so far.

    >>> from whatfor.worlds import chain
    >>> run = train(chain(), QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=20, seed=0)
    >>> run.values[0].tolist(), run.engine
    ([2.0, 2.0], 'compiled')
    """
    episodes = operator.index(episodes)
    if episodes < 0:
        raise ValueError(f"episodes is {episodes}; it cannot be negative")
    if isinstance(world, Run):
        given = {"seed": seed, "bins": bins, "bounds": bounds, "max_steps": max_steps, "replay": replay}
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            raise ValueError(f"{wrong[0]}= was set when this run began and cannot be changed; leave it out to go on")
        return _go_on(world, learner, env, episodes, listeners, progress)
    if env is not None:
        raise ValueError("env= gives a loaded run its environment back; pass a new one as the first argument")
    if time_limit not in ("bootstrap", "terminal"):
        raise ValueError(f"time_limit is 'bootstrap' or 'terminal', not {time_limit!r}")
    learner = learner or QLearning()
    if not isinstance(learner, Learner) or isinstance(learner, type):
        raise ValueError(
            f"{learner!r} is not a learner: pass e.g. whatfor.QLearning(step_size=0.1); whatfor.testing.check_learner says what one of your own lacks"
        )
    place = place_of(world, bins=bins, bounds=bounds, max_steps=max_steps, engine=engine)
    if not isinstance(learner, Tabular) and place.engine == "compiled":
        place.engine, place.reason = "python", f"{type(learner).__name__} is not one of the built-in learners"
    seed = secrets.randbits(32) if seed is None else operator.index(seed)
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must not be negative")
    session = Session.fresh(
        place, learner, seed=seed, time_out_ends=time_limit == "terminal", replay=replay, record=record
    )
    settings = {
        "learner": learner.to_json() if isinstance(learner, Tabular) else {"name": type(learner).__name__},
        "seed": seed,
        "time_limit": time_limit,
        "replay": None if replay is None else {name: to_json(value) for name, value in asdict(replay).items()},
        "engine": place.engine,
        "engine_reason": place.reason,
        "max_steps": place.max_steps,
        "world": place.recipe,
    }
    return _trained(session, settings, None, episodes, listeners, progress)


def _go_on(
    run: Run, learner: Learner | None, env: Any, episodes: int, listeners: Sequence[Listener], progress: bool | None
) -> Run:
    """Take up training where a run left it."""
    if run._snapshot is None:
        raise ValueError(
            "this run cannot go on: its learner is not one of the built-in ones, or it was made from an own loop"
        )
    settings, place = {**run.settings}, run._placed(env)
    try:
        replay = None if settings["replay"] is None else Replay(**settings["replay"])
        if learner is None:
            learner = run._learner if run._learner is not None else learner_from(settings["learner"])
        elif isinstance(learner, Tabular):
            settings["learner"] = learner.to_json()
        session = Session.restored(
            place,
            learner,
            run._snapshot,
            None if run.ledger is None else run.ledger.continued(),
            seed=settings["seed"],
            time_out_ends=settings["time_limit"] == "terminal",
            replay=replay,
        )
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"the run's settings cannot be taken up: {type(error).__name__} {error}") from error
    return _trained(session, settings, run.history, episodes, listeners, progress)


def _trained(
    session: Session,
    settings: dict[str, Any],
    before: History | None,
    episodes: int,
    listeners: Sequence[Listener],
    progress: bool | None,
) -> Run:
    """Play, and pack up what there is, however it ended."""
    done = 0 if before is None else len(before)
    epsilons = explorations(session.learner.exploration, done, episodes)
    cut_before = session.cuts
    played, error = session.play(epsilons, listeners=listeners, progress=progress)
    history = History(played.returns, played.lengths)
    if error is None and not np.isfinite(session.agent.tables).all():
        error = OverflowError("values are no longer finite numbers: the rewards are too large")
    stopped = None
    if error is not None:
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
        stopped = f"{what} in episode {done + len(history)} of {done + episodes}"
    if session.ledger is not None:
        session.ledger.freeze()
    run = Run(
        labels=session.place.labels,
        values=session.agent.tables,
        ledger=session.ledger,
        history=history if before is None else before.followed_by(history),
        settings=settings,
        stopped=stopped,
    )
    run._place, run._learner, run._snapshot = session.place, session.learner, session.snapshot()
    if session.cuts > cut_before == 0 and session.learner.discount == 1.0 and not session.time_out_ends:
        warnings.warn(
            "episodes were cut by a time limit and bootstrapped through without a discount: a task that need not end has no "
            "finite value then. Pass time_limit='terminal' to count the limit as an end, or a discount below 1",
            stacklevel=3,
        )
    if isinstance(error, KeyboardInterrupt):
        warnings.warn(f"training was {stopped}; the run so far is returned", stacklevel=3)
    elif error is not None:
        raise TrainingStopped(
            f"training stopped, {stopped}. The run so far is this error's .run: it can be asked, saved and continued",
            run,
        ) from error
    return run
