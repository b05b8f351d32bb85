"""Session: an agent in its world, which can train, be saved as a snapshot and be restored from one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.labels import ENDINGS, Labels
from whatfor.learners.agent import TabularAgent
from whatfor.learners.protocol import Agent, Learner
from whatfor.learners.replay import Replay
from whatfor.learners.rule import BREAKS, EXPERIENCES, LAMBDA_RETURNS, LINES, STORED, Rule
from whatfor.learners.tabular import Tabular
from whatfor.ledger import Ledger
from whatfor.limits import MAX_EPISODE_STEPS
from whatfor.text import count
from whatfor.training.loop import Plan, Progress, play_compiled, play_python
from whatfor.training.watch import Interrupted, Watch
from whatfor.worlds.discovering import Discovering
from whatfor.worlds.gymnasium import time_limit
from whatfor.worlds.steppers import EnvStepper, Stepper, WorldStepper
from whatfor.worlds.terms import RewardTerms
from whatfor.worlds.world import World

#: A listener is called with the ledger and the index of its first new update.
Listener = Callable[[Ledger, int], None]

Snapshot = tuple[dict[str, NDArray[Any]], dict[str, Any]]


@dataclass
class Place:
    """A world or environment, and the engine that steps it."""

    labels: Labels
    world: World | None  # for the compiled engine
    env: Any | None  # for the Python engine
    engine: str  # "compiled" or "python"
    reason: str  # for the choice of the engine
    recipe: dict[str, Any]
    max_steps: int
    terms: RewardTerms = field(default_factory=RewardTerms)  # of the reward, that training records

    @property
    def has_default_limit(self) -> bool:
        """Whether episodes are cut where no time limit applies."""
        own = self.world.max_steps if self.world is not None else None if self.env is None else time_limit(self.env)
        return own is None and self.max_steps == MAX_EPISODE_STEPS

    def stepper(self, seed: int) -> Stepper:
        """A new stepper with this seed."""
        if self.world is not None:
            return WorldStepper(self.world, seed)
        env = self.env.fork() if isinstance(self.env, Discovering) else self.env
        return EnvStepper(env, self.labels, seed, self.terms)


@dataclass
class Session:
    """An agent in a place."""

    place: Place
    learner: Learner
    agent: Agent
    stepper: Stepper
    ledger: Ledger | None
    time_out_ends: bool
    cuts: int = 0  # episodes truncated by a time limit

    def __post_init__(self) -> None:
        if self._discovering is not None:
            grow = getattr(self.agent, "grow", None)
            if grow is None:
                raise ValueError(
                    f"states are discovered during training, and {type(self.agent).__name__} has no method grow(n_states) that "
                    "enlarges its tables: add one, or pass an environment whose space lists its states"
                )
            self._discovering.room, self._discovering.make_room = self.place.labels.n_states, grow

    @property
    def _discovering(self) -> Discovering | None:
        """The environment that this session steps, if its states are discovered."""
        env = self.stepper.env if isinstance(self.stepper, EnvStepper) else None
        return env if isinstance(env, Discovering) else None

    @property
    def has_no_states(self) -> bool:
        """Whether states are discovered, and none was met."""
        return self._discovering is not None and not len(self._discovering)

    @classmethod
    def fresh(
        cls, place: Place, learner: Learner, *, seed: int, time_out_ends: bool, replay: Replay | None, record: bool
    ) -> Session:
        """A session before its first episode."""
        labels = place.labels
        ledger = None
        if record:
            ledger = Ledger(
                labels.n_states,
                labels.n_actions,
                n_tables=learner.n_tables,
                initial=getattr(learner, "initial", None),
                endings=labels.ending_names,
                order="replayed" if replay else learner.order,
                parts=tuple(place.terms.keys),
            )
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,))))
        more = {"replay": replay} if replay else {}
        if replay and not isinstance(learner, Tabular):
            raise ValueError(
                f"replay= is for QLearning and DoubleQLearning; {type(learner).__name__} must implement its own"
            )
        agent = learner.start(labels.n_states, labels.n_actions, ledger=ledger, generator=generator, **more)
        if np.shape(agent.tables)[-2:] != (labels.n_states, labels.n_actions):  # a run could not be built from them
            raise ValueError(
                f"the agent's tables have shape {np.shape(agent.tables)}; (tables, {labels.n_states}, {labels.n_actions}) is needed"
            )
        return cls(place, learner, agent, place.stepper(seed), ledger, time_out_ends)

    @classmethod
    def from_snapshot(
        cls,
        place: Place,
        learner: Learner,
        snapshot: Snapshot,
        ledger: Ledger | None,
        *,
        seed: int,
        time_out_ends: bool,
        replay: Replay | None,
    ) -> Session:
        """A session that continues from a snapshot."""
        arrays, numbers = snapshot
        if not isinstance(learner, Tabular):
            raise ValueError(
                f"{type(learner).__name__} is not one of the built-in learners, so its training cannot be resumed"
            )
        labels = place.labels
        if ledger is not None:
            check_endings(ledger, labels)
            if ledger.parts != tuple(place.terms.keys):
                raise ValueError("the parts of the reward in the run's ledger are not those of its settings")
        rule = learner.rule(labels.n_states, labels.n_actions, replay, recording=ledger is not None)
        arrays = check_snapshot(arrays, rule, ledger, "replayed" if replay else learner.order)
        agent = TabularAgent.from_state(rule, ledger, arrays, numbers["agent"], learner.initial)
        stepper = place.stepper(seed)
        stepper.restore(numbers["world"])
        return cls(place, learner, agent, stepper, ledger, time_out_ends, numbers["cuts"])

    def snapshot(self) -> Snapshot | None:
        """The complete state of the session; None for a custom learner."""
        if not isinstance(self.agent, TabularAgent):
            return None
        arrays, numbers = self.agent.state()
        return arrays, {"agent": numbers, "world": self.stepper.state(), "cuts": self.cuts}

    def play(
        self, epsilons: NDArray[np.float64], *, listeners: Sequence[Listener] = (), progress: bool | None = None
    ) -> tuple[Progress, BaseException | None]:
        """Play one episode for each epsilon; returns the progress, and the error that stopped it early."""
        plan = Plan(epsilons, self.place.max_steps, self.time_out_ends)
        played = Progress.empty(len(epsilons))
        before = self._progress()
        stopped: BaseException | None = None
        notify = [self._notifier(listener) for listener in listeners]
        with Watch(len(epsilons), lambda: played.episodes, notify, progress) as on_step:
            try:
                if (
                    isinstance(self.stepper, WorldStepper)
                    and isinstance(self.agent, TabularAgent)
                    and self.place.engine == "compiled"
                ):
                    play_compiled(self.stepper, self.agent, plan, played, on_step)
                else:
                    play_python(self.stepper, self.agent, plan, played, on_step)
            except (Interrupted, KeyboardInterrupt):
                stopped = KeyboardInterrupt()
            except Exception as error:
                stopped = error
        if isinstance(self.agent, TabularAgent):
            self.agent.settle(abandoned=stopped is not None and played.running)
        if (met := self._discovering) is not None and met.make_room is not None and len(met):
            met.make_room(len(met))  # only as much room as there are states
            self.place = replace(self.place, labels=met.labels(), env=met)
        try:
            for call in notify:
                call()
        except Exception as error:
            stopped = stopped or error
        self.cuts += played.cuts
        begun = played.episodes
        if (
            stopped is not None
            and played.running
            and isinstance(self.agent, TabularAgent)
            and self.agent.rule.method == LAMBDA_RETURNS
        ):
            begun -= 1  # the unfinished episode of a method that learns at the end of episodes is not in the ledger
        if self.ledger is not None and isinstance(self.agent, TabularAgent):
            self.ledger.end_episodes(before, played.lengths[:begun], played.finals[:begun])
        return Progress(played.returns[:begun], played.lengths[:begun], played.finals[:begun], played.now), stopped

    def _progress(self) -> int:
        """The updates recorded so far; under replay, the experiences."""
        if self.ledger is None or not isinstance(self.agent, TabularAgent):
            return 0
        replayed = self.ledger.order == "replayed"
        return int(self.agent.memory.counters[EXPERIENCES]) if replayed else len(self.ledger)

    def _notifier(self, listener: Listener) -> Callable[[], None]:
        if self.ledger is None:
            raise ValueError("listeners need the ledger; with record=False there is none")
        ledger = self.ledger
        first = len(ledger)

        def notify() -> None:
            nonlocal first
            if isinstance(self.agent, TabularAgent):
                self.agent.settle()
            if len(ledger) > first:
                listener(ledger, first)
                first = len(ledger)

        return notify


def check_endings(ledger: Ledger, labels: Labels) -> None:
    """Raise ``ValueError`` unless a ledger and a world have the same codes for endings."""
    names = list(labels.ending_names)
    known = ledger.endings[len(ENDINGS) :]
    if known[: len(names)] != names:
        raise ValueError(
            f"the run's episodes end with {_listed(known)}, and those of this environment with {_listed(names)}: "
            "pass one with the same endings as env=, or train a new run in this one"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if names else "endings that have no names"


def check_snapshot(
    arrays: dict[str, NDArray[Any]], rule: Rule, ledger: Ledger | None, order: str
) -> dict[str, NDArray[Any]]:
    """The arrays of a snapshot; ``ValueError`` unless they fit the learner, since compiled code does not check them."""
    cells, stored = rule.n_tables * rule.n_states * rule.n_actions, len(arrays["pair"])
    if len(arrays["values"]) != cells:
        raise ValueError(
            f"the run has {count(len(arrays['values']), 'value')}, and this learner in this environment has {cells:,}: "
            "resume it with a learner with as many tables, in the environment of the run"
        )
    if rule.power > 0.0 and len(arrays["tries"]) != cells:
        raise ValueError("the run did not count its updates, so it cannot be resumed with visit_count()")
    keeps = rule.batch > 0 and (rule.capacity == 0 or stored <= rule.capacity)
    if stored and not keeps:
        raise ValueError(f"the run has {stored} stored experiences, which this learner cannot use")
    if ledger is not None and (ledger.n_tables, ledger.order) != (rule.n_tables, order):
        raise ValueError(
            f"the run's ledger is of another kind of learner: it has {count(ledger.n_tables, 'table')} and is recorded {ledger.order}, "
            f"and this learner has {count(rule.n_tables, 'table')} and records {order}. Resume it with the kind of learner that it was trained with"
        )
    counters = arrays["counters"]
    if counters[STORED] != stored or (
        ledger is not None and (counters[LINES], counters[BREAKS]) != (len(ledger), len(ledger.breaks))
    ):
        raise ValueError("the run's ledger was changed after training, so training cannot be resumed")
    return arrays if rule.power > 0.0 else {**arrays, "tries": arrays["tries"][:0]}
