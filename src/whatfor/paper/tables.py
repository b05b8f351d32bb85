"""Figures S2, S3, S7, S8: a Q-table beside the table recovered from beliefs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whatfor.layouts import Layout
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.paper.figure import Check, Figure, Picture
from whatfor.runs import Run

#: The rewards of Blackjack's outcomes.
PAYS = {"won": 1.0, "drew": 0.0, "lost": -1.0, "bust": -1.0}


def recovered(id: str, world: str, method: str, run: Run) -> Figure:
    """The learner's own table, and the table that its beliefs add up to."""
    table = table_from_beliefs(run)
    tried = run.audit.tries > 0
    off = float(np.abs(table - run.values).max())
    pictures: list[Picture] = []
    for name, numbers in (("learned", run.values), ("recovered", table)):
        for shown in _by_action(run, numbers, f"{name.capitalize()} Q-table"):
            pictures.append(Picture.of(f"{id}-{name}-{len(pictures)}", shown))
    return Figure(
        id=id,
        title=f"{world}: Q-table and the table recovered from beliefs ({method})",
        claim="The two tables are the same up to floating-point errors.",
        pictures=tuple(pictures),
        checks=(
            Check("the largest difference between the two tables", "floating-point errors", f"{off:.1e} on values up to {np.abs(run.values).max():.3g}, {int(tried.sum())} pairs",
                  off < 1e-9 and bool(tried.any())),
        ),
    )  # fmt: skip


def table_from_beliefs(run: Run) -> NDArray[np.float64]:
    """(S, A) Beliefs times rewards: 1 for every step of CartPole, and one reward for each of Blackjack's four outcomes."""
    table = np.zeros_like(run.values)
    pairs = [(int(s), int(a)) for s, a in np.argwhere(run.audit.tries > 0)]
    pay = np.array([PAYS.get(name, 0.0) for name in run.audit.ledger.endings])
    for (state, action), row in zip(pairs, run.audit.accounts(pairs), strict=True):
        table[state, action] = row.endings @ pay if run.labels.kind == "blackjack" else row.visits.sum()
    return table


def _by_action(run: Run, numbers: NDArray[np.float64], title: str) -> list[Layout]:
    """The layouts of a table: one layout if it shows actions, otherwise one per action."""
    unknown = run.audit.tries == 0
    if run.labels.kind == "blackjack":
        return [map_of(Map(run.labels, numbers, title=title, quantity="value", diverging=True, unknown=unknown))]
    shown: list[Layout] = []
    for action, name in enumerate(run.labels.actions):
        only = np.zeros_like(numbers)
        only[:, action] = numbers[:, action]
        shown.append(map_of(Map(run.labels, only, title=f"{title}: {name}", quantity="value", unknown=unknown)))
    return shown
