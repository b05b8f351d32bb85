"""Belief against reality: what the agent expects, and what its policy leads to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.distance import distance
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.explanation import MIN_SHOWN, Badge, Explanation
from whatfor.explanations.intention import Intention
from whatfor.explanations.measures import Measure
from whatfor.explanations.ruler import MeasureBuilder
from whatfor.explanations.simulation import ROLLOUTS, Simulation
from whatfor.labels import ENDINGS, Labels
from whatfor.layouts.facets import side_by_side
from whatfor.layouts.shapes import Bars, Layout, Panels, Series
from whatfor.maps import Facets, map_of
from whatfor.question import Action, State, question
from whatfor.text import count, percent
from whatfor.worlds.adapter import Enter

if TYPE_CHECKING:
    from whatfor.runs import Run

#: Where a belief is right, it is called wrong with at most this chance.
RATE = 0.05
#: An action tried less than this is rarely tried; and so is one tried this much less often than another in its state.
FEW, SELDOM = 30, 0.1
#: A belief that rests on fewer episodes than this cannot be told from chance.
FEW_EPISODES = 5.0
MAX_PLACES = 5
#: Visits that differ by less are drawn as the same: where belief agrees, nothing is to be coloured as if it were something.
NO_DIFFERENCE = 5e-3


@dataclass(frozen=True)
class Comparison(Explanation):
    """The future an agent expects of an action, beside the one that its greedy policy leads to.

    ``measures`` are the value and the chance of every ending; ``places`` the pairs whose visits differ most. A difference is called real where it exceeds what the
    noise of both sides explains, and what the belief *lags* behind: the part that looks ahead along actions which
    the agent would no longer take, and what still rests on initial values.
    """

    labels: Labels
    state: int
    action: int
    believed: Intention
    simulated: Simulation
    exact: NDArray[np.float64] | None  # (S, A) visits of the same policy; None where the world is not known
    measures: tuple[Measure, ...]
    places: tuple[tuple[int, int, Measure], ...]  # the pairs whose visits differ most
    distance: float  # of the visits: relative L1, 0 the same
    tries: int | None  # None: not counted
    episodes: float | None  # the effective number of episodes it rests on; None: not counted
    unknown: float | None  # probability that still rests on initial values; None: unknown
    greedy: bool  # whether this is the action it takes
    rare: bool  # too rarely tried to be judged: a bad first impression stops an agent from trying again
    residual: float | None  # the belief's own

    @classmethod
    def of(
        cls,
        audit: Audit | None,
        believed: Intention,
        simulated: Simulation,
        exact: ExactBeliefs | None,
        policy: NDArray[np.float64] | None = None,
        *,
        greedy: bool,
    ) -> Comparison:
        """Compare; ``audit`` knows the noise of a belief that was read off a ledger, and of which ``policy`` it looked ahead along."""
        state, action = believed.state, believed.action
        known = None if exact is None else exact.visits(state, action)
        actual = simulated.visits if known is None else known
        apart = np.abs(believed.visits - actual)
        most = np.argsort(-apart, axis=None, kind="stable")[:MAX_PLACES]
        pairs = [(s, a) for s, a in (divmod(int(at), apart.shape[1]) for at in most) if apart[s, a] >= MIN_SHOWN]
        if audit is None:
            measures, places = (
                _unjudged(believed, simulated, exact),
                [_place(believed, simulated, known, s, a) for s, a in pairs],
            )
        else:
            assert policy is not None
            ruler = MeasureBuilder(audit, believed, simulated, exact, policy)
            rate = RATE / 2.0 / (1 + len(audit.ledger.endings))
            measures = [ruler.value(rate), *ruler.endings(rate)]
            rate = RATE / 2.0 / max(1, int((apart > 0.0).sum()))
            places = [(s, a, ruler.place(s, a, rate)) for s, a in pairs]
        return cls(
            labels=believed.labels,
            state=state,
            action=action,
            believed=believed,
            simulated=simulated,
            exact=known,
            measures=tuple(measures),
            places=tuple(places),
            distance=distance(believed.visits, actual),
            tries=believed.tries,
            episodes=None if audit is None else ruler.episodes,
            unknown=None if audit is None else believed.endings_unknown,
            greedy=greedy,
            rare=_rare(audit, state, action, greedy),
            residual=believed.residual,
        )

    @property
    def verdict(self) -> str:
        """ "unknown", "unjudged", "rarely tried", "too few", "differs", "lags" or "agrees"."""
        if self.tries == 0 and self.believed.trust is None:  # a network has a guess all the same
            return "unknown"
        if self.episodes is None:
            return "unjudged"
        if self.rare:
            return "rarely tried"
        if self.episodes < FEW_EPISODES:
            return "too few"
        if any(measure.unexplained for measure in self.all_measures):
            return "differs"
        return "lags" if any(measure.differs for measure in self.all_measures) else "agrees"

    def badge(self) -> Badge:
        """The verdict."""
        kinds: dict[str, Literal["exact", "off"]] = {"agrees": "exact", "differs": "off", "lags": "off"}
        return Badge(kinds.get(self.verdict, "unknown"), self.verdict, "the verdict on belief and reality")

    @property
    def all_measures(self) -> tuple[Measure, ...]:
        """All that the verdict is about: the measures, and the visits of the places that differ most."""
        return (*self.measures, *(measure for *_, measure in self.places))

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        against = f"{self.simulated.rollouts:,} rollouts" if self.exact is None else "the exact future of its policy"
        lines = [f"In {here!r}, what it expects of {doing!r}, compared with {against}: {self._verdict_words()}"]
        if self.verdict == "unknown":
            return lines
        judging = self.verdict in ("agrees", "lags", "differs")
        lines += [f"  {measure.with_verdict() if judging else measure}" for measure in self.measures]
        if self.unknown is not None and self.unknown >= MIN_SHOWN:
            lines.append(f"  ({percent(self.unknown)} of its expectation still rests on initial values)")
        lines.append(
            f"Its expected visits are {percent(self.distance)} off the actual ones" + (":" if self.places else ".")
        )
        lines += [f"  {measure.difference:+.3f}  {self._pair(s, a)}" for s, a, measure in self.places]
        return lines if self.believed.trust is None else [*lines, *self.believed.trust.about(self.residual)]

    def _verdict_words(self) -> str:
        """The verdict in words."""
        verdict = self.verdict
        if verdict == "rarely tried":
            times = f"not judged: it rarely tried this ({count(self.tries or 0, 'time')})"
            if self.greedy:
                return times + "."
            return times + ". An action that looks bad is rarely tried again, so its value tends to stay too low."
        if verdict == "too few":
            return f"not judged: its belief rests on about {self.episodes:.1f} episodes, too few to tell a difference from sampling error."
        if verdict in ("differs", "lags"):
            found = [m for m in self.all_measures if (m.unexplained if verdict == "differs" else m.differs)]
            worst = max(found, key=lambda measure: measure.excess)
            rest = "by more than sampling error and lag explain" if verdict == "differs" else f"which is {worst.cause}"
            where = worst.name if worst.name.startswith("visits of") else f"{worst.name!r}"
            return f"they differ, most of all in {where}, {rest}."
        return {
            "unknown": "it never tried this, so it expects nothing.",
            "unjudged": "not judged: the sampling error of this belief is unknown.",
            "agrees": "they agree, within sampling error.",
        }[verdict]

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "comparison",
            "state": self.state,
            "action": self.action,
            "verdict": self.verdict,
            "rate": RATE,
            "distance": self.distance,
            "tries": self.tries,
            "episodes": self.episodes,
            "unknown": self.unknown,
            "greedy": self.greedy,
            "residual": self.residual,
            "against": "simulation" if self.exact is None else "exact",
            "measures": [measure.to_json() for measure in self.measures],
            "places": [{"state": s, "action": a, **measure.to_json()} for s, a, measure in self.places],
            "believed": self._map(self.believed.visits),
            "simulated": self._map(self.simulated.visits),
            "exact": None if self.exact is None else self._map(self.exact),
            "trust": None if self.believed.trust is None else self.believed.trust.to_json(),
            "sentences": self.sentences(),
        }


def _unjudged(believed: Intention, simulated: Simulation, exact: ExactBeliefs | None) -> list[Measure]:
    """The value and the endings, of a belief whose sampling error is unknown."""
    true = None if exact is None else exact.value(believed.state, believed.action)
    known = None if exact is None else exact.outcomes(believed.state, believed.action)
    unjudged: dict[str, Any] = {"error": None, "lag": 0.0, "start": 0.0, "reach": np.inf}
    measures = [Measure("value", believed.value, simulated.value, simulated.value_error, true, **unjudged)]
    named = (*believed.labels.ending_names, ENDINGS[0])
    for name, chance in (believed.chances or {}).items():
        came = simulated.chances.get(name, 0.0)
        if name == ENDINGS[1]:  # unnamed endings are described by their last step in a simulation
            came = sum(share for end, share in simulated.chances.items() if end not in named)
        if max(chance, came) >= MIN_SHOWN:
            error = float(np.sqrt(came * (1.0 - came) / simulated.rollouts))
            measures.append(
                Measure(name, chance, came, error, None if known is None else known.get(name, 0.0), **unjudged)
            )
    return measures


def _place(
    believed: Intention, simulated: Simulation, known: NDArray[np.float64] | None, s: int, a: int
) -> tuple[int, int, Measure]:
    """Visits of a pair, of a belief whose sampling error is unknown."""
    true, name = None if known is None else float(known[s, a]), f"visits of {believed._pair(s, a)!r}"
    seen, error = float(simulated.visits[s, a]), float(simulated.visits_error[s, a])
    return s, a, Measure(name, float(believed.visits[s, a]), seen, error, true, None, 0.0, 0.0, np.inf)


def _rare(audit: Audit | None, state: int, action: int, greedy: bool) -> bool:
    """Whether an action was tried too rarely: only its counts tell, since its value may be an unlucky impression."""
    if audit is None:
        return False
    tries = audit.tries[state]
    return bool(tries[action] < FEW or (not greedy and tries[action] < SELDOM * tries.max()))


def layout(
    why: Comparison, *, show: Literal["visits", "difference", "endings"] = "visits", facets: Facets = "all"
) -> Layout:
    """Belief and reality side by side; or one less the other; or how each sees the end."""
    actual = why.simulated.visits if why.exact is None else why.exact
    untried, doing = why.verdict == "unknown", why.labels.actions[why.action]
    title = f"{doing}: belief {percent(why.distance)} off reality ({why.verdict})"
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
    judged = all(math.isfinite(measure.tolerance) for measure in ends)  # the sampling error of a network is unknown
    low = tuple(max(0.0, measure.believed - measure.tolerance) for measure in ends) if judged else None
    high = tuple(min(1.0, measure.believed + measure.tolerance) for measure in ends) if judged else None
    axis = "chance; whiskers: what noise explains" if judged else "chance"
    series = (Series("believed", believed, low, high), actual)
    return Bars(title, caption, tuple(measure.name for measure in ends), series, axis)


@question(
    "comparison",
    "belief and reality",
    answer=Comparison,
    layout=layout,
    needs=["play"],
    parameters=(ROLLOUTS,),
    shows=("difference", "endings"),
    place=55,
)
def ask(
    run: Run,
    state: State,
    action: Action | None = None,
    *,
    rollouts: int = 1_000,
    seed: int = 0,
    env: Any = None,
    enter: Enter | None = None,
) -> Comparison:
    """What the agent expects against what its greedy policy leads to: simulated, and exact where the world is known."""
    at, chosen = run.resolve(state, action)
    believed = run.expects(at, chosen)
    simulated = Simulation.of(run.playing.simulated(env, rollouts, seed, enter), at, chosen)
    if run.playing.plays_network:
        return Comparison.of(None, believed, simulated, None, greedy=chosen == run.best(at))
    audit, policy = run.audit if "updates" in run.beliefs.can else None, run.policy
    exact = run.playing.exact(env, at.index, chosen)
    return Comparison.of(audit, believed, simulated, exact, policy, greedy=bool(policy[at.index, chosen] > 0.0))
