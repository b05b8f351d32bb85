"""What pictures of simulations, comparisons, chances and parts show."""

from __future__ import annotations

from whatfor.explanations import Chance, Comparison, Parts, Simulation
from whatfor.layouts.maps import Facets, map_of
from whatfor.layouts.shapes import Bars, Layout, Panels, Series


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


def comparison(why: Comparison, *, facets: Facets = "all") -> Layout:
    """Belief and reality, their difference, and how both see the end."""
    actual = why.simulated.visits if why.exact is None else why.exact
    maps = [
        map_of(why.labels, numbers, title=title, state=why.state, facets=facets)
        for title, numbers in (("believed", why.believed.visits), ("actual", actual))
    ]
    apart = why.believed.visits - actual
    maps.append(
        map_of(why.labels, apart, title="believed less actual", quantity="visits, more or less", diverging=True, state=why.state, facets=facets)
    )  # fmt: skip
    ends = [measure for measure in why.measures if measure.name != "value"]
    bars = Bars(
        title="how it ends",
        caption="",
        names=tuple(measure.name for measure in ends),
        series=(
            Series(
                "believed",
                tuple(measure.believed for measure in ends),
                tuple(measure.believed - measure.reach for measure in ends),
                tuple(measure.believed + measure.reach for measure in ends),
            ),
            Series("actual", tuple(measure.actual for measure in ends)),
        ),
        axis="chance; whiskers: what noise explains",
    )
    panels = (*maps, bars) if ends else tuple(maps)
    title = f"{why.labels.actions[why.action]}: belief and reality, {why.distance:.1%} apart ({why.verdict})"
    return Panels(title, why.labels.words(why.state), panels, columns=2, shared=False)


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
