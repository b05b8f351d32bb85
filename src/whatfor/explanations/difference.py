"""Two expected futures in one state, and the parts of the difference between their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.distance import total_variation
from whatfor.explanation import Explanation
from whatfor.explanations.intention import TIE, Intention
from whatfor.labels import Labels
from whatfor.layouts.beside import beside
from whatfor.layouts.facets import side_by_side
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Bars, Layout
from whatfor.maps import Facets, map_of

#: Two futures are different if more than this share of their visits is not common to both.
MAX_SAME_FUTURE = 0.05
#: They are the same up to this share, and nearly the same above it.
MAX_EQUAL_FUTURE = 0.005


@dataclass(frozen=True)
class Difference(Explanation):
    """One future minus another; the parts sum to the gap between the values."""

    labels: Labels
    state: int
    one: Intention
    other: Intention
    gap: float  # the first value minus the second, each the agent's own or the return of playing its policy
    gained: NDArray[np.float64]  # (S, A) visits that only the first expects
    lost: NDArray[np.float64]  # (S, A) visits that only the second expects
    shared: NDArray[np.float64]  # (S, A) visits that both expect
    parts: NDArray[np.float64]  # (S, A) earnings of the first minus those of the second
    initial_part: float  # the part of the gap that still rests on initial values
    residual: float | None  # |parts + initial_part - gap|; None: one of the values is not the agent's own
    noise: float | None  # the standard error of the gap; None: unknown

    @classmethod
    def of(cls, one: Intention, other: Intention, *, noise: float | None = None, **more: Any) -> Self:
        """Compare two intentions of one state."""
        gap = one.value - other.value
        parts = one.earnings - other.earnings
        initial = one.initial_share - other.initial_share
        return cls(
            labels=one.labels,
            state=one.state,
            one=one,
            other=other,
            gap=gap,
            gained=np.maximum(one.visits - other.visits, 0.0),
            lost=np.maximum(other.visits - one.visits, 0.0),
            shared=np.minimum(one.visits, other.visits),
            parts=parts,
            initial_part=initial,
            residual=None if None in (one.residual, other.residual) else abs(float(parts.sum()) + initial - gap),
            noise=noise,
            **more,
        )

    @property
    def reasons(self) -> list[tuple[int, int, float]]:
        """The fewest positive parts that outweigh all negative ones: state, action, amount; the largest first.

        Empty unless the first value is the higher one.
        """
        against = float(self.parts[self.parts < 0].sum()) + min(self.initial_part, 0.0)
        weight, reasons = against, []
        for at in np.argsort(-self.parts, axis=None, kind="stable"):
            state, action = divmod(int(at), self.parts.shape[1])
            if weight > 0.0 or self.parts[state, action] <= 0.0:
                break
            weight += float(self.parts[state, action])
            reasons.append((state, action, float(self.parts[state, action])))
        return reasons if weight > 0.0 else []

    @property
    def learned(self) -> bool:  # type: ignore[override]
        """Whether both futures are what the agent learned."""
        return self.one.learned and self.other.learned

    @property
    def actions(self) -> tuple[int, ...]:
        """The two actions."""
        return self.one.action, self.other.action

    @property
    def magnitude(self) -> float:
        """The sum of |earnings| of both futures: the scale for a gap."""
        return self.one.magnitude + self.other.magnitude

    @property
    def tied(self) -> bool:
        """Whether the two values are tied."""
        return abs(self.gap) <= max(TIE * self.magnitude, self.one.tie, self.other.tie)

    @property
    def unsettled(self) -> bool:
        """Whether the gap is within two standard errors."""
        return self.noise is not None and abs(self.gap) < 2.0 * self.noise

    @property
    def different(self) -> bool:
        """Whether the two futures differ beyond the first step, or in how they end."""
        return self._apart > MAX_SAME_FUTURE

    @property
    def same_text(self) -> str:
        """How futures that are not different are called."""
        return "the same" if self._apart <= MAX_EQUAL_FUTURE else "nearly the same"

    @property
    def _apart(self) -> float:
        """The share of the visits beyond the first step, or of the endings if that is larger, that is not common to both."""
        apart = self.gained.sum() + self.lost.sum()
        if self.one.action != self.other.action:
            apart -= 2.0 * min(self.one.now, self.other.now)
        visits = self.one.visits.sum() + self.other.visits.sum()
        return max(self._endings_apart, float(apart / visits) if visits else 0.0)

    @property
    def _endings_apart(self) -> float:
        """The total variation distance between the endings of both; 0 if a source does not know them."""
        one, other = self.one.chances, self.other.chances
        if one is None or other is None:
            return 0.0
        return total_variation({**one, None: self.one.endings_unknown}, {**other, None: self.other.endings_unknown})

    def _numbers(self) -> dict[str, Any]:
        """The numbers common to all differences."""
        return {
            "state": self.state,
            "gap": self.gap,
            "residual": self.residual,
            "initial_part": self.initial_part,
            "tied": self.tied,
            "noise": self.noise,
            "unsettled": self.unsettled,
            "trust": self.one.trust.to_json(),
            "different": self.different,
            "gained": self._map(self.gained),
            "lost": self._map(self.lost),
            "shared": self._map(self.shared),
            "parts": self._map(self.parts),
            "reasons": [{"state": s, "action": a, "number": part} for s, a, part in self.reasons],
            "sentences": self.sentences(),
        }


Show = Literal["visits", "parts"]


def layout_of_both(why: Difference, title: str, names: tuple[str, str], show: Show, facets: Facets) -> Layout:
    """Five maps of visits, or one of the parts of the gap."""
    one, two = names
    caption = why.one.caption()
    of_one, of_other = why.one.no_experience, why.other.no_experience
    of_both = None if of_one is None or of_other is None else of_one & of_other
    if show == "parts":
        signed = Map(why.labels, why.parts, title, caption, "difference of earnings", True, of_both, why.state)
        return map_of(signed, facets=facets)
    quantity = why.one.visits_quantity
    expects = "expects" if why.learned else "leads to"

    def lay_out(numbers: NDArray[np.float64], *, title: str, unknown: NDArray[np.bool_] | None) -> Layout:
        return map_of(
            Map(why.labels, numbers, title, quantity=quantity, unknown=unknown, state=why.state), facets=facets
        )

    maps = (
        lay_out(why.one.visits, title=f"{one} {expects}", unknown=of_one),
        lay_out(why.other.visits, title=f"{two} {expects}", unknown=of_other),
        lay_out(why.gained, title=f"only {one}", unknown=of_one),
        lay_out(why.lost, title=f"only {two}", unknown=of_other),
        lay_out(why.shared, title="both", unknown=of_both),
    )
    if isinstance(maps[0], Bars):  # one list with two bars per pair is clearer than five lists
        visits = {one: why.one.visits, two: why.other.visits}
        return side_by_side(why.labels, visits, title=title, caption=caption, quantity=quantity, state=why.state)
    caption = "\n".join(line for line in (caption, maps[0].caption) if line)  # state once what the maps leave out
    return beside(title, caption, maps, columns=len(maps), boards=why.labels.board_axes is not None)
