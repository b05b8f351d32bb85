"""Desk: what a page asks of a run, answered as JSON; the same for a file and for a server."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from whatfor.explanation import Badge, Explanation
from whatfor.explorer.episodes import begun, greedy, key_of, latest, new, past, starts, state_in, title_of
from whatfor.maps import picture_of, places_of
from whatfor.question import QUESTIONS, Parameter, Question, why_not, layout_of, question_of
from whatfor.runs import Run
from whatfor.worlds.adapter import Enter

#: A network has to be asked at every step, so that a rollout takes a thousand times as long.
ROLLOUTS, FEW_ROLLOUTS = 300, 20
CHECKPOINTS = 10
#: Runs of earlier times that are kept.
KEPT = 12
#: Points of the learning curve.
CURVE = 120


class Desk:
    """Answers the page's requests: ``run``, ``state``, ``answer``, ``episodes`` and ``episode``, each with its parameters."""

    def __init__(
        self,
        run: Run,
        *,
        name: str = "",
        episodes: int = 8,
        starts: list[str] | None = None,
        enter: Enter | None = None,
    ) -> None:
        _ = run.beliefs  # without any, nothing can be answered: told now, not request by request
        self.run, self.name, self.episodes, self.enter = run, name, episodes, enter
        self.rollouts = FEW_ROLLOUTS if run.playing.plays_network else ROLLOUTS
        self._earlier: OrderedDict[int, Run] = OrderedDict()
        self._given = starts
        #: By request, who answers it and what it takes.
        self._asked: dict[str, tuple[Callable[[Mapping[str, str]], dict[str, Any]], tuple[str, ...]]] = {
            "run": (self._about, ()),
            "state": (self._state, ("state", "as_of")),
            "answer": (self._answer, ("question", "state", "action", "as_of", *_parameters())),
            "episodes": (self._episodes, ()),
            "episode": (self._episode, ("key", "as_of")),
        }

    def ask(self, what: str, given: Mapping[str, str]) -> dict[str, Any]:
        """The answer to one request.

        >>> from whatfor.ledger import Ledger
        >>> from whatfor.labels import Labels
        >>> ledger = Ledger(n_states=1, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
        >>> desk = Desk(Run(labels=Labels.plain(1, 1), values=[[0.5]], ledger=ledger))
        >>> desk.ask("answer", {"question": "intention", "state": "0"})["badge"]["words"]
        'exact'
        """
        if what not in self._asked:
            raise ValueError(f"there is no request {what!r}; there are {', '.join(self._asked)}")
        answered, known = self._asked[what]
        for name in given:
            if name not in known:
                raise ValueError(f"{what} takes {', '.join(known) or 'nothing'}, not {name!r}")
        answer: dict[str, Any] = plain(answered(given))
        return answer

    def encoded(self, what: str, given: Mapping[str, str]) -> bytes:
        """The answer as JSON, in bytes."""
        return json.dumps(self.ask(what, given), ensure_ascii=False, allow_nan=False).encode()

    # -- requests --------------------------------------------------------------------------

    def _about(self, _: Mapping[str, str]) -> dict[str, Any]:
        run, ledger = self.run, self.run.ledger
        learner, world = run.settings.get("learner", {}), run.settings.get("world", {})
        return {
            "name": self.name
            or str(world.get("id") or run.settings.get("environment", {}).get("id") or run.labels.kind or "a run"),
            "learner": str(learner.get("name", "own loop")),
            "episodes": len(run.history) or (0 if ledger is None else ledger.n_episodes),
            "updates": 0 if ledger is None else len(ledger),
            "states": run.labels.n_states,
            "actions": list(run.labels.actions),
            "kind": run.labels.kind,
            "questions": {name: self._offered(question) for name, question in QUESTIONS.items()},
            "without": {name: why for name, one in QUESTIONS.items() if (why := self._refused(one)) is not None},
            "trust": None if run.trust is None else run.trust.to_json(),
            "checkpoints": self.checkpoints(),
            "curve": _curve(run),
            "example": run.labels.words(run.labels.n_states * 2 // 3),
        }

    def checkpoints(self) -> list[int]:
        """Numbers of episodes to look back to, the last one the present; close together where most is learned."""
        if self.run.ledger is None or self.run.ledger.n_episodes < 2:
            return []
        last = self.run.ledger.n_episodes
        first = min(10, (last + 1) // 2)
        return sorted({round(float(x)) for x in np.geomspace(first, last, CHECKPOINTS)} | {last})

    def _state(self, given: Mapping[str, str]) -> dict[str, Any]:
        run, state = self._of(given)
        key, index = key_of(self.run, state), run.situation(state).index
        tried, (picture, places) = run.tries_at(state), picture_of(run.labels, index)
        return {
            "state": index,
            "key": key,
            "words": run.labels.words(index),
            "seen": key if key.startswith("[") else None,
            "values": run.values_at(state).tolist(),
            "best": run.best(state),
            "tried": None if tried is None else tried.tolist(),
            "picture": None if picture is None else picture.to_json(),
            "places": places,
            "map": places_of(run.labels, index),
        }

    def _offered(self, question: Question) -> dict[str, Any]:
        """What the page calls a question, and what it lets a reader say."""
        parameters = [
            {
                "name": one.name,
                "says": one.help,
                "kind": one.kind,
                "needed": one.needed,
                "suggestions": list(one.suggestions(self.run)),
            }
            for one in question.parameters
        ]
        return {"title": question.title, "says": question.summary, "parameters": parameters}

    def _refused(self, question: Question) -> str | None:
        """Why a question cannot be answered; None: it can."""
        return why_not(self.run, question) or (self.unplayable if "play" in question.needs else None)

    def _answer(self, given: Mapping[str, str]) -> dict[str, Any]:
        run, state = self._of(given)
        name = given.get("question", "intention")
        if name not in QUESTIONS:
            raise ValueError(f"there is no question {name!r}; there are {', '.join(QUESTIONS)}")
        question = QUESTIONS[name]
        action = run.labels.action(given["action"]) if "action" in given else None
        said: dict[str, Any] = {"rollouts": self.rollouts, "enter": self.enter} if "play" in question.needs else {}
        for key in given.keys() - {"question", "state", "action", "as_of"}:
            parameter = question.parameter(key)
            if parameter is None:
                takers = [one.name for one in QUESTIONS.values() if one.parameter(key)]
                raise ValueError(f"{key}= is for {' or '.join(takers)}, not for {name}")
            said[key] = _read(parameter, given[key], run)
        why = question.ask(run, state, action, **said)
        tried = run.tries_at(state)
        untried = tried is not None and bool((tried[list(why.actions)] == 0).any())
        return told(why, untried=untried)

    def _episodes(self, _: Mapping[str, str]) -> dict[str, Any]:
        if self.unplayable is not None:
            return {"episodes": begun(self.episodes) if self._begins else latest(self.run, self.episodes)}
        offered, times = [], Counter[str]()
        for key in self.playable:  # an agent that sees more than its cells may begin twice in one
            words = title_of(self.run, key)
            times[words] += 1
            again = f" ({times[words]})" if times[words] > 1 else ""
            offered.append({"key": f"greedy:{key}", "title": words + again})
        return {"episodes": offered}

    def _episode(self, given: Mapping[str, str]) -> dict[str, Any]:
        kind, _, key = given.get("key", "").partition(":")
        if kind == "greedy":
            return greedy(self._at(given), key, self.enter)
        if kind in ("past", "new") and key.isascii() and key.isdecimal():
            return past(self.run, int(key)) if kind == "past" else new(self.run, int(key))
        raise ValueError('an episode is "greedy:STATE", "past:NUMBER", or of a network "new:SEED"')

    @cached_property
    def starts(self) -> list[str]:
        """Keys of the states that episodes begin in: given ones, or those that are found."""
        if self._given is not None:
            return self._given
        try:
            return starts(self.run, self.episodes)
        except Exception:  # an environment that cannot be made again, or whatever else a stranger's does
            return []

    @property
    def playable(self) -> list[str]:
        """Those of them that an episode can go on from."""
        return [key for key in self.starts if self._refusals.get(key) is None]

    @property
    def unplayable(self) -> str | None:
        """Why it cannot be played; None: it can."""
        refusals = list(self._refusals.values())
        return None if None in refusals else refusals[0]

    @cached_property
    def _refusals(self) -> dict[str, str | None]:
        """Of given starts, each is tried; of those that were found, the first."""
        tried = (self.starts if self._given else self.starts[:1]) or ["0"]
        return {key: self._refusal(key) for key in tried}

    def _refusal(self, key: str) -> str | None:
        """Why nothing can be played from a state; None: it can."""
        try:
            self.run.episode(state_in(self.run, key), enter=self.enter)
        except ValueError as error:
            return str(error)
        except Exception as error:  # a stranger's environment
            return f"its environment failed: {type(error).__name__}: {error}"
        return None

    @cached_property
    def _begins(self) -> bool:
        """Whether its environment can be played as it begins, though it cannot be put into a state."""
        try:
            return self.run.playing.plays_network and bool(self.run.episode(None).steps)
        except Exception:  # it cannot be made, or fails
            return False

    # -- the parts -------------------------------------------------------------------------

    def _of(self, given: Mapping[str, str]) -> tuple[Run, Any]:
        if "state" not in given:
            raise ValueError(f"state= is missing: an index, or words such as {self.run.labels.words(0)!r}")
        return self._at(given), state_in(self.run, given["state"])

    def _at(self, given: Mapping[str, str]) -> Run:
        """The run as it is, or as it was."""
        text = given.get("as_of")
        if text is None:
            return self.run
        episodes = _whole("as_of", text)
        if episodes not in self._earlier:
            self._earlier[episodes] = self.run.as_of(episodes)
            while len(self._earlier) > KEPT:
                self._earlier.popitem(last=False)
        self._earlier.move_to_end(episodes)
        return self._earlier[episodes]


def told(why: Explanation, *, untried: bool) -> dict[str, Any]:
    """An explanation with its pictures, and how far it is to be trusted."""
    pictures = [layout_of(why), *(layout_of(why, show=show) for show in question_of(why).shows)]
    badge = Badge("unknown", "no experience", "it was never learned from") if untried else why.badge()
    return {
        **why.page(),
        "pictures": [one.to_json() for one in pictures],
        "badge": None if badge is None else badge._asdict(),
    }


def _parameters() -> list[str]:
    """The names of all that questions take."""
    return list(dict.fromkeys(one.name for question in QUESTIONS.values() for one in question.parameters))


def _read(parameter: Parameter, text: str, run: Run) -> Any:
    """What a parameter of a request says."""
    if parameter.kind == "action":
        return run.labels.action(text)
    if parameter.kind == "number":
        return _whole(parameter.name, text)
    return text


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name} is a whole number, not {text[:40]!r}")
    return int(text)


def plain(thing: Any) -> Any:
    """As JSON can hold it: no NaN, no infinity, no tuple, no number of NumPy's.

    >>> plain({"a": (1.0, math.inf), "b": [np.float64("nan"), np.bool_(True)]})
    {'a': [1.0, None], 'b': [None, True]}
    """
    if thing is None or type(thing) in (str, int, bool):
        return thing
    if type(thing) is float:
        return thing if math.isfinite(thing) else None
    if isinstance(thing, Mapping):
        return {str(name): plain(one) for name, one in thing.items()}
    if isinstance(thing, list | tuple):
        return [plain(one) for one in thing]
    if isinstance(thing, np.generic):
        thing = thing.item()
    return plain(float(thing)) if isinstance(thing, float | np.floating) else thing


def _curve(run: Run) -> dict[str, list[float]] | None:
    """Mean returns along training."""
    returns = run.history.returns
    if len(returns) < 2:
        return None
    edges = np.unique(np.linspace(0, len(returns), min(CURVE, len(returns)) + 1).astype(int))
    means = np.add.reduceat(returns, edges[:-1]) / np.diff(edges)
    return {"episodes": edges[1:].tolist(), "returns": means.tolist()}
