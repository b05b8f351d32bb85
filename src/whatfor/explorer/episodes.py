"""Episodes to look at: greedy ones from where episodes begin, and past ones from the ledger."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from whatfor.beliefs.protocol import Seeing
from whatfor.runs import Run

#: Greedy episodes that go in circles are shown so far.
MOST_STEPS = 200
#: Observations of more numbers than this (images) are told by their cell.
MOST_NUMBERS = 64


def key_of(run: Run, state: Any) -> str:
    """A state as links and requests say it: its index, or the very observation where the agent sees more than a state tells.

    >>> from whatfor.labels import Labels
    >>> from whatfor.ledger import Ledger
    >>> key_of(Run(labels=Labels.plain(3, 1), values=[[0.0]] * 3, ledger=Ledger(3, 1)), "state 2")
    '2'
    """
    beliefs = run.beliefs
    if isinstance(beliefs, Seeing) and not beliefs.whole:
        situation = beliefs.situation(state)
        seen = np.asarray(situation.observation)
        return str(int(situation)) if seen.size > MOST_NUMBERS else json.dumps(seen.tolist(), separators=(",", ":"))
    return str(run.labels.index(state))


def state_in(run: Run, key: str) -> Any:
    """The state that a key means: what ``key_of`` wrote, or words."""
    text = key.strip()
    if text.isascii() and text.isdecimal():
        return run.labels._checked(int(text))
    if text.startswith("["):
        try:
            return np.asarray(json.loads(text), np.float64)
        except (ValueError, TypeError, RecursionError):
            raise ValueError(f"{text[:80]!r} is not a list of numbers") from None
    return text


def starts(run: Run, count: int, seed: int = 0) -> list[str]:
    """Keys of different states in which episodes begin, as many as there are: of its latest episodes, or of new ones."""
    found: dict[str, None] = {}
    if run.ledger is not None and run.ledger.n_episodes:
        first = run.ledger.episode_starts[::-1]
        pairs = run.ledger.lines.cell[first[first < len(run.ledger)]] % (run.labels.n_states * run.labels.n_actions)
        for state in pairs // run.labels.n_actions:
            found.setdefault(str(int(state)))
            if len(found) == count:
                break
    else:
        env = run.environment()
        for at in range(10 * count):
            found.setdefault(key_of(run, env.reset(seed=seed + at)[0]))
            if len(found) == count:
                break
    return list(found)


def playable(run: Run, key: str) -> str | None:
    """Why it cannot be played from a state; None: it can."""
    try:
        run.episode(state_in(run, key))
    except ValueError as error:
        return str(error)
    return None


def latest(run: Run, count: int) -> list[dict[str, str]]:
    """The latest past episodes, to choose from."""
    last = 0 if run.ledger is None else run.ledger.n_episodes
    return [{"key": f"past:{n}", "title": f"episode {n:,} of training"} for n in range(last)[-count:][::-1]]


def title_of(run: Run, key: str) -> str:
    """A state in words, by its key."""
    return run.labels.words(int(run.situated(state_in(run, key))))


def greedy(run: Run, key: str) -> dict[str, Any]:
    """What it does from a state on."""
    along = run.episode(state_in(run, key))
    steps = [{"state": key_of(run, seen), "action": int(action)} for seen, action in along[:MOST_STEPS]]
    title = f"from {title_of(run, key)}"
    return {"key": f"greedy:{key}", "title": title, "steps": steps, "ending": None, "cut": len(along) > MOST_STEPS}


def past(run: Run, number: int) -> dict[str, Any]:
    """An episode that it learned from."""
    ledger = run.ledger
    if ledger is None:
        raise ValueError("past episodes are in the ledger, and this run has none")
    updates = ledger.episode(number)
    steps = [{"state": str(one.state), "action": one.action, "reward": one.reward} for one in updates[:MOST_STEPS]]
    ending = updates[-1].ending if updates else None
    cut = len(updates) > MOST_STEPS
    return {
        "key": f"past:{number}",
        "title": f"episode {number:,} of training",
        "steps": steps,
        "ending": ending,
        "cut": cut,
    }
