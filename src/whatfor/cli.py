"""Ask a reinforcement-learning agent what its actions are for.

whatfor COMMAND --help lists the flags of a command; whatfor --version prints the version.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from whatfor.flags import (
    concepts_in,
    environment_in,
    environment_of,
    exploration_in,
    reward_parts_in,
    step_size_in,
)
from whatfor.paper_command import paper
from whatfor.signals import exit_once, handling_signals, interruptible
from whatfor.terminal import print_safely, progress_bar, run_command
from whatfor.text import count, file_name

if TYPE_CHECKING:
    from whatfor.runs import Run

RunFolder = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
OutFile = Annotated[str, tyro.conf.arg(metavar="FILE")]
CELLS_HELP = (
    "For the run of a deep agent with concepts or endings of your own: the dictionary that defines them, as module:NAME, "
    "since functions are not saved with a run."
)
MODULE_HELP = "A module to import first, which registers the run's environment; or module:NAME, a class or function that creates it."
CellsFlag = Annotated[
    str | None, tyro.conf.arg(help=CELLS_HELP, metavar="MODULE:NAME", help_behavior_hint="(optional)")
]
Module = Annotated[
    str | None, tyro.conf.arg(help=MODULE_HELP, metavar="MODULE[:NAME]", help_behavior_hint="(optional)")
]
LearnerName = Literal["q-learning", "sarsa", "double-q", "monte-carlo", "lambda-returns"]


def train(
    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")],
    /,
    out: Annotated[str, tyro.conf.arg(metavar="RUN")],
    learner: LearnerName = "q-learning",
    episodes: int = 5_000,
    seed: int = 0,
    step_size: str = "0.1",
    discount: float = 0.99,
    exploration: str = "0.1",
    lambda_: Annotated[
        float | None, tyro.conf.arg(name="lambda", metavar="FLOAT", help_behavior_hint="(default: 0.9)")
    ] = None,
    bins: Annotated[tuple[int, ...], tyro.conf.arg(help_behavior_hint="(optional)")] = (),
    bounds: Annotated[tuple[float, ...], tyro.conf.arg(help_behavior_hint="(optional)")] = (),
    max_steps: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(optional)")] = None,
    time_limit: Literal["bootstrap", "terminal"] = "bootstrap",
    engine: Literal["auto", "python", "compiled"] = "auto",
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = (),
    reward_part: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=KEY")] = (),
    replace: bool = False,
) -> None:
    """Train an agent and save the run.

    Args:
        env: A Gymnasium id such as Taxi-v4, or one of the paper's environments: blackjack, cartpole, chain.
        out: The folder to save the run in.
        learner: The learning rule.
        episodes: How many episodes to play.
        seed: The same seed gives the same run.
        step_size: A number, or "visit-count".
        discount: The discount factor.
        exploration: A number, "linear(1, 0.1, 250)" or "exponential(1, 0.05, 0.9999)".
        lambda_: λ, only with --learner lambda-returns.
        bins: For continuous observations: the number of bins of each dimension, or one number for all.
        bounds: The range of the bins: low and high of each dimension in turn. Values beyond it belong to the outermost bins.
        max_steps: The maximum number of steps in an episode; 10,000 by default where the environment has no time limit.
        time_limit: Where a time limit truncates an episode, bootstrap, or treat its last state as terminal.
        engine: The engine that steps the environment.
        option: An option of the environment, as name=value; may be given several times.
        reward_part: A part of the reward that the environment reports in info, recorded with every update: name=key, where
            reward_terms/shaping is an entry of a dictionary in info; may be given several times.
        replace: Replace the run in the folder.
    """
    from pathlib import Path

    import whatfor as wf
    from whatfor.checks import number
    from whatfor.folder import MANIFEST, check_folder
    from whatfor.pictures.files import check_writable
    from whatfor.training.places import module_of
    from whatfor.worlds.known import OWN_WORLDS

    if (Path(env) / MANIFEST).is_file():
        raise ValueError(f"{env} is a saved run; resume it in Python: wf.train(wf.load({env!r}), episodes={episodes})")
    check_folder(Path(out), replace=replace)  # before training
    check_writable(out)

    kinds: dict[str, Callable[..., Any]] = {
        "q-learning": wf.QLearning,
        "sarsa": wf.Sarsa,
        "double-q": wf.DoubleQLearning,
        "monte-carlo": wf.MonteCarlo,
        "lambda-returns": wf.LambdaReturns,
    }
    if lambda_ is not None and learner != "lambda-returns":
        raise ValueError(f"--lambda is for --learner lambda-returns, not for {learner}")
    extra = {} if lambda_ is None else {"lambda_": number("--lambda", lambda_, 0, 1)}
    agent = kinds[learner](
        step_size=step_size_in(step_size), discount=discount, exploration=exploration_in(exploration), **extra
    )
    if env in OWN_WORLDS:
        if option:
            raise ValueError(f"--option is for Gymnasium environments; {env} has no options")
        world = OWN_WORLDS[env]()
    else:
        world = environment_in(env, option)
    if len(bounds) % 2:
        raise ValueError(f"--bounds takes a low and a high for each dimension; {len(bounds)} numbers were given")
    pairs = list(zip(bounds[::2], bounds[1::2], strict=True)) or None
    try:
        run = wf.train(
            world,
            agent,
            episodes=episodes,
            seed=seed,
            bins=None if not bins else bins[0] if len(bins) == 1 else bins,
            bounds=pairs,
            max_steps=max_steps,
            time_limit=time_limit,
            engine=engine,
            reward_parts=reward_parts_in(reward_part),
        )
    except wf.TrainingStopped as stopped:
        try:
            stopped.run.settings["world"] |= module_of(env)
            stopped.run.save(out)
        except wf.FolderError as error:
            raise ValueError(f"training stopped {stopped.run.stopped}. {error}") from stopped
        raise ValueError(f"training stopped {stopped.run.stopped}. The run so far was saved to {out}") from stopped
    run.settings["world"] |= module_of(env)
    run.save(out, replace=replace)
    last = run.history.returns[-100:]
    print_safely(run)
    print_safely(f"using the {run.engine} engine ({run.settings['engine_reason']})")
    if len(last):
        print_safely(
            f"mean undiscounted return of the last {count(len(last), 'episode').removeprefix('1 ')}: {last.mean():.4g}"
        )
    print_safely(f"saved to {out}")
    if module_of(env):  # code named in the files of a run is not imported
        print_safely(f"to play its policy, as --question simulation does, add --module {module_of(env)['module']}")


def explain(run: RunFolder, /, flags: Any, cells: CellsFlag = None, module: Module = None, json: bool = False) -> None:
    """Explain an action of a saved agent: what it expects, why it prefers the action to another, or how likely an event is.

    Without --state: the states worth asking about, each with the command that shows it; with --since, those that differ.

    Args:
        run: The folder of a saved run.
        flags: The question.
        json: Print JSON instead of sentences.
    """
    from json import dumps

    from whatfor.asking import answer, findings

    opener = _opener(cells, module)
    loaded = _load(run, flags.as_of, opener)
    if flags.state is None:
        found = findings(loaded, flags, open_run=opener)
        loading = {"--as-of": flags.as_of, "--module": module, "--cells": cells}
        given = [word for flag, value in loading.items() if value is not None for word in (flag, str(value))]
        print_safely(dumps(found.to_json(), indent=2) if json else found.in_shell([run, *given], flags.since))
        return
    explanation = answer(loaded, flags, open_run=opener)
    print_safely(dumps(explanation.to_json(), indent=2) if json else explanation)


def draw(run: RunFolder, /, out: OutFile, flags: Any, cells: CellsFlag = None, module: Module = None) -> None:
    """Draw what a saved agent expects of an action, or another answer; a .gif animates a whole greedy episode.

    Args:
        run: The folder of a saved run.
        out: The file to draw into, ending in .png, .svg, .pdf or .gif.
        flags: The question.
    """
    import whatfor as wf
    from whatfor.asking import answer, check_show, is_plain_intention
    from whatfor.pictures.files import ANIMATION_SUFFIXES, PICTURE_SUFFIXES, check_path, save
    from whatfor.question import layout_of

    path = check_path(out, (*PICTURE_SUFFIXES, *ANIMATION_SUFFIXES))  # checked before the work starts
    opener = _opener(cells, module)
    loaded = _load(run, flags.as_of, opener)
    if path.suffix.lower() in ANIMATION_SUFFIXES:
        if not is_plain_intention(flags):
            raise ValueError(
                "a .gif shows the intentions along a greedy episode; leave out --action and other questions"
            )
        wf.animate([loaded.intention(*step) for step in loaded.episode(flags.state)], path)
    else:
        explanation = answer(loaded, flags, open_run=opener)
        check_show(explanation, flags.show)
        options = {"show": flags.show} if flags.show else {}
        save(wf.draw(layout_of(explanation, **options)), path)
    print_safely(f"drawn to {path}")


def report(
    run: RunFolder,
    /,
    out: OutFile,
    episodes: int = 20,
    states: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="STATE")] = (),
    budget: float = 3.0,
    cells: CellsFlag = None,
    module: Module = None,
) -> None:
    """Write an interactive page about a saved agent: one self-contained HTML file that makes no network requests.

    Args:
        run: The folder of a saved run.
        out: The file to write, ending in .html.
        episodes: How many greedy episodes to show, each from another start.
        states: A state in which to start an episode, instead of the environment's own starts; may be given several times.
        budget: The maximum size of the file in megabytes; the page lists what is left out.
    """
    from whatfor.explorer.report import SUFFIXES
    from whatfor.explorer.report import report as write
    from whatfor.pictures.files import check_path

    check_path(out, SUFFIXES)  # checked before the work starts
    loaded = _load(run, None, _opener(cells, module))
    with progress_bar("report") as on_progress:
        target = write(
            loaded,
            out,
            episodes=episodes,
            states=states,
            budget=budget,
            name=file_name(run),
            on_progress=on_progress,
        )
    print_safely(f"written to {target} ({target.stat().st_size / 1e6:.1f} MB); open it in a browser")


def explore(
    run: RunFolder,
    /,
    host: str = "127.0.0.1",
    port: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="")] = None,
    browser: bool = True,
    cells: CellsFlag = None,
    module: Module = None,
) -> None:
    """Serve a live page about a saved agent: any state, at any time in training.

    Args:
        run: The folder of a saved run.
        host: The address to listen on; by default only this machine can reach it.
        port: By default 8642, or a free one if that is taken.
        browser: Open the page in the browser.
    """
    end_once = exit_once()
    with handling_signals(end_once):
        from whatfor.explorer.server import explore as serve

        serve(_load(run, None, _opener(cells, module)), name=file_name(run), host=host, port=port, browser=browser)
        with suppress(OSError, ValueError):  # the output may be closed
            print(end="", flush=True)
        end_once()  # while the signal handlers are still installed: another Ctrl-C interrupts nothing


def _load(run: str, as_of: int | None, opener: Callable[[str], Run]) -> Run:
    loaded = opener(run)
    if as_of is None:
        return loaded
    from whatfor.asking import check_time

    check_time("as-of", as_of, loaded)
    return loaded.as_of(as_of)


def _opener(cells: str | None, module: str | None) -> Callable[[str], Run]:
    """Loads runs, with this environment, and deep ones with these concepts."""
    import whatfor as wf

    env = None if module is None else environment_of(module)
    return lambda folder: wf.load(folder, env=env, cells=None if cells is None else concepts_in(cells))


def main() -> None:
    """Run the command line."""
    run_command(_command)


def _command() -> None:
    if sys.argv[1:] == ["--version"]:
        from whatfor import __version__

        print_safely(f"whatfor {__version__}")
        return
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    completion = name.startswith("--tyro-")  # needs the parsers of all commands
    if completion or name in ("explain", "draw"):  # other commands start faster without the questions
        from whatfor.asking import flags_type

        explain.__annotations__["flags"], draw.__annotations__["flags"] = flags_type(), flags_type(drawn=True)
    commands: dict[str, Callable[..., None]] = {
        **{command.__name__: interruptible(command) for command in (train, explain, draw, report)},
        "explore": explore,  # handles signals itself
        "paper": interruptible(paper),
    }
    if name == "train":
        _check_usual_names(sys.argv[2:])
    if name in commands:  # only its own parser: tyro cannot build those of explain and draw without the questions
        tyro.cli(commands[name], prog=f"whatfor {name}", args=sys.argv[2:])
        return
    if not completion and name not in ("", "-h", "--help"):
        close = get_close_matches(name, commands, n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"there is no command {name!r}; the commands are {', '.join(commands)}.{meant}")
    tyro.extras.subcommand_cli_from_dict(commands, prog="whatfor", description=__doc__)


def _check_usual_names(arguments: list[str]) -> None:
    """Raise ``ValueError`` for a flag that has another name here, such as --gamma."""
    known = {"help", *inspect.signature(train).parameters}
    for flag in (one.partition("=")[0] for one in arguments if one.startswith("--")):
        if (name := flag[2:].replace("-", "_")) in known:
            continue
        from whatfor.learners.tabular import USUAL_NAMES  # imports the compiler, which help does without

        if (meant := USUAL_NAMES.get(name)) in known:
            raise ValueError(f"there is no flag {flag}. Did you mean --{meant.strip('_').replace('_', '-')}?")
