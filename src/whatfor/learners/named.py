"""Built-in learners by name, for saved runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import groupby
from typing import Any

from whatfor.learners.double_q import DoubleQLearning
from whatfor.learners.lambda_returns import LambdaReturns
from whatfor.learners.monte_carlo import MonteCarlo
from whatfor.learners.q_learning import QLearning
from whatfor.learners.sarsa import Sarsa
from whatfor.learners.schedules import from_json
from whatfor.learners.tabular import Tabular

LEARNERS: dict[str, type[Tabular]] = {
    kind.__name__: kind for kind in (QLearning, Sarsa, DoubleQLearning, MonteCarlo, LambdaReturns)
}


def learner_names(settings: Mapping[str, Any]) -> str:
    """The names of the learners that trained a run, in order.

    >>> learner_names({"learner": {"name": "Sarsa"}, "earlier_learners": [{"name": "QLearning", "until": 300}]})
    'QLearning, then Sarsa'
    """
    learners = (*settings.get("earlier_learners", ()), settings.get("learner", {}))
    names = [str(one.get("name", "custom loop")) for one in learners]
    return ", then ".join(name for name, _ in groupby(names))


def learner_from(data: dict[str, Any]) -> Tabular:
    """The learner that ``to_json`` described."""
    kind = LEARNERS.get(data.get("name", ""))
    if kind is None:
        raise ValueError(
            f"{data.get('name')!r} is not one of the built-in learners ({', '.join(LEARNERS)}); pass the learner to resume"
        )
    known = {field.name for field in fields(kind)}
    return kind(**{name: from_json(value) for name, value in data.items() if name in known})
