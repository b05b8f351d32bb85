"""Tabular: the parameters that the built-in learners have in common."""

from __future__ import annotations

from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from whatfor.checks import number, whole
from whatfor.learners.replay import Replay
from whatfor.learners.rule import Rule
from whatfor.learners.schedules import Schedule, VisitCount, explorations, to_json

if TYPE_CHECKING:
    import numpy as np

    from whatfor.learners.agent import TabularAgent
    from whatfor.ledger import Ledger


#: What parameters are called elsewhere, and here.
USUAL_NAMES = {
    "alpha": "step_size",
    "learning_rate": "step_size",
    "lr": "step_size",
    "gamma": "discount",
    "discount_factor": "discount",
    "epsilon": "exploration",
    "lam": "lambda_",
    "trace_decay": "lambda_",
    "initial_value": "initial",
}
#: Parameters of training that could be taken for a learner's.
OF_TRAINING = ("replay", "episodes", "seed", "time_limit")


@dataclass(frozen=True, kw_only=True)
class Tabular:
    """Parameters of a tabular learner, stored as given and checked when it is made."""

    step_size: float | VisitCount = 0.1
    discount: float = 0.99
    exploration: float | Schedule = 0.1
    initial: float = 0.0  # the initial value of every state-action pair

    method: ClassVar[int]
    n_tables: ClassVar[int] = 1
    order: ClassVar[str] = "forwards"
    supports_replay: ClassVar[bool] = False
    bootstraps_greedily: ClassVar[bool] = True  # False: its targets depend on no choice of its own
    no_replay_reason: ClassVar[str] = "learns from whole episodes"

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Raise ``TypeError`` for a parameter that is unknown, with the closest one, or that is not given by name."""
        known = [field.name for field in fields(cls)]
        if args:
            raise TypeError(f"{cls.__name__} takes its parameters by name: pass {known[0]}={args[0]!r}")
        for name in parameters:
            if name not in known:
                close = [USUAL_NAMES.get(name, name), *get_close_matches(name, known, n=1)]
                meant = next((f". Did you mean {one}=?" for one in close if one in known), "")
                meant = f". Pass {name}= to train()" if name in OF_TRAINING else meant
                raise TypeError(
                    f"{cls.__name__} has no parameter {name!r}; its parameters are {', '.join(known)}{meant}"
                )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check the parameters; a schedule is checked when it is trained with."""
        step_size: Any = self.step_size
        if isinstance(step_size, VisitCount):
            if not 0.0 < number("the power of visit_count()", step_size.power) <= 1.0:
                raise ValueError(f"visit_count(power={step_size.power}): the power must lie in (0, 1]")
        elif not isinstance(step_size, Real):
            raise ValueError(f"step_size must be a number in [0, 1] or visit_count(), not {step_size!r}")
        else:
            number("step_size", step_size, 0, 1)
        number("discount", self.discount, 0, 1)
        number("lambda_", getattr(self, "lambda_", 0.0), 0, 1)
        if not callable(self.exploration):
            explorations(self.exploration, 0, 1)
        number("initial", self.initial)
        draw = getattr(self, "draw", "episode")
        if draw not in ("episode", "step"):
            raise ValueError(f"draw is 'episode' or 'step', not {draw!r}")

    def start(
        self,
        n_states: int,
        n_actions: int,
        *,
        ledger: Ledger | None,
        generator: np.random.Generator,
        replay: Replay | None = None,
    ) -> TabularAgent:
        """A new agent that records its updates in the ledger."""
        from whatfor.learners.agent import TabularAgent

        rule = self.rule(n_states, n_actions, replay, recording=ledger is not None)
        return TabularAgent(rule, ledger, generator, self.initial)

    def rule(self, n_states: int, n_actions: int, replay: Replay | None, *, recording: bool) -> Rule:
        """The parameters as numbers."""
        step_size = 0.0 if isinstance(self.step_size, VisitCount) else self.step_size
        power = self.step_size.power if isinstance(self.step_size, VisitCount) else 0.0
        if replay is not None:
            if not self.supports_replay:
                raise ValueError(
                    f"{type(self).__name__} {self.no_replay_reason} and does not support experience replay; use QLearning or DoubleQLearning"
                )
            replay.check()
        return Rule(
            method=self.method,
            n_states=whole("n_states", n_states, 1),
            n_actions=whole("n_actions", n_actions, 1),
            n_tables=self.n_tables,
            step_size=float(step_size),
            power=float(power),
            discount=float(self.discount),
            lambda_=float(getattr(self, "lambda_", 0.0)),
            table_per_step=getattr(self, "draw", "episode") == "step",
            batch=int(replay.batch) if replay else 0,
            warmup=int(replay.warmup_size) if replay else 0,
            capacity=int(replay.capacity or 0) if replay else 0,
            keep_first=replay is not None and replay.keep == "first",
            learning=True,
            recording=recording,
        )

    def to_json(self) -> dict[str, Any]:
        """Name and parameters, for JSON."""
        return {
            "name": type(self).__name__,
            **{field.name: to_json(getattr(self, field.name)) for field in fields(self)},
        }
