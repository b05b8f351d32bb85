"""The command line: whatfor train | explain | draw | report | explore | paper."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from whatfor.flags import concepts_in, environment_in, exploration_in, step_size_in
from whatfor.signals import handling_signals, interruptible
from whatfor.terminal import print_safely, progress_bar, run_command
from whatfor.text import file_name

if TYPE_CHECKING:
    from whatfor.runs import Run

RunFolder = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
OutFile = Annotated[str, tyro.conf.arg(metavar="FILE")]
Cells = Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME", help_behavior_hint="(optional)")]
LearnerName = Literal["q-learning", "sarsa", "double-q", "monte-carlo", "lambda-returns"]
OWN_WORLDS = ("blackjack", "cartpole", "chain")


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
    bins: tuple[int, ...] = (),
    bounds: tuple[float, ...] = (),
    max_steps: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="(optional)")] = None,
    time_limit: Literal["bootstrap", "terminal"] = "bootstrap",
    engine: Literal["auto", "python", "compiled"] = "auto",
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = (),
    replace: bool = False,
) -> None:
    """Train an agent and save the run.

    Args:
        env: A Gymnasium id such as Taxi-v4, or one of the paper's worlds: blackjack, cartpole, chain.
        out: The folder to save the run in.
        learner: The learning rule.
        episodes: How many episodes to play.
        seed: The same seed gives the same run.
        step_size: A number, or "visit-count".
        discount: The discount factor.
        exploration: A number, "linear(1, 0.1, 250)" or "exponential(1, 0.05, 0.9999)".
        lambda_: λ, only with --learner lambda-returns.
        bins: For continuous observations: the number of bins of each dimension, or one number for all.
        bounds: The range of the bins: low and high of each dimension in turn.
        max_steps: The maximum number of steps in an episode.
        time_limit: Bootstrap through a time limit, or treat it as an end.
        engine: The engine that steps the environment.
        option: An option of the environment, as name=value; may be given several times.
        replace: Replace the run in the folder.
    """
    from pathlib import Path

    import whatfor as wf
    from whatfor.checks import number
    from whatfor.folder import holds_run
    from whatfor.pictures.files import check_writable

    if holds_run(Path(out)) and not replace:  # checked before training
        raise ValueError(f"{out} already contains a run; choose another folder, or add --replace")
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
        world = getattr(wf.worlds, env)()
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
            bins=(bins[0] if len(bins) == 1 else bins) or None,
            bounds=pairs,
            max_steps=max_steps,
            time_limit=time_limit,
            engine=engine,
        )
    except wf.TrainingStopped as stopped:
        try:
            stopped.run.save(out)
        except wf.FolderError as error:
            raise ValueError(f"{stopped}. {error}") from stopped
        raise ValueError(f"{stopped} The run so far was saved to {out}") from stopped
    run.save(out)
    last = run.history.returns[-100:]
    print_safely(run)
    print_safely(f"using the {run.engine} engine ({run.settings['engine_reason']})")
    if len(last):
        print_safely(f"mean return of the last {len(last)} episodes: {last.mean():.4g}")
    print_safely(f"saved to {out}")


def explain(run: RunFolder, /, asked: Any, cells: Cells = None, json: bool = False) -> None:
    """Explain an action of a saved agent: what it expects, why it prefers the action to another, or how likely an event is.

    Args:
        run: The folder of a saved run.
        asked: The question.
        cells: module:NAME of a deep run's concepts. They are functions, and are not saved with the run.
        json: Print JSON instead of sentences.
    """
    from json import dumps

    from whatfor.asking import answer

    explanation = answer(_load(run, asked.as_of, cells), asked)
    print_safely(dumps(explanation.to_json(), indent=2) if json else explanation)


def draw(run: RunFolder, /, out: OutFile, asked: Any, cells: Cells = None) -> None:
    """Draw what a saved agent expects of an action, or another answer; a .gif animates a whole greedy episode.

    Args:
        run: The folder of a saved run.
        out: The file to draw into, ending in .png, .svg, .pdf or .gif.
        asked: The question.
        cells: module:NAME of a deep run's concepts. They are functions, and are not saved with the run.
    """
    import whatfor as wf
    from whatfor.asking import answer, check_show, is_plain_intention
    from whatfor.pictures.files import ANIMATION_SUFFIXES, PICTURE_SUFFIXES, check_path, save
    from whatfor.question import layout_of

    path = check_path(out, (*PICTURE_SUFFIXES, *ANIMATION_SUFFIXES))  # checked before the work starts
    loaded = _load(run, asked.as_of, cells)
    if path.suffix.lower() in ANIMATION_SUFFIXES:
        if not is_plain_intention(asked):
            raise ValueError(
                "a .gif shows the intentions along a greedy episode; leave out --action and other questions"
            )
        wf.animate([loaded.intention(*step) for step in loaded.episode(asked.state)], path)
    else:
        explanation = answer(loaded, asked)
        check_show(explanation, asked.show)
        options = {} if asked.show is None else {"show": asked.show}
        save(wf.draw(layout_of(explanation, **options)), path)
    print_safely(f"drawn to {path}")


def report(
    run: RunFolder,
    /,
    out: OutFile,
    episodes: int = 20,
    states: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="STATE")] = (),
    budget: float = 3.0,
    cells: Cells = None,
) -> None:
    """Write an interactive page about a saved agent: one self-contained HTML file that makes no network requests.

    Args:
        run: The folder of a saved run.
        out: The file to write, ending in .html.
        episodes: How many greedy episodes to show, each from another start.
        states: A state in which to start an episode, instead of the environment's own starts; may be given several times.
        budget: The maximum size of the file in megabytes; the page lists what is left out.
        cells: module:NAME of a deep run's concepts. They are functions, and are not saved with the run.
    """
    from whatfor.explorer.report import SUFFIXES
    from whatfor.explorer.report import report as write
    from whatfor.pictures.files import check_path

    check_path(out, SUFFIXES)  # checked before the work starts
    loaded = _load(run, None, cells)
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
    cells: Cells = None,
) -> None:
    """Serve a live page about a saved agent: any state, at any time in training.

    Args:
        run: The folder of a saved run.
        host: The address to listen on; by default only this machine can reach it.
        port: By default 8642, or a free one if that is taken.
        browser: Open the page in the browser.
        cells: module:NAME of a deep run's concepts. They are functions, and are not saved with the run.
    """
    end_once = _exit_once()
    with handling_signals(end_once):
        from whatfor.explorer.server import explore as serve

        serve(_load(run, None, cells), name=file_name(run), host=host, port=port, browser=browser)
        with suppress(OSError, ValueError):  # the output may be closed
            print(end="", flush=True)
        end_once()  # while the signal handlers are still installed: another Ctrl-C interrupts nothing


def _exit_once() -> Callable[..., None]:
    """A function that exits the process and prints a message once, even if signals call it again meanwhile."""
    begun: list[bool] = []

    def end(*_: object) -> None:
        if not begun:  # a signal before the next line ends the process there; one after it does nothing
            begun.append(True)
            try:
                os.write(sys.stdout.fileno(), b"ended\n")  # print() may be what was interrupted
            finally:  # even if the output is closed
                os._exit(0)

    return end


def _load(run: str, as_of: int | None, cells: str | None) -> Run:
    import whatfor as wf

    loaded = wf.load(run) if cells is None else wf.load(run, cells=concepts_in(cells))
    return loaded if as_of is None else loaded.as_of(as_of)


def paper(
    out: Annotated[str | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None,
    only: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="ID")] = (),
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None,
    deep: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    preset: Annotated[
        Literal["small", "full"] | None, tyro.conf.arg(metavar="{small,full}", help_behavior_hint="")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"] | None, tyro.conf.arg(metavar="{auto,cpu,cuda}", help_behavior_hint="")
    ] = None,
    inputs: Annotated[
        Literal["one-hot", "raw"] | None, tyro.conf.arg(metavar="{one-hot,raw}", help_behavior_hint="")
    ] = None,
    both_heads: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Reproduce the paper's figures, from training to picture, and measure the paper's claims on many agents.

    Args:
        out: The folder for the pictures and their index.html: out/paper by default, or out/paper-deep.
        only: A figure's id, such as 7 or S4; may be given several times. By default all.
        seeds: The number of agents that each claim is measured on: 20 by default, 3 with --deep.
        deep: The figures of deep agents (4D, 6, S11, A6) instead of tabular ones. Training takes minutes for each seed; the agents are saved in the same folder, and not trained again.
        preset: With --deep: small (the default) for some minutes on a CPU, full for the paper's networks on a GPU.
        device: With --deep: the device to train on; auto (the default) uses a GPU if there is one.
        inputs: With --deep: the networks' input: the one-hot code of a state (the default), or its raw numbers, as in the paper.
        both_heads: With --deep: also train the paper's own belief network alongside every agent, for comparison; by default only where that costs little.
    """
    from pathlib import Path
    from shlex import quote

    from whatfor.paper import DeepAgents, counts_text, reproduce
    from whatfor.paper.deep import EXAMPLES
    from whatfor.pictures.files import check_writable

    if not deep:
        for name, given in (("preset", preset), ("device", device), ("inputs", inputs), ("both-heads", both_heads)):
            if given:
                raise ValueError(f"--{name} is for deep agents: add --deep")
    if seeds is not None and seeds < 1:
        raise ValueError(f"--seeds is {seeds}; use at least 1")
    target = Path(out or ("out/paper-deep" if deep else "out/paper"))
    check_writable(target)  # checked before the work starts
    agents = None
    if deep:
        options: dict[str, Any] = {"device": device or "auto", "inputs": inputs or "one-hot", "both_heads": both_heads}
        agents = DeepAgents(preset or "small", **options)
    _, results = reproduce(target, only, seeds=seeds, agents=agents)
    for one in results:
        if one.status != "reproduced":
            print_safely(f"{one.status} in {one.claim.figure} ({one.rate} agents): {one.claim.says}")
    print_safely(f"{counts_text(results)}; see {target / 'index.html'}")
    for name, run in agents.runs.items() if agents is not None else ():
        state = quote(run.labels.words(run.labels.index(EXAMPLES[name])))
        print_safely(f"to ask this agent: whatfor explain {quote(str(target / name))} --state {state}")


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

        explain.__annotations__["asked"], draw.__annotations__["asked"] = flags_type(), flags_type(drawn=True)
    commands: dict[str, Callable[..., None]] = {
        **{command.__name__: interruptible(command) for command in (train, explain, draw, report)},
        "explore": explore,  # handles signals itself
        "paper": interruptible(paper),
    }
    if name in commands:  # only its own parser: tyro cannot build those of explain and draw without the questions
        tyro.cli(commands[name], prog=f"whatfor {name}", args=sys.argv[2:])
        return
    if not completion and name not in ("", "-h", "--help"):
        close = get_close_matches(name, commands, n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"there is no command {name!r}; the commands are {', '.join(commands)}.{meant}")
    tyro.extras.subcommand_cli_from_dict(commands, prog="whatfor", description=__doc__)
