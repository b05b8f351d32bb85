"""The command line: whatfor train | explain | draw."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

import tyro

LearnerName = Literal["q-learning", "sarsa", "double-q", "monte-carlo", "lambda-returns"]
Question = Literal["intention", "contrast", "outcomes", "timeline", "provenance"]
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
    from whatfor.folder import files_before
    from whatfor.worlds.gymnasium import made

    if files_before(Path(out)) and not replace:  # told before the work, not after it
        raise ValueError(f"{out} holds a run already; choose another folder, or add --replace")

    kinds: dict[str, Callable[..., Any]] = {
        "q-learning": wf.QLearning,
        "sarsa": wf.Sarsa,
        "double-q": wf.DoubleQLearning,
        "monte-carlo": wf.MonteCarlo,
        "lambda-returns": wf.LambdaReturns,
    }
    more = {"trail": trail} if learner == "lambda-returns" else {}
    agent = kinds[learner](
        step_size=_step_size(step_size), discount=discount, exploration=_exploration(exploration), **more
    )
    if env in OWN_WORLDS:
        if option:
            raise ValueError(f"--option is for Gymnasium environments; {env} has none")
        world = getattr(wf.worlds, env)()
    else:
        world = made(env, dict(_option(text) for text in option))
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
        stopped.run.save(out)
        raise ValueError(f"{stopped} What there is was saved to {out}") from stopped
    run.save(out)
    last = run.history.returns[-100:]
    print(f"{run}")
    print(f"engine {run.engine}: {run.engine_reason}")
    if len(last):
        print(f"mean return of the last {len(last)} episodes: {last.mean():.4g}")
    print(f"saved to {out}")


def explain(
    run: tyro.conf.Positional[str],
    /,
    state: str,
    action: str | None = None,
    instead: str | None = None,
    as_of: int | None = None,
    json: bool = False,
) -> None:
    """Say what a saved agent expects of an action, or why it takes it and not another.

    Args:
        run: The folder of a saved run.
        state: The state: in words, as numbers in brackets, or as an index.
        action: The action, by name or number; by default the best.
        instead: Another action to compare it with.
        as_of: Ask it as it was after so many episodes.
        json: Print JSON instead of sentences.
    """
    from json import dumps

    import whatfor as wf

    asked = wf.load(run) if as_of is None else wf.load(run).as_of(as_of)
    answer = asked.intention(state, action) if instead is None else asked.contrast(state, action, instead)
    print(dumps(answer.to_json(), indent=2, ensure_ascii=False) if json else answer)


def draw(
    run: tyro.conf.Positional[str],
    /,
    state: str,
    out: str,
    action: str | None = None,
    instead: str | None = None,
    question: Question | None = None,
    as_of: int | None = None,
) -> None:
    """Draw what a saved agent expects of an action, or another answer.

    Args:
        run: The folder of a saved run.
        state: The state: in words, as numbers in brackets, or as an index.
        out: The file to draw into, ending in .png, .svg or .pdf.
        action: The action, by name or number; by default the best.
        instead: Another action to compare it with; the question is then a contrast.
        question: What to ask; by default the intention.
        as_of: Ask it as it was after so many episodes.
    """
    import whatfor as wf
    from whatfor.pictures.files import checked, save

    if instead is not None and question not in (None, "contrast"):
        raise ValueError(f"--instead asks for a contrast; it does not go with --question {question}")
    path = checked(out)  # told before the work, not after it
    asked = wf.load(run) if as_of is None else wf.load(run).as_of(as_of)
    if instead is not None or question == "contrast":
        save(wf.draw(asked.contrast(state, action, instead)), path)
    else:
        save(wf.draw(getattr(asked, question or "intention")(state, action)), path)
    print(f"drawn to {path}")


def _step_size(text: str) -> Any:
    from whatfor.learners import visit_count

    return visit_count() if text == "visit-count" else _number("--step-size", text, 'a number or "visit-count"')


def _exploration(text: str) -> Any:
    from whatfor.learners import exponential, linear

    found = re.fullmatch(r"\s*(linear|exponential)\s*\(([^()]*)\)\s*", text)
    if not found:
        return _number(
            "--exploration", text, 'a number, "linear(start, end, episodes)" or "exponential(start, end, decay)"'
        )
    parts = [_number("--exploration", part, "three numbers in the brackets") for part in found[2].split(",")]
    if len(parts) != 3:
        raise ValueError(f'--exploration {text!r}: write e.g. "linear(1, 0.1, 250)" or "exponential(1, 0.05, 0.9999)"')
    if found[1] == "linear":
        return linear(parts[0], parts[1], episodes=int(parts[2]))
    return exponential(parts[0], parts[1], decay=parts[2])


def _number(flag: str, text: str, wanted: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{flag} takes {wanted}, not {text!r}") from None


def _option(text: str) -> tuple[str, Any]:
    import json

    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option takes name=value, not {text!r}")
    try:
        return name, json.loads(value.lower() if value in ("True", "False", "None") else value)
    except json.JSONDecodeError:
        return name, value


def main() -> None:
    """Run the command line; a wrong word gets one line, not a traceback."""
    import warnings

    warnings.showwarning = lambda message, *_, **__: print(f"whatfor: {message}", file=sys.stderr)
    if sys.argv[1:] == ["--version"]:
        from whatfor import __version__

        print(f"whatfor {__version__}")
        return
    try:
        commands: dict[str, Callable[..., None]] = {"train": train, "explain": explain, "draw": draw}
        tyro.extras.subcommand_cli_from_dict(commands, prog="whatfor", description=__doc__)
    except (ValueError, ImportError) as error:
        print(f"whatfor: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if type(error).__module__.startswith("gymnasium"):
            print(f"whatfor: {error}", file=sys.stderr)
            sys.exit(2)
        raise
