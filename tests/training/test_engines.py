"""Both engines give bit-for-bit identical tables and ledgers."""

import sys

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from sameness import CASES, LEARNERS, REPLAYS, assert_same_learning
from whatfor.kernels.compiler import COMPILED_IN, PACKAGE
from whatfor.worlds.cartpole import BINS, BOUNDS
from whatfor.worlds.gymnasium import twin

WORLDS = {
    "taxi": lambda: "Taxi-v4",
    "rainy taxi": lambda: gym.make("Taxi-v4", is_rainy=True),
    "slippery lake": lambda: "FrozenLake-v1",
    "cartpole": wf.worlds.cartpole,
}


def trained(world, learner, replay=None, engine="auto", **more):
    settings = {"episodes": 60, "seed": 7, "max_steps": 60, "replay": REPLAYS.get(replay), **more}
    return wf.train(WORLDS[world](), LEARNERS[learner], engine=engine, **settings)


@pytest.mark.parametrize("limit", ["bootstrap", "terminal"])
@pytest.mark.parametrize(("learner", "replay"), CASES)
@pytest.mark.parametrize("world", WORLDS)
def test_engines_agree_bit_for_bit(world, learner, replay, limit):
    """Gymnasium stepped from Python, and the compiled loop."""
    compiled = trained(world, learner, replay, time_limit=limit)
    python = trained(world, learner, replay, "python", time_limit=limit)
    assert (compiled.engine, python.engine) == ("compiled", "python")
    assert_same_learning(compiled, python)
    assert len(compiled.ledger) > 0
    assert compiled.audit.residual <= 1e-12 * max(1.0, np.abs(compiled.tables).max())


def test_engines_agree_over_many_blocks_of_random_numbers_and_updates():
    """More steps than fit in one block of random numbers or updates."""
    world = twin(gym.make("FrozenLake-v1"))
    for learner, replay in (("monte carlo", None), ("double q by step", "growing")):
        runs = [
            wf.train(world, LEARNERS[learner], episodes=9_000, seed=1, replay=REPLAYS.get(replay), engine=engine)
            for engine in ("compiled", "python")
        ]
        assert runs[0].history.lengths.sum() > 1 << 16
        assert_same_learning(*runs)


def test_cartpole_stepped_by_gymnasium_agrees_too():
    settings = {"bins": BINS, "bounds": BOUNDS, "episodes": 60, "seed": 3}
    compiled = wf.train("CartPole-v1", LEARNERS["sarsa"], **settings)
    python = wf.train("CartPole-v1", LEARNERS["sarsa"], engine="python", **settings)
    assert compiled.engine == "compiled"
    assert_same_learning(compiled, python)


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_the_same_seed_gives_the_same_run(engine):
    first, again, other = (
        trained("slippery lake", "double q by step", "ring", engine, seed=seed) for seed in (1, 1, 2)
    )
    assert_same_learning(first, again)
    assert not np.array_equal(first.tables, other.tables)
    assert not np.array_equal(first.history.lengths, other.history.lengths)


def test_a_run_without_a_seed_records_the_one_it_drew():
    first, other = (trained("slippery lake", "q", seed=None) for _ in range(2))
    assert first.settings["seed"] != other.settings["seed"]
    assert_same_learning(first, trained("slippery lake", "q", seed=first.settings["seed"]))


def test_engines_evaluate_alike():
    runs = [trained("slippery lake", "q", engine=engine, episodes=300) for engine in ("compiled", "python")]
    played = [run.evaluate(50, seed=2) for run in runs]
    assert np.array_equal(played[0].returns, played[1].returns)
    assert np.array_equal(played[0].lengths, played[1].lengths)
    assert not np.array_equal(played[0].lengths, runs[0].evaluate(50, seed=3).lengths)


def test_listeners_get_every_update_once():
    for engine in ("compiled", "python"):
        calls = []
        run = wf.train(
            "FrozenLake-v1",
            LEARNERS["q"],
            episodes=2_000,
            seed=0,
            engine=engine,
            listeners=[lambda ledger, first, calls=calls: calls.append((first, len(ledger)))],
        )
        assert calls[0][0] == 0
        assert [start for start, _ in calls[1:]] == [end for _, end in calls[:-1]]
        assert calls[-1][1] == len(run.ledger)


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_a_progress_bar_is_shown_and_changes_nothing(engine, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if standard error were a terminal
    shown = trained("slippery lake", "q", engine=engine, progress=True)
    printed = capsys.readouterr()
    assert "training" in printed.err
    assert "/60" in printed.err
    assert printed.out == ""
    assert_same_learning(shown, trained("slippery lake", "q", engine=engine, progress=False))
    assert capsys.readouterr().err == ""


def test_a_notebook_without_widgets_has_no_bar_and_no_warning(monkeypatch, capsys):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # importing it fails
    monkeypatch.setattr("whatfor.training.watch.find_spec", {"ipywidgets": None}.get)
    trained("slippery lake", "q", engine="python", progress=True)  # warnings are errors
    assert capsys.readouterr() == ("", "")


def test_all_compiled_sources_are_in_the_hash_of_the_cache():
    """Numba's cache ignores changes in called functions, so every such file must be in the hash."""
    compiling = [file for file in PACKAGE.rglob("*.py") if "kernels.compiler import" in file.read_text()]
    assert compiling
    assert {file.relative_to(PACKAGE).parts[0] for file in compiling} <= set(COMPILED_IN)
