"""What pictures of simulations, comparisons, chances and parts show."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from whatfor.explanations import Chance, Comparison, Parts, Simulation
from whatfor.layouts.facets import side_by_side
from whatfor.layouts.maps import Facets, map_of
from whatfor.layouts.shapes import Bars, Layout, Panels, Series

#: Visits that differ by less are drawn as the same: where belief agrees, nothing is to be coloured as if it were something.
NO_DIFFERENCE = 5e-3


def simulation(why: Simulation, *, facets: Facets = "all") -> Layout:
    """Where the rollouts went."""
    return map_of(
        why.labels,
        why.visits,
        title=f"{why.labels.actions[why.action]}: {why.rollouts:,} rollouts earned {why.value:.3f}",
        caption=why.labels.words(why.state),
        quantity="mean visits",
        state=why.state,
        facets=facets,
    )


def comparison(
    why: Comparison, *, show: Literal["visits", "difference", "endings"] = "visits", facets: Facets = "all"
) -> Layout:
    """Belief and reality side by side; or one less the other; or how each sees the end."""
    actual = why.simulated.visits if why.exact is None else why.exact
    untried, doing = why.verdict == "unknown", why.labels.actions[why.action]
    title = f"{doing}: belief and reality, {why.distance:.1%} apart ({why.verdict})"
    if untried:
        title = f"{doing}: never tried, so that only reality is known"
    caption = why.labels.words(why.state)
    if show == "difference":
        apart = np.zeros_like(actual) if untried else why.believed.visits - actual
        apart[np.abs(apart) < NO_DIFFERENCE] = 0.0
        unknown = why.believed.no_experience if untried else None
        quantity = "visits, believed less actual"
        return map_of(why.labels, apart, title=title, caption=caption, quantity=quantity, diverging=True, unknown=unknown, state=why.state, facets=facets)  # fmt: skip
    if show == "endings":
        return _endings(why, title, caption)
    maps = {"believed": why.believed.visits, "actual": actual}
    masks = (why.believed.no_experience, None)
    shown = [
        map_of(why.labels, numbers, title=name, unknown=unknown, state=why.state, facets=facets)
        for (name, numbers), unknown in zip(maps.items(), masks, strict=True)
    ]
    if isinstance(shown[0], Bars):
        return side_by_side(why.labels, maps, title=title, caption=caption, state=why.state)
    caption = "\n".join(line for line in (caption, shown[0].caption) if line)
    return Panels(title, caption, tuple(replace(one, caption="") for one in shown), columns=2)


def _endings(why: Comparison, title: str, caption: str) -> Bars:
    ends = [measure for measure in why.measures if measure.name != "value"]
    actual = Series("actual", tuple(measure.actual for measure in ends))
    if why.verdict == "unknown":
        return Bars(title, caption, tuple(measure.name for measure in ends), (actual,), "chance")
    believed = tuple(measure.believed for measure in ends)
    judged = all(math.isfinite(measure.reach) for measure in ends)  # of a network nobody knows what noise explains
    low = tuple(max(0.0, measure.believed - measure.reach) for measure in ends) if judged else None
    high = tuple(min(1.0, measure.believed + measure.reach) for measure in ends) if judged else None
    axis = "chance; whiskers: what noise explains" if judged else "chance"
    series = (Series("believed", believed, low, high), actual)
    return Bars(title, caption, tuple(measure.name for measure in ends), series, axis)


def chance(why: Chance) -> Bars:
    """Whether it comes true, or what else happens."""
    first = why.of.name if why.before is None else f"{why.of.name} first"
    names = (first, *why.never, "unknown")
    title = f"{why.labels.actions[why.action]}: what it expects to come true"
    numbers = (why.ever, *why.never.values(), why.unknown)
    unknown = tuple(name == "unknown" for name in names)
    return Bars(title, why.labels.words(why.state), names, (Series("chance", numbers),), "chance", unknown)


def parts(why: Parts) -> Bars:
    """What each part of the reward adds to the value."""
    more = {"what no part covers": why.rest, "left of the start": why.from_start}
    totals = {**why.totals, **{name: amount for name, amount in more.items() if amount}}
    title = f"{why.labels.actions[why.action]}: what its value {why.value:.3f} is made of"
    return Bars(title, why.labels.words(why.state), tuple(totals), (Series("part", tuple(totals.values())),), "value")
