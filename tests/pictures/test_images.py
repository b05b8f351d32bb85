"""A few pictures, pixel by pixel up to a tolerance, against those in ``baseline``.

After a change that is meant to be seen: ``python tests/pictures/test_images.py`` draws them anew; then look at them.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import Colormap
from matplotlib.testing.compare import compare_images

import whatfor as wf
from test_layouts import BLACKJACK, LAKE, TAXI
from whatfor.layouts import Bars, Panels, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.pictures import scale

BASELINE = Path(__file__).with_name("baseline")
TOLERANCE = 6  # root mean square of the colours, of 255: other fonts pass, other colours don't


def board():
    """A route round the wall to Y, and with the passenger to R; the last column was never visited."""
    numbers, unknown = np.zeros((500, 6)), np.zeros((500, 6), bool)
    way = [(0, 3, 2), (1, 3, 2), (1, 2, 2), (2, 2, 2), (2, 1, 2), (2, 0, 2), (3, 0, 2), (4, 0, 2), (4, 0, 4), (3, 0, 4)]
    for step, (row, column, passenger) in enumerate(way):
        numbers[TAXI.index((row, column, passenger, 0)), 0] = 0.9**step
    for row in range(5):
        unknown[[TAXI.index((row, 4, passenger, 0)) for passenger in range(5)]] = True
    return map_of(Map(TAXI, numbers, title="a way", unknown=unknown, state=TAXI.index((0, 3, 2, 0))))


def signed_grid():
    """A lake of gains and losses, with a state that was never visited."""
    numbers, unknown = np.zeros((16, 4)), np.zeros((16, 4), bool)
    numbers[:, 0] = np.linspace(-1.0, 2.0, 16)
    unknown[[4, 5]] = True  # one can only be in the first: the other is a hole
    return map_of(Map(LAKE, numbers, title="parts", quantity="earned", diverging=True, unknown=unknown, state=6))


def bars():
    """Two series with intervals, and an unknown share."""
    series = (Series("one", (0.5, 0.3, 0.2), (0.4, 0.2, 0.2), (0.7, 0.4, 0.2)), Series("two", (0.6, 0.3, 0.1)))
    return Bars("ends", "somewhere", ("won", "lost", "unknown"), series, "chance", (False, False, True))


def panels():
    """Two maps of Blackjack, each of four grids, on one scale."""
    one, two = np.zeros((BLACKJACK.n_states, 2)), np.zeros((BLACKJACK.n_states, 2))
    for total in range(12, 22):
        one[BLACKJACK.index((total, 7, 0)), 0] = total / 21
        two[BLACKJACK.index((total, 3, 1)), 1] = 0.5 * total / 21
    state = BLACKJACK.index((10, 7, 0))
    maps = [map_of(Map(BLACKJACK, m, title=name, state=state)) for name, m in (("one", one), ("two", two))]
    return Panels("two maps", "player 10, dealer 7", tuple(maps), 2)


PICTURES = {"board": board, "signed_grid": signed_grid, "bars": bars, "panels": panels}


def save(name, path):
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        wf.draw(PICTURES[name]()).savefig(path, dpi=60)


@pytest.mark.skipif(matplotlib.__version_info__ < (3, 11), reason="before 3.11, Matplotlib drew letters otherwise")
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_match_the_baseline(name, tmp_path):
    save(name, tmp_path / f"{name}.png")
    assert compare_images(str(BASELINE / f"{name}.png"), str(tmp_path / f"{name}.png"), TOLERANCE) is None


@pytest.mark.parametrize("name", ["board", "signed_grid"])
def test_other_colours_fail_the_comparison(name, tmp_path, monkeypatch):
    maps: dict[str, Colormap] = {colour: colours.reversed() for colour, colours in scale.MAPS.items()}
    if name == "board":
        maps = {**scale.MAPS, "yellow": scale.MAPS["green"], "green": scale.MAPS["yellow"]}
    for colour, colours in maps.items():
        monkeypatch.setitem(scale.MAPS, colour, colours)
    save(name, tmp_path / f"{name}.png")
    assert compare_images(str(BASELINE / f"{name}.png"), str(tmp_path / f"{name}.png"), TOLERANCE) is not None


def test_baselines_are_small():
    assert sorted(path.stem for path in BASELINE.glob("*.png")) == sorted(PICTURES)
    assert all(path.stat().st_size < 40_000 for path in BASELINE.glob("*.png"))


if __name__ == "__main__":
    BASELINE.mkdir(exist_ok=True)
    for wanted in sys.argv[1:] or PICTURES:
        save(wanted, BASELINE / f"{wanted}.png")
