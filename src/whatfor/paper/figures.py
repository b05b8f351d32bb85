"""All figures in the paper's order, and the function that reproduces them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from whatfor.files import replacing
from whatfor.needed import need_matplotlib
from whatfor.paper import blackjack, cartpole, chain, methods, small_buffer, tables, taxi
from whatfor.paper.agents import DEEP_SEEDS, SEEDS, Agents
from whatfor.paper.deep import DEEP_CLAIMS, DEEP_FIGURES, deep_study
from whatfor.paper.deep_agents import DeepAgents
from whatfor.paper.evidence import Claim, ClaimResult
from whatfor.paper.figure import Figure
from whatfor.paper.jobs import check_jobs
from whatfor.paper.page import write_page
from whatfor.paper.study import study
from whatfor.text import percent

Builder = Callable[[Agents], Figure]
#: Without a terminal, a line reports each such share of the study, and of the training of a deep agent.
REPORTED = 0.1


def _table(id: str, world: str, method: str, name: str) -> Builder:
    return lambda agents: tables.recovered(id, world, method, getattr(agents, name))


#: The paper's figures of tabular agents in its order, and its claims that have none (T1, T2, TD); 4D, 6, S11 and A6 show deep agents.
FIGURES: dict[str, Builder] = {
    "1": small_buffer.figure_1, "2": chain.figure_2, "T1": chain.figure_t1, "T2": tables.figure_t2,
    "3": blackjack.figure_3, "4": cartpole.figure_4, "5": taxi.figure_5, "7": taxi.figure_7, "S1": blackjack.figure_s1,
    "S2": _table("S2", "Blackjack", "Q-learning", "blackjack_q"), "S3": _table("S3", "Blackjack", "Monte Carlo", "blackjack_mc"),
    "S4": blackjack.figure_s4, "S5": blackjack.figure_s5, "S6": cartpole.figure_s6,
    "S7": _table("S7", "CartPole", "Monte Carlo", "cartpole_mc"), "S8": _table("S8", "CartPole", "Q-learning", "cartpole_q"),
    "S9": cartpole.figure_s9, "S10": cartpole.figure_s10, "A5": taxi.figure_a5, "TD": methods.figure_td,
}  # fmt: skip
_MODULES = (blackjack, cartpole, chain, methods, small_buffer, tables, taxi)
#: The claims about tabular agents, in the order of the figures.
CLAIMS: tuple[Claim, ...] = tuple(
    claim for id in FIGURES for module in _MODULES for claim in module.CLAIMS if claim.figure == id
)


def reproduce(
    folder: str | os.PathLike[str],
    only: Sequence[str] = (),
    *,
    seeds: int | None = None,
    agents: Agents | DeepAgents | None = None,
    jobs: int = 1,
    progress: bool = True,
) -> tuple[list[Figure], list[ClaimResult]]:
    """Measure the paper's claims, draw the figures into a folder, and write its ``index.html`` and ``claims.json``.

    ``seeds``: 20 by default, 3 for deep agents. ``agents``: those that are drawn, tabular by default. ``DeepAgents`` give
    the deep figures, and are saved in subfolders. ``jobs``: the number of processes that share the seeds.
    """
    check_jobs(jobs)
    agents = agents or Agents()
    deep = isinstance(agents, DeepAgents)
    seeds = seeds or (DEEP_SEEDS if deep else SEEDS)
    figures: dict[str, Callable[[Any], Figure]] = {**(DEEP_FIGURES if deep else FIGURES)}
    ids, target = _check_ids(only, deep) or list(figures), Path(folder)
    claims = [claim for claim in (DEEP_CLAIMS if deep else CLAIMS) if claim.figure in ids]
    need_matplotlib()  # checked before the work starts
    if isinstance(agents, DeepAgents):
        agents.use(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"no pictures can be written to {target}: {error.strerror}; choose another folder") from None
    finished = []
    with _progress_bars(progress, agents, len(ids)) as (start_figure, on_study):
        if isinstance(agents, DeepAgents):
            results = deep_study(claims, agents, seeds, on_study, jobs)
        else:
            results = study(claims, seeds, on_study, jobs)
        for id in ids:
            start_figure(id)
            build = partial(small_buffer.figure_1, seeds=seeds) if id == "1" else figures[id]
            figure = build(agents)
            _draw(figure, target)
            finished.append(figure)
    write_page(finished, results, target, deep=deep)
    with replacing(target / "claims.json") as fresh:
        fresh.write_text(json.dumps([one.to_json() for one in results], indent=1, ensure_ascii=False) + "\n", "utf-8")
    return finished, results


def _check_ids(only: Sequence[str], deep: bool) -> list[str]:
    """Validate and normalize the requested ids."""
    known, others = (DEEP_FIGURES, FIGURES) if deep else (FIGURES, DEEP_FIGURES)
    for id in only:
        if id.upper() in others:
            advice = "shows tabular agents: leave out --deep" if deep else "shows deep agents: add --deep"
            raise ValueError(f"figure {id.upper()} {advice}")
        if id.upper() not in known:
            kind = "deep" if deep else "tabular"
            raise ValueError(f"there is no {kind} figure {id!r}; the figures are {', '.join(known)}")
    return [id.upper() for id in only]


@contextmanager
def _progress_bars(
    progress: bool, agents: Agents | DeepAgents, total: int
) -> Iterator[tuple[Callable[[str], None], Callable[[float], None]]]:
    """Progress bars for the study, the figures and the training of deep agents; yields functions that move the first two."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), *Progress.get_default_columns()[1:3])
    with Progress(*columns, TimeElapsedColumn(), disable=not progress) as bars:
        measured = bars.add_task("claims", total=1.0)
        task = bars.add_task("figures", total=total)
        training: dict[str, Any] = {}
        reported: dict[str, float] = {}

        def on_progress(name: str, share: float) -> None:
            if name not in training:
                training[name] = bars.add_task(f"training {name}", total=1.0)
            bars.update(training[name], completed=share)
            report(f"training {name}", share)

        def on_study(share: float) -> None:
            bars.update(measured, completed=share)
            report("claims", share)

        def report(name: str, share: float) -> None:
            """Print a line now and then where no bars are drawn."""
            if progress and not bars.console.is_terminal and share >= reported.get(name, 0.0):
                bars.console.print(f"{name}: {percent(share)}")
                reported[name] = share + REPORTED

        if isinstance(agents, DeepAgents):
            agents.on_progress = on_progress
        done = -1

        def start_figure(id: str) -> None:
            nonlocal done
            done += 1
            bars.update(task, description=f"figure {id}", completed=done)

        yield start_figure, on_study
        bars.update(task, completed=total)


def _draw(figure: Figure, target: Path) -> None:
    from whatfor.pictures import animate, draw
    from whatfor.pictures.files import save

    for picture in figure.pictures:
        path = target / picture.file
        if len(picture.frames) > 1:
            animate(picture.frames, path)
        else:
            save(draw(picture.frames[0]), path)
