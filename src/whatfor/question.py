"""Question: one object per question, defined beside its answer, that Run, command line, page, report and docs all use."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, get_args, get_type_hints

from whatfor.explanation import Explanation
from whatfor.layouts.shapes import Layout

if TYPE_CHECKING:
    from whatfor.runs import Run

#: What a question may need from a run:
#: "beliefs"      beliefs of any source: a ledger, or those of ``Run(beliefs=...)``
#: "endings"      beliefs about how episodes end
#: "updates"      the ledger of updates
#: "two actions"  at least two actions
#: "play"         the environment
Need = Literal["beliefs", "endings", "updates", "two actions", "play"]

State = Any  # an index, an observation, or words
Action = int | str

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer", bound=Explanation)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a question besides state and action, for the command line and the page."""

    name: str  # the argument of the method
    help: str  # follows "For timeline: " in help texts
    kind: Literal["number", "words", "action"] = "words"
    flag: str = ""  # its name on the command line, if different
    selects: bool = False  # whether giving its flag selects the question
    needed: bool = False
    example: str = ""
    takes_run: bool = False  # whether it takes another run too: on the command line, the folder of one
    #: Values for a run that a page suggests and a report contains.
    suggestions: Callable[[Run], Sequence[str]] = lambda _: ()

    @property
    def shell(self) -> str:
        """Its flag, without the dashes."""
        return self.flag or self.name


@dataclass(frozen=True)
class Question:
    """A question: its names, needs and parameters, and how it is answered and laid out."""

    name: str  # of the method and on the command line: "timeline"
    title: str  # on the page: "when it expects what"
    ask: Callable[..., Explanation]  # (run, state, action, **parameters)
    answer: type[Explanation]
    layout: Callable[..., Layout]
    needs: frozenset[Need] = frozenset()
    parameters: tuple[Parameter, ...] = ()
    shows: tuple[str, ...] = ()  # its further pictures: the values of ``show=`` that ``layout`` takes
    clickable: tuple[
        str, ...
    ] = ()  # which pictures are a ``map_of`` the state, whose cells lead to other states; "": the first
    first: bool = False  # what pages open with, and what the command line asks by default
    every_action: bool = False  # whether a report answers it for every action, or only for the best and the one taken
    place: int = 50  # pages and lists are sorted by this

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.ask) or self.title).splitlines()[0]

    def parameter(self, name: str) -> Parameter | None:
        """A parameter by name, or None."""
        return next((one for one in self.parameters if one.name == name), None)


#: All questions, by name.
QUESTIONS: dict[str, Question] = {}


def question(
    name: str, title: str, *, answer: type[_Answer], needs: Sequence[Need] = (), **more: Any
) -> Callable[[Callable[Concatenate[Run, _Given], _Answer]], Callable[Concatenate[Run, _Given], _Answer]]:
    """Register a function (run, state, action, ...) as a question; it raises ``ValueError`` for runs that cannot answer it."""

    def register(ask: Callable[Concatenate[Run, _Given], _Answer]) -> Callable[Concatenate[Run, _Given], _Answer]:
        @functools.wraps(ask)
        def ask_checked(run: Run, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
            if (why := why_not(run, QUESTIONS[name])) is not None:
                raise ValueError(f"{name} {why}")
            return ask(run, *args, **kwargs).under(run.origin.premise)

        for function in (ask, ask_checked):  # a TypeError about arguments names the inner one
            function.__name__, function.__qualname__ = name, f"Run.{name}"
        _check_answer(name, answer)
        QUESTIONS[name] = Question(name, title, ask_checked, answer, needs=frozenset(needs), **more)
        for one in sorted(QUESTIONS.values(), key=lambda one: one.place):  # keep the dictionary sorted
            QUESTIONS[one.name] = QUESTIONS.pop(one.name)
        return ask_checked

    return register


def _check_answer(name: str, answer: type[Explanation]) -> None:
    """Raise ``TypeError`` unless an answer has what pages and reports read from it."""
    known: set[str] = {field.name for field in fields(answer)} if is_dataclass(answer) else set()
    missing = [
        one for one in ("labels", "state", "action", "residual") if one not in known and not hasattr(answer, one)
    ]
    if "action" in missing and answer.actions is not Explanation.actions:
        missing.remove("action")  # an answer about several actions
    if missing:
        raise TypeError(f"the answer to {name}, {answer.__name__}, has no {missing[0]}: add it to its fields")


def first_question() -> Question:
    """The question that comes before all others."""
    return next(one for one in QUESTIONS.values() if one.first)


def why_not(run: Run, one: Question) -> str | None:
    """Why a run cannot answer a question, and what to do; None: it can, as far as is known without playing."""
    if "two actions" in one.needs and run.labels.n_actions < 2:
        return "needs two actions: there is only one action, so there is nothing to compare it with"
    if run.ledger is None and (
        "updates" in one.needs or (one.needs & {"beliefs", "endings"} and run.playing.beliefs is None)
    ):
        return no_ledger_reason(run)
    if "endings" in one.needs and "endings" not in run.beliefs.can:
        source = type(run.beliefs).__name__
        return f"needs beliefs that know how episodes end, and {source} does not: ask a run with a ledger, or without {source}"
    return None


def no_ledger_reason(run: Run) -> str:
    """Why a run without a ledger cannot answer, and what to do."""
    if run.agent is None:
        return "needs the ledger, and this run has none: train in Python with record=True, or pass ledger= to Run (the shell always records)"
    able = [one.name for one in QUESTIONS.values() if "updates" not in one.needs and one.parameter("since") is None]
    return f"needs the ledger of a tabular run, and a network has none; it can answer {', '.join(able)}"


def question_of(explanation: Explanation) -> Question:
    """The question that an explanation answers."""
    for one in QUESTIONS.values():
        if isinstance(explanation, one.answer):
            return one
    raise TypeError(
        f"{type(explanation).__name__} is not the answer to a question; the questions are {', '.join(QUESTIONS)}"
    )


def layout_of(explanation: Explanation, **options: Any) -> Layout:
    """The layout of an explanation.

    Maps take ``facets="here"``, as ``map_of`` does. Contrasts and changes take ``show="parts"`` for one signed map of what
    each state-action pair adds to the gap, instead of five maps of visits. Comparisons take ``show="difference"`` or
    ``show="endings"``.
    """
    which = question_of(explanation)
    known = get_type_hints(which.layout)
    for option, value in options.items():
        if option not in known:
            raise ValueError(f"{which.name} has only one picture: leave out {option}=")
        if value not in get_args(known[option]):
            raise ValueError(
                f"{option}={value!r}: the layout of {which.name} takes {', '.join(get_args(known[option]))}"
            )
    return which.layout(explanation, **options)
