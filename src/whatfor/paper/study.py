"""Measures claims on the agents of many seeds, on untrained agents, and on agents with the wrong mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from whatfor.paper.agents import SEEDS, Agents
from whatfor.paper.evidence import LEVEL, Claim, ClaimResult, Seen
from whatfor.paper.wrong import WRONG

#: Called with the share of the study that is done.
OnShare = Callable[[float], None]
#: Makes the agents of one seed: the right ones (""), untrained ones, and those of each wrong mechanism, by name.
Makers = Mapping[str, Callable[[], Any]]
RIGHT, UNTRAINED = "", "untrained"


def study(claims: Sequence[Claim], seeds: int = SEEDS, on_progress: OnShare = lambda share: None) -> list[ClaimResult]:
    """Measure claims about tabular agents."""
    return measure_claims(claims, [_makers(seed) for seed in range(seeds)], LEVEL, on_progress)


def _makers(seed: int) -> Makers:
    wrong = {name: partial(make, seed) for name, make in WRONG.items()}
    return {RIGHT: partial(Agents, seed), UNTRAINED: partial(Agents, seed, trained=False), **wrong}


def measure_claims(
    claims: Sequence[Claim], seeds: Sequence[Makers], level: float, on_progress: OnShare
) -> list[ClaimResult]:
    """Measure claims on the agents of every seed; they are dropped before the next ones are made."""
    seen: dict[tuple[str, int], list[Seen]] = {}
    for done, makers in enumerate(seeds, start=1):
        for name, make in makers.items():
            asked = [i for i, claim in enumerate(claims) if name in (RIGHT, UNTRAINED, claim.wrong)]
            agents = make() if asked else None
            for i in asked:
                seen.setdefault((name, i), []).append(claims[i].measure(agents))
        on_progress(done / len(seeds))

    def result(i: int, claim: Claim) -> ClaimResult:
        right, untrained, wrong = (tuple(seen[name, i]) for name in (RIGHT, UNTRAINED, claim.wrong))
        return ClaimResult(claim, right, untrained, wrong, level)

    return [result(i, claim) for i, claim in enumerate(claims)]
