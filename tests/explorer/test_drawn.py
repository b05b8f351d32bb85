"""What the page draws: lengths, heights and colours are Python's numbers, not only the text beside them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import START, as_text

from whatfor.explanations import Explanation
from whatfor.explorer.desk import ROLLOUTS
from whatfor.layouts import Board, Panels
from whatfor.pictures.scale import MAPS
from whatfor.question import layout_of
from whatfor.runs import Run
from whatfor.text import percent
from whatfor.worlds.taxi import LABELS

#: Of every bar: its tooltip, the number beside it, its ends, those of its whisker, and whether it lies in the picture.
BARS = """(svg) => [...svg.querySelectorAll('rect > title')].map((title) => {
    const bar = title.parentNode, after = bar.nextElementSibling, whisker = after.tagName === 'line' ? after : null;
    const left = Number(bar.getAttribute('x')), box = bar.getBoundingClientRect(), picture = svg.getBoundingClientRect();
    return {
        title: title.textContent, number: (whisker ? whisker.nextElementSibling : after).textContent,
        ends: [left, left + Number(bar.getAttribute('width'))],
        whisker: whisker && ['x1', 'x2'].map((end) => Number(whisker.getAttribute(end))),
        inside: box.left >= picture.left && box.right <= picture.right,
    };
})"""
#: Of every cell of a board: its tooltip, and the colours of its halves.
CELLS = """(svg) => [...svg.querySelectorAll('g > title')].map((title) => [
    title.textContent, [...title.parentNode.querySelectorAll('polygon')].map((half) => half.getAttribute('fill')),
])"""


def assert_drawn(bars: list[dict[str, Any]], numbers: dict[str, float], texts: list[str]) -> float:
    """Bars show these texts, begin at one zero, are as long as the numbers are large, and lie in the picture; the length of 1."""
    assert [(bar["title"], bar["number"]) for bar in bars] == [
        (f"{name}: {text}", text) for name, text in zip(numbers, texts, strict=True)
    ]
    zeros = [bar["ends"][0 if number > 0 else 1] for bar, number in zip(bars, numbers.values(), strict=True)]
    units = [
        (bar["ends"][1] - bar["ends"][0]) / abs(number) for bar, number in zip(bars, numbers.values(), strict=True)
    ]
    np.testing.assert_allclose(zeros, zeros[0])
    np.testing.assert_allclose(units, units[0], rtol=1e-4)  # a report holds six digits
    assert all(bar["inside"] for bar in bars)
    return units[0]


def test_bars_of_outcomes_are_as_long_as_the_chances(report: Path, opened: Any, taxi: Run) -> None:
    page, ends = opened(f"{report.as_uri()}#state={LABELS.index(START)}"), taxi.outcomes(START)
    chances = {**ends.chances, "unknown": ends.unknown}
    assert len(chances) > 1
    bars = page.locator("#answer-outcomes figure svg").evaluate(BARS)
    assert_drawn(
        bars, {f"{name}, chance": chance for name, chance in chances.items()}, [*map(percent, chances.values())]
    )


def test_bars_of_belief_and_reality_are_as_long_as_the_chances(site: str, opened: Any, taxi: Run) -> None:
    page = opened(f"{site}#state={LABELS.index(START)}")
    (end,) = (one for one in taxi.comparison(START, rollouts=ROLLOUTS).measures if one.name != "value")
    assert abs(end.believed - end.actual) > 0.1  # two bars that cannot be taken for each other
    bars = page.locator("#answer-comparison figure >> nth=2 >> svg").evaluate(BARS)
    numbers = {f"{end.name}, believed": end.believed, f"{end.name}, actual": end.actual}
    unit = assert_drawn(bars, numbers, [*map(percent, numbers.values())])
    zero = bars[0]["ends"][0]
    reach = [zero + unit * (end.believed - end.tolerance), zero + unit * (end.believed + end.tolerance)]
    np.testing.assert_allclose(bars[0]["whisker"], reach, rtol=1e-4)


def test_bars_of_episodes_go_to_the_side_that_their_sign_says(report: Path, opened: Any, taxi: Run) -> None:
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}")
    taken = {f"episode {episode:,}, deletion": -by for episode, by in taxi.provenance(START).most_influential(10)}
    assert {np.sign(by) for by in taken.values()} == {-1.0, 1.0}
    bars = page.locator("#answer-provenance figure >> nth=1 >> svg").evaluate(BARS)
    assert_drawn(bars, taken, as_text(taken.values(), page))


def assert_coloured(page: Any, cells: list[Any], board: Board, most: float) -> None:
    """Cells have their numbers as tooltips and are coloured as in Python's pictures, where the darkest colour is the largest number."""
    assert len(cells) == board.rows * board.columns
    for at, (tooltip, colours) in enumerate(cells):
        row, column = divmod(at, board.columns)
        here = [layer.cells[row][column] for layer in board.layers]
        texts = as_text([0.0 if abs(x) < 1e-6 * most else x for x in here], page)
        named = [f"{layer.name} {text}" for layer, text in zip(board.layers, texts, strict=True)]
        assert tooltip == f"row {row}, column {column}: {', '.join(named)}"
        drawn = [[int(part) for part in colour[4:-1].split(",")] for colour in colours]
        wanted = [
            MAPS["signed"](0.5 + x / most / 2) if board.diverging else MAPS[layer.colour](x / most)
            for layer, x in zip(board.layers, here, strict=True)
        ]
        np.testing.assert_allclose(drawn, 255 * np.array(wanted)[:, :3], atol=4)  # Matplotlib has 256 colours in all


@pytest.mark.parametrize("question", ["contrast", "comparison"])
def test_differences_are_coloured_as_in_python_pictures(site: str, opened: Any, taxi: Run, question: str) -> None:
    why: Explanation
    if question == "contrast":
        link, why, show = "&instead=2", taxi.contrast(START, instead="east"), "parts"
    else:
        link, why, show = "", taxi.comparison(START, rollouts=ROLLOUTS), "difference"
    board = layout_of(why, show=show)
    assert isinstance(board, Board)
    numbers = np.array([layer.cells for layer in board.layers])
    most = np.abs(numbers).max()
    assert numbers.min() < -0.1 * most < 0.1 * most < numbers.max()  # both colours are needed
    page = opened(f"{site}#state={LABELS.index(START)}{link}")
    assert_coloured(page, page.locator(f"#answer-{question} figure >> nth=1 >> svg").evaluate(CELLS), board, most)


def test_maps_beside_each_other_have_one_scale(report: Path, opened: Any, taxi: Run) -> None:
    maps = layout_of(taxi.contrast(START, instead="east"))
    assert isinstance(maps, Panels)
    boards = [board for board in maps.panels if isinstance(board, Board)]
    largest = [max(np.max(layer.cells) for layer in board.layers) for board in boards]
    assert min(largest) < 0.7 * max(largest)  # each on a scale of its own would look otherwise
    page = opened(f"{report.as_uri()}#state={LABELS.index(START)}&instead=2")
    cells = page.locator("#answer-contrast figure >> nth=0 >> svg").evaluate(CELLS)
    assert len(cells) == 25 * len(boards)
    for i, board in enumerate(boards):
        assert_coloured(page, cells[25 * i : 25 * (i + 1)], board, max(largest))


def test_the_learning_curve_rises_where_returns_do(site: str, opened: Any, taxi: Run) -> None:
    page = opened(site)
    points = page.locator("#curve polyline").get_attribute("points").split()
    x, y = np.array([[float(part) for part in point.split(",")] for point in points]).T
    returns = taxi.history.returns
    edges = np.linspace(0, len(returns), len(points) + 1).astype(int)
    means = np.array([returns[a:b].mean() for a, b in pairwise(edges)])
    assert means[-1] > means[0]
    assert (np.diff(x) > 0).all()
    low, high = means.min(), means.max()
    np.testing.assert_allclose(
        (y.max() - y) / np.ptp(y), (means - low) / (high - low), atol=1e-4
    )  # y goes down a screen
    assert (
        page.locator("#curve svg")
        .get_attribute("aria-label")
        .endswith("from {} to {}".format(*as_text([low, high], page)))
    )
