"""Every question on the command line prints the answer of the run."""

import json

import pytest
from PIL import Image

import whatfor as wf
from taxi_runs import START


@pytest.fixture(scope="module")
def taxi(taxi_2k, tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions") / "taxi"
    taxi_2k.save(folder)
    return folder


ASKED = {
    ("--question", "intention"): lambda run: run.intention(START),
    ("--question", "contrast"): lambda run: run.contrast(START),
    ("--instead", "north"): lambda run: run.contrast(START, instead="north"),
    ("--question", "outcomes"): lambda run: run.outcomes(START),
    ("--question", "timeline", "--action", "east"): lambda run: run.timeline(START, "east"),
    ("--question", "provenance"): lambda run: run.provenance(START),
    ("--question", "parts"): lambda run: run.parts(START),
    ("--question", "simulation"): lambda run: run.simulation(START),
    ("--question", "simulation", "--rollouts", "20"): lambda run: run.simulation(START, rollouts=20),
    ("--question", "timeline", "--horizon", "3"): lambda run: run.timeline(START, horizon=3),
    ("--question", "comparison"): lambda run: run.comparison(START),
    ("--since", "300"): lambda run: run.change(START, since=300),
    ("--event", "passenger aboard"): lambda run: run.chance(START, event="passenger aboard"),
    ("--event", "passenger aboard", "--before", "row 4"): lambda run: run.chance(
        START, event="passenger aboard", before="row 4"
    ),
    ("--question", "comparison", "--as-of", "500"): lambda run: run.as_of(500).comparison(START),
}


@pytest.mark.parametrize("flags", ASKED, ids=" ".join)
def test_every_question(whatfor, taxi, flags):
    run = wf.load(taxi)
    code, said, errors = whatfor("explain", taxi, "--state", START, *flags)
    assert (code, errors) == (0, "")
    assert said.rstrip("\n") == str(ASKED[flags](run))
    code, said, _ = whatfor("explain", taxi, "--state", START, *flags, "--json")
    assert json.loads(said) == json.loads(json.dumps(ASKED[flags](run).to_json()))


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--instead", "north", "--event", "row 4"), "--instead and --event select different questions"),
        (("--since", "10", "--instead", "north"), "--instead and --since select different questions"),
        (("--before", "row 4"), "--before needs --event"),
        (("--question", "chance"), "--question chance needs --event"),
        (("--question", "change"), "--question change needs --since"),
        (("--question", "changes"), "Did you mean 'change'?"),
        (("--question", "None"), "there is no question 'None'; the questions are intention, contrast, "),
        (
            ("--event", "row 4", "--question", "parts"),
            "--event selects the question chance; it cannot be combined with --question parts",
        ),
        (("--event", "the moon"), "the moon"),
        (("--horizon", "3"), "--horizon is for --question timeline, not for intention"),
        (("--question", "timeline", "--horizon", "0"), "horizon is 0; ask for at least one step"),
        (("--as-of", "10", "--since", "20"), "since is 20; the run has 10 episodes"),
        (("--since", "9999"), "since is 9,999; the run has 2,000 episodes"),
        (("--as-of", "9999"), "--as-of is 9,999; the run has 2,000 episodes"),
        (("--instead", "fly"), "there is no action 'fly'; the actions are south, north, east, west, pick up, drop off"),
    ],
)
def test_wrong_combinations_of_flags_give_one_line(whatfor, taxi, flags, error):
    code, output, message = whatfor("explain", taxi, "--state", START, *flags)
    assert (code, output) == (2, "")
    assert error in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    "flags",
    [
        ("--question", "simulation"),
        ("--question", "comparison"),
        ("--question", "comparison", "--show", "difference"),
        ("--question", "comparison", "--show", "endings"),
        ("--question", "contrast", "--show", "parts"),
        ("--question", "parts"),
        ("--since", "300"),
        ("--event", "passenger aboard"),
    ],
    ids=" ".join,
)
def test_every_answer_is_drawn(whatfor, taxi, tmp_path, flags):
    code, _, errors = whatfor("draw", taxi, "--state", START, *flags, "--out", tmp_path / "why.png")
    assert (code, errors) == (0, "")
    with Image.open(tmp_path / "why.png") as drawn:
        assert min(drawn.size) > 200


def test_a_gif_shows_the_episode(whatfor, taxi, tmp_path):
    code, _, _ = whatfor("draw", taxi, "--state", START, "--out", tmp_path / "way.gif")
    assert code == 0
    with Image.open(tmp_path / "way.gif") as moving:
        assert moving.n_frames == len(wf.load(taxi).episode(START))
    code, _, error = whatfor("draw", taxi, "--state", START, "--action", "east", "--out", tmp_path / "no.gif")
    assert code == 2
    assert "a .gif shows the intentions along a greedy episode" in error
    code, _, error = whatfor("draw", taxi, "--state", START, "--show", "endings", "--out", tmp_path / "no.png")
    assert code == 2
    assert "--show endings is not for --question intention" in error
    assert [file.name for file in tmp_path.iterdir()] == ["way.gif"]
