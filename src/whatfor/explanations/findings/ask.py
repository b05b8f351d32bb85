"""Collect the findings of a run, or the differences between two runs, and rank them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whatfor.explanations.findings.answer import Finding, Findings
from whatfor.explanations.findings.differences import compared, differences
from whatfor.explanations.findings.endings import find_bad_ends
from whatfor.explanations.findings.episodes import find_decisive_episodes
from whatfor.explanations.findings.ground import MAX_SOLVED_STATES, MIN_MET, Ground
from whatfor.explanations.findings.loops import find_loops
from whatfor.explanations.findings.played import MIN_TIMED_OUT, find_by_play, find_timed_out
from whatfor.explanations.findings.reality import find_thin_evidence, find_wrong_beliefs
from whatfor.explanations.findings.rewards import find_surprising_rewards, merge_loops
from whatfor.explanations.findings.ties import find_ties
from whatfor.question import QUESTIONS, first_question, why_not
from whatfor.text import count, either, percent

if TYPE_CHECKING:
    from whatfor.runs import Run

#: The most findings in an answer.
MAX_FINDINGS = 12
#: A finding with a smaller score is left out,
MIN_SCORE = 1e-3
#: except ties, at which nothing is at stake, and surprising rewards, which may be errors of the environment.
ALWAYS = ("tie", "surprise", "difference")

#: The kinds whose sentences state returns or values.
WITH_RETURNS = ("reality", "near-tie", "difference")


def findings(run: Run, since: int | Run | None = None) -> Findings:
    """Where to look: the states worth asking about, ranked, each with the question that shows it.

    Loops, rewards that the agent loops for, surprising rewards, decisions that rest on one episode or on little
    experience, episodes that nearly all end badly, belief far from reality, near-ties with different reasons, and ties. They are ranked by the share of
    episodes that visit the state, times what is at stake there relative to the range of the values. ``since``: the number of
    an earlier episode, or another run in the same environment; then the findings are the states whose best action differs.

    >>> import whatfor as wf
    >>> run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0), episodes=20, seed=0)
    >>> print(run.findings(since=run))
    The best action is the same in every state that both agents have updated.
    """
    run, other = (run, None) if since is None else compared(run, since)
    ground = Ground.of(run)
    looked_at = int((ground.learned & (ground.met > MIN_MET)).sum())
    found, notes = [], list(run.beliefs.faults if run.ledger is not None else ())
    if since is not None and other is not None:
        nothing = "The best action is the same in every state that both agents have updated."
        found = differences(ground, other, since)
        notes += [f"The best action differs in {count(len(found), 'state')}."] * (len(found) > MAX_FINDINGS)
    elif _has_learned(ground):
        nothing = f"Nothing stands out in the {count(looked_at, 'state')} that its episodes visit."
        found, more = _look(ground)
        notes += more
    else:
        nothing = "All its values are equal: nothing that it has learned favours an action."
    ranked = tuple(_ranked(run, found))
    if any(one.kind in WITH_RETURNS for one in ranked) and any(discount < 1.0 for discount in run.playing.discounts):
        notes.append("Returns and values are discounted.")
    return Findings(run.labels, ranked, looked_at, nothing, tuple(notes)).under(run.origin.premise)


def _has_learned(ground: Ground) -> bool:
    """Whether the value of any action differs from that of another in the same state."""
    known = ground.values[ground.learned]
    return bool(known.size and (np.ptp(known, axis=1) > 0.0).any())


def _look(ground: Ground) -> tuple[list[Finding], list[str]]:
    """The findings, and what was not looked at. What explains others comes first: their states are not reported again."""
    loops = find_loops(ground)
    surprising, found = merge_loops(ground, find_surprising_rewards(ground), loops)
    explained = np.zeros(len(ground.best), bool)
    if ground.future is not None and (loops or not ground.exact):  # what few experiences never left may be left
        explained |= ground.future.cannot_end
    for one in (*found, *surprising):
        explained[list(one.states)] = True
    episodes, notes = find_decisive_episodes(ground, {one.episode for one in surprising})
    found += [
        *surprising,
        *episodes,
        *find_bad_ends(ground),
        *find_wrong_beliefs(ground, ~explained),
        *find_thin_evidence(ground),
        *find_ties(ground),
    ]
    if ground.cores and not loops and not ground.exact:  # its experience does not show loops
        if ground.played is not None:
            found += find_timed_out(ground.run, ground.played, ends_pay=ground.ends_pay)
        elif ground.ends_pay and (share := _share_in_loops(ground)) >= MIN_TIMED_OUT:
            notes.append(
                f"In its recorded transitions, too few to be sure, {percent(share)} of its episodes get into a loop: "
                f"to check this by play, {either('pass env= to whatfor.load or whatfor.Run', 'add --module MODULE[:NAME]')}."
            )
    played = ground.played if ground.future is None else None
    if played is not None:
        found += find_by_play(ground.run, played, ends_pay=ground.ends_pay)
        notes.append(
            f"The transition probabilities are unknown, so its beliefs were compared with {count(played.episodes, 'simulated episode')}."
        )
    elif ground.future is None:
        why = (
            f"The environment has more than {MAX_SOLVED_STATES:,} states"
            if len(ground.best) > MAX_SOLVED_STATES
            else "The transition probabilities are unknown"
        )
        notes.append(f"{why}, so loops were not searched for, and its beliefs were not compared with the environment.")
    return found, notes


def _share_in_loops(ground: Ground) -> float:
    """The share of greedy episodes that get into a loop, in the world that its experiences show."""
    return min(1.0, sum(float(ground.entered[core].max()) for core in ground.cores))


def _ranked(run: Run, found: Sequence[Finding]) -> Iterator[Finding]:
    """The findings with the largest scores; at most one of them has none. A question that the run cannot answer is replaced."""
    kept = [one for one in found if one.score >= MIN_SCORE or one.kind in ALWAYS]
    for one in sorted(kept, key=lambda one: (-one.score, one.state))[:MAX_FINDINGS]:
        words = run.labels.words(one.state)
        if why_not(run, QUESTIONS[one.question]) is None:
            yield replace(one, words=words)
        else:
            able = why_not(run, first_question()) is None
            yield replace(one, words=words, question=first_question().name if able else "", parameters={})
