"""All figures, in the paper's order, and the way from their ids to a folder of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from whatfor.paper import blackjack, cartpole
from whatfor.paper.agents import Agents
from whatfor.paper.chain import figure_2
from whatfor.paper.figure import Figure
from whatfor.paper.page import write_page
from whatfor.paper.small_buffer import figure_1
from whatfor.paper.taxi import figure_5, figure_7, figure_a5
from whatfor.pictures.needed import need_matplotlib

_MADE: dict[str, Callable[[Agents], Figure]] = {
    "1": figure_1, "2": figure_2, "5": figure_5, "7": figure_7, "A5": figure_a5, **blackjack.FIGURES, **cartpole.FIGURES,
}  # fmt: skip
#: The paper's figures of tabular agents, in its order; 6, S11 and A6 are of deep ones.
FIGURES = {id: _MADE[id] for id in ("1", "2", "3", "4", "5", "7", *(f"S{n}" for n in range(1, 11)), "A5")}


def reproduce(
    folder: str | os.PathLike[str], only: Sequence[str] = (), *, agents: Agents | None = None, progress: bool = True
) -> list[Figure]:
    """Train the agents, draw the figures into a folder, and write its ``index.html``."""
    unknown = [id for id in only if id.upper() not in FIGURES]
    if unknown:
        raise ValueError(f"there is no tabular figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    wanted = [id.upper() for id in only] or list(FIGURES)
    agents, target, made = agents or Agents(), Path(folder), []
    need_matplotlib()  # told before the work, not after it
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"no pictures can be put into {target}: {error.strerror}; choose another folder") from None
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("figure {task.description}"),
        *Progress.get_default_columns()[1:2],
        TimeElapsedColumn(),
    )
    with Progress(*columns, disable=not progress) as shown:
        task = shown.add_task("", total=len(wanted))
        for id in wanted:
            shown.update(task, description=id)
            figure = FIGURES[id](agents)
            _draw(figure, target)
            made.append(figure)
            shown.advance(task)
    write_page(made, target)
    return made


def _draw(figure: Figure, target: Path) -> None:
    from whatfor.pictures import animate, draw
    from whatfor.pictures.files import save

    for picture in figure.pictures:
        path = target / picture.file
        if len(picture.frames) > 1:
            animate(picture.frames, path)
        else:
            save(draw(picture.frames[0]), path)
