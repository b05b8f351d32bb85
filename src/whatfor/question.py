"""Question: one object per question, defined beside its answer, that Run, command line, page, report and docs all use."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Required,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
    get_type_hints,
)

from whatfor.beliefs.protocol import CAPABILITIES, Beliefs
from whatfor.checks import whole
from whatfor.explanation import Caveats, Explanation
from whatfor.layouts.shapes import Layout

if TYPE_CHECKING:
    from whatfor.runs import Run

#: What a question may need from a run:
#: "beliefs"      beliefs of any source: a ledger, or those of ``Run(beliefs=...)``
#: "endings"      beliefs about how episodes end
#: "depths", "arrivals", "payments"  beliefs of any source that can tell these, as ``whatfor.beliefs.protocol`` describes
#: "updates"      the ledger of updates
#: "two actions"  at least two actions
#: "play"         the environment
Need = Literal["beliefs", "endings", "depths", "arrivals", "payments", "updates", "two actions", "play"]
#: What a parameter may be: a whole number, text, or an action by name or index.
Kind = Literal["number", "words", "action"]

State = Any  # an index, an observation, or words
Action = int | str

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer", bound=Explanation)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a question besides state and action, for the command line and the page."""

    name: str  # the argument of the method
    help: str  # follows "For timeline: " in help texts
    kind: Kind = "words"
    flag: str = ""  # its name on the command line, if different
    selects: bool = False  # whether giving its flag selects the question
    on_page: bool = True  # whether pages offer it
    or_run: bool = False  # whether another run will do: on the command line, its folder
    needed: bool = False
    example: str = ""
    #: Values for a run that a page suggests and a report contains.
    suggestions: Callable[[Run], Sequence[str]] = lambda _: ()

    @property
    def full_help(self) -> str:
        """The help text of Python and the command line; the page cannot open another run."""
        return self.help + ", or with the run in another folder" * self.or_run

    def example_for(self, run: Run) -> str:
        """A value for a run, as its page suggests it, or the example."""
        return next(iter(self.suggestions(run)), self.example)

    def as_argument(self, run: Run) -> str:
        """Its help and an example for Python, where a number is no text and a run no folder."""
        example: int | str = int(self.example_for(run)) if self.kind == "number" else self.example_for(run)
        return f"{self.name}=: {self.help}{', or with another run' * self.or_run}, e.g. {self.name}={example!r}"

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
    place: int  # pages and lists are sorted by this; the first is what pages open with and the command line asks by default
    needs: frozenset[Need] = frozenset()
    parameters: tuple[Parameter, ...] = ()
    clickable: tuple[str, ...] = ()  # which pictures are a ``map_of`` the state; "": the first, else one of ``shows``
    every_action: bool = False  # whether a report answers it for every action, or only for the best and the one taken

    @property
    def pictures(self) -> tuple[str, ...]:
        """The values of ``show=`` that its layout takes; empty if it has only one picture."""
        return get_args(get_type_hints(self.layout).get("show"))

    @property
    def shows(self) -> tuple[str, ...]:
        """Its further pictures: those that the layout does not show by default."""
        return tuple(one for one in self.pictures if one != inspect.signature(self.layout).parameters["show"].default)

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.ask) or "").partition("\n")[0]

    def parameter(self, name: str) -> Parameter | None:
        """A parameter by name, or None."""
        return next((one for one in self.parameters if one.name == name), None)


#: All questions, by name.
QUESTIONS: dict[str, Question] = {}


class Listing(TypedDict, total=False):
    """Arguments of ``question`` about pages and reports, as ``Question`` describes them."""

    place: Required[int]
    clickable: tuple[str, ...]
    every_action: bool


def question(
    name: str,
    title: str,
    *,
    answer: type[_Answer],
    layout: Callable[..., Layout],
    needs: Sequence[Need] = (),
    parameters: Sequence[Parameter] = (),
    **listing: Unpack[Listing],
) -> Callable[[Callable[Concatenate[Run, _Given], _Answer]], Callable[Concatenate[Run, _Given], _Answer]]:
    """Register a function (run, state, action, ...) as a question; it raises ``ValueError`` for runs that cannot answer it."""

    def register(ask: Callable[Concatenate[Run, _Given], _Answer]) -> Callable[Concatenate[Run, _Given], _Answer]:
        @functools.wraps(ask)
        def ask_checked(run: Run, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
            one = QUESTIONS[name]
            if (why := why_not(run, one)) is not None:
                raise ValueError(f"{name} {why}")
            for parameter in one.parameters:  # as the command line and the page do
                if parameter.needed and parameter.name not in kwargs:
                    raise TypeError(f"run.{name}() needs {parameter.as_argument(run)}")
                if parameter.kind == "number" and isinstance(value := kwargs.get(parameter.name), Real):
                    whole(parameter.name, value)
            return ask(run, *args, **kwargs).under(run.origin.premise, _caveats(run, one))

        _check_listing(name, dict(listing))
        one = Question(name, title, ask_checked, answer, layout, needs=frozenset(needs), parameters=tuple(parameters), **listing)  # fmt: skip
        _check_answer(name, answer)
        _check_definition(one)
        for parameter in one.parameters:
            _check_parameter(one, parameter)
        for function in (ask, ask_checked):  # a TypeError about arguments names the inner one
            function.__name__, function.__qualname__ = name, f"Run.{name}"
        QUESTIONS[name] = one
        for one in sorted(QUESTIONS.values(), key=lambda one: one.place):  # keep the dictionary sorted
            QUESTIONS[one.name] = QUESTIONS.pop(one.name)
        return ask_checked

    return register


def _check_listing(name: str, listing: dict[str, Any]) -> None:
    """Raise ``TypeError`` for arguments that ``Listing`` lacks, and without a place."""
    if unknown := listing.keys() - Listing.__annotations__.keys():
        raise TypeError(f"question {name!r}: question() has no argument {min(unknown)!r}")
    if "place" not in listing:
        last = max((one.place for one in QUESTIONS.values()), default=0)
        raise TypeError(f"question {name!r}: say where it is listed; place={last + 5} is the end")


def _check_definition(new: Question) -> None:
    """Raise ``ValueError`` if a question is like another one, or does not say what it must."""
    if unknown := new.needs.difference(get_args(Need)):
        raise ValueError(
            f"question {new.name!r} needs {min(unknown)!r}; a question may need {', '.join(map(repr, get_args(Need)))}"
        )
    if not new.summary:
        raise ValueError(f"question {new.name!r}: its function needs a docstring; the first line is its help text")
    if missing := {*new.clickable}.difference(("", *new.shows)):
        raise ValueError(
            f"question {new.name!r}: clickable names {min(missing)!r}; its pictures are {', '.join(map(repr, ('', *new.shows)))}"
        )
    for one in QUESTIONS.values():
        if one.name == new.name:
            if one.ask.__module__ != new.ask.__module__:  # else its module is loaded again
                raise ValueError(
                    f"there is a question {one.name!r} already, in {one.ask.__module__}: choose another name"
                )
        elif one.title == new.title:
            raise ValueError(f"question {new.name!r} has the title of {one.name!r}, {one.title!r}: choose another one")
        elif one.place == new.place:
            raise ValueError(f"question {new.name!r} has the place of {one.name!r}, {one.place}: choose another number")


def _check_parameter(question: Question, parameter: Parameter) -> None:
    """Raise ``TypeError`` or ``ValueError`` if the command line or the page could not offer a parameter."""
    where = f"parameter {parameter.name!r} of question {question.name!r}"
    taken = list(inspect.signature(question.ask).parameters.values())[3:]  # without run, state and action
    argument = next((one for one in taken if one.name == parameter.name), None)
    if argument is None or argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
        raise TypeError(
            f"{where}: its function has no keyword argument {parameter.name}; add it after state and action"
        )
    if parameter.kind not in get_args(Kind):
        raise ValueError(f"{where} is of kind {parameter.kind!r}; write one of {', '.join(map(repr, get_args(Kind)))}")
    default = argument.default
    if parameter.kind == "number" and default not in (argument.empty, None) and type(default) is not int:
        raise TypeError(
            f"{where}: its default is {default!r}; a number is a whole number (give a share in percent), or None"
        )
    if not re.fullmatch(r"[a-z].*[^.]", parameter.help):
        raise ValueError(f"{where}: its help follows a colon, so write it without a capital and a full stop: {parameter.help!r}")  # fmt: skip
    if parameter.needed and not parameter.example:
        raise ValueError(f"{where} is needed: give an example, for the message when it is missing")


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


def _caveats(run: Run, one: Question) -> Caveats | None:
    """What to know of the source that a question needs; None: it needs none."""
    if "updates" in one.needs:
        return run.audit.caveats
    return source_of(run, *one.needs).caveats if one.needs & {"beliefs", *CAPABILITIES} else None


def first_question() -> Question:
    """The question that comes before all others: what pages open with, and what the command line asks by default."""
    return next(iter(QUESTIONS.values()))


def why_not(run: Run, one: Question) -> str | None:
    """Why a run cannot answer a question, and what to do; None: it can, as far as is known without playing."""
    if "two actions" in one.needs and run.labels.n_actions < 2:
        return "needs two actions: there is only one action, so there is nothing to compare it with"
    return no_ledger_reason(run) if _lacks_ledger(run, one) else source_of(run, *one.needs).why_not(one.needs)


def is_played(run: Run, one: Question) -> bool:
    """Whether a question is about play, or is answered by playing the policy of a run in place of its beliefs."""
    return "play" in one.needs or (run.ledger is None and not _covers(run, one.needs))


def _lacks_ledger(run: Run, one: Question) -> bool:
    """Whether a question needs a ledger, and there is none."""
    return run.ledger is None and "updates" in one.needs


def source_of(run: Run, *needs: str) -> Beliefs:
    """The source that answers a question with these needs.

    It is the run's beliefs or, if they cannot answer, the audit of its ledger or, without one, what playing its policy leads to.
    """
    if _covers(run, needs):
        return run.beliefs
    return run.playing.policy_beliefs if run.ledger is None else run.audit


def _covers(run: Run, needs: Collection[str]) -> bool:
    """Whether the beliefs of a run can answer; endings are theirs alone."""
    return run.beliefs.covers({*needs} - {"endings"})


def no_ledger_reason(run: Run) -> str:
    """Why a run without a ledger cannot answer, and what to do."""
    able = [one.name for one in QUESTIONS.values() if not _lacks_ledger(run, one) and _is_answered(run, one)]
    return (
        f"needs the ledger, and this run has none: {run.trust.ledger_advice()}. "
        f"Without it, this run can answer {', '.join(able) or 'nothing'}"
    )


def _is_answered(run: Run, one: Question) -> bool:
    """Whether a run answers a question as it is, without another environment."""
    return why_not(run, one) is None and not ("play" in one.needs and run.playing.no_future() is not None)


def question_of(explanation: Explanation) -> Question:
    """The question that an explanation answers."""
    for one in QUESTIONS.values():
        if isinstance(explanation, one.answer):
            return one
    raise TypeError(
        f"{type(explanation).__name__} is not the answer to a question; the questions are {', '.join(QUESTIONS)}"
    )


def layout_of(explanation: Explanation, *, axes: Sequence[int | str] = (), **options: Any) -> Layout:
    """The layout of an explanation.

    ``axes``: the names or indices of those that are drawn, where states are points of a continuous space.

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
    return which.layout(_over(explanation, axes) if axes else explanation, **options)


def _over(explanation: Explanation, axes: Sequence[int | str]) -> Explanation:
    """The same answer, whose states have a position on these axes only."""
    points = explanation.labels.points
    if points is None:
        raise ValueError("axes= is for states that are points of a continuous space, as over wf.deep.Anchors(1024): leave it out")  # fmt: skip
    other = copy.copy(explanation)
    object.__setattr__(other, "labels", replace(explanation.labels, points=points.over(axes)))  # answers are frozen
    return other
