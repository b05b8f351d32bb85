"""Episodes to show: greedy ones from the starts, and past ones from the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any

import numpy as np

from whatfor.history import CUT, Episode
from whatfor.runs import Run
from whatfor.worlds.adapter import Enter

#: Steps of an episode in an answer.
MAX_STEPS = 200
#: Episodes to search for each start.
SEARCHED = 10
#: An observation with more numbers (an image) is named by its cell.
MAX_NUMBERS = 64


def key_of(run: Run, state: Any) -> str:
    """A state as links and requests name it: its index, or the observation where the agent acts on more than the state.

    >>> from whatfor.labels import Labels
    >>> from whatfor.ledger import Ledger
    >>> key_of(Run(labels=Labels.plain(3, 1), values=[[0.0]] * 3, ledger=Ledger(3, 1)), "state 2")
    '2'
    """
    at = run.situation(state)
    if not _acts_on_more(run):
        return str(at.index)
    observation = np.asarray(at.observation)
    if observation.ndim > 1 or observation.size > MAX_NUMBERS:
        return str(at.index)
    return json.dumps([float(str(x)) for x in observation.ravel()], separators=(",", ":"))  # with the fewest digits


def _acts_on_more(run: Run) -> bool:
    """Whether an agent acts on more than its state."""
    return not run.actor.whole


def state_in(run: Run, key: str) -> Any:
    """The state of a key: what ``key_of`` wrote, or words."""
    text = key.strip()
    if text.isascii() and text.isdecimal():
        index = run.labels.check_state(int(text))
        return run.labels.words(index) if _acts_on_more(run) else run.labels.observation(index)
    return text


def starts(run: Run, count: int, seed: int = 0) -> list[str]:
    """Keys of different states in which episodes begin, at most ``count``: of the latest episodes, or of new ones."""
    found: dict[str, None] = {}
    for key in _first_states(run, SEARCHED * count, seed):
        found.setdefault(key)
        if len(found) == count:
            break
    return list(found)


def _first_states(run: Run, limit: int, seed: int) -> Iterator[str]:
    """Where episodes began, the latest first."""
    ledger = run.ledger
    if ledger is None or not len(ledger):
        yield from (key_of(run, run.playing.player.start(seed + at)) for at in range(limit))
    elif ledger.order == "replayed":  # updates are not in the order of experience
        episodes, steps = ledger.episodes_and_steps()
        first = np.flatnonzero(steps == 0)
        pairs = ledger.lines.cell[first[np.argsort(-episodes[first], kind="stable")]][:limit]
        yield from (str(state) for state in pairs // run.labels.n_actions % run.labels.n_states)
    else:
        numbers = range(ledger.n_episodes)[-limit:][::-1]
        yield from (str(updates[0].state) for updates in map(ledger.episode, numbers) if updates)


def latest(run: Run, count: int) -> list[dict[str, str]]:
    """The latest past episodes, as choices."""
    last = 0 if run.ledger is None else run.ledger.n_episodes
    return [{"key": f"past:{n}", "title": _past_title(run, n)} for n in range(last)[-count:][::-1]]


def new_episodes(count: int) -> list[dict[str, str]]:
    """New episodes from the environment's own starts, as choices."""
    return [{"key": f"new:{seed}", "title": f"a new episode (seed {seed})"} for seed in range(count)]


def title_of(run: Run, key: str) -> str:
    """A state in words, by its key."""
    return run.labels.words(run.situation(state_in(run, key)).index)


def greedy(run: Run, key: str, enter: Enter | None = None) -> dict[str, Any]:
    """The greedy episode from a state."""
    played = run.episode(state_in(run, key), enter=enter)
    return _from_play(run, f"greedy:{key}", f"from {title_of(run, key)}", played)


def new(run: Run, seed: int) -> dict[str, Any]:
    """A greedy episode from a start of its environment."""
    return _from_play(run, f"new:{seed}", f"a new episode (seed {seed})", run.episode(None, seed=seed))


def _from_play(run: Run, key: str, title: str, played: Episode) -> dict[str, Any]:
    known = takewhile(lambda step: _is_known(run, step[0][0]), zip(played.steps, played.rewards, strict=False))
    steps = [
        {"state": key_of(run, state), "action": int(action), "reward": reward}
        for (state, action), reward in islice(known, MAX_STEPS)
    ]
    return _payload(key, title, steps, len(played.steps), played.ending)


def _is_known(run: Run, observation: Any) -> bool:
    """Whether training met a state; where states are discovered, play may meet others."""
    if run.labels.states is None:
        return True
    try:
        run.situation(observation)
    except ValueError:
        return False
    return True


def past(run: Run, number: int) -> dict[str, Any]:
    """An episode that it learned from."""
    if run.ledger is None:
        raise ValueError(f"past episodes need the ledger, and this run has none: {run.trust.ledger_advice()}")
    updates = run.ledger.episode(number)
    steps = [{"state": str(one.state), "action": one.action, "reward": one.reward} for one in updates[:MAX_STEPS]]
    ending = updates[-1].ending or CUT if updates else "empty"
    return _payload(f"past:{number}", _past_title(run, number), steps, len(updates), ending)


def _past_title(run: Run, number: int) -> str:
    """With replay, some steps of an episode may not have been learned from."""
    replayed = run.ledger is not None and run.ledger.order == "replayed"
    return f"episode {number:,} of training" + (" (the steps it learned from)" if replayed else "")


def _payload(key: str, title: str, steps: list[dict[str, Any]], length: int, ending: str) -> dict[str, Any]:
    """``ending`` is None where there are more steps than these."""
    return {
        "key": key,
        "title": title,
        "steps": steps,
        "length": length,
        "ending": None if length > len(steps) else ending,
    }
