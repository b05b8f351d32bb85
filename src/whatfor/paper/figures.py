"""All figures, in the paper's order, and the way from their ids to a folder of pictures."""

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
#: The paper's figures of tabular agents, in its order; 4D, 6, S11 and A6 are of deep ones.
FIGURES = {id: _BUILDERS[id] for id in ("1", "2", "3", "4", "5", "7", *(f"S{n}" for n in range(1, 11)), "A5")}


def reproduce(
    folder: str | os.PathLike[str],
    only: Sequence[str] = (),
    *,
    agents: Agents | DeepAgents | None = None,
    progress: bool = True,
) -> list[Figure]:
    """Train the agents, draw the figures into a folder, and write its ``index.html``.

    ``agents``: tabular ones by default; ``DeepAgents`` make the deep figures, and are saved in the folder, by name.
    """
    agents = agents or Agents()
    deep = isinstance(agents, DeepAgents)
    figures: dict[str, Callable[[Any], Figure]] = {**(DEEP_FIGURES if deep else FIGURES)}
    wanted, target, made = _wanted(only, deep) or list(figures), Path(folder), []
    need_matplotlib()  # told before the work, not after it
    if isinstance(agents, DeepAgents):
        agents.check(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"no pictures can be put into {target}: {error.strerror}; choose another folder") from None
    with _shown(progress, agents, len(wanted)) as shown:
        for id in wanted:
            shown(id)
            figure = figures[id](agents)
            if isinstance(agents, DeepAgents):
                agents.save(target)
            _draw(figure, target)
            made.append(figure)
    write_page(made, target, deep=deep)
    return made


def _wanted(only: Sequence[str], deep: bool) -> list[str]:
    """The ids that were asked for, if they are all known."""
    known, others = (DEEP_FIGURES, FIGURES) if deep else (FIGURES, DEEP_FIGURES)
    for id in only:
        if id.upper() in others:
            way = "is of tabular agents: leave out --deep" if deep else "is of deep agents: add --deep"
            raise ValueError(f"figure {id.upper()} {way}")
        if id.upper() not in known:
            kind = "deep" if deep else "tabular"
            raise ValueError(f"there is no {kind} figure {id!r}; there are {', '.join(known)}")
    return [id.upper() for id in only]


@contextmanager
def _shown(progress: bool, agents: Agents | DeepAgents, total: int) -> Iterator[Callable[[str], None]]:
    """Bars that show how far it is: a figure at a time, and how far the agent behind it is trained."""
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

        def at(id: str) -> None:
            nonlocal done
            done += 1
            bars.update(task, description=f"figure {id}", completed=done)

        yield at
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
