"""Measures claims on the agents of many seeds, on untrained agents, and on agents with the wrong mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from whatfor.paper.agents import SEEDS, Agents
from whatfor.paper.evidence import LEVEL, Claim, ClaimResult, Seen
from whatfor.paper.jobs import OnPiece, in_processes
from whatfor.paper.wrong import WRONG

#: Called with the share of the study that is done.
OnShare = Callable[[float], None]
#: Makes the agents of one seed: the right ones (""), untrained ones, and those of each wrong mechanism, by name.
Makers = Mapping[str, Callable[[], Any]]
RIGHT, UNTRAINED = "", "untrained"
#: What the agents of one seed show, by the name of their maker and the index of the claim.
Measured = dict[tuple[str, int], Seen]


def study(
    claims: Sequence[Claim], seeds: int = SEEDS, on_progress: OnShare = lambda share: None, jobs: int = 1
) -> list[ClaimResult]:
    """Measure claims about tabular agents; several ``jobs`` share the seeds."""
    if jobs == 1:
        return measure_claims(claims, [_makers(seed) for seed in range(seeds)], LEVEL, on_progress)
    work = partial(_measure_in_process, [(claim.figure, claim.says) for claim in claims])
    return results_of(claims, in_processes(work, range(seeds), jobs, on_share=on_progress), LEVEL)


def _makers(seed: int) -> Makers:
    wrong = {name: partial(make, seed) for name, make in WRONG.items()}
    return {RIGHT: partial(Agents, seed), UNTRAINED: partial(Agents, seed, trained=False), **wrong}


def _measure_in_process(names: Sequence[tuple[str, str]], seed: int, _: OnPiece) -> Measured:
    """Measure the claims with these figures and texts: claims themselves cannot be sent to another process."""
    from whatfor.paper.figures import CLAIMS

    return measure_seed([claim for claim in CLAIMS if (claim.figure, claim.says) in names], _makers(seed))


def measure_claims(
    claims: Sequence[Claim], seeds: Sequence[Makers], level: float, on_progress: OnShare
) -> list[ClaimResult]:
    """Measure claims on the agents of every seed; they are dropped before the next ones are made."""
    measured = []
    for makers in seeds:
        measured.append(measure_seed(claims, makers))
        on_progress(len(measured) / len(seeds))
    return results_of(claims, measured, level)


def measure_seed(claims: Sequence[Claim], makers: Makers) -> Measured:
    """Measure claims on the agents of one seed."""
    seen: Measured = {}
    for name, make in makers.items():
        asked = [i for i, claim in enumerate(claims) if name in (RIGHT, UNTRAINED, claim.wrong)]
        agents = make() if asked else None
        for i in asked:
            seen[name, i] = claims[i].measure(agents)
    return seen


def results_of(claims: Sequence[Claim], measured: Sequence[Measured], level: float) -> list[ClaimResult]:
    """The results of claims, from the measurements of every seed."""

    def result(i: int, claim: Claim) -> ClaimResult:
        right, untrained, wrong = (
            tuple(one[name, i] for one in measured) for name in (RIGHT, UNTRAINED, claim.wrong)
        )  # fmt: skip
        return ClaimResult(claim, right, untrained, wrong, level)

    return [result(i, claim) for i, claim in enumerate(claims)]
