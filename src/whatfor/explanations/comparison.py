"""Belief and reality: what the agent expects, and what its policy leads to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.distance import distance
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.experience import StepCounts, played_steps
from whatfor.explanation import MIN_SHOWN, Badge, Explanation
from whatfor.explanations.causes import RATE, Cause, parts_of, quoted, rarely_tried, tests_of
from whatfor.explanations.intention import Intention
from whatfor.explanations.measure_builder import MeasureBuilder
from whatfor.explanations.measures import Measure
from whatfor.explanations.phrases import MIN_STATED_SHARE, MOSTLY_UNKNOWN, all_unknown
from whatfor.explanations.simulation import ROLLOUTS, Simulation
from whatfor.explanations.without_error import measures_without_error, place_without_error
from whatfor.labels import Labels
from whatfor.layouts.beside import beside
from whatfor.layouts.facets import side_by_side
from whatfor.layouts.map import Map
from whatfor.layouts.shapes import Bars, Layout, Series
from whatfor.maps import Facets, map_of
from whatfor.question import Action, State, question
from whatfor.text import amount, count, percent
from whatfor.worlds.adapter import Enter

if TYPE_CHECKING:
    from whatfor.runs import Run

#: A belief that rests on fewer episodes than this is not judged.
MIN_EPISODES = 5.0
#: The number of pairs whose visits are compared one by one.
MAX_PLACES = 5
#: Further parts of a difference are listed from this share of the largest cause on.
MIN_FURTHER_SHARE = 0.1
#: A picture draws smaller differences of visits as none.
MIN_DRAWN_DIFFERENCE = 5e-3
#: Numbers of the answer that are passed on as they are.
NUMBERS = ("state", "action", "verdict", "slight", "distance", "tries", "episodes", "unknown", "greedy", "residual", "experiences")  # fmt: skip


@dataclass(frozen=True)
class Comparison(Explanation):
    """The future an agent expects of an action, beside the future that its greedy policy leads to.

    ``measures`` are the value and the chance of every ending; ``places`` are the pairs whose visits differ most.
    A difference is the sum of noise, off-policy targets (what bootstraps from actions the agent would no longer take) and what still
    rests on initial values. ``causes`` are these parts, where the difference is more than sampling error, and three tests:
    maximisation bias, too little data, and a different environment. The verdict names the largest
    cause that holds: of the difference in value, or where the value agrees, in what differs most.
    """

    labels: Labels
    state: int
    action: int
    believed: Intention
    simulated: Simulation
    exact: NDArray[np.float64] | None  # (S, A) visits of the same policy; None: the world is not known
    measures: tuple[Measure, ...]
    places: tuple[tuple[int, int, Measure], ...]  # the pairs whose visits differ most
    distance: float  # relative L1 distance of the visits
    tries: int | None  # None: not counted
    episodes: float | None  # the effective number of episodes it rests on; None: not counted
    unknown: float | None  # probability that still rests on initial values; None: unknown
    greedy: bool  # whether this is the action it takes
    rare: bool  # too rarely tried to be judged: an agent stops trying an action that looks bad
    residual: float | None  # of the belief
    causes: tuple[Cause, ...] = ()  # by ``Cause.order``: the one that the verdict names first
    cut: str = ""  # why rollouts cannot test what it expects; empty: they can
    experiences: float | None = None  # distinct experiences of each pair that follows, on average; None: not counted

    @classmethod
    def of(
        cls,
        audit: Audit | None,
        believed: Intention,
        simulated: Simulation,
        exact: ExactBeliefs | None,
        policy: NDArray[np.float64] | None = None,
        *,
        played: StepCounts | None = None,
    ) -> Comparison:
        """Compare; ``audit`` gives the sampling error and, with ``policy``, the causes for a belief that was read off a ledger.

        ``played``: the steps of the rollouts, to test whether the environment is a different one where its table is not known.
        """
        state, action = believed.state, believed.action
        known = None if exact is None else exact.visits(state, action)
        actual = simulated.visits if known is None else known
        apart = np.abs(believed.visits - actual)
        most = np.argsort(-apart, axis=None, kind="stable")[:MAX_PLACES]
        pairs = [(s, a) for s, a in (divmod(int(at), apart.shape[1]) for at in most) if apart[s, a] >= MIN_SHOWN]
        causes: list[Cause] = []
        cut = simulated.cut_text() if exact is None else ""
        if audit is None:
            measures = measures_without_error(believed, simulated, exact)
            places = [place_without_error(believed, simulated, known, s, a) for s, a in pairs]
        else:
            assert policy is not None
            builder = MeasureBuilder(audit, believed, simulated, exact, policy)
            rate = RATE / 2.0 / (1 + len(audit.ledger.endings))
            measures = [builder.value(rate), *builder.endings(rate)]
            rate = RATE / 2.0 / max(1, int((apart > 0.0).sum()))
            places = [(s, a, builder.place(s, a, rate)) for s, a in pairs]
            rare = rarely_tried(audit, state, action, believed.is_best) or builder.episodes < MIN_EPISODES
            every = [*measures, *(measure for *_, measure in places)]
            parts, differing = parts_of(every), not rare and any(measure.differs for measure in every)
            causes = [part for part in parts if not rare or part.name == "initial value"]
            causes += tests_of(builder, measures, played, observed=believed.labels.observed, differing=differing)
            causes = [] if cut else sorted(causes, key=Cause.order)
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
            episodes=None if audit is None else builder.episodes,
            unknown=None if audit is None else believed.endings_unknown,
            greedy=believed.is_best,
            rare=rarely_tried(audit, state, action, believed.is_best),
            residual=believed.residual,
            causes=tuple(causes),
            cut=cut,
            experiences=None if audit is None else builder.implied.experiences,
        )

    @property
    def learned(self) -> bool:  # type: ignore[override]
        """Whether the belief is what the agent learned."""
        return self.believed.learned

    @property
    def verdict(self) -> str:
        """The largest cause, "agrees", "differs" without a known cause; not judged: "unknown", "unjudged", "rarely tried", "too few"."""
        if self.believed.is_blank:
            return "unknown"
        if self.episodes is None or self.cut:
            return "unjudged"
        found = self.found
        if any(cause.rate is not None for cause in found):
            return found[0].name
        if self.rare or self.episodes < MIN_EPISODES:
            return "rarely tried" if self.rare else "too few"
        if any(measure.unexplained for measure in self.all_measures):
            return "differs"
        if found:
            return found[0].name
        if any(measure.differs for measure in self.all_measures):
            return "differs"
        if self.exact is None and (self.believed.unknown or 0.0) > MOSTLY_UNKNOWN:
            return "unjudged"  # its weight on initial values would explain nearly any difference
        return "agrees" if math.isfinite(self.measures[0].tolerance) else "too few"

    @property
    def slight(self) -> bool:
        """Whether no difference beyond sampling error, and no cause that was tested and holds, is of a notable size."""
        notable = any(measure.differs and abs(measure.difference) > measure.notable for measure in self.all_measures)
        return not notable and not any(cause.rate is not None and cause.size > 1.0 for cause in self.found)

    @property
    def found(self) -> tuple[Cause, ...]:
        """The causes that hold, the one that the verdict names first."""
        return tuple(cause for cause in self.causes if cause.holds)

    def badge(self) -> Badge:
        """The verdict."""
        not_judged = self.verdict in ("unknown", "unjudged", "rarely tried", "too few")
        kind: Literal["exact", "off", "unknown"] = "unknown" if not_judged else "off"
        return Badge("exact" if self.verdict == "agrees" else kind, self.verdict, "the verdict on belief and reality")

    @property
    def all_measures(self) -> tuple[Measure, ...]:
        """The measures behind the verdict: ``measures``, and the visits to ``places``."""
        return (*self.measures, *(measure for *_, measure in self.places))

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        if self.verdict == "unknown":
            return [f"In {here!r}, it never tried {doing!r}, so it expects nothing."]
        what = f"what {'it expects' if self.learned else 'these beliefs say'} after {doing!r}"
        lines = [f"In {here!r}, {what} {self._verdict_text()}"]
        lines += [f"  {self._measure_text(measure)}" for measure in self.measures]
        further = self.found[1:] if self.found and self.verdict == self.found[0].name else self.found
        least = MIN_FURTHER_SHARE * self.found[0].size if self.found and self._conclusive else np.inf
        shown = [one for one in further if one.rate is not None or one.size >= least]
        lines += [f"  Also {cause.called} ({cause.effect_text()}): {cause.text}." for cause in shown]
        lines += dict.fromkeys((*self.believed.without_end(), *self.simulated.without_end()))  # both may know the table
        lines += self.simulated.start_text
        if self.unknown is not None and self.unknown >= MIN_SHOWN:
            lines.append(f"  (how the episode ends is {percent(self.unknown)} unknown: it rests on initial values)")
        actual, after = "simulated" if self.exact is None else "true", ", discounted" * self.believed.discounted
        visits, less = ("its expected visits", "expected") if self.learned else ("these visits", "these")
        lines += self.simulated.distance_lines(self.believed.visits)
        largest = f" Largest differences ({less} minus {actual}{after}):" if self.places else ""
        lines.append(f"Relative L1 distance between {visits} and the {actual} ones: {percent(self.distance)}.{largest}")
        for state, action, measure in self.places:
            noise = " (within sampling error)" if self._conclusive and not measure.differs else ""
            lines.append(f"  {measure.difference:+.3f}  {self._pair(state, action)}{noise}")
        return [*lines, *self.believed.trust.about(self.residual)]

    @property
    def _conclusive(self) -> bool:
        """Whether sampling error can be told from a difference."""
        return self.verdict != "unjudged" and not self.rare and (self.episodes or 0.0) >= MIN_EPISODES

    def _measure_text(self, measure: Measure) -> str:
        """A measure in words: a value as a number, a chance as a percentage."""
        form = amount if measure.name == "value" else percent
        if form is percent and all_unknown(measure.believed, self.unknown or 0.0):
            return f"{measure.name}: unknown, {measure.actual_text(percent)}"
        if self._conclusive:
            return measure.with_verdict(form)
        terms = f" ({measure.terms_text(form)})" if measure.has_terms(judged=False) else ""
        return f"{measure.text(form)}{terms}"

    def _verdict_text(self) -> str:
        """The verdict in words, as a predicate."""
        rollouts = count(self.simulated.rollouts, "rollout")
        reality = f"{rollouts} of its policy" if self.exact is None else "the exact future of its policy"
        verdict, differs = self.verdict, "differs slightly" if self.slight else "differs"
        if verdict == "agrees":
            rests = 0.0 if self.exact is not None else self.believed.unknown or 0.0
            weight = f" and its weight on initial values ({percent(rests)}) explain" * (rests >= MIN_STATED_SHARE)
            return f"does not differ from {reality} by more than sampling error{weight}."
        if self.found and verdict == self.found[0].name:
            cause = self.found[0]
            split = any(one.has_terms(judged=self._conclusive) for one in self.measures)
            because = cause.because({one.name: one for one in self.all_measures}.get(cause.measure), with_terms=split)
            rest = "; the rest of the difference is within sampling error" * all(one.rate is None for one in self.found)
            return f"{differs} from {reality}, {because}: {cause.text}{rest}."
        if verdict == "differs":
            worst = max((m for m in self.all_measures if m.differs), key=lambda m: (m.unexplained, m.excess))
            other = "off-policy targets (from actions that its policy does not take)"
            known = f", {other} and initial values explain"
            beyond = f"by more than sampling error{known if worst.unexplained else ''}"
            return f"{differs} from {reality}, most clearly in {quoted(worst.name)}, {beyond}."
        not_judged = f"was not tested against {reality}"
        if verdict == "too few":
            few = f"it rests on about {count(max(1, round(self.episodes or 0.0)), 'episode')}"
            if (self.episodes or 0.0) >= MIN_EPISODES:
                few = "a few episodes account for most of the spread of its value"
            return f"{not_judged}: {few}, too few to tell a difference from sampling error."
        if verdict == "unjudged":
            weight = f"{percent(self.believed.unknown or 0.0)} of its weight is on initial values"
            reason = "the sampling error of this belief is unknown" if self.episodes is None else weight
            return f"{not_judged}: {self.cut or reason}."
        return f"{not_judged}: it rarely tried this ({count(self.tries or 0, 'time')}).{self.measures[0].direction(taken=self.greedy)}"

    def numbers(self) -> dict[str, Any]:
        """The numbers of the answer, by name."""
        return {
            "question": "comparison",
            **{name: getattr(self, name) for name in NUMBERS},
            "rate": RATE,
            "against": "simulation" if self.exact is None else "exact",
            "causes": [cause.to_json() for cause in self.causes],
            "measures": [measure.to_json() for measure in self.measures],
            "places": [{"state": s, "action": a, **measure.to_json()} for s, a, measure in self.places],
            "believed": self._map(self.believed.visits),
            "simulated": self._map(self.simulated.visits),
            "exact": None if self.exact is None else self._map(self.exact),
            "trust": self.believed.trust.to_json(),
            "sentences": self.sentences(),
        }


def layout(
    why: Comparison, *, show: Literal["visits", "difference", "endings"] = "visits", facets: Facets = "all"
) -> Layout:
    """Belief and reality side by side, their difference, or the endings of both."""
    actual = why.simulated.visits if why.exact is None else why.exact
    untried, doing, caption = why.verdict == "unknown", why.labels.actions[why.action], why.labels.words(why.state)
    verdict = next((cause.in_title for cause in why.found[:1] if cause.name == why.verdict), why.verdict)
    title = f"{doing}: {'never tried, so only reality is known' if untried else f'belief {percent(why.distance)} off reality ({verdict})'}"
    if show == "difference":
        more = np.zeros_like(actual) if untried else why.believed.visits - actual
        more[np.abs(more) < MIN_DRAWN_DIFFERENCE] = 0.0
        unknown = why.believed.no_experience if untried else None
        quantity = f"visits, believed minus actual{', discounted' * why.believed.discounted}"
        return map_of(Map(why.labels, more, title=title, caption=caption, quantity=quantity, diverging=True, unknown=unknown, state=why.state), facets=facets)  # fmt: skip
    if show == "endings":
        return _endings(why, title, caption)
    quantity = "visits, discounted" if why.believed.discounted else "visits"
    maps = {"believed": why.believed.visits, "actual": actual}
    panels = [
        map_of(Map(why.labels, numbers, title=name, quantity=quantity, unknown=unknown, state=why.state), facets=facets)
        for (name, numbers), unknown in zip(maps.items(), (why.believed.no_experience, None), strict=True)
    ]
    if isinstance(panels[0], Bars):
        return side_by_side(why.labels, maps, title=title, caption=caption, quantity=quantity, state=why.state)
    caption = "\n".join(line for line in (caption, panels[0].caption) if line)
    return beside(title, caption, panels, columns=2, boards=why.labels.board_axes is not None)


def _endings(why: Comparison, title: str, caption: str) -> Bars:
    ends = [measure for measure in why.measures if measure.name != "value"]
    actual = Series("actual", tuple(measure.actual for measure in ends))
    if why.verdict == "unknown":
        return Bars(title, caption, tuple(measure.name for measure in ends), (actual,), "chance")
    believed = tuple(measure.believed for measure in ends)
    known_error = all(math.isfinite(one.tolerance) for one in ends)  # not of a network
    low = tuple(max(0.0, measure.believed - measure.tolerance) for measure in ends) if known_error else None
    high = tuple(min(1.0, measure.believed + measure.tolerance) for measure in ends) if known_error else None
    axis = "chance; whiskers: sampling error" if known_error else "chance"
    series = (Series("believed", believed, low, high), actual)
    return Bars(title, caption, tuple(measure.name for measure in ends), series, axis)


@question(
    "comparison",
    "belief and reality",
    answer=Comparison,
    layout=layout,
    needs=["beliefs", "play"],
    parameters=(ROLLOUTS,),
    clickable=("difference",),
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
    """What the agent expects, compared with what its greedy policy leads to: simulated, and exact where the transition probabilities are known."""
    at, chosen = run.resolve(state, action)
    believed = run.expects(at, chosen)
    beliefs = run.playing.simulated(env, rollouts, seed, enter, fewest=2)
    simulated, exact = Simulation.of(beliefs, at, chosen), run.playing.player.exact(env, at.index, chosen)
    audit = run.beliefs.evidence
    unknown = exact is None and audit is not None
    played = played_steps(beliefs.rollouts(at, chosen), run.labels.n_actions) if unknown else None
    return Comparison.of(audit, believed, simulated, exact, run.policy, played=played)
