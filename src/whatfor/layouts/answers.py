"""What a picture of each explanation shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

from whatfor.explanations import (
    Chance,
    Change,
    Comparison,
    Contrast,
    Explanation,
    Intention,
    Outcomes,
    Parts,
    Provenance,
    Simulation,
    Timeline,
)
from whatfor.explanations.difference import Difference
from whatfor.explanations.timeline import FAINT
from whatfor.layouts.facets import side_by_side
from whatfor.layouts.map import rows_of
from whatfor.layouts.maps import Facets, map_of
from whatfor.layouts.reality import chance, comparison, parts, simulation
from whatfor.layouts.shapes import Bars, Grid, Layout, Lines, Panels, Series
from whatfor.layouts.words import pair_names

Show = Literal["visits", "parts"]

MOST_ENDS = 10
MOST_EPISODES = 10
MOST_PAIRS = 14
MOST_POINTS = 300


def layout_of(explanation: Explanation, **options: Any) -> Layout:
    """What a picture of an explanation shows.

    Maps take ``facets="here"`` as ``map_of`` does. Contrasts and changes take ``show="parts"`` for one signed map of what
    each place adds to the gap, instead of five maps of visits; comparisons ``show="difference"`` or ``show="endings"``.
    """
    for kind, lay_out in LAYOUTS.items():
        if isinstance(explanation, kind):
            _check(kind.__name__.lower(), lay_out, options)
            return lay_out(explanation, **options)
    known = ", ".join(kind.__name__ for kind in LAYOUTS)
    raise TypeError(f"there is no layout of {type(explanation).__name__}; there are layouts of {known}")


def _check(name: str, lay_out: Callable[..., Layout], options: dict[str, Any]) -> None:
    """Refuse an option that this layout does not have, or does not take so."""
    known = get_type_hints(lay_out)
    for option, value in options.items():
        if option not in known:
            raise ValueError(f"{option}= is not for the layout of {name}")
        if value not in get_args(known[option]):
            raise ValueError(f"{option}={value!r}: the layout of {name} takes {', '.join(get_args(known[option]))}")


def _intention(why: Intention, *, facets: Facets = "all") -> Layout:
    return map_of(
        why.labels,
        why.visits,
        title=f"{why.labels.actions[why.action]}: worth {why.value:.3f}",
        caption=_caption(why),
        unknown=why.no_experience,
        state=why.state,
        facets=facets,
    )


def _contrast(why: Contrast, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    one, two = (why.labels.actions[which.action] for which in (why.chosen, why.instead))
    title = f"{one} or {two}: equally good" if why.tied else f"{one} and not {two}: worth {why.gap:+.3f}"
    if why.chosen.tries == 0 or why.instead.tries == 0:
        title = f"{one} or {two}: never tried, nothing to compare"
    return _difference(why, title, (one, two), show, facets)


def _change(why: Change, *, show: Show = "visits", facets: Facets = "all") -> Layout:
    was, now = (
        f"{why.labels.actions[which.action]} {when}" for which, when in ((why.before, "before"), (why.after, "now"))
    )
    return _difference(why, f"{now}, {was}: worth {why.gap:+.3f}", (now, was), show, facets)


def _difference(why: Difference, title: str, names: tuple[str, str], show: Show, facets: Facets) -> Layout:
    """Five maps of visits, or one of the parts of the gap."""
    one, two = names
    caption = _caption(why.one)
    of_one, of_other = why.one.no_experience, why.other.no_experience
    of_both = None if of_one is None or of_other is None else of_one & of_other
    lay_out = partial(map_of, why.labels, state=why.state, facets=facets)
    if show == "parts":
        signed: dict[str, Any] = {"quantity": "earned more (or less)", "diverging": True, "unknown": of_both}
        return lay_out(why.parts, title=title, caption=caption, **signed)
    maps = (
        lay_out(why.one.visits, title=f"{one} expects", unknown=of_one),
        lay_out(why.other.visits, title=f"{two} expects", unknown=of_other),
        lay_out(why.gained, title=f"only {one}", unknown=of_one),
        lay_out(why.lost, title=f"only {two}", unknown=of_other),
        lay_out(why.shared, title="both", unknown=of_both),
    )
    if isinstance(maps[0], Bars):  # five lists say less than one with two bars a place
        visits = {one: why.one.visits, two: why.other.visits}
        return side_by_side(why.labels, visits, title=title, caption=caption, state=why.state)
    caption = "\n".join(line for line in (caption, maps[0].caption) if line)  # what is left out, said once
    return Panels(title, caption, tuple(replace(one, caption="") for one in maps), columns=len(maps))


def _outcomes(why: Outcomes) -> Bars:
    chances = list(why.chances.items())
    if len(chances) > MOST_ENDS:
        others = sum(chance for _, chance in chances[MOST_ENDS:])
        chances = [*chances[:MOST_ENDS], (f"{len(chances) - MOST_ENDS:,} other ends", others)]
    names = (*(name for name, _ in chances), "unknown")
    return Bars(
        title=f"{why.labels.actions[why.action]}: how it expects the episode to end",
        caption=why.labels.words(why.state),
        names=names,
        series=(Series("chance", (*(chance for _, chance in chances), why.unknown)),),
        axis="chance",
        unknown=tuple(name == "unknown" for name in names),
    )


def _timeline(why: Timeline) -> Grid:
    horizon, _, n_actions = why.visits.shape
    flat = np.vstack([why.visits.reshape(horizon, -1), why.remainder.reshape(1, -1)])  # (steps and beyond, pairs)
    steps = 1 + int(np.flatnonzero(flat[:-1].max(axis=1) >= FAINT).max(initial=0))  # after those, it expects to be done
    ahead = flat[:-1]
    told = np.flatnonzero(ahead.max(axis=0) >= FAINT)
    most = told[np.argsort(-ahead[:, told].sum(axis=0), kind="stable")[:MOST_PAIRS]]
    most = most[np.argsort(ahead[:, most].argmax(axis=0), kind="stable")]  # by when they peak
    rows = [flat[:, pair] for pair in most]
    names = pair_names(why.labels, [divmod(int(pair), n_actions) for pair in most], why.state)
    others = np.count_nonzero(flat.any(axis=0)) - len(most)
    if others or not rows:
        rows.append(np.delete(flat, most, axis=1).sum(axis=1))
        names = (*names, f"{others:,} others")
    return Grid(
        title=f"{why.labels.actions[why.action]}: what it expects when",
        caption=why.labels.words(why.state),
        rows=names,
        columns=tuple(str(step) for step in range(steps)),
        row_axis="",
        column_axis="steps ahead",
        numbers=rows_of(np.array(rows)[:, :steps]),
        beside=Series("later", tuple(float(row[-1]) for row in rows)),  # many steps in one number
    )


def _provenance(why: Provenance) -> Layout:
    title = f"{why.labels.actions[why.action]}: which experience its value {why.value:.3f} is made of"
    if not why.weights.any():
        return Bars(title, why.labels.words(why.state), (), (Series("influence", ()),), "no experience")
    telling = why.telling(MOST_EPISODES)
    bars = Bars(
        title="the most telling episodes",
        caption="",
        names=tuple(f"episode {episode:,}" for episode, _ in telling),
        series=(Series("influence", tuple(amount for _, amount in telling)),),
        axis="what forgetting it would take away",
    )
    x, gathered = _gathered(why)
    lines = Lines("when it was learned", "", x, (Series("weight", gathered),), "episode", "weight gathered so far")
    if not telling:  # none stands out
        return replace(lines, title=title, caption=why.labels.words(why.state))
    return Panels(
        title=title,
        caption=why.labels.words(why.state),
        panels=(bars, lines),
        columns=2,
        shared=False,
    )


def _gathered(why: Provenance) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Weight summed up over training, at so many episodes as a picture can tell apart."""
    gathered = np.cumsum(np.bincount(why.episodes, weights=why.weights))
    at = np.unique(np.linspace(0, len(gathered) - 1, min(MOST_POINTS, len(gathered))).astype(int))
    return tuple(float(x) for x in at), tuple(float(y) for y in gathered[at])


def _caption(why: Intention) -> str:
    """The state, and how far an estimate of it can be trusted."""
    grade = None if why.trust is None else why.trust.grade
    told = {"rough": " (a rough estimate)", "poor": " (an estimate that is not to be relied on)"}.get(grade or "", "")
    return why.labels.words(why.state) + told


#: To lay out one more explanation: write its function, name it here.
LAYOUTS: dict[type[Explanation], Callable[..., Layout]] = {
    Intention: _intention,
    Contrast: _contrast,
    Change: _change,
    Simulation: simulation,
    Comparison: comparison,
    Chance: chance,
    Parts: parts,
    Outcomes: _outcomes,
    Timeline: _timeline,
    Provenance: _provenance,
}
