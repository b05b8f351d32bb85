"""All figures in the paper's order, and the function that reproduces them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whatfor.needed import need_matplotlib
from whatfor.paper import blackjack, cartpole
from whatfor.paper.agents import Agents
from whatfor.paper.chain import figure_2
from whatfor.paper.deep import DEEP_FIGURES
from whatfor.paper.deep_agents import DeepAgents
from whatfor.paper.figure import Figure
from whatfor.paper.page import write_page
from whatfor.paper.small_buffer import figure_1
from whatfor.paper.taxi import figure_5, figure_7, figure_a5

_BUILDERS: dict[str, Callable[[Agents], Figure]] = {
    "1": figure_1, "2": figure_2, "5": figure_5, "7": figure_7, "A5": figure_a5, **blackjack.BLACKJACK_FIGURES, **cartpole.CARTPOLE_FIGURES,
}  # fmt: skip
#: The paper's figures of tabular agents, in its order; 4D, 6, S11 and A6 show deep agents.
FIGURES = {id: _BUILDERS[id] for id in ("1", "2", "3", "4", "5", "7", *(f"S{n}" for n in range(1, 11)), "A5")}


def reproduce(
    folder: str | os.PathLike[str],
    only: Sequence[str] = (),
    *,
    agents: Agents | DeepAgents | None = None,
    progress: bool = True,
) -> list[Figure]:
    """Train the agents, draw the figures into a folder, and write its ``index.html``.

    ``agents``: tabular by default. ``DeepAgents`` give the deep figures, and are saved in subfolders.
    """
    agents = agents or Agents()
    deep = isinstance(agents, DeepAgents)
    figures: dict[str, Callable[[Any], Figure]] = {**(DEEP_FIGURES if deep else FIGURES)}
    ids, target, finished = _check_ids(only, deep) or list(figures), Path(folder), []
    need_matplotlib()  # checked before the work starts
    if isinstance(agents, DeepAgents):
        agents.check(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"no pictures can be written to {target}: {error.strerror}; choose another folder") from None
    with _progress_bars(progress, agents, len(ids)) as start_figure:
        for id in ids:
            start_figure(id)
            figure = figures[id](agents)
            if isinstance(agents, DeepAgents):
                agents.save(target)
            _draw(figure, target)
            finished.append(figure)
    write_page(finished, target, deep=deep)
    return finished


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
def _progress_bars(progress: bool, agents: Agents | DeepAgents, total: int) -> Iterator[Callable[[str], None]]:
    """Progress bars for the figures and for the training of deep agents; yields a function that starts a figure."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), *Progress.get_default_columns()[1:3])
    with Progress(*columns, TimeElapsedColumn(), disable=not progress) as bars:
        task = bars.add_task("", total=total)
        training: dict[str, Any] = {}

        def on_progress(name: str, share: float) -> None:
            if name not in training:
                training[name] = bars.add_task(f"training {name}", total=1.0)
            bars.update(training[name], completed=share)

        if isinstance(agents, DeepAgents):
            agents.on_progress = on_progress
        done = -1

        def start_figure(id: str) -> None:
            nonlocal done
            done += 1
            bars.update(task, description=f"figure {id}", completed=done)

        yield start_figure
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
