"""A learner in its world, between two episodes: it can play on, and it can be put away and taken out again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from whatfor.training.loop import Plan, Progress, play_compiled, play_python
from whatfor.training.watch import Interrupted, Watch
from whatfor.worlds.steppers import EnvStepper, Stepper, WorldStepper
from whatfor.worlds.world import World

#: A listener is called with the ledger and the first line that is new to it.
Listener = Callable[[Ledger, int], None]

Snapshot = tuple[dict[str, NDArray[Any]], dict[str, Any]]


@dataclass
class Place:
    """A world, ready to be played in by one of the engines."""

    labels: Labels
    world: World | None  # the compiled engine's
    env: Any | None  # the Python engine's
    engine: str  # "compiled" or "python"
    reason: str  # why this engine
    recipe: dict[str, Any]
    max_steps: int

    def stepper(self, seed: int) -> Stepper:
        """The world at the start of its random numbers."""
        if self.world is not None:
            return WorldStepper(self.world, seed)
        return EnvStepper(self.env, self.labels, seed)


@dataclass
class Session:
    """A learner at work in a place."""

    place: Place
    learner: Learner
    agent: Agent
    stepper: Stepper
    ledger: Ledger | None
    time_out_ends: bool
    cuts: int = 0  # episodes cut by a time limit

    @classmethod
    def fresh(
        cls, place: Place, learner: Learner, *, seed: int, time_out_ends: bool, replay: Replay | None, record: bool
    ) -> Session:
        """Before the first episode."""
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
            )
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,))))
        more = {"replay": replay} if replay else {}
        if replay and not isinstance(learner, Tabular):
            raise ValueError(f"replay= is for QLearning and DoubleQLearning; {type(learner).__name__} must do its own")
        agent = learner.start(labels.n_states, labels.n_actions, ledger=ledger, generator=generator, **more)
        if np.shape(agent.tables)[-2:] != (labels.n_states, labels.n_actions):  # else the run could not be made of it
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
        """Where ``snapshot`` was taken."""
        arrays, numbers = snapshot
        if not isinstance(learner, Tabular):
            raise ValueError(
                f"{type(learner).__name__} is not one of the built-in learners, so its training cannot be taken up again"
            )
        labels = place.labels
        if ledger is not None:
            check_endings(ledger, labels)
        rule = learner.rule(labels.n_states, labels.n_actions, replay, recording=ledger is not None)
        arrays = fitting(arrays, rule, ledger, "replayed" if replay else learner.order)
        agent = TabularAgent.from_state(rule, ledger, arrays, numbers["agent"])
        stepper = place.stepper(seed)
        stepper.restore(numbers["world"])
        return cls(place, learner, agent, stepper, ledger, time_out_ends, numbers["cuts"])

    def snapshot(self) -> Snapshot | None:
        """All that decides how it goes on; None for a learner of somebody else's making."""
        if not isinstance(self.agent, TabularAgent):
            return None
        arrays, numbers = self.agent.state()
        return arrays, {"agent": numbers, "world": self.stepper.state(), "cuts": self.cuts}

    def play(
        self, epsilons: NDArray[np.float64], *, listeners: Sequence[Listener] = (), progress: bool | None = None
    ) -> tuple[Progress, BaseException | None]:
        """Play one episode for each epsilon; what was played, and what stopped it early."""
        plan = Plan(epsilons, self.place.max_steps, self.time_out_ends)
        played = Progress.nothing(len(epsilons))
        before = self._progress()
        stopped: BaseException | None = None
        tell = [self._teller(listener) for listener in listeners]
        with Watch(len(epsilons), lambda: played.episodes, tell, progress) as look:
            try:
                if (
                    isinstance(self.stepper, WorldStepper)
                    and isinstance(self.agent, TabularAgent)
                    and self.place.engine == "compiled"
                ):
                    play_compiled(self.stepper, self.agent, plan, played, look)
                else:
                    play_python(self.stepper, self.agent, plan, played, look)
            except (Interrupted, KeyboardInterrupt):
                stopped = KeyboardInterrupt()
            except Exception as error:
                stopped = error
        if isinstance(self.agent, TabularAgent):
            self.agent.settle(abandoned=stopped is not None and played.running)
        try:
            for told in tell:
                told()
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
            begun -= 1  # an episode that is learned from at its end, and had none, is in no ledger
        if self.ledger is not None and isinstance(self.agent, TabularAgent):
            last = before[1] + np.cumsum(played.lengths[:begun]) - 1
            self.ledger.end_episodes(before[0], played.finals[:begun], last)
        return Progress(played.returns[:begun], played.lengths[:begun], played.finals[:begun], played.now), stopped

    def _progress(self) -> tuple[int, int]:
        """Episodes in the ledger, and experiences made."""
        if self.ledger is None or not isinstance(self.agent, TabularAgent):
            return 0, 0
        return self.ledger.n_episodes, int(self.agent.memory.counters[EXPERIENCES])

    def _teller(self, listener: Listener) -> Callable[[], None]:
        if self.ledger is None:
            raise ValueError("listeners hear of ledger lines; with record=False there are none")
        ledger = self.ledger
        heard = len(ledger)

        def tell() -> None:
            nonlocal heard
            if isinstance(self.agent, TabularAgent):
                self.agent.settle()
            if len(ledger) > heard:
                listener(ledger, heard)
                heard = len(ledger)

        return tell


def check_endings(ledger: Ledger, labels: Labels) -> None:
    """Raise ``ValueError`` unless a ledger gives every ending of a world the code that the world gives it."""
    names = list(labels.ending_names)
    known = ledger.endings[len(ENDINGS) :]
    if known[: len(names)] != names:
        raise ValueError(
            f"the run's episodes end with {_listed(known)}, those of this world with {_listed(names)}: "
            "pass env= a world with the same endings, or train a new run in this one"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if names else "endings that have no names"


def fitting(arrays: dict[str, NDArray[Any]], rule: Rule, ledger: Ledger | None, order: str) -> dict[str, NDArray[Any]]:
    """What a learner had in hand, if a learner with these settings can take it up; compiled code does not check again."""
    cells, stored = rule.n_tables * rule.n_states * rule.n_actions, len(arrays["pair"])
    if len(arrays["values"]) != cells:
        raise ValueError(
            f"the run has {len(arrays['values'])} values, this learner in this world {cells}: it cannot take them up"
        )
    if rule.power > 0.0 and len(arrays["tries"]) != cells:
        raise ValueError("the run did not count its visits, so it cannot go on with visit_count()")
    keeps = rule.batch > 0 and (rule.capacity == 0 or stored <= rule.capacity)
    if stored and not keeps:
        raise ValueError(f"the run holds {stored} experiences to replay, which this learner cannot take up")
    if ledger is not None and (ledger.n_tables, ledger.order) != (rule.n_tables, order):
        raise ValueError(
            f"the run's ledger is of another kind of learner ({ledger.n_tables} tables, {ledger.order}; now {rule.n_tables}, {order})"
        )
    counters = arrays["counters"]
    if counters[STORED] != stored or (
        ledger is not None and (counters[LINES], counters[BREAKS]) != (len(ledger), len(ledger.breaks))
    ):
        raise ValueError("the run's ledger was changed after training, so the learner cannot go on writing into it")
    return arrays if rule.power > 0.0 else {**arrays, "tries": arrays["tries"][:0]}
