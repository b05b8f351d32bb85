"""Run: the result of training, with a method for each question."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.policy import greedy_policy
from whatfor.beliefs.protocol import Actor, Beliefs
from whatfor.beliefs.situation import Situation
from whatfor.beliefs.trust import Quality
from whatfor.checks import array_of, check_tables
from whatfor.counterfactual import Counterfactuals
from whatfor.explanation import Explanation
from whatfor.explanations.intention import Intention
from whatfor.explanations.methods import QuestionMethods
from whatfor.history import Episode, Evaluation, History
from whatfor.labels import Labels
from whatfor.learners.named import learner_names
from whatfor.ledger import Ledger
from whatfor.ledger.ends import with_names
from whatfor.ledger.paid import with_paid_endings
from whatfor.players import TableActor
from whatfor.playing import Origin, Playing, described
from whatfor.question import QUESTIONS, Action, State, no_ledger_reason
from whatfor.text import count
from whatfor.worlds.adapter import Enter

if TYPE_CHECKING:
    from whatfor.explorer.notebook import Inline


class Run(QuestionMethods, Counterfactuals):
    """The result of training: values, ledger, history and settings.

    ``train`` and ``load`` return runs. For a custom training loop, use ``Run(labels=..., values=..., ledger=...)``. A table
    without a ledger, ``Run(values=..., env=..., discount=...)``, answers what playing its greedy policy leads to: ``env`` is
    an environment, its id or a world, and ``discount`` the one that the values were learned with.

    >>> ledger = Ledger(n_states=1, n_actions=1)
    >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    >>> run = Run(labels=Labels.plain(1, 1), values=[[0.5]], ledger=ledger)
    >>> run.intention(0).residual
    0.0
    """

    def __init__(
        self,
        *,
        values: ArrayLike,
        labels: Labels | None = None,
        env: Any = None,
        discount: float | None = None,
        ledger: Ledger | None = None,
        beliefs: Beliefs | None = None,
        settings: dict[str, Any] | None = None,
        origin: Origin | None = None,
    ) -> None:
        labels, self.settings, self.origin = described(labels, env, discount, settings, origin)
        tables = array_of("values", values, "biuf", "numbers").astype(np.float64)  # a copy
        shape = (labels.n_states, labels.n_actions)
        check_tables(tables.shape, "the labels have" if env is None else "the environment has", shape)
        if ledger is not None:
            check_tables(tables.shape, "the ledger has", (ledger.n_states, ledger.n_actions))
        self.labels: Labels = with_paid_endings(None if self.origin.repriced else ledger, labels)
        self.tables = tables.reshape(-1, *shape)  # (tables, S, A)
        self.ledger = ledger
        self.history = self.origin.history or History(np.empty(0), np.empty(0, np.int64))
        self.stopped = self.origin.stopped
        self._beliefs = beliefs

    def __repr__(self) -> str:
        updates = "no ledger" if self.ledger is None else count(int(self.ledger.applied.sum()), "update")
        episodes = "episodes not counted" if self.n_episodes is None else count(self.n_episodes, "episode")
        engine = f", engine={self.engine!r}" if "engine" in self.settings else ""
        return f"Run({learner_names(self.settings)}, {episodes}, {updates}{engine}{f'; {self.origin.premise}' if self.origin.premise else ''})"

    # -- data ------------------------------------------------------------------------------

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(S, A) The learner's own values; the mean if it has several tables."""
        return np.asarray(self.tables[0] if len(self.tables) == 1 else self.tables.mean(axis=0))

    @property
    def n_episodes(self) -> int | None:
        """The number of episodes of training; None: not counted."""
        return len(self.history) or (None if self.ledger is None else self.ledger.n_episodes)

    @property
    def engine(self) -> str:
        """The engine that trained it: "compiled" or "python"."""
        return str(self.settings.get("engine", "custom loop"))

    @cached_property
    def beliefs(self) -> Beliefs:
        """The beliefs that answer the questions: the ``beliefs`` argument, the audit of the ledger, or without both what playing its policy leads to."""
        if self._beliefs is not None:
            return self._beliefs
        return self.playing.policy_beliefs if self.ledger is None else self.audit

    @cached_property
    def audit(self) -> Audit:
        """The audit of the ledger against the learner's own tables, if they were kept."""
        ledger = self.need_ledger("run.audit")
        if not self.origin.repriced:  # else its endings have the names that the paid rewards gave
            ledger = with_names(ledger, self.labels)
        return Audit(ledger, values=self.tables if self.origin.own_values else None)

    @property
    def policy(self) -> NDArray[np.float64]:
        """(S, A) The greedy policy; equally good actions share the probability."""
        return greedy_policy(self.values)

    @cached_property
    def playing(self) -> Playing:
        """Plays the greedy policy in the environment of the run."""
        return Playing(
            self.labels, self.values, self.settings, actor=self.actor, ledger=self.ledger, origin=self.origin
        )

    @cached_property
    def actor(self) -> Actor:
        """Who acts: its table of values, or an agent that acts on observations."""
        table = TableActor(self.labels, self.values)
        return table if self._beliefs is None else self._beliefs.actor(table)

    def best(self, state: State) -> int:
        """The best action in a state; ties are broken at random with the run's seed."""
        at = self.situation(state)
        values = self.values_at(at)
        tied = np.flatnonzero(values == values.max())
        dice = np.random.default_rng([int(self.settings.get("seed", 0)), at.index])
        return int(dice.choice(tied)) if len(tied) > 1 else int(tied[0])

    @property
    def trust(self) -> Quality:
        """How far the beliefs can be trusted: ``Trust`` of a network's estimates."""
        return self.beliefs.trust

    def situation(self, state: State) -> Situation:
        """The index of a state and, if the agent acts on observations, the observation."""
        if isinstance(state, Situation):
            return state
        return self.actor.situation(state)

    def values_at(self, state: State) -> NDArray[np.float64]:
        """(A,) The agent's values of all actions in a state."""
        at = self.situation(state)
        values = self.actor.values_at(at)
        if np.isnan(values).any() or not np.isfinite(values.max()):  # -inf marks an action that is not allowed
            raise ValueError(
                f"the agent's values in {self.labels.words(at.index)!r} are NaN or infinite: training has diverged, so there is nothing to explain"
            )
        return values

    def tries_at(self, state: State) -> NDArray[np.int64] | None:
        """(A,) The number of updates of each action in a state; None: not counted."""
        counts = self.beliefs.tries
        return None if counts is None else counts[self.situation(state).index]

    def evaluate(self, episodes: int = 100, *, seed: int = 0, env: Any = None) -> Evaluation:
        """Play the greedy policy with the rewards of the environment: the returns, with a 95 % interval of their mean.

        ``env``: the environment, for a loaded run that cannot recreate it.
        """
        return self.playing.evaluate(episodes, seed, env)

    def episode(self, state: State | None, *, seed: int = 0, env: Any = None, enter: Enter | None = None) -> Episode:
        """Play a greedy episode from a state: the observation and the action at every step.

        ``state=None`` starts where the environment resets to with the seed.
        """
        at = None if state is None else self.situation(state)
        return self.playing.player.episode(at, self.best, seed, env, enter)

    def believing(self, beliefs: Beliefs) -> Run:
        """The same run with other beliefs."""
        return self.derived(beliefs=beliefs)

    def derived(self, **changed: Any) -> Run:
        """A copy of the run with some arguments changed."""
        same = {name: getattr(self, name) for name in ("labels", "ledger", "settings", "origin")}
        return Run(**{**same, "values": self.tables, "beliefs": self._beliefs, **changed})

    # -- questions -------------------------------------------------------------------------

    def ask(self, question: str, state: State, action: Action | None = None, **parameters: Any) -> Explanation:
        """Answer a question by its name: ``run.ask("timeline", state, horizon=5)``."""
        if question not in QUESTIONS:
            raise ValueError(f"there is no question {question!r}; the questions are {', '.join(QUESTIONS)}")
        return QUESTIONS[question].ask(self, state, action, **parameters)

    def resolve(self, state: State, action: Action | None = None) -> tuple[Situation, int]:
        """The situation and the action that a question is about; by default the best action."""
        at = self.situation(state)
        return at, self.best(at) if action is None else self.labels.action(action)

    def expects(self, at: Situation, action: int) -> Intention:
        """The intention behind an action in a situation; other answers build on it."""
        values, row = self.values_at(at), self.beliefs.row(at, action)
        own: dict[str, bool] = {"own": self.origin.own_values, "learned": self.beliefs.learned}
        why = Intention.of(row, self.labels, at.index, action, values=values, **own)
        return replace(why, choice=self.best(at)).under(self.origin.premise)

    # -- saving and showing ----------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the run to a folder atomically, as npz and JSON files; a run there is replaced, or refused with ``replace=False``."""
        from whatfor.saving import save

        save(self, path, replace=replace)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        episodes: int = 20,
        states: Sequence[State] = (),
        budget: float = 3.0,
        enter: Enter | None = None,
    ) -> None:
        """Write an interactive page about this run as one HTML file: its greedy episodes, or those from given states.

        ``budget``: the maximum size of the file in megabytes; the page lists what is left out. ``enter`` as in ``simulation``.
        """
        from whatfor.explorer.report import report

        report(self, path, episodes=episodes, states=states, budget=budget, enter=enter)

    def explore(
        self, *, episodes: int = 5, states: Sequence[State] = (), enter: Enter | None = None, height: int = 820
    ) -> Inline:
        """Show the same page in a notebook."""
        from whatfor.explorer.notebook import inline_report

        return inline_report(self, episodes, states, enter, height)

    def need_ledger(self, what: str) -> Ledger:
        """The ledger; ``ValueError`` if there is none: ``what`` needs it."""
        if self.ledger is None:
            raise ValueError(f"{what} {no_ledger_reason(self)}")
        return self.ledger
