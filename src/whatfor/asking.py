"""The command-line flags of all questions, built from their definitions, and the answer that given flags select."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, make_dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Optional

import tyro

import whatfor.explanations  # noqa: F401 - registers the questions
from whatfor.question import QUESTIONS, Parameter, Question, first_question, question_of
from whatfor.text import count

if TYPE_CHECKING:
    from whatfor.explanation import Explanation
    from whatfor.explanations import Findings
    from whatfor.runs import Run


@cache
def shared_flags() -> dict[str, list[tuple[Question, Parameter]]]:
    """For each flag, the questions that take it."""
    takers: dict[str, list[tuple[Question, Parameter]]] = {}
    for question in QUESTIONS.values():
        for parameter in question.parameters:
            takers.setdefault(parameter.shell, []).append((question, parameter))
    return takers


def flags_type(*, drawn: bool = False) -> Any:
    """A dataclass of the flags of all questions, for tyro; with ``drawn``, also the flag that selects a picture."""
    state = "The state: in words, as numbers in brackets, or as an index"
    fields: list[Any] = [
        ("state", _flag(str, f"{state}.", metavar="STATE"))
        if drawn
        else _optional("state", str, f"{state}; without it, the states worth asking about are listed.", "STATE"),
        _optional("action", str, "The action, by name or number; by default the best.", "ACTION"),
        _choice("question", QUESTIONS, f"The question; by default {first_question().name}."),
    ]
    for flag, takers in shared_flags().items():
        names = " or ".join(question.name for question, _ in takers)
        first = takers[0][1]
        help = f"{'Selects the question' if first.selects else 'For'} {names}: {first.full_help}."
        metavar = "INT|RUN" if first.or_run else {"number": "INT", "action": "ACTION", "words": "TEXT"}[first.kind]
        kind = int if first.kind == "number" and not first.or_run else str
        fields.append(_optional(flag, kind, help, metavar))
    if drawn:
        options = {name: pictures for name, question in QUESTIONS.items() if (pictures := question.pictures)}
        every = dict.fromkeys(one for pictures in options.values() for one in pictures)
        help = "; ".join(f"for {name}: {', '.join(pictures)}" for name, pictures in options.items())
        fields.append(_choice("show", every, f"Which picture; {help}."))
    fields.append(_optional("as_of", int, "Ask the agent as it was after this many episodes."))
    return Annotated[make_dataclass("Flags", fields, frozen=True), tyro.conf.arg(name="")]


def check_show(explanation: Explanation, show: str) -> None:
    """Raise ``ValueError`` if an answer does not have the picture that --show selects."""
    question = question_of(explanation)
    if show and show not in (pictures := question.pictures):
        raise ValueError(
            f"--show {show} is not for --question {question.name}"
            + (f"; its pictures are {', '.join(pictures)}" if pictures else ", which has only one picture")
        )


def _flag(kind: Any, help: str, **more: Any) -> Any:
    return Annotated[kind, tyro.conf.arg(help=help, **more)]


def _optional(name: str, kind: Any, help: str, metavar: str = "INT") -> tuple[str, Any, Any]:
    return name, _flag(Optional[kind], help, metavar=metavar, help_behavior_hint=""), field(default=None)  # noqa: UP045


def _choice(name: str, choices: Iterable[str], help: str) -> tuple[str, Any, Any]:
    """An optional flag with these choices; not an optional Literal, of which tyro makes "None" a choice."""
    return name, _flag(str, help, metavar=f"{{{','.join(choices)}}}", help_behavior_hint=""), field(default="")


def answer(run: Run, flags: Any, *, open_run: Callable[[str], Run]) -> Explanation:
    """The answer to the question that the flags select; some flags select their question without --question."""
    takers_of = shared_flags()
    values = {flag: value for flag in takers_of if (value := getattr(flags, flag)) is not None}
    if flags.question and flags.question not in QUESTIONS:
        close = get_close_matches(flags.question, QUESTIONS, n=1)
        raise ValueError(
            f"there is no question {flags.question!r}; the questions are {', '.join(QUESTIONS)}."
            + (f" Did you mean {close[0]!r}?" if close else "")
        )
    implied = {question.name: flag for flag in values for question, one in takers_of[flag] if one.selects}
    if len(implied) > 1:
        one, other = list(implied.values())[:2]
        raise ValueError(f"--{one} and --{other} select different questions; give one of them")
    for name, flag in implied.items():
        if flags.question not in ("", name, *(taker.name for taker, _ in takers_of[flag])):
            raise ValueError(
                f"--{flag} selects the question {name}; it cannot be combined with --question {flags.question}"
            )
    question = QUESTIONS[flags.question or next(iter(implied), first_question().name)]
    parameters: dict[str, Any] = {}
    for flag, value in values.items():
        takers = {taker.name: (taker, parameter) for taker, parameter in takers_of[flag]}
        if question.name not in takers:
            taker, _ = next(iter(takers.values()))
            if len(takers) == 1 and (first := next((one for one in taker.parameters if one.needed), None)):
                raise ValueError(f"--{flag} needs {_missing_flag(first, run)}")
            raise ValueError(f"--{flag} is for --question {' or '.join(takers)}, not for {question.name}")
        parameter = takers[question.name][1]
        parameters[parameter.name] = _time_or_run(flag, value, run, open_run) if parameter.or_run else value
    for parameter in question.parameters:
        if parameter.needed and parameter.name not in parameters:
            raise ValueError(f"--question {question.name} needs {_missing_flag(parameter, run)}")
    return question.ask(run, flags.state, flags.action, **parameters)


def findings(run: Run, flags: Any, *, open_run: Callable[[str], Run]) -> Findings:
    """Where to look, for flags without a state."""
    given = [name for name, value in vars(flags).items() if value not in (None, "") and name not in ("since", "as_of")]
    if given:
        raise ValueError(
            f"--{given[0].replace('_', '-')} needs --state, the state that is asked about. {run.labels.example()}"
        )
    return run.findings(since=None if flags.since is None else _time_or_run("since", flags.since, run, open_run))


def _time_or_run(flag: str, text: str, run: Run, open_run: Callable[[str], Run]) -> int | Run:
    """A number of episodes of this run, or the run in another folder."""
    if not text.removeprefix("-").isdecimal():
        return open_run(text)
    check_time(flag, int(text), run)
    return int(text)


def check_time(flag: str, episodes: int | None, run: Run) -> None:
    """Raise ``ValueError`` if a flag names a time after the end of training."""
    if episodes is not None and run.ledger is not None and episodes > run.ledger.n_episodes:
        last = run.ledger.n_episodes
        raise ValueError(f"--{flag} is {episodes:,}; the run has {count(last, 'episode')}: give 0 to {last:,}")


def _missing_flag(parameter: Parameter, run: Run) -> str:
    """A missing flag, its help and an example, of this run if it has one."""
    example = parameter.example_for(run)
    example = f'"{example}"' if " " in example else example
    return f"--{parameter.shell}: {parameter.full_help}, e.g. --{parameter.shell} {example}"


def is_plain_intention(flags: Any) -> bool:
    """Whether the flags ask for the intention in a state and nothing else."""
    given = (value for name, value in vars(flags).items() if name not in ("state", "question", "as_of"))
    return flags.question in ("", first_question().name) and not any(value not in (None, "") for value in given)
