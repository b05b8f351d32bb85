"""Loops: where the greedy policy loops without end, and rewards that it loops for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs, reaching
from whatfor.beliefs.loop import MIN_ENDLESS
from whatfor.beliefs.transitions import entries_of
from whatfor.explanations.findings.answer import Finding
from whatfor.explanations.findings.ground import MIN_MET, Ground
from whatfor.explanations.findings.support import Support, support
from whatfor.kernels.recursion import NOT_ENDED
from whatfor.text import amount, count, percent

#: A reward that is earned again and again is a finding if what it adds up to is at least this share of the range of the values.
MIN_EARNED = 0.25
#: And if an episode that visits its state does so at least this often.
MIN_AGAIN = 3.0
#: Loops are findings of their own if at least this share of the episodes gets there, and at most so many.
MIN_ALONE, MAX_LOOPS = 0.05, 2
#: The most rewards that are looked at.
MAX_REWARDS = 200


def find_loops(ground: Ground) -> list[Finding]:
    """A finding for each loop that episodes get into, and for each reward that is earned again and again."""
    future = ground.future
    if future is None or not len(ground.ended) or not ground.ends_pay:  # then going round is the task
        return []
    found = [
        _loop(ground, future, core, known)
        for core in ground.cores
        if ground.met[core].max() > MIN_MET and (known := support(ground, core)) is not None
    ]
    return _together(found) + _repeated(ground, future)


def _together(loops: Sequence[Finding]) -> list[Finding]:
    """The loops that many episodes get into, and one finding for all others."""
    ordered = sorted(loops, key=lambda one: -one.met)
    alone = min(MAX_LOOPS, sum(one.met >= MIN_ALONE for one in ordered))
    if len(ordered) <= alone + 1:
        return ordered
    first, rest = ordered[alone], ordered[alone + 1 :]
    met = min(1.0, sum(one.met for one in (first, *rest)))
    text = f"{first.sentence[:-1]}; {count(len(rest), 'more loop')} (together {percent(met)})."
    states = tuple(state for one in (first, *rest) for state in one.states)
    return [*ordered[:alone], replace(first, sentence=text, met=met, states=states)]


def _loop(ground: Ground, future: ExactBeliefs, core: NDArray[np.int64], known: Support) -> Finding:
    """A loop; if a reward is paid in it for which looping is worthwhile, the finding is the reward."""
    run, labels = ground.run, ground.run.labels
    order = core[np.argsort(-ground.met[core], kind="stable")]
    lead, (met, where) = int(order[0]), known
    states = tuple(order.tolist())
    paid = [(float(future.rewards[s, a]), s, a) for s in order.tolist() for a in np.flatnonzero(future.policy[s])]
    reward, at, action = max(paid)
    endless = "without end" if ground.exact else "without a recorded end"
    if reward > max(0.0, ground.usual_reward):
        return Finding(
            "reward",
            f"In {labels.words(at)!r}, {labels.actions[action]!r} pays {_pay(future, at, int(action))}, "
            f"and the agent loops for it {endless} {where}.",
            at, met, 1.0, "parts", int(action), states=states,
        )  # fmt: skip
    if not _way_out(future, core):
        text = f"From {labels.words(lead)!r} no {'' if ground.exact else 'recorded '}action leads to an end {where}"
    elif len(core) == 1:
        text = (
            f"In {labels.words(lead)!r}, it {labels.action_phrase(run.best(lead))} and stays there, {endless} {where}"
        )
    else:
        among = f"loops over {count(len(core), 'state')} {endless}"
        text = f"From {labels.words(lead)!r}, where it {labels.action_phrase(run.best(lead))}, it {among} {where}"
    evidence = ground.evidence
    if evidence is not None and ground.learned[lead] and evidence.never_ends(lead, run.best(lead)) < MIN_ENDLESS:
        text += "; this is not what it expects"
    return Finding("loop", f"{text}.", lead, met, 1.0, "intention", states=states)


def _pay(future: ExactBeliefs, state: int, action: int) -> str:
    """What a pair pays, in words."""
    pair = state * future.policy.shape[1] + action
    goes_on = (future.entry_pairs == pair) & (future.table.ending == NOT_ENDED)
    often = "each time" if np.ptp(future.table.reward[goes_on]) == 0.0 else "on average"
    return f"{amount(float(_before_the_end(future)[state, action]), signed=True)} {often}"


def _before_the_end(future: ExactBeliefs) -> NDArray[np.float64]:
    """(S, A) What a step of each pair pays on average if the episode goes on; 0 if it never does."""
    pairs, chances = entries_of(future.table)
    chances = chances * (future.table.ending == NOT_ENDED)
    going_on, paid = (
        np.bincount(pairs, weights=weights, minlength=future.policy.size)
        for weights in (chances, chances * future.table.reward)
    )
    mean: NDArray[np.float64] = np.divide(paid, going_on, out=np.zeros(len(paid)), where=going_on > 0.0)
    return mean.reshape(future.policy.shape)


def _way_out(future: ExactBeliefs, core: NDArray[np.int64]) -> bool:
    """Whether some sequence of actions leads from a loop to an end."""
    from scipy import sparse

    n_states, n_actions = future.policy.shape
    rows = np.repeat(np.arange(n_states), n_actions)
    any_action = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(n_states, len(rows)))
    ends = np.zeros(n_states, bool)
    ends[future.entry_pairs[future.table.ending != NOT_ENDED] // n_actions] = True
    return bool(reaching((any_action @ future.onward).tocsr(), ends)[core].any())


def _repeated(ground: Ground, future: ExactBeliefs) -> list[Finding]:
    """Rewards above the usual one that are earned several times in an episode."""
    labels, usual = ground.run.labels, max(0.0, ground.usual_reward)
    rewards, for_ever = _before_the_end(future), np.zeros(labels.n_states, bool)
    for core in ground.cores:
        for_ever[core] = True  # they are loops
    open_pairs = (future.policy > 0.0) & (rewards > usual) & ((ground.entered > MIN_MET) & ~for_ever)[:, None]
    earned = (future.policy * rewards * ground.entered[:, None]).ravel()
    pairs = np.flatnonzero(open_pairs)
    pairs = pairs[np.argsort(-earned[pairs], kind="stable")][:MAX_REWARDS]
    found = []
    for state, action in (divmod(int(pair), labels.n_actions) for pair in pairs):
        begun = np.zeros(labels.n_states)
        begun[state] = 1.0
        again = float(future.visits_from(begun)[state] * future.policy[state, action])
        limited = ground.time_limit is not None or again > (ground.episode_length or np.inf) or future.cannot_end[state]
        followed = ground.followed(begun) if limited else None
        if followed is not None:
            again = float(followed.visits[state] * future.policy[state, action])
        reward = float(rewards[state, action])
        discounted = float(future.visits(state, action)[state, action]) if future.discount < 1.0 else again
        stake = (discounted - 1.0) * reward / ground.range
        if again >= MIN_AGAIN and stake >= MIN_EARNED:
            text = (
                f"In {labels.words(state)!r}, {labels.actions[action]!r} pays {_pay(future, state, action)}, "
                f"and the agent comes back for it about {float(format(again, '.2g')):,.0f} times before an episode ends."
            )
            found.append(
                Finding(
                    "reward", text, state, float(ground.met[state]), min(stake, 1.0), "parts", action, states=(state,)
                )
            )
    return found[:1]
