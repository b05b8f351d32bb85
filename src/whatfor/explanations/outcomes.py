"""How the agent expects the episode to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from whatfor.beliefs.audit import Audit
from whatfor.beliefs.protocol import Seeing
from whatfor.explanations.explanation import FAINT, Explanation, last_step
from whatfor.explanations.intention import Intention
from whatfor.explanations.phrases import count
from whatfor.explanations.trust import Trust
from whatfor.kernels.recursion import TERMINATED, ending_place
from whatfor.labels import Labels


@dataclass(frozen=True)
class Outcomes(Explanation):
    """The chance of every way to end, as the agent believes it, and the share that it does not know."""

    labels: Labels
    state: int
    action: int
    chances: dict[str, float]  # by name, the likeliest first; an end without a name is told by its last step
    unknown: float  # chance that still rests on values the tables started with
    tries: int
    residual: float  # |all chances + unknown - 1|; of a network, |earnings - Q|
    trust: Trust | None = None  # how far a network's estimate can be trusted; None: it is no estimate

    @classmethod
    def estimated(cls, beliefs: Seeing, why: Intention) -> Outcomes:
        """What a network says of the endings after an intended action; its residual is the intention's."""
        chances = beliefs.outcomes(why.state, why.action)
        unknown = max(0.0, 1.0 - sum(chances.values()))
        return cls(why.labels, why.state, why.action, chances, unknown, why.tries or 0, why.residual, why.trust)

    @classmethod
    def of(cls, audit: Audit, labels: Labels, state: int, action: int) -> Outcomes:
        """Ask the ledger: the weights of its last steps, without a discount, are chances."""
        row = audit.row(state, action, discount=1.0, method="scan")
        names = audit.ledger.endings
        chances = dict(zip(names, row.endings.tolist(), strict=True))
        if chances[names[ending_place(TERMINATED)]] > 0.0:
            del chances[names[ending_place(TERMINATED)]]
            chances |= _by_last_step(audit, labels, state, action)
        known = {name: chance for name, chance in sorted(chances.items(), key=lambda item: -item[1]) if chance > 0.0}
        unknown = float(row.left.sum())
        return cls(labels, state, action, known, unknown, row.tries, abs(sum(known.values()) + unknown - 1.0))

    def sentences(self) -> list[str]:
        """The answer in words."""
        here, doing = self.labels.words(self.state), self.labels.actions[self.action]
        if self.tries == 0 and self.trust is None:
            return [f"In {here!r}, {doing!r} was never tried: how it ends is unknown."]
        rest = (
            "still resting on the values it started with"
            if self.trust is None
            else "not learned yet; what is known of endings comes back one step with every sync"
        )
        tried = (
            f"tried {count(self.tries, 'time')}"
            if self.trust is None
            else f"learned in {count(self.tries, 'sampled step')}"
        )
        lines = [f"In {here!r}, after {doing!r}, it expects the episode to end so ({tried}):"]
        lines += [f"  {chance:6.1%}  {name}" for name, chance in self.chances.items() if chance >= FAINT]
        if self.unknown >= FAINT:
            lines.append(f"  {self.unknown:6.1%}  unknown: {rest}")
        return lines if self.trust is None else [*lines, *self.trust.about(self.residual)]

    def to_json(self) -> dict[str, Any]:
        """State, action, chances by name, and the unknown share."""
        return {
            "question": "outcomes",
            "state": self.state,
            "action": self.action,
            "chances": self.chances,
            "unknown": self.unknown,
            "tries": self.tries,
            "trust": None if self.trust is None else self.trust.to_json(),
            "residual": self.residual,
            "sentences": self.sentences(),
        }


def _by_last_step(audit: Audit, labels: Labels, state: int, action: int) -> dict[str, float]:
    """Ends that the world does not name, by the state, action and reward of their last step."""
    lines, weights = audit.ledger.lines, audit.weights(state, action, discount=1.0)
    last = np.flatnonzero((lines.source == TERMINATED) & (weights > 0.0))
    pairs = lines.cell[last] % (labels.n_states * labels.n_actions)
    chances: dict[str, float] = {}
    for pair, reward, weight in zip(pairs.tolist(), lines.reward[last].tolist(), weights[last].tolist(), strict=True):
        s, a = divmod(pair, labels.n_actions)
        name = last_step(labels, s, a, reward)
        chances[name] = chances.get(name, 0.0) + weight
    return chances
