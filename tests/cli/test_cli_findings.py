"""whatfor explain without a state: where to look, with commands of the shell."""

import json
import shlex

import pytest

import whatfor as wf
from planted import GRID, grid, with_loop


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    run = wf.train(grid(slip=0.0), GRID, episodes=100, seed=0, progress=False)
    with_loop(run, 0, recorded=True)[0].save(folder / "loop run")
    run.save(folder / "right")
    return folder


def test_every_listed_command_can_be_typed(whatfor, runs):
    code, output, error = whatfor("explain", runs / "loop run")
    assert (code, error) == (0, "")
    commands = [line.strip() for line in output.splitlines() if line.startswith("   whatfor")]
    assert commands
    for command in commands:
        assert whatfor(*shlex.split(command)[1:])[0] == 0, command
    code, output, _ = whatfor("explain", runs / "loop run", "--json")
    assert json.loads(output) == json.loads(json.dumps(wf.load(runs / "loop run").findings().to_json()))


def test_commands_load_the_run_as_the_findings_did(whatfor, runs):
    code, output, error = whatfor("explain", runs / "loop run", "--as-of", 60, "--module", "planted")
    assert (code, error) == (0, "")
    commands = [line.strip() for line in output.splitlines() if line.startswith("   whatfor")]
    assert commands
    assert all(shlex.split(command)[3:7] == ["--as-of", "60", "--module", "planted"] for command in commands)
    assert whatfor(*shlex.split(commands[0])[1:])[0] == 0


def test_differences_from_another_run(whatfor, runs):
    code, output, error = whatfor("explain", runs / "loop run", "--since", runs / "right")
    assert (code, error) == (0, "")
    command = next(line.strip() for line in output.splitlines() if line.startswith("   whatfor"))
    assert command.endswith(shlex.join(["--since", str(runs / "right")]))
    code, answer, _ = whatfor(*shlex.split(command)[1:])
    assert code == 0
    assert "in the other run" in answer
    assert whatfor("explain", runs / "right", "--since", runs / "right")[1].startswith("The best action is the same")
    assert whatfor("explain", runs / "right", "--since", 10)[0] == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--question", "contrast"), "--question needs --state, the state that is asked about. Write it like this:"),
        (("--action", "0"), "--action needs --state"),
        (("--since", "nowhere"), "no such folder"),
        (("--since", "1000"), "since is 1,000; the run has 100 episodes"),
    ],
)
def test_what_is_missing_is_named(whatfor, runs, flags, message):
    code, output, error = whatfor("explain", runs / "right", *flags)
    assert (code, output) == (2, "")
    assert message in error
    assert error.count("\n") == 1
