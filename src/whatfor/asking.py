"""The flags of all questions, read off the list of questions; and the answer to what they ask."""

from __future__ import annotations

from dataclasses import field, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, get_args, get_type_hints

import tyro

import whatfor.explanations  # noqa: F401 - fills the list of questions
from whatfor.question import QUESTIONS, Parameter, Question

if TYPE_CHECKING:
    from whatfor.explanation import Explanation
    from whatfor.runs import Run


@cache
def shared_flags() -> dict[str, list[tuple[Question, Parameter]]]:
    """By flag, the questions that take it."""
    found: dict[str, list[tuple[Question, Parameter]]] = {}
    for question in QUESTIONS.values():
        for parameter in question.parameters:
            found.setdefault(parameter.shell, []).append((question, parameter))
    return found


def asked_type(*, drawn: bool = False) -> Any:
    """The flags of all questions, as a type that the command line is made of; ``drawn``: also which picture."""
    fields: list[Any] = [
        ("state", _flag(str, "The state: in words, as numbers in brackets, or as an index.")),
        _optional("action", str, "The action, by name or number; by default the best."),
        _optional("question", Literal[tuple(QUESTIONS)], "What to ask; by default the intention."),
    ]
    for flag, takers in shared_flags().items():
        names = " or ".join(question.name for question, _ in takers)
        first = takers[0][1]
        says = f"{'Asks for' if first.selects else 'Of'} a {names}: {first.help}."
        fields.append(_optional(flag, int if first.kind == "number" else str, says))
    if drawn:
        options = {name: shown for name, question in QUESTIONS.items() if (shown := _shows(question))}
        every = tuple(dict.fromkeys(one for shown in options.values() for one in shown))
        says = "; ".join(f"of a {name}, {', '.join(shown)}" for name, shown in options.items())
        fields.append(_optional("show", Literal[every], f"Which picture: {says}."))
    fields.append(_optional("as_of", int, "Ask it as it was after so many episodes."))
    return Annotated[make_dataclass("Asked", fields, frozen=True), tyro.conf.arg(name="")]


def _shows(question: Question) -> tuple[str, ...]:
    hints = get_type_hints(question.layout)
    return get_args(hints["show"]) if "show" in hints else ()


def _flag(kind: Any, says: str) -> Any:
    return Annotated[kind, tyro.conf.arg(help=says)]


def _optional(name: str, kind: Any, says: str) -> tuple[str, Any, Any]:
    return name, _flag(kind | None if isinstance(kind, type) else Optional[kind], says), field(default=None)  # noqa: UP045


def ask(run: Run, asked: Any) -> Explanation:
    """The answer to a question; a flag that belongs to one question need not name it."""
    flags = shared_flags()
    given = {flag: value for flag in flags if (value := getattr(asked, flag)) is not None}
    implied = {question.name: flag for flag in given for question, one in flags[flag] if one.selects}
    if len(implied) > 1:
        one, other = list(implied.values())[:2]
        raise ValueError(f"--{one} and --{other} are two questions; ask one at a time")
    for name, flag in implied.items():
        if asked.question not in (None, name):
            raise ValueError(f"--{flag} asks for a {name}; it does not go with --question {asked.question}")
    question = QUESTIONS[next(iter(implied), asked.question or "intention")]
    parameters: dict[str, Any] = {}
    for flag, value in given.items():
        takers = {taker.name: (taker, parameter) for taker, parameter in flags[flag]}
        if question.name not in takers:
            taker, _ = next(iter(takers.values()))
            if len(takers) == 1 and (first := next((one for one in taker.parameters if one.needed), None)):
                raise ValueError(f"--{flag} needs {_wanted(first)}")
            raise ValueError(f"--{flag} is for --question {' or '.join(takers)}, not for {question.name}")
        parameters[takers[question.name][1].name] = value
    for parameter in question.parameters:
        if parameter.needed and parameter.name not in parameters:
            raise ValueError(f"--question {question.name} needs {_wanted(parameter)}")
    return question.ask(run, asked.state, asked.action, **parameters)


def _wanted(parameter: Parameter) -> str:
    """A flag that is missing, and what to say with it."""
    example = f'"{parameter.example}"' if " " in parameter.example else parameter.example
    return f"--{parameter.shell}: {parameter.help}, e.g. --{parameter.shell} {example}"


def only_a_state(asked: Any) -> bool:
    """Whether nothing is asked about but the intentions in a state."""
    given = (value for name, value in vars(asked).items() if name not in ("state", "question", "as_of"))
    return asked.question in (None, "intention") and all(value is None for value in given)
