"""Question: what can be asked of a run. One object, in the file of its answer, that Run, shell, page, report and docs read."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, get_args, get_type_hints

from whatfor.explanation import Explanation
from whatfor.layouts.shapes import Layout

if TYPE_CHECKING:
    from whatfor.runs import Run

#: What a question may need of a run:
#: "endings"      beliefs that tell how episodes end
#: "updates"      the ledger: which updates a value is made of
#: "two actions"  something to choose between
#: "play"         its environment, to play in
Need = Literal["endings", "updates", "two actions", "play"]

State = Any  # an index, an observation, or words
Action = int | str

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer", bound=Explanation)


@dataclass(frozen=True)
class Parameter:
    """What one question takes besides a state and an action, as shell and page offer it."""

    name: str  # as the method calls it
    help: str  # for help texts, after "Of a timeline: "
    kind: Literal["number", "words", "action"] = "words"
    flag: str = ""  # its name in the shell, if that is another
    selects: bool = False  # whether giving it asks this question
    needed: bool = False
    example: str = ""
    #: Of a run, what a page offers and a report holds.
    suggestions: Callable[[Run], Sequence[str]] = lambda _: ()

    @property
    def shell(self) -> str:
        """Its flag, without the dashes."""
        return self.flag or self.name


@dataclass(frozen=True)
class Question:
    """A question: how it is called, what it needs and takes, and how its answer is made and laid out."""

    name: str  # "timeline": the method of a run, and the word in the shell
    title: str  # what a page calls it: "when it expects what"
    ask: Callable[..., Explanation]  # (run, state, action, **parameters)
    answer: type[Explanation]
    layout: Callable[..., Layout]
    needs: frozenset[Need] = frozenset()
    parameters: tuple[Parameter, ...] = ()
    shows: tuple[str, ...] = ()  # its pictures besides the first, by what ``layout`` is told
    every_action: bool = False  # whether a report holds it for every action, or for the best and the one taken
    place: int = 50  # pages and lists have it after those with a smaller one

    @property
    def summary(self) -> str:
        """What it tells, in one line: the first of its documentation."""
        return (inspect.getdoc(self.ask) or self.title).splitlines()[0]

    def parameter(self, name: str) -> Parameter | None:
        """A parameter by its name; None: it has no such."""
        return next((one for one in self.parameters if one.name == name), None)


#: All that can be asked, by name.
QUESTIONS: dict[str, Question] = {}


def question(
    name: str, title: str, *, answer: type[_Answer], needs: Sequence[Need] = (), **more: Any
) -> Callable[[Callable[Concatenate[Run, _Given], _Answer]], Callable[Concatenate[Run, _Given], _Answer]]:
    """Put a function (run, state, action, ...) on the list of questions, and let it be asked only where it can be answered."""

    def registered(ask: Callable[Concatenate[Run, _Given], _Answer]) -> Callable[Concatenate[Run, _Given], _Answer]:
        @functools.wraps(ask)
        def asked(run: Run, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
            if (why := why_not(run, QUESTIONS[name])) is not None:
                raise ValueError(f"{name} {why}")
            return ask(run, *args, **kwargs)

        asked.__name__, asked.__qualname__ = name, f"Run.{name}"
        made = Question(name, title, asked, answer, needs=frozenset(needs), **more)
        QUESTIONS[name] = made
        for at in sorted(QUESTIONS.values(), key=lambda one: one.place):  # keep the list in its order
            QUESTIONS[at.name] = QUESTIONS.pop(at.name)
        return asked

    return registered


def why_not(run: Run, asked: Question) -> str | None:
    """Why a run cannot answer a question, and what to do; None: it can, as far as can be told without playing."""
    if "two actions" in asked.needs and run.labels.n_actions < 2:
        return "needs two actions: there is only one action, so there is nothing to compare it with"
    missing = ("updates" in asked.needs and run.ledger is None) or (
        "endings" in asked.needs and run.ledger is None and "endings" not in run.beliefs.can
    )
    return no_ledger_reason(run) if missing else None


def no_ledger_reason(run: Run) -> str:
    """What is said where a run has no ledger."""
    if run.agent is None:
        return "needs the ledger, and this run has none: train with record=True, or pass ledger= to Run"
    able = [one.name for one in QUESTIONS.values() if "updates" not in one.needs]
    return f"needs the ledger of a tabular run; a network keeps none: it can be asked for {', '.join(able)}"


def question_of(explanation: Explanation) -> Question:
    """The question that an explanation answers."""
    for one in QUESTIONS.values():
        if isinstance(explanation, one.answer):
            return one
    raise TypeError(f"{type(explanation).__name__} answers no question; the questions are {', '.join(QUESTIONS)}")


def layout_of(explanation: Explanation, **options: Any) -> Layout:
    """What a picture of an explanation shows.

    Maps take ``facets="here"`` as ``map_of`` does. Contrasts and changes take ``show="parts"`` for one signed map of what
    each place adds to the gap, instead of five maps of visits; comparisons ``show="difference"`` or ``show="endings"``.
    """
    asked = question_of(explanation)
    known = get_type_hints(asked.layout)
    for option, value in options.items():
        if option not in known:
            raise ValueError(f"{option}= is not for the layout of {asked.name}")
        if value not in get_args(known[option]):
            raise ValueError(
                f"{option}={value!r}: the layout of {asked.name} takes {', '.join(get_args(known[option]))}"
            )
    return asked.layout(explanation, **options)
