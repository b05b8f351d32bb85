"""Episodes to look at: greedy ones from where episodes begin, and past ones from the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from whatfor.history import Episode
from whatfor.playing import CUT
from whatfor.runs import Run
from whatfor.worlds.adapter import Enter

#: Of longer episodes so many steps are told.
MOST_STEPS = 200
#: So many episodes are looked at for each start that is to be found.
LOOKED = 10
#: Observations of more numbers than this (images) are told by their cell.
MOST_NUMBERS = 64


def key_of(run: Run, state: Any) -> str:
    """A state as links and requests say it: its index, or the very observation where the agent sees more than a state tells.

    >>> from whatfor.labels import Labels
    >>> from whatfor.ledger import Ledger
    >>> key_of(Run(labels=Labels.plain(3, 1), values=[[0.0]] * 3, ledger=Ledger(3, 1)), "state 2")
    '2'
    """
    at = run.situation(state)
    if not _sees_more(run):
        return str(at.index)
    seen = np.asarray(at.observation)
    if seen.ndim > 1 or seen.size > MOST_NUMBERS:
        return str(at.index)
    return json.dumps([float(str(x)) for x in seen.ravel()], separators=(",", ":"))  # as few digits as tell it apart


def _sees_more(run: Run) -> bool:
    """Whether an agent acts on more than its states tell."""
    return run.agent is not None and not run.agent.whole


def state_in(run: Run, key: str) -> Any:
    """The state that a key means: what ``key_of`` wrote, or words."""
    text = key.strip()
    if text.isascii() and text.isdecimal():
        index = run.labels.check_state(int(text))
        return run.labels.words(index) if _sees_more(run) else run.labels.observation(index)
    return text


def starts(run: Run, count: int, seed: int = 0) -> list[str]:
    """Keys of different states in which episodes begin, as many as there are: of its latest episodes, or of new ones."""
    found: dict[str, None] = {}
    for key in _begun(run, LOOKED * count, seed):
        found.setdefault(key)
        if len(found) == count:
            break
    return list(found)


def _begun(run: Run, most: int, seed: int) -> Iterator[str]:
    """Where episodes began, the latest first."""
    ledger = run.ledger
    if ledger is None or not len(ledger):
        env = run.playing.environment()
        yield from (key_of(run, env.reset(seed=seed + at)[0]) for at in range(most))
    elif ledger.order == "replayed":  # an update's place does not tell when its experience was made
        episodes, steps = ledger.episodes_and_steps()
        first = np.flatnonzero(steps == 0)
        pairs = ledger.lines.cell[first[np.argsort(-episodes[first], kind="stable")]][:most]
        yield from (str(state) for state in pairs // run.labels.n_actions % run.labels.n_states)
    else:
        numbers = range(ledger.n_episodes)[-most:][::-1]
        yield from (str(updates[0].state) for updates in map(ledger.episode, numbers) if updates)


def latest(run: Run, count: int) -> list[dict[str, str]]:
    """The latest past episodes, to choose from."""
    last = 0 if run.ledger is None else run.ledger.n_episodes
    return [{"key": f"past:{n}", "title": _past_title(run, n)} for n in range(last)[-count:][::-1]]


def begun(count: int) -> list[dict[str, str]]:
    """New episodes, as the environment begins them, to choose from."""
    return [{"key": f"new:{seed}", "title": f"a new episode (seed {seed})"} for seed in range(count)]


def title_of(run: Run, key: str) -> str:
    """A state in words, by its key."""
    return run.labels.words(run.situation(state_in(run, key)).index)


def greedy(run: Run, key: str, enter: Enter | None = None) -> dict[str, Any]:
    """What it does from a state on."""
    played = run.episode(state_in(run, key), enter=enter)
    return _shown(run, f"greedy:{key}", f"from {title_of(run, key)}", played)


def new(run: Run, seed: int) -> dict[str, Any]:
    """What a network does in an episode, however its environment begins it."""
    return _shown(run, f"new:{seed}", f"a new episode (seed {seed})", run.episode(None, seed=seed))


def _shown(run: Run, key: str, title: str, played: Episode) -> dict[str, Any]:
    steps = [
        {"state": key_of(run, seen), "action": int(action), "reward": reward}
        for (seen, action), reward in zip(played.steps[:MOST_STEPS], played.rewards, strict=False)
    ]
    return _told(key, title, steps, len(played.steps), played.ending)


def past(run: Run, number: int) -> dict[str, Any]:
    """An episode that it learned from."""
    if run.ledger is None:
        raise ValueError("past episodes are in the ledger, and this run has none")
    updates = run.ledger.episode(number)
    steps = [{"state": str(one.state), "action": one.action, "reward": one.reward} for one in updates[:MOST_STEPS]]
    ending = updates[-1].ending or CUT if updates else "empty"
    return _told(f"past:{number}", _past_title(run, number), steps, len(updates), ending)


def _past_title(run: Run, number: int) -> str:
    """With replay, not every step of an episode need be learned from."""
    replayed = run.ledger is not None and run.ledger.order == "replayed"
    return f"episode {number:,} of training" + (", as far as it was learned from" if replayed else "")


def _told(key: str, title: str, steps: list[dict[str, Any]], length: int, ending: str) -> dict[str, Any]:
    """``ending``: None where there are more steps than are told."""
    return {
        "key": key,
        "title": title,
        "steps": steps,
        "length": length,
        "ending": None if length > len(steps) else ending,
    }
