"""Animations: one frame per answer, all on one scale, written atomically."""

import numpy as np
import pytest
from PIL import Image

import whatfor as wf
from test_layouts import LAKE, TAXI, some
from whatfor.layouts import Bars, Lines, Panels, Series
from whatfor.layouts.map import Map
from whatfor.maps import map_of
from whatfor.pictures import files, frames
from whatfor.pictures.scale import scale_of


def frames_of(path):
    with Image.open(path) as film:
        for at in range(film.n_frames):
            film.seek(at)
            yield film.info["duration"], np.asarray(film.convert("RGB")).astype(int)


def only(state, number):
    numbers = np.zeros((16, 4))
    numbers[state, 0] = number
    return map_of(Map(LAKE, numbers, title=f"state {state}", state=state))


def test_one_frame_per_answer(tmp_path):
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.9), episodes=200, seed=0)
    answers = [run.as_of(n).intention(0) for n in (50, 100, 200)]
    wf.animate(answers, tmp_path / "lake.gif", seconds_per_frame=0.25)
    frames = list(frames_of(tmp_path / "lake.gif"))
    assert [duration for duration, _ in frames] == [250, 250, 250]
    assert len({image.shape for _, image in frames}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["lake.gif"], "nothing else is left behind"


def test_all_frames_are_on_one_scale(monkeypatch):
    """The largest number of one frame is not drawn as the largest of all frames."""
    scales, draw = [], frames.draw_layout

    def watched(layout, ax, scale, place):
        scales.append(scale)
        draw(layout, ax, scale, place)
        assert ax.images[0].norm.vmax == 1.0

    monkeypatch.setattr(frames, "draw_layout", watched)
    images = frames.frames([only(5, 0.3), only(10, 1.0)], dpi=30)
    assert (len(images), len(scales)) == (2, 2)
    assert scales[0] == scales[1]
    assert (scales[0].low, scales[0].high) == (0.0, 1.0)


def test_panels_of_different_quantities_have_a_scale_each():
    def both(x, y):
        bars = Bars("", "", ("a",), (Series("s", (x,)),), "x")
        return Panels("", "", (bars, Lines("", "", (0.0,), (Series("s", (y,)),), "x", "y")), 2, shared=False)

    scale = scale_of([both(-1.0, 20.0), both(3.0, 10.0)])
    assert [(part.low, part.high) for part in scale.panels] == [(-1.0, 3.0), (0.0, 20.0)]


def test_wrong_arguments_are_rejected_before_drawing(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.gif"):
        wf.animate([], tmp_path / "film.mp4")
    with pytest.raises(ValueError, match="there is no folder"):
        wf.animate([], tmp_path / "nowhere" / "film.gif")
    with pytest.raises(ValueError, match="no frames given"):
        wf.animate([], tmp_path / "film.gif")
    with pytest.raises(ValueError, match="these are Board, Grid"):
        wf.animate([only(0, 1.0), map_of(Map(TAXI, some(TAXI)))], tmp_path / "film.gif")
    with pytest.raises(ValueError, match="more than 0"):
        wf.animate([only(0, 1.0)], tmp_path / "film.gif", seconds_per_frame=0)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_animation_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "lake.gif"
    wf.animate([only(1, 1.0)], path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        wf.animate([only(2, 1.0)], path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["lake.gif"]


def test_only_explanations_and_layouts_are_drawn(tmp_path):
    with pytest.raises(TypeError, match=r"draw\(\) takes an explanation, .* not 3"):
        wf.draw(3)
    with pytest.raises(TypeError, match=r"animate\(\) takes explanations or layouts, not 3"):
        wf.animate([3], tmp_path / "no.gif")
