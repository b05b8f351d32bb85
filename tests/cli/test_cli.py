"""The command line: its output, its files and its error messages."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from whatfor.text import amount

COMMAND = Path(sys.executable).with_name("whatfor")
HEAVY = ("torch", "matplotlib", "numba", "gymnasium", "scipy")


@pytest.fixture(scope="module")
def taxi(tmp_path_factory):
    """A run trained and saved by the command line."""
    folder = tmp_path_factory.mktemp("cli") / "taxi"
    words = "train Taxi-v4 --learner q-learning --episodes 600 --seed 3 --step-size 0.4 --discount 0.9 --out"
    done = subprocess.run([COMMAND, *words.split(), folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_train_command_saves_the_same_run_as_train(taxi):
    folder, out = taxi
    run = wf.load(folder)
    same = wf.train("Taxi-v4", wf.QLearning(step_size=0.4, discount=0.9), episodes=600, seed=3)
    assert np.array_equal(run.tables, same.tables)
    assert out.splitlines() == [
        repr(same),
        "using the compiled engine (exact reimplementation of Taxi-v4)",
        f"mean undiscounted return of the last 100 episodes: {same.history.returns[-100:].mean():.4g}",
        f"saved to {folder}",
    ]


@pytest.mark.parametrize("state", ["68", "taxi at row 0, column 3; passenger at Y; destination R", "(0, 3, 2, 0)"])
@pytest.mark.parametrize("action", [None, "south", "0"])
def test_explain_prints_value_residual_and_expected_future(whatfor, taxi, state, action):
    run = wf.load(taxi[0])
    chosen = int(run.values[68].argmax()) if action is None else 0
    code, out, _ = whatfor("explain", taxi[0], "--state", state, *(() if action is None else ("--action", action)))
    assert code == 0
    first, second, *rest = out.splitlines()
    assert first.startswith(f"In '{run.labels.words(68)}', it {run.labels.action_phrase(chosen)}")
    assert second.startswith(f"Its estimated return is {amount(run.values[68, chosen])} (discounted)")
    later = run.audit.visits(68, chosen)
    later[68, chosen] = 0.0
    s, a = np.unravel_index(later.argmax(), later.shape)
    assert any(
        re.fullmatch(rf" +{later[s, a]:.3f}  {re.escape(run.labels.words(s))}: {run.labels.actions[a]}", line)
        for line in rest
    )
    total = re.fullmatch(r"Sum: (\S+), equal to the agent's Q-value up to rounding.*\.", rest[-1])[1]
    assert float(total) == pytest.approx(run.values[68, chosen], rel=1e-3)


def test_explain_prints_a_large_residual(whatfor, taxi, tmp_path):
    """Values that the ledger does not explain are reported as such."""
    run = wf.load(taxi[0])
    run.tables += 0.25
    run.save(tmp_path / "wrong")
    code, out, _ = whatfor("explain", tmp_path / "wrong", "--state", 68)
    assert code == 0
    assert "The explanation is off by 0.25: these beliefs do not match the agent's values" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "world", "learner", "settings"),
    [
        (
            "blackjack --learner monte-carlo --step-size visit-count",
            wf.worlds.blackjack,
            wf.MonteCarlo(step_size=wf.visit_count()),
            {},
        ),
        (
            "chain --learner sarsa --discount 1 --exploration 1",
            wf.worlds.chain,
            wf.Sarsa(discount=1.0, exploration=1.0),
            {},
        ),
        (
            "cartpole --learner lambda-returns --lambda 0.5 --time-limit terminal",
            wf.worlds.cartpole,
            wf.LambdaReturns(lambda_=0.5),
            {"time_limit": "terminal"},
        ),
        (
            "FrozenLake-v1 --learner double-q --option is_slippery=False --max-steps 20 --engine python",
            lambda: gym.make("FrozenLake-v1", is_slippery=False),
            wf.DoubleQLearning(),
            {"max_steps": 20, "engine": "python"},
        ),
        (
            "MountainCar-v0 --bins 4 5 --bounds -1.2 0.6 -0.07 0.07 --exploration exponential(1,0.1,0.9)",
            lambda: "MountainCar-v0",
            wf.QLearning(exploration=wf.exponential(1, 0.1, decay=0.9)),
            {"bins": (4, 5), "bounds": [(-1.2, 0.6), (-0.07, 0.07)]},
        ),
        (
            "Blackjack-v1 --option natural=false --option sab=false --exploration linear(1,0.1,10)",
            lambda: gym.make("Blackjack-v1", natural=False, sab=False),
            wf.QLearning(exploration=wf.linear(1, 0.1, episodes=10)),
            {},
        ),
    ],
)
def test_flags_are_passed_to_train(whatfor, tmp_path, flags, world, learner, settings):
    code, _, errors = whatfor("train", *flags.split(), "--episodes", 20, "--seed", 5, "--out", tmp_path / "run")
    assert (code, errors) == (0, "")
    run = wf.load(tmp_path / "run")
    same = wf.train(world(), learner, episodes=20, seed=5, **settings)
    assert np.array_equal(run.tables, same.tables)
    assert run.settings["learner"] == learner.to_json()
    assert (run.engine, run.settings["engine_reason"]) == (same.engine, same.settings["engine_reason"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("Nope-v0", "Nope"),
        ("CartPole-v1", "--bins 10"),
        (
            "CartPole-v1 --bins 3 --bounds 1 2 3",
            "--bounds takes a low and a high for each dimension; 3 numbers were given",
        ),
        (
            "CartPole-v1 --bins 6 --bounds -2 2",
            "--bounds has 2 numbers; give 8: low high for each of 4 dimensions",
        ),
        ("Taxi-v4 --discount 2", "discount is 2.0"),
        ("Taxi-v4 --lambda 0.5", "--lambda is for --learner lambda-returns, not for q-learning"),
        ("Taxi-v4 --learner lambda-returns --lambda 3", "--lambda is 3.0; it must lie in [0, 1]"),
        ("Taxi-v4 --step-size much", "--step-size takes a number or \"visit-count\", not 'much'"),
        ("Taxi-v4 --exploration linear(1,2)", "--exploration 'linear(1,2)': write e.g. \"linear(1, 0.1, 250)\""),
        ("Taxi-v4 --exploration sometimes", "--exploration takes a number"),
        ("Taxi-v4 --exploration linear(1,0.1,inf)", "the number of episodes, inf, must be a whole number"),
        ("Taxi-v4 --exploration linear(1,0.1,nan)", "the number of episodes, nan, must be a whole number"),
        ("Taxi-v4 --exploration linear(1,0.1,2.5)", "the number of episodes, 2.5, must be a whole number"),
        ("Taxi-v4 --option rainy", "--option takes name=value, not 'rainy'"),
        ("chain --option rainy=true", "--option is for Gymnasium environments; chain has no options"),
        ("Taxi-v4 --engine compiled --option fickle_passenger=true", "fickle_passenger=True"),
        ("Taxi-v4 --episodes -3", "episodes is -3"),
        ("Taxi-v4 --learner psychic", "q-learning"),
        ("Taxi-v4 --episodes many", "many"),
    ],
)
def test_wrong_flags_give_one_line_and_leave_no_files(whatfor, tmp_path, words, message):
    code, out, errors = whatfor("train", *words.split(), "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert message in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--state", "nowhere"], "the row is missing; row is one of 0, 1, 2, 3, 4"),
        (["--state", "500"], "state 500 is out of range: there are states 0 to 499"),
        (["--state", "68", "--action", "fly"], "the actions are south, north, east, west, pick up, drop off"),
        (["--state", "68", "--event", "banana"], "or name an ending: timed out, terminated, delivered"),
        (
            ["--state", "68", "--event", "row 4", "--instead", "north"],
            "--instead and --event select different questions",
        ),
        (["--state", "68", "--before", "row 4"], "--before needs --event"),
        (["--question", "timeline"], "--state"),
    ],
)
def test_explain_lists_the_choices_for_wrong_words(whatfor, taxi, words, message):
    code, out, errors = whatfor("explain", taxi[0], *words)
    assert (code, out) == (2, "")
    assert message in errors


def test_explain_without_a_run_and_with_a_broken_run(whatfor, taxi, tmp_path):
    assert whatfor("explain", tmp_path / "nothing", "--state", 0) == (
        2,
        "",
        f"whatfor: there is no run at {tmp_path / 'nothing'}: no such folder; name a folder that run.save() or whatfor train has written\n",
    )
    (tmp_path / "manifest.json").write_text("{")
    code, _, errors = whatfor("explain", tmp_path, "--state", 0)
    assert code == 2
    assert "is not JSON" in errors


def test_a_folder_with_other_files_is_rejected_before_training(whatfor, tmp_path, monkeypatch):
    (tmp_path / "thesis.tex").write_text("precious")
    monkeypatch.setattr(wf, "train", lambda *_, **__: pytest.fail("hours of training for nothing"), raising=False)
    code, _, errors = whatfor("train", "chain", "--episodes", 3, "--out", tmp_path)
    assert code == 2
    assert "thesis.tex" in errors
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


class Moody(gym.Env):
    """Does something bad in its 30th step."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def __init__(self, mood):
        self.mood, self.steps = mood, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        self.steps += 1
        if self.steps == 30 and self.mood == "fails":
            raise OSError("the cable came out")
        if self.steps == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return 1, 1.0, self.steps % 7 == 0, False, {}


@pytest.fixture
def moody():
    gym.register("Moody-v0", entry_point=Moody)
    yield "Moody-v0"
    del gym.registry["Moody-v0"]


def test_a_failing_environment_is_reported_and_the_run_so_far_is_saved(whatfor, moody, tmp_path):
    code, out, errors = whatfor("train", moody, "--option", "mood=fails", "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    saved = f"The run so far was saved to {tmp_path / 'run'}"
    assert errors == f"whatfor: training stopped in episode 5 of 5,000: OSError: the cable came out. {saved}\n"
    assert wf.load(tmp_path / "run").history.lengths.tolist() == [7, 7, 7, 7, 1]


def test_the_return_of_one_episode_is_not_a_mean_of_episodes(whatfor, tmp_path):
    _, output, _ = whatfor("train", "chain", "--episodes", "1", "--out", tmp_path / "run")
    assert "mean undiscounted return of the last episode: " in output


def test_the_environment_of_a_module_is_played_again_with_its_module(whatfor, tmp_path, monkeypatch):
    """A run names the module of its environment, but code named in a file is never imported."""
    source = """
        import gymnasium as gym
        from gymnasium.envs.toy_text import FrozenLakeEnv

        gym.register("Ponds-v0", entry_point=FrozenLakeEnv, max_episode_steps=50)
    """
    (tmp_path / "ponds.py").write_text(textwrap.dedent(source))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code, output, errors = whatfor("train", "ponds:Ponds-v0", "--episodes", "20", "--out", "run")
    assert (code, errors) == (0, "")
    assert "add --module ponds\n" in output
    del gym.registry["Ponds-v0"], sys.modules["ponds"]  # as in another process
    asking = ("explain", "run", "--state", "0", "--question", "simulation")
    code, _, errors = whatfor(*asking)
    assert code == 2
    assert "add --module ponds, the module that registers it with Gymnasium" in errors
    code, output, errors = whatfor(*asking, "--module", "ponds")
    assert (code, errors) == (0, "")
    assert output.startswith("Played 1,000 times")
    code, _, errors = whatfor(*asking, "--module", "pond")
    assert (code, errors.count("\n")) == (2, 1)
    assert "--module pond: there is no module 'pond'" in errors
    del gym.registry["Ponds-v0"], sys.modules["ponds"]


def test_concepts_for_a_tabular_run_are_refused(whatfor, run_folder):
    code, _, errors = whatfor("explain", run_folder, "--state", "0", "--cells", "os:getcwd")
    assert (code, errors.count("\n")) == (2, 1)
    assert "is for runs of deep agents" in errors


def test_help_begins_with_what_it_is_for(whatfor):
    _, output, _ = whatfor("--help")
    assert "Ask a reinforcement-learning agent what its actions are for." in output
    assert "whatfor --version" in output


def test_ctrl_c_saves_the_run_so_far(whatfor, moody, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, errors = whatfor("train", moody, "--option", "mood=bored", "--out", tmp_path / "run")
    assert code == 0
    assert errors == "whatfor: training was interrupted in episode 5 of 5,000; the run so far is returned\n"
    assert f"saved to {tmp_path / 'run'}" in out
    assert wf.load(tmp_path / "run").history.lengths.tolist() == [7, 7, 7, 7, 2]


def test_warnings_are_one_line_too(tmp_path):
    words = [COMMAND, "train", "Taxi-v3", "--episodes", "2", "--out", tmp_path / "run"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == "whatfor: Gymnasium has removed Taxi-v3; using Taxi-v4, which behaves the same\n"


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["explore", "--help"]])
def test_help_is_quick_because_nothing_heavy_is_imported(words):
    script = f"""
import sys
sys.argv = ["whatfor", *{words!r}]
from whatfor.cli import main
try:
    main()
except SystemExit as stop:
    print("left with", stop.code)
print("imported", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "usage: whatfor" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["left with 0", "imported []"]


@pytest.mark.parametrize("word", ["trian", "--bogus"])
def test_an_unknown_command_gives_one_line_with_the_commands(whatfor, word):
    code, out, errors = whatfor(word)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert f"there is no command {word!r}; the commands are train, explain, draw, report, explore, paper" in errors
    assert ("Did you mean 'train'?" in errors) == (word == "trian")


def test_stray_arguments_are_named(whatfor, tmp_path):
    code, out, errors = whatfor("report", tmp_path, "--out", tmp_path / "page.html", "--states", "0", "1")
    assert (code, out) == (2, "")
    assert "Unrecognized options: 1" in errors


@pytest.mark.parametrize(
    ("given", "meant"), [("--gamma", "--discount"), ("--alpha=0.3", "--step-size"), ("--lam", "--lambda")]
)
def test_flags_of_other_libraries_are_named_as_they_are_here(whatfor, tmp_path, given, meant):
    code, out, errors = whatfor("train", "FrozenLake-v1", "--out", tmp_path / "run", given, "0.9")
    flag = given.partition("=")[0]
    assert (code, out, errors) == (2, "", f"whatfor: there is no flag {flag}. Did you mean {meant}?\n")


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "whatfor", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout == subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_imports_nothing_heavy():
    script = f"import sys, whatfor; whatfor.__version__; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_is_replaced_only_with_the_flag(whatfor, tmp_path):
    words = ("train", "chain", "--out", tmp_path / "run", "--episodes")
    assert whatfor(*words, 5)[0] == 0
    code, _, error = whatfor(*words, 7)
    assert (code, "add --replace" in error) == (2, True)
    assert len(wf.load(tmp_path / "run").history) == 5
    assert whatfor(*words, 7, "--replace")[0] == 0
    assert len(wf.load(tmp_path / "run").history) == 7


def test_version(whatfor):
    assert whatfor("--version") == (0, f"whatfor {wf.__version__}\n", "")


def test_explain_compares_actions_and_prints_json(whatfor, taxi):
    folder, _ = taxi
    run = wf.load(folder)
    question = ("explain", folder, "--state", "68", "--action", "south")
    assert whatfor(*question, "--instead", "north")[1].strip() == str(run.contrast(68, "south", "north"))
    aboard = run.chance(68, "south", event="passenger aboard")
    assert whatfor(*question, "--event", "passenger aboard")[1].strip() == str(aboard)
    first = run.chance(68, "south", event="row 4", before="passenger aboard")
    assert whatfor(*question, "--event", "row 4", "--before", "passenger aboard")[1].strip() == str(first)
    assert whatfor(*question, "--as-of", 50)[1].strip() == str(run.as_of(50).intention(68, "south"))
    code, out, _ = whatfor(*question, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(run.intention(68, "south").to_json()))
