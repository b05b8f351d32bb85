"""Desk: answers the requests of a page as JSON, for a report and for a server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from whatfor.caching import Cache
from whatfor.explanation import Badge, Explanation
from whatfor.explorer.episodes import greedy, key_of, latest, new, new_episodes, past, starts, state_in, title_of
from whatfor.jsonable import jsonable
from whatfor.learners.named import learner_names
from whatfor.maps import picture_of, places_of
from whatfor.question import QUESTIONS, Parameter, Question, first_question, is_played, layout_of, question_of, why_not
from whatfor.runs import Run
from whatfor.worlds.adapter import Enter

#: Rollouts of a simulation; fewer where a network chooses every action, which is a thousand times slower.
ROLLOUTS, FEW_ROLLOUTS = 300, 20
CHECKPOINTS = 10
#: Cached runs of earlier times.
MAX_EARLIER = 12
#: Findings on a page.
MAX_FINDINGS = 3
#: Points of the learning curve.
CURVE = 120


class Desk:
    """Answers the page's requests: ``run``, ``findings``, ``state``, ``answer``, ``episodes`` and ``episode``, each with its parameters."""

    def __init__(
        self,
        run: Run,
        *,
        name: str = "",
        episodes: int = 8,
        starts: list[str] | None = None,
        enter: Enter | None = None,
    ) -> None:
        if (why := why_not(run, first_question())) is not None:  # fails here, not in every request
            raise ValueError(f"a page {why}")
        self.run, self.name, self.episodes, self.enter = run, name, episodes, enter
        self.rollouts = FEW_ROLLOUTS if run.playing.player.slow else ROLLOUTS
        self._earlier = Cache[int, Run](MAX_EARLIER)
        self._own_starts = starts
        #: By request: the method that answers it, and its parameters.
        self._requests: dict[str, tuple[Callable[[Mapping[str, str]], dict[str, Any]], tuple[str, ...]]] = {
            "run": (self._about, ()),
            "findings": (self._findings, ()),
            "state": (self._state, ("state", "as_of")),
            "answer": (self._answer, ("question", "state", "action", "as_of", *_parameter_names())),
            "episodes": (self._episodes, ()),
            "episode": (self._episode, ("key", "as_of")),
        }

    def ask(self, what: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer to one request.

        >>> from whatfor.ledger import Ledger
        >>> from whatfor.labels import Labels
        >>> ledger = Ledger(n_states=1, n_actions=1)
        >>> ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
        >>> desk = Desk(Run(labels=Labels.plain(1, 1), values=[[0.5]], ledger=ledger))
        >>> desk.ask("answer", {"question": "intention", "state": "0"})["badge"]["words"]
        'exact'
        """
        if what not in self._requests:
            raise ValueError(f"there is no request {what!r}; there are {', '.join(self._requests)}")
        method, known = self._requests[what]
        for name in parameters:
            if name not in known:
                raise ValueError(f"{what} takes {', '.join(known) or 'nothing'}, not {name!r}")
        answer: dict[str, Any] = jsonable(method(parameters))
        return answer

    def encode(self, what: str, parameters: Mapping[str, str]) -> bytes:
        """The answer as JSON, in bytes."""
        return json.dumps(self.ask(what, parameters), ensure_ascii=False, allow_nan=False).encode()

    # -- requests --------------------------------------------------------------------------

    def _about(self, _: Mapping[str, str]) -> dict[str, Any]:
        run, ledger = self.run, self.run.ledger
        world = run.settings.get("world", {})
        return {
            "name": self.name
            or str(world.get("id") or run.settings.get("environment", {}).get("id") or run.labels.kind or "a run"),
            "learner": learner_names(run.settings),
            "premise": run.origin.premise,
            "episodes": run.n_episodes or 0,  # the page leaves 0 out
            "updates": 0 if ledger is None else len(ledger),
            "states": run.labels.n_states,
            "actions": list(run.labels.actions),
            "kind": run.labels.kind,
            "questions": {name: self._describe(question) for name, question in QUESTIONS.items()},
            "unavailable": {name: why for name, one in QUESTIONS.items() if (why := self._refusal(one)) is not None},
            "trust": run.trust.to_json(),
            "checkpoints": self.checkpoints(),
            "curve": _curve(run),
            "example": run.labels.words(run.labels.n_states * 2 // 3),
        }

    def checkpoints(self) -> list[int]:
        """Numbers of episodes to look back to, closest together early in training; the last one is the present."""
        if self.run.ledger is None or self.run.ledger.n_episodes < 2 or self.run.beliefs.evidence is None:
            return []
        last = self.run.ledger.n_episodes
        first = min(10, (last + 1) // 2)
        return sorted({round(float(x)) for x in np.geomspace(first, last, CHECKPOINTS)} | {last})

    def _state(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        run, state = self._run_and_state(parameters)
        key, index = key_of(self.run, state), run.situation(state).index
        tries, (picture, places) = run.tries_at(state), picture_of(run.labels, index)
        return {
            "state": index,
            "key": key,
            "words": run.labels.words(index),
            "observation": key if key.startswith("[") else None,
            "values": run.values_at(state).tolist(),
            "best": run.best(state),
            "tries": None if tries is None else tries.tolist(),
            "picture": None if picture is None else picture.to_json(),
            "places": places,
            "map": places_of(run.labels, index),
            "suggestions": _suggestions(run) if "as_of" in parameters else {},  # else those of the run hold
        }

    def _findings(self, _: Mapping[str, str]) -> dict[str, Any]:
        """The most important findings, each with the link to its state."""
        found = self.run.findings()
        links = [
            {
                "sentence": one.sentence,
                "state": key_of(self.run, one.state),
                "action": one.action,
                "instead": None if (foil := one.parameters.get("instead")) is None else self.run.labels.action(foil),
            }
            for one in found[:MAX_FINDINGS]
        ]
        return {"findings": links, "nothing": found.nothing, "notes": found.notes, "left_out": len(found) - len(links)}

    def _describe(self, question: Question) -> dict[str, Any]:
        """The title of a question, and the parameters that a reader can set."""
        parameters = [
            {
                "name": one.name,
                "help": one.help,
                "kind": one.kind,
                "required": one.needed,
                "suggestions": list(one.suggestions(self.run)),
            }
            for one in question.parameters
            if one.on_page
        ]
        pictures = ("", *question.shows)
        return {
            "title": question.title,
            "help": question.summary,
            "parameters": parameters,
            "clickable": [name in question.clickable for name in pictures],
            "first": question is first_question(),
        }

    def _refusal(self, question: Question) -> str | None:
        """Why a question cannot be answered; None: it can."""
        unplayable = None if not is_played(self.run, question) or self._has_own_starts else self.unplayable
        return why_not(self.run, question) or unplayable

    def _answer(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        run, state = self._run_and_state(parameters)
        name = parameters.get("question", first_question().name)
        if name not in QUESTIONS:
            raise ValueError(f"there is no question {name!r}; there are {', '.join(QUESTIONS)}")
        question = QUESTIONS[name]
        action = run.labels.action(parameters["action"]) if "action" in parameters else None
        playing = {"rollouts": self.rollouts, "enter": self.enter}  # for questions that take these
        values: dict[str, Any] = {
            one: value for one, value in playing.items() if one in signature(question.ask).parameters
        }
        for key in parameters.keys() - {"question", "state", "action", "as_of"}:
            parameter = question.parameter(key)
            if parameter is None:
                takers = [f"question={one.name}" for one in QUESTIONS.values() if one.parameter(key)]
                raise ValueError(
                    f"{key}= is for {' or '.join(takers)}, not for {name}: ask one of these, or leave it out"
                )
            values[key] = _parse(parameter, parameters[key], run)
        why = question.ask(run, state, action, **values)
        tries = run.tries_at(state)
        untried = tries is not None and bool((tries[list(why.actions)] == 0).any())
        return build_answer(why, untried=untried)

    def _episodes(self, _: Mapping[str, str]) -> dict[str, Any]:
        if self.unplayable is not None:
            return {
                "episodes": new_episodes(self.episodes) if self._has_own_starts else latest(self.run, self.episodes)
            }
        choices, times = [], Counter[str]()
        for key in self.playable:  # an agent that acts on observations may begin twice in one cell
            words = title_of(self.run, key)
            times[words] += 1
            again = f" ({times[words]})" if times[words] > 1 else ""
            choices.append({"key": f"greedy:{key}", "title": words + again})
        return {"episodes": choices}

    def _episode(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        kind, _, key = parameters.get("key", "").partition(":")
        if kind == "greedy":
            return greedy(self._run_at(parameters), key, self.enter)
        if kind in ("past", "new") and key.isascii() and key.isdecimal():
            return past(self.run, int(key)) if kind == "past" else new(self.run, int(key))
        raise ValueError('an episode is "greedy:STATE", "past:NUMBER" or "new:SEED"')

    @cached_property
    def starts(self) -> list[str]:
        """Keys of the states that episodes begin in: the caller's, or those of the run."""
        if self._own_starts is not None:
            return self._own_starts
        try:
            return starts(self.run, self.episodes)
        except Exception:  # a third-party environment may raise anything
            return []

    @property
    def playable(self) -> list[str]:
        """Those of them that an episode can go on from."""
        return [key for key in self.starts if self._play_refusals.get(key) is None]

    def rolls_out_from(self, key: str) -> bool:
        """Whether rollouts start in a state: where it can be entered, or fresh episodes can be played until they reach it."""
        return self._has_own_starts or self._play_refusals.get(key) is None

    @property
    def unplayable(self) -> str | None:
        """Why it cannot be played; None: it can."""
        refusals = list(self._play_refusals.values())
        return None if None in refusals else refusals[0]

    @cached_property
    def _play_refusals(self) -> dict[str, str | None]:
        """Of the caller's starts, each is played; of the run's own, the first."""
        checked = (self.starts if self._own_starts else self.starts[:1]) or ["0"]
        return {key: self._play_refusal(key) for key in checked}

    def _play_refusal(self, key: str) -> str | None:
        """Why nothing can be played from a state; None: it can."""
        try:
            self.run.episode(state_in(self.run, key), enter=self.enter)
        except ValueError as error:
            return str(error)
        except Exception as error:  # a third-party environment
            return f"its environment failed: {type(error).__name__}: {error}"
        return None

    @cached_property
    def _has_own_starts(self) -> bool:
        """Whether it can be played from its environment's own starts, where it cannot be put into a state and has no past."""
        try:
            return self.run.ledger is None and bool(self.run.episode(None).steps)
        except Exception:  # it cannot be created, or fails
            return False

    # -- the parts -------------------------------------------------------------------------

    def _run_and_state(self, parameters: Mapping[str, str]) -> tuple[Run, Any]:
        if "state" not in parameters:
            raise ValueError(f"state= is missing: an index, or words such as {self.run.labels.words(0)!r}")
        return self._run_at(parameters), state_in(self.run, parameters["state"])

    def _run_at(self, parameters: Mapping[str, str]) -> Run:
        """The run as it is, or as it was."""
        text = parameters.get("as_of")
        if text is None:
            return self.run
        episodes = _whole_number("as_of", text)
        return self._earlier.get_or_add(episodes, lambda: self.run.as_of(episodes))


def build_answer(why: Explanation, *, untried: bool) -> dict[str, Any]:
    """An explanation with its pictures and its badge."""
    pictures = [layout_of(why), *(layout_of(why, show=show) for show in question_of(why).shows)]
    badge = Badge("unknown", "no experience", "it was never updated") if untried else why.badge()
    return {
        **why.page(),
        "pictures": [one.to_json() for one in pictures],
        "badge": None if badge is None else badge._asdict(),
    }


def _suggestions(run: Run) -> dict[str, list[str]]:
    """Suggested parameters by "question.parameter"; those of an earlier time are its own."""
    return {
        f"{name}.{one.name}": list(one.suggestions(run))
        for name, question in QUESTIONS.items()
        for one in question.parameters
    }


def _parameter_names() -> list[str]:
    """The names of the parameters of all questions."""
    return list(dict.fromkeys(one.name for question in QUESTIONS.values() for one in question.parameters))


def _parse(parameter: Parameter, text: str, run: Run) -> Any:
    """The value of a parameter in a request."""
    if parameter.kind == "action":
        return run.labels.action(text)
    if parameter.kind == "number":
        return _whole_number(parameter.name, text)
    return text


def _whole_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name} is a whole number, not {text[:40]!r}: write {name}=100, for example")
    return int(text)


def _curve(run: Run) -> dict[str, list[float]] | None:
    """Mean returns along training."""
    returns = run.history.returns
    if len(returns) < 2:
        return None
    edges = np.unique(np.linspace(0, len(returns), min(CURVE, len(returns)) + 1).astype(int))
    means = np.add.reduceat(returns, edges[:-1]) / np.diff(edges)
    return {"episodes": edges[1:].tolist(), "returns": means.tolist()}
