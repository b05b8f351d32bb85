"""A report: the page and everything it may be asked, in one file that opens from disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from whatfor.explorer.desk import Desk
from whatfor.explorer.episodes import key_of, state_in
from whatfor.explorer.packing import DIGITS, pack
from whatfor.explorer.page import page
from whatfor.files import replacing
from whatfor.pictures.files import check_path
from whatfor.question import QUESTIONS
from whatfor.runs import Run
from whatfor.text import count
from whatfor.worlds.adapter import Enter

SUFFIXES = (".html", ".htm")
#: Of the episodes behind each value, so many can be replayed.
REPLAYED = 3
#: Numbers of maps that are smaller than this share of the largest are left out.
FAINT = 1e-6
#: So many states are answered for; and where a network has to be played, it is played from so many.
MOST_STATES, MOST_PLAYED = 300, 5
#: Told while a report is made: what share of it is done.
Heard = Callable[[float], None]


def report(
    run: Run,
    path: str | os.PathLike[str],
    *,
    episodes: int = 20,
    states: Sequence[Any] = (),
    name: str = "",
    heard: Heard | None = None,
    enter: Enter | None = None,
) -> Path:
    """Write a report of a run: its greedy episodes (from as many starts), or given states, with all answers about their states."""
    target = check_path(path, SUFFIXES)  # told before the work, not after it
    text = page(told(run, episodes=episodes, states=states, name=name, heard=heard, enter=enter))
    with replacing(target) as fresh:
        fresh.write_text(text, encoding="utf-8")
    return target


def told(
    run: Run,
    *,
    episodes: int = 20,
    states: Sequence[Any] = (),
    name: str = "",
    heard: Heard | None = None,
    enter: Enter | None = None,
) -> str:
    """What a report holds: the answers by their requests, packed."""
    if episodes < 1:
        raise ValueError(f"episodes is {episodes}; a report shows at least one")
    given = [key_of(run, state_in(run, state) if isinstance(state, str) else state) for state in states] or None
    desk = Desk(run, name=name, episodes=episodes, starts=given, enter=enter)
    answers: dict[str, Any] = {}

    def hold(what: str, **given: str) -> dict[str, Any]:
        request = request_of(what, given)
        if request not in answers:
            answers[request] = seen(desk.ask(what, given))
        found: dict[str, Any] = answers[request]
        return found

    about = hold("run")
    offered = hold("episodes")["episodes"]
    shown: dict[str, set[str]] = {key: set() for key in (desk.starts if given else ())}  # actions taken there
    for one in offered:
        for step in hold("episode", key=one["key"])["steps"]:
            shown.setdefault(step["state"], set()).add(str(step["action"]))
    if not shown:
        raise ValueError("nobody knows where episodes of this run begin: say states=, or --states")
    kept = list(shown)[:MOST_STATES]
    compared = {*(desk.starts[:MOST_PLAYED] if run.playing.plays_network else kept)} & {*kept}
    compared -= {*desk.starts} - {*desk.playable}
    for at, key in enumerate(kept):
        _hold_state(hold, about, key, shown[key], compared=key in compared)
        if heard is not None:
            heard((at + 1) / len(kept))
    dropped = [
        f"numbers are rounded to {DIGITS} digits, and of maps, what is below {FAINT:g} of the largest number is left out",
        f"{', '.join(one.title for one in QUESTIONS.values() if not one.every_action)}: of the best action, and of the one taken, only",
        f"{len(kept):,} of {about['states']:,} states: {'those' if len(kept) == len(shown) else f'the first of {len(shown):,}'} on {count(len(offered), 'episode')}"
        if run.trust is None
        else f"the first {len(kept):,} of {len(shown):,} situations on {count(len(offered), 'episode')}",
    ]
    if run.playing.plays_network and "comparison" not in about["without"]:
        dropped.append(f"belief and reality: in {len(compared):,} of them")
    if about["checkpoints"]:
        dropped.append(
            f"earlier times: {len(about['checkpoints'])} of {about['episodes']:,} episodes, and what was expected of the best action then"
        )
    return pack({"dropped": dropped, "answers": answers})


def request_of(what: str, given: dict[str, str]) -> str:
    """A request as one line, its parameters in the order of the alphabet; the page's script writes it the same way.

    >>> request_of("state", {"state": "3", "as_of": "10"})
    'state?as_of=10&state=3'
    """
    return what + "?" + "&".join(f"{name}={given[name]}" for name in sorted(given))


def seen(thing: Any) -> Any:
    """Without the numbers of maps that nobody can see.

    >>> seen({"visits": [{"state": 0, "number": 1.0}, {"state": 1, "number": 1e-9}]})
    {'visits': [{'state': 0, 'number': 1.0}]}
    """
    if isinstance(thing, dict):
        return {name: seen(one) for name, one in thing.items()}
    if not isinstance(thing, list):
        return thing
    if thing and isinstance(thing[0], dict) and "number" in thing[0]:
        least = FAINT * max(abs(one["number"]) for one in thing)
        return [one for one in thing if abs(one["number"]) >= least]
    if thing and isinstance(thing[0], list) and thing[0] and isinstance(thing[0][0], float):
        least = FAINT * max(abs(number) for row in thing for number in row)
        return [[number if abs(number) >= least else 0.0 for number in row] for row in thing]
    return [seen(one) for one in thing]


def _hold_state(
    hold: Callable[..., dict[str, Any]], about: dict[str, Any], key: str, taken: set[str], *, compared: bool
) -> None:
    """All answers about one state, of its best action and of those taken there; where several are equally good, these may be others."""
    best = str(hold("state", state=key)["best"])
    every = [str(action) for action in range(len(about["actions"]))]
    for name, question in QUESTIONS.items():
        if name in about["without"] or ("play" in question.needs and not compared):
            continue
        for action in every if question.every_action else sorted({best, *taken}):
            for said in _said(about["questions"][name]["parameters"], every, best, action):
                answer = hold("answer", question=name, state=key, action=action, **said)
                _hold_episodes(hold, answer.get("strip", ()))
    for episodes in map(str, about["checkpoints"][:-1]):
        then = hold("state", state=key, as_of=episodes)
        hold("answer", question="intention", state=key, action=str(then["best"]), as_of=episodes)


def _said(parameters: list[dict[str, Any]], every: list[str], best: str, action: str) -> Iterator[dict[str, str]]:
    """What a report asks a question with: nothing, each other action (of the best one alone), or each suggestion of what has to be said."""
    for one in parameters:
        if one["kind"] == "action":
            yield from ({one["name"]: other} for other in every if other != action and action == best)
            return
        if one["needed"]:
            yield from ({one["name"]: words} for words in one["suggestions"])
            return
    yield {}


def _hold_episodes(hold: Callable[..., dict[str, Any]], strip: Sequence[dict[str, Any]]) -> None:
    """The most telling of the episodes that a value comes from, to be replayed."""
    for one in sorted(strip, key=lambda one: -abs(one["influence"]))[:REPLAYED]:
        for step in hold("episode", key=f"past:{one['episode']}")["steps"]:
            hold("state", state=step["state"])
