"""The command line's flags: another run as a time, forgiving actions, modules in ids; and messages that name flags."""

import importlib
import re
import sys

import numpy as np
import pytest

import whatfor as wf
from saved import trained
from whatfor.terminal import in_flags
from whatfor.text import either, speaking_shell

MODULE = """
import gymnasium as gym

class Line(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(4), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        return self.at, float(self.at == 3), self.at == 3, False, {"progress": 0.25 * self.at}

gym.register("{name}-v0", entry_point=Line, max_episode_steps=20)
"""


@pytest.fixture
def lake(tmp_path):
    """Two runs of the same lake, and one of another."""
    trained(seed=1).save(tmp_path / "one")
    trained(seed=2).save(tmp_path / "two")
    wf.train(wf.worlds.chain(), episodes=5, seed=0).save(tmp_path / "chain")
    return tmp_path


def test_since_takes_a_number_of_episodes_or_another_run(whatfor, lake):
    one, two = wf.load(lake / "one"), wf.load(lake / "two")
    code, out, _ = whatfor("explain", lake / "one", "--state", "0", "--since", lake / "two")
    assert (code, out) == (0, f"{one.change(0, since=two)}\n")
    code, out, _ = whatfor("explain", lake / "one", "--state", "0", "--since", "20")
    assert (code, out) == (0, f"{one.change(0, since=20)}\n")


@pytest.mark.parametrize(
    ("since", "message"),
    [
        ("nothing", "there is no run at nothing: no such folder"),
        ("chain", "the two runs are not of the same environment"),
        ("51", "--since is 51; the run has 50 episodes: give 0 to 50"),
        ("-1", "pass 0 to 50, not -1"),
    ],
)
def test_a_time_that_is_none_is_refused(whatfor, lake, since, message):
    given = lake / since if since == "chain" else since
    code, out, err = whatfor("explain", lake / "one", "--state", "0", "--since", given)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("text", ["pick up", "Pick-up", "pick_up", "PICKUP", " pick  up ", "4"])
def test_actions_are_as_forgiving_as_states(taxi_2k, text):
    assert taxi_2k.labels.action(text) == 4


@pytest.mark.parametrize("text", ["pick", "pickups", "-4", "pick/up", ""])
def test_other_words_are_no_action(taxi_2k, text):
    with pytest.raises(ValueError, match="action"):
        taxi_2k.labels.action(text)


def test_names_that_differ_by_a_dash_alone_stay_apart():
    labels = wf.Labels.plain(2, 4)
    labels = wf.Labels(labels.axes, ("re-set", "reset", "1", "-1"))
    assert [labels.action(name) for name in ("re-set", "RESET", "-1")] == [0, 1, 3]
    with pytest.raises(ValueError, match="there is no action 're set'"):
        labels.action("re set")


def test_an_environment_that_is_not_registered_comes_from_a_module(whatfor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines_unregistered.py").write_text(MODULE.rpartition("\n\n")[0])
    sys.path.insert(0, str(tmp_path))
    try:
        env = importlib.import_module("lines_unregistered").Line()
    finally:
        sys.path.remove(str(tmp_path))
    wf.Run(values=[[0.0, 1.0]] * 4, env=env, discount=0.9).save("run")
    code, _, errors = whatfor("explain", "run", "--state", "1")
    assert code == 2
    assert "add --module MODULE:NAME" in errors
    code, output, errors = whatfor("explain", "run", "--state", "1", "--module", "lines_unregistered:Line")
    assert code == 0, errors
    assert "a return of 0.9 (discounted)" in output
    code, _, errors = whatfor("explain", "run", "--state", "1", "--module", "lines_unregistered:Lin")
    assert (code, "the module 'lines_unregistered' has no 'Lin'" in errors) == (2, True)


def test_a_run_names_the_module_of_its_environment(whatfor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines_for_module.py").write_text(MODULE.replace("{name}", "LineForModule"))
    given = ("lines_for_module:LineForModule-v0", "--episodes", "20", "--reward-part", "near=progress", "--out", "run")
    code, out, _ = whatfor("train", *given)
    assert code == 0
    assert "add --module lines_for_module" in out
    run = wf.load("run")
    assert run.settings["world"]["module"] == "lines_for_module"
    assert run.ledger.parts == ("near",)
    code, out, _ = whatfor("explain", "run", "--state", "2", "--question", "parts", "--instead", "action 0")
    assert code == 0
    assert re.search(r"\S+  near\n", out)
    run.settings["world"]["id"] = "LineNoLonger-v0"
    run.save("gone")
    code, _, err = whatfor("explain", "gone", "--state", "1", "--question", "simulation")
    assert code == 2
    assert "add --module lines_for_module, the module that registers it with Gymnasium" in err
    assert wf.train("lines_for_module:LineForModule-v0", episodes=1).settings["world"]["module"] == "lines_for_module"


def test_an_unknown_option_lists_those_of_an_environment_from_a_module(whatfor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = MODULE.replace("{name}", "LineWithOption").replace(
        "    def reset", "    def __init__(self, slip=0.1):\n        self.slip = slip\n\n    def reset", 1
    )
    (tmp_path / "lines_with_option.py").write_text(code)
    given = ("lines_with_option:LineWithOption-v0", "--option", "slipp=0.2", "--out", "run")
    code, _, err = whatfor("train", *given)
    assert code == 2
    assert "LineWithOption-v0 has no option 'slipp'; its options are slip=0.1. Did you mean 'slip'?" in err


def test_the_name_of_a_module_is_one(tmp_path):
    run = trained()
    run.settings["world"]["module"] = "os; rm -rf"
    with pytest.raises(wf.FolderError, match="cannot be saved"):
        run.save(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "python", "shell"),
    [
        ("--bins 3", "bins= is for continuous", "--bins is for continuous"),
        ("--discount 2", "discount is 2.0; it must lie in [0, 1]", "--discount is 2.0; it must lie in [0, 1]"),
        ("--max-steps 0", "max_steps is 0", "--max-steps is 0"),
        ("--episodes -3", "episodes is -3", "--episodes is -3"),
        ("--step-size 3", "step_size is 3.0", "--step-size is 3.0"),
    ],
)
def test_messages_name_flags_in_the_shell_and_arguments_in_python(whatfor, tmp_path, text, python, shell):
    name, value = text.split()
    code, _, err = whatfor("train", "FrozenLake-v1", name, value, "--out", tmp_path / "run")
    assert code == 2
    assert err.startswith(f"whatfor: {shell}")
    number = float(value) if "." in value or name in ("--discount", "--step-size") else int(value)
    argument = name[2:].replace("-", "_")
    with pytest.raises(ValueError, match=re.escape(python)):  # noqa: PT012 - a learner is checked when it starts
        if argument in ("discount", "step_size"):
            wf.train("FrozenLake-v1", wf.QLearning(**{argument: number}), episodes=1)
        wf.train("FrozenLake-v1", **{"episodes": 1, argument: number})


def test_only_flags_that_were_given_are_named():
    assert in_flags("a discount below 1, or seed= a number", ["--out", "x"]) == "a discount below 1, or seed= a number"
    assert in_flags("bounds= of sidebounds=3", ["--bounds"]) == "--bounds of sidebounds=3"


def test_what_to_type_is_in_the_language_of_the_reader(whatfor, tmp_path):
    with pytest.raises(ValueError, match=r"pass the number of bins, e\.g\. bins=10") as python:
        wf.train("CartPole-v1", episodes=1)
    assert "--bins" not in str(python.value)
    code, _, err = whatfor("train", "CartPole-v1", "--out", tmp_path / "run")
    assert code == 2
    assert "add the number of bins, e.g. --bins 10" in err
    assert "bins=" not in err
    with speaking_shell():
        pass
    assert either("python", "shell") == "python"


def test_an_image_is_not_divided_into_bins():
    import gymnasium as gym

    class Image(gym.Env):
        observation_space, action_space = gym.spaces.Box(0, 255, (8, 8, 3), np.uint8), gym.spaces.Discrete(2)

    with pytest.raises(ValueError, match=r"192 dimensions, so these bins would be 10\^200 states.*whatfor\.deep"):
        wf.train(Image(), episodes=1, bins=11)


def test_a_path_is_not_a_time(run):
    with pytest.raises(TypeError, match=r"pass since=whatfor\.load\('there'\)"):
        run.change(0, since="there")
    with pytest.raises(ValueError, match="since, a number of episodes or a run, is None"):
        run.change(0, since=None)


def test_a_run_is_replaced_unless_it_is_told_not_to_be(run, tmp_path):
    run.save(tmp_path / "run", replace=False)
    run.save(tmp_path / "run")
    with pytest.raises(wf.FolderError, match="already contains a run; choose another folder, or pass replace=True"):
        run.save(tmp_path / "run", replace=False)
    with pytest.raises(ValueError, match="replace is 'no'"):
        run.save(tmp_path / "run", replace="no")
