"""The command line: whatfor train | explain | draw | report | explore | paper."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from whatfor.flags import concepts_in, environment_in, exploration_in, step_size_in
from whatfor.signals import handling_signals, interruptible
from whatfor.terminal import progress_bar, run_command, say
from whatfor.text import file_name

if TYPE_CHECKING:
    from whatfor.runs import Run

LearnerName = Literal["q-learning", "sarsa", "double-q", "monte-carlo", "lambda-returns"]
OWN_WORLDS = ("blackjack", "cartpole", "chain")


def train(
    env: tyro.conf.Positional[str],
    /,
    out: str,
    learner: LearnerName = "q-learning",
    episodes: int = 5_000,
    seed: int = 0,
    step_size: str = "0.1",
    discount: float = 0.99,
    exploration: str = "0.1",
    trail: float = 0.9,
    bins: tuple[int, ...] = (),
    bounds: tuple[float, ...] = (),
    max_steps: int | None = None,
    time_limit: Literal["bootstrap", "terminal"] = "bootstrap",
    engine: Literal["auto", "python", "compiled"] = "auto",
    option: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    replace: bool = False,
) -> None:
    """Train an agent and save the run.

    Args:
        env: A Gymnasium id such as Taxi-v4, or one of the paper's worlds: blackjack, cartpole, chain.
        out: The folder to save the run in.
        learner: How it learns.
        episodes: How many episodes to play.
        seed: The same seed gives the same run.
        step_size: A number, or "visit-count".
        discount: How much the future counts.
        exploration: A number, "linear(1, 0.1, 250)" or "exponential(1, 0.05, 0.9999)".
        trail: For lambda-returns: how much of a target is built on the next one.
        bins: For continuous observations: bins for each number, or one count for all.
        bounds: Where the bins lie: low and high of each number, one after the other.
        max_steps: The longest an episode may get.
        time_limit: Bootstrap through a time limit, or treat it as an end.
        engine: What steps the world.
        option: An option of the environment, as name=value; may be given several times.
        replace: Replace the run that the folder holds.
    """
    from pathlib import Path

    import whatfor as wf
    from whatfor.folder import holds_run
    from whatfor.pictures.files import check_writable

    if holds_run(Path(out)) and not replace:  # before the work, not after it
        raise ValueError(f"{out} holds a run already; choose another folder, or add --replace")
    check_writable(out)

    kinds: dict[str, Callable[..., Any]] = {
        "q-learning": wf.QLearning,
        "sarsa": wf.Sarsa,
        "double-q": wf.DoubleQLearning,
        "monte-carlo": wf.MonteCarlo,
        "lambda-returns": wf.LambdaReturns,
    }
    more = {"trail": trail} if learner == "lambda-returns" else {}
    agent = kinds[learner](
        step_size=step_size_in(step_size), discount=discount, exploration=exploration_in(exploration), **more
    )
    if env in OWN_WORLDS:
        if option:
            raise ValueError(f"--option is for Gymnasium environments; {env} has none")
        world = getattr(wf.worlds, env)()
    else:
        world = environment_in(env, option)
    if len(bounds) % 2:
        raise ValueError(f"--bounds takes a low and a high for each number; {len(bounds)} numbers were given")
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
        raise ValueError(f"{stopped} What there is was saved to {out}") from stopped
    run.save(out)
    last = run.history.returns[-100:]
    say(run)
    say(f"engine {run.engine}: {run.engine_reason}")
    if len(last):
        say(f"mean return of the last {len(last)} episodes: {last.mean():.4g}")
    say(f"saved to {out}")


def explain(run: tyro.conf.Positional[str], /, asked: Any, cells: str | None = None, json: bool = False) -> None:
    """Say what a saved agent expects of an action, why it takes it and not another, or whether it expects something.

    Args:
        run: The folder of a saved run.
        asked: The question.
        cells: Where a deep run's concepts are, which are functions and not saved: module:NAME.
        json: Print JSON instead of sentences.
    """
    from json import dumps

    from whatfor.asking import ask

    answer = ask(_loaded(run, asked.as_of, cells), asked)
    say(dumps(answer.to_json(), indent=2) if json else answer)


def draw(run: tyro.conf.Positional[str], /, out: str, asked: Any, cells: str | None = None) -> None:
    """Draw what a saved agent expects of an action, or another answer; a .gif shows a whole greedy episode.

    Args:
        run: The folder of a saved run.
        out: The file to draw into, ending in .png, .svg, .pdf or .gif.
        asked: The question.
        cells: Where a deep run's concepts are, which are functions and not saved: module:NAME.
    """
    import whatfor as wf
    from whatfor.asking import ask, only_a_state
    from whatfor.pictures.files import ANIMATED, SUFFIXES, checked, save
    from whatfor.question import layout_of

    path = checked(out, (*SUFFIXES, *ANIMATED))  # told before the work, not after it
    loaded = _loaded(run, asked.as_of, cells)
    if path.suffix.lower() in ANIMATED:
        if not only_a_state(asked):
            raise ValueError(
                "a .gif shows the intentions along a greedy episode; leave out --action and other questions"
            )
        wf.animate([loaded.intention(*step) for step in loaded.episode(asked.state)], path)
    else:
        shown = {} if asked.show is None else {"show": asked.show}
        save(wf.draw(layout_of(ask(loaded, asked), **shown)), path)
    say(f"drawn to {path}")


def report(
    run: tyro.conf.Positional[str],
    /,
    out: str,
    episodes: int = 20,
    states: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    budget: float = 3.0,
    cells: str | None = None,
) -> None:
    """Write a page to question a saved agent with: one HTML file that opens from disk and needs no network.

    Args:
        run: The folder of a saved run.
        out: The file to write, ending in .html.
        episodes: How many greedy episodes to show, each from another start.
        states: A state to begin an episode in, instead of the starts; may be given several times.
        budget: The size of the file in megabytes; the page lists what is left out.
        cells: Where a deep run's concepts are, which are functions and not saved: module:NAME.
    """
    from whatfor.explorer.report import SUFFIXES
    from whatfor.explorer.report import report as write
    from whatfor.pictures.files import checked

    checked(out, SUFFIXES)  # before the work, not after it
    loaded = _loaded(run, None, cells)
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
    say(f"written to {target} ({target.stat().st_size / 1e6:.1f} MB); open it in a browser")


def explore(
    run: tyro.conf.Positional[str],
    /,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    cells: str | None = None,
) -> None:
    """Question a saved agent on a live page: any state, any time of training.

    Args:
        run: The folder of a saved run.
        host: Where to listen; by default only this machine can reach it.
        port: By default 8642, or a free one if that is taken.
        browser: Open the page in the browser.
        cells: Where a deep run's concepts are, which are functions and not saved: module:NAME.
    """
    end_once = _ending()
    with handling_signals(end_once):
        from whatfor.explorer.server import explore as serve

        serve(_loaded(run, None, cells), name=file_name(run), host=host, port=port, browser=browser)
        with suppress(OSError, ValueError):  # the output may be closed
            print(end="", flush=True)
        end_once()  # while signals still lead there: whoever presses Ctrl-C once more interrupts nothing


def _ending() -> Callable[..., None]:
    """A function that ends the process, saying so once, however often a signal interrupts it with another call."""
    begun: list[bool] = []

    def end(*_: object) -> None:
        if not begun:  # a signal before the next line ends the process there; one after it does nothing
            begun.append(True)
            try:
                os.write(sys.stdout.fileno(), b"ended\n")  # print() may be what was interrupted
            finally:  # also where the output is closed
                os._exit(0)

    return end


def _loaded(run: str, as_of: int | None, cells: str | None) -> Run:
    import whatfor as wf

    found = wf.load(run) if cells is None else wf.load(run, cells=concepts_in(cells))
    return found if as_of is None else found.as_of(as_of)


def paper(
    out: str | None = None,
    only: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    deep: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    preset: Literal["small", "full"] | None = None,
    device: Literal["auto", "cpu", "cuda"] | None = None,
    inputs: Literal["one-hot", "raw"] | None = None,
    both_heads: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Make the paper's figures again, from training to picture, and check what it says of them.

    Args:
        out: The folder for the pictures and their index.html: out/paper by default, or out/paper-deep.
        only: A figure's id, such as 7 or S4; may be given several times. By default all.
        deep: The figures of deep agents (4D, 6, S11, A6) instead of tabular ones. Training takes minutes; the agents are saved beside.
        preset: With --deep: small (the default) for some minutes on a CPU, full for the paper's networks on a GPU.
        device: With --deep: where to train; auto (the default) takes a GPU where there is one.
        inputs: With --deep: what networks read of a state: its one-hot code (the default), or its raw numbers, as the paper's.
        both_heads: With --deep: beside every agent, the paper's own belief network too, to compare; otherwise only where that costs little.
    """
    from pathlib import Path
    from shlex import quote

    from whatfor.paper import DeepAgents, reproduce
    from whatfor.paper.deep import EXAMPLES
    from whatfor.pictures.files import check_writable

    if not deep:
        for name, given in (("preset", preset), ("device", device), ("inputs", inputs), ("both-heads", both_heads)):
            if given:
                raise ValueError(f"--{name} is for deep agents: add --deep")
    target = Path(out or ("out/paper-deep" if deep else "out/paper"))
    check_writable(target)  # before the work, not after it
    agents = None
    if deep:
        given_or: dict[str, Any] = {"device": device or "auto", "inputs": inputs or "one-hot", "both_heads": both_heads}
        agents = DeepAgents(preset or "small", **given_or)
    figures = reproduce(target, only, agents=agents)
    checks = [(figure.id, check) for figure in figures for check in figure.checks]
    for id, check in checks:
        if not check.met:
            say(f"not met in figure {id}: {check.what}; the paper: {check.paper}; here: {check.ours}")
    say(f"{sum(check.met for _, check in checks)} of {len(checks)} checks met; see {target / 'index.html'}")
    for name, run in agents.made.items() if agents is not None else ():
        state = quote(run.labels.words(run.labels.index(EXAMPLES[name])))
        say(f"to ask this agent: whatfor explain {quote(str(target / name))} --state {state}")


def main() -> None:
    """Run the command line."""
    run_command(_command)


def _command() -> None:
    if sys.argv[1:] == ["--version"]:
        from whatfor import __version__

        say(f"whatfor {__version__}")
        return
    if not {"explain", "draw"}.isdisjoint(sys.argv[1:2]):  # other commands need not wait for the list of questions
        from whatfor.asking import asked_type

        explain.__annotations__["asked"], draw.__annotations__["asked"] = asked_type(), asked_type(drawn=True)
    commands: dict[str, Callable[..., None]] = {
        **{command.__name__: interruptible(command) for command in (train, explain, draw, report)},
        "explore": explore,  # which says itself what signals do
        "paper": interruptible(paper),
    }

    tyro.extras.subcommand_cli_from_dict(commands, prog="whatfor", description=__doc__)
