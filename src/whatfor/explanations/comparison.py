"""Belief against reality: what the agent expects, and what its policy leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.explanations.explanation import Explanation
from whatfor.explanations.intention import Intention
from whatfor.explanations.measures import Measure, Ruler
from whatfor.explanations.simulation import Simulation
from whatfor.labels import Labels

#: Where a belief is right, it is called wrong with at most this chance.
RATE = 0.05
#: An action tried less than this is rarely tried; and so is one tried this much less often than another in its state.
FEW, SELDOM = 30, 0.1
#: A belief that rests on fewer episodes than this cannot be told from chance.
FEW_EPISODES = 5.0
MOST_PLACES = 5


@dataclass(frozen=True)
class Comparison(Explanation):
    """The future an agent expects of an action, beside the one that its greedy policy leads to.

    ``measures`` are the value and the chance of every ending; ``places`` the pairs whose visits differ most. A difference is called real where it exceeds what the
    noise of both sides explains, and what the belief *lags* behind: the part that looks ahead along actions which
    the agent would no longer take.
    """

    labels: Labels
    state: int
    action: int
    believed: Intention
    simulated: Simulation
    exact: NDArray[np.float64] | None  # (S, A) visits of the same policy; None where the world is not known
    measures: tuple[Measure, ...]
    places: tuple[tuple[int, int, Measure], ...]  # the pairs whose visits differ most
    distance: float  # half the sum of |differences of visits|, relative to all visits: 0 the same, 1 nothing in common
    tries: int | None  # None: nobody counted
    episodes: float | None  # so many equally weighted episodes it rests on; None: nobody counted
    rare: bool  # too rarely tried to be judged: a bad first impression stops an agent from trying again
    residual: float  # the belief's own

    @classmethod
    def of(cls, audit: Audit | None, believed: Intention, simulated: Simulation, exact: ExactBeliefs | None,
           policy: NDArray[np.float64]) -> Comparison:  # fmt: skip
        """Compare; ``audit`` knows the noise of a belief that was read off a ledger."""
        state, action = believed.state, believed.action
        known = None if exact is None else exact.visits(state, action)
        ruler = Ruler(audit, state, action, policy)
        value = None if exact is None else exact.value(state, action)
        measures = [ruler.value(believed, simulated, value)]
        if audit is not None:
            chances = None if exact is None else exact.outcomes(state, action)
            measures += ruler.endings(simulated, chances)
        actual = simulated.visits if known is None else known
        apart = np.abs(believed.visits - actual)
        pairs = [divmod(int(at), policy.shape[1]) for at in np.argsort(-apart, axis=None, kind="stable")[:MOST_PLACES]]
        places = [(s, a, ruler.place(s, a, believed, simulated, known)) for s, a in pairs if apart[s, a] > 0.0]
        return cls(
            labels=believed.labels,
            state=state,
            action=action,
            believed=believed,
            simulated=simulated,
            exact=known,
            measures=ruler.judged(measures, RATE / 2.0 / len(measures)),
            places=tuple(
                (s, a, measure)
                for (s, a, _), measure in zip(
                    places,
                    ruler.judged([m for *_, m in places], RATE / 2.0 / max(1, int((apart > 0.0).sum()))),
                    strict=True,
                )
            ),
            distance=float(apart.sum() / max(believed.visits.sum() + actual.sum(), np.finfo(float).tiny)),
            tries=believed.tries,
            episodes=None if audit is None else ruler.episodes,
            rare=_rare(audit, state, action, policy),
            residual=believed.residual,
        )

    @property
    def verdict(self) -> str:
        """ "unknown", "rarely tried", "too few", "differs", "lags" or "agrees"."""
        if self.tries == 0:
            return "unknown"
        if self.rare:
            return "rarely tried"
        if self.episodes is not None and self.episodes < FEW_EPISODES:
            return "too few"
        if any(measure.unexplained for measure in self.judged):
            return "differs"
        return "lags" if any(measure.differs for measure in self.judged) else "agrees"

    @property
    def judged(self) -> tuple[Measure, ...]:
        """All that the verdict is about: the measures, and the visits of the places that differ most."""
        return (*self.measures, *(measure for *_, measure in self.places))

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        against = f"{self.simulated.rollouts:,} rollouts" if self.exact is None else "the exact future of its policy"
        lines = [f"In {here!r}, what it expects of {doing!r} against {against}: {self._told()}"]
        if self.tries == 0:
            return lines
        lines += [f"  {measure}" for measure in self.measures]
        lines.append(f"Its expected visits are {self.distance:.1%} away from the actual ones; they differ most at:")
        lines += [f"  {measure.difference:+.3f}  {self._pair(s, a)}" for s, a, measure in self.places]
        return lines if self.places else lines[:-1]

    def _told(self) -> str:
        """The verdict in words."""
        worst, verdict = max(self.judged, key=lambda measure: measure.excess), self.verdict
        if verdict == "rarely tried":
            return (
                f"it tried that rarely ({self.tries:,} times), so a difference may be an unlucky first impression "
                "that it never corrected: probably too pessimistic."
            )
        if verdict == "too few":
            return f"its belief rests on about {self.episodes:.1f} episodes, too few to tell a difference from chance."
        said = {
            "unknown": "it never tried that, so it expects nothing.",
            "differs": f"they differ, most of all in {worst.name}, by more than chance and lag explain.",
            "lags": f"they differ, most of all in {worst.name}; actions it would no longer take explain that.",
            "agrees": "they agree, as far as chance lets one tell.",
        }
        return said[verdict]

    def to_json(self) -> dict[str, Any]:
        """The measures, the distance, and where the visits differ most."""
        return {
            "question": "comparison",
            "state": self.state,
            "action": self.action,
            "verdict": self.verdict,
            "rate": RATE,
            "distance": self.distance,
            "tries": self.tries,
            "episodes": self.episodes,
            "residual": self.residual,
            "against": "simulation" if self.exact is None else "exact",
            "measures": [measure.to_json() for measure in self.measures],
            "places": [{"state": s, "action": a, **measure.to_json()} for s, a, measure in self.places],
            "believed": self._map(self.believed.visits),
            "simulated": self._map(self.simulated.visits),
            "exact": None if self.exact is None else self._map(self.exact),
            "sentences": self.sentences(),
        }


def _rare(audit: Audit | None, state: int, action: int, policy: NDArray[np.float64]) -> bool:
    """Whether an action was tried too rarely: only its counts tell, since its value may be an unlucky impression."""
    if audit is None:
        return False
    tries = audit.tried[state]
    return bool(tries[action] < FEW or (policy[state, action] == 0.0 and tries[action] < SELDOM * tries.max()))
