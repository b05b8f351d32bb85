"""The paper's deep figures: no check is met by agents that learned from one batch; what is saved answers as before."""

import importlib
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import whatfor as wf
from whatfor.beliefs import ExactBeliefs, Situation, value_iteration
from whatfor.deep.belief import BeliefNetwork
from whatfor.explanations import Contrast, Intention, Trust
from whatfor.paper import DEEP_FIGURES, FIGURES, DeepAgents, reproduce
from whatfor.paper.deep import distance, is_unfinished, states_on_route
from whatfor.paper.taxi import TAXI_START, back_after

STATES = {"taxi": TAXI_START, "cartpole": 79}


@pytest.fixture(scope="module")
def untrained():
    return DeepAgents(trained=False, device="cpu", both_heads=True)


@pytest.mark.parametrize("id", DEEP_FIGURES)
def test_no_check_is_met_by_an_agent_that_learned_from_one_batch(untrained, id):
    figure = DEEP_FIGURES[id](untrained)
    assert figure.id == id
    assert figure.claim
    assert figure.checks
    assert "Deviations: " in figure.note
    assert [check for check in figure.checks if check.met] == []
    assert untrained.taxi.beliefs.updates == 1


def test_both_heads_are_trained_alongside_the_same_agent(untrained):
    for ours, papers in (
        (untrained.taxi, untrained.taxi_regression),
        (untrained.cartpole, untrained.cartpole_regression),
    ):
        assert np.array_equal(ours.values, papers.values)
        assert (ours.beliefs.settings.head, papers.beliefs.settings.head) == ("faithful", "regression")
        assert np.array_equal(ours.beliefs.tries, papers.beliefs.tries)


def test_the_papers_head_is_left_out_where_it_costs_much():
    agents = DeepAgents(trained=False, device="cpu")
    assert agents.taxi_regression is None
    checks = DEEP_FIGURES["6"](agents).checks
    assert [check for check in checks if check.met or "the paper's head" in check.ours] == []


@pytest.mark.parametrize("inputs", ["one-hot", "raw"])
@pytest.mark.parametrize("name", ["taxi", "cartpole"])
def test_a_saved_agent_answers_the_same_number_by_number(tmp_path, name, inputs):
    agents = DeepAgents(trained=False, device="cpu", inputs=inputs)
    run, state = getattr(agents, name), STATES[name]
    space = run.beliefs.partition.space
    assert (space.shape == ()) == (inputs == "one-hot")
    agents.save(tmp_path)
    again = wf.load(tmp_path / name)
    assert isinstance(again.beliefs, BeliefNetwork)
    assert np.array_equal(again.values, run.values)
    assert again.trust == run.trust
    for question in ("intention", "contrast", "outcomes", "simulation", "comparison"):
        assert getattr(again, question)(state).to_json() == getattr(run, question)(state).to_json(), question
    assert np.array_equal(again.evaluate(3).returns, run.evaluate(3).returns)
    assert (again.playing.place().world is None) == (run.playing.place().world is None), (
        "exact futures are known after loading too"
    )


def test_raw_inputs_are_the_numbers_of_a_state():
    run = DeepAgents(trained=False, device="cpu", inputs="raw").taxi
    state = run.labels.index(TAXI_START)
    assert run.beliefs.example(state).tolist() == list(run.labels.values(state))


def test_a_folder_with_a_page_and_a_run(tmp_path, untrained):
    heard = []
    figures = reproduce(tmp_path / "new", ["s11", "4d"], agents=untrained, progress=False)
    assert [figure.id for figure in figures] == ["S11", "4D"]
    page = (tmp_path / "new" / "index.html").read_text()
    assert "deep figures, reproduced" in page
    assert "tabular figures" not in page
    for picture in re.findall(r"<img src='([^']+)'", page):
        assert (tmp_path / "new" / picture).is_file()
    assert wf.load(tmp_path / "new" / "taxi").intention(TAXI_START).value == untrained.taxi.intention(TAXI_START).value
    fresh = DeepAgents(trained=False, device="cpu")
    fresh.on_progress = lambda name, share: heard.append((name, share))
    assert fresh.taxi.labels.kind == "taxi"
    assert heard[-1] == ("taxi", 1.0)
    assert [share for _, share in heard] == sorted(share for _, share in heard)


def test_a_folder_that_holds_other_things_is_refused_before_the_work(tmp_path):
    (tmp_path / "taxi").mkdir()
    (tmp_path / "taxi" / "notes.txt").touch()
    agents = DeepAgents(trained=False, device="cpu")
    with pytest.raises(ValueError, match="contains other files"):
        reproduce(tmp_path, agents=agents, progress=False)
    assert agents.runs == {}


def test_unknown_figures_get_a_list(tmp_path, whatfor, untrained):
    with pytest.raises(ValueError, match="there is no deep figure '9'; there are 4D, 6, S11, A6"):
        reproduce(tmp_path / "paper", ["9"], agents=untrained)
    with pytest.raises(ValueError, match="figure 7 is of tabular agents: leave out --deep"):
        reproduce(tmp_path / "paper", ["7"], agents=untrained)
    assert not (tmp_path / "paper").exists()
    for id in DEEP_FIGURES:
        code, _, told = whatfor("paper", "--only", id, "--out", tmp_path / "paper")
        assert code == 2
        assert f"figure {id} is of deep agents: add --deep" in told
    assert not set(FIGURES) & set(DEEP_FIGURES)


def test_the_command(whatfor, tmp_path, monkeypatch):
    from whatfor import paper

    few = lambda *args, **more: DeepAgents(*args, **more, trained=False)  # noqa: E731
    monkeypatch.setattr(paper, "DeepAgents", few)
    code, said, _ = whatfor("paper", "--deep", "--only", "S11", "--device", "cpu", "--inputs", "raw", "--out", tmp_path)
    assert code == 0
    *_, summary, hint = said.splitlines()
    assert summary == f"0 of 8 checks met; see {tmp_path / 'index.html'}"
    assert hint == f"to ask this agent: whatfor explain {tmp_path / 'taxi'} --state '{TAXI_START}'"
    code, said, _ = whatfor("explain", tmp_path / "taxi", "--state", TAXI_START)
    assert code == 0
    assert TAXI_START in said


@pytest.mark.parametrize("option", [("--preset", "small"), ("--device", "cpu"), ("--inputs", "raw"), ("--both-heads",)])
def test_options_of_deep_agents_need_deep(whatfor, tmp_path, option):
    code, _, told = whatfor("paper", *option, "--out", tmp_path / "paper")
    assert code == 2
    assert f"{option[0]} is for deep agents: add --deep" in told


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3", "safetensors"])
def test_without_the_extra_it_is_named_before_any_work(whatfor, tmp_path, monkeypatch, missing):
    real = importlib.import_module

    def absent(name, *more):
        if name == missing:
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr("whatfor.needed.import_module", absent)
    code, _, told = whatfor("paper", "--deep", "--out", tmp_path / "paper")
    assert code == 2
    assert "pip install 'whatfor[deep]'" in told
    assert not (tmp_path / "paper").exists()


def test_without_torch_tabular_figures_are_as_before():
    import subprocess

    code = "import sys; sys.modules['torch'] = None; from whatfor.paper import FIGURES, DEEP_FIGURES, reproduce; print(len(FIGURES), len(DEEP_FIGURES))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["17", "4"]


def test_what_cannot_be_is_told():
    with pytest.raises(ValueError, match="preset='huge': there are small, full"):
        DeepAgents("huge")
    with pytest.raises(ValueError, match="inputs='pixels'"):
        DeepAgents(inputs="pixels")
    with pytest.raises(ValueError, match="device='tpu'"):
        DeepAgents(device="tpu")


def test_measures_of_the_figures():
    one, two = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert distance(one, one) == 0.0
    assert distance(one, two) == 0.5
    assert states_on_route(one - np.array([[0.9, 0.0], [0.4, 0.0]]), here=0) == 1
    assert states_on_route(one, here=1) == 1


def test_jobs_that_are_left(untrained):
    assert int(is_unfinished(untrained.taxi).sum()) == 400


class Knowing(ExactBeliefs):
    """An agent on Taxi that is right about everything, in place of a network."""

    whole = True

    def __init__(self):
        self.worth = value_iteration("Taxi-v4", discount=1.0)
        super().__init__("Taxi-v4", self.worth.argmax(axis=1), discount=1.0)

    @property
    def actor(self):
        return self

    def situation(self, state):
        index = state.index if isinstance(state, Situation) else self.labels.index(state)
        return Situation(index, index)

    def row(self, at, action):
        return replace(super().row(at, action), tries=self.tries, trust=self.trust)

    def values_at(self, at):
        return self.worth[at.index]

    def act(self, observations):
        return self.worth.argmax(axis=1)[observations]

    def check_env(self, env: object) -> None:
        """Every environment is its own."""

    def cells_of(self, observations):
        return observations

    def ending_name(self, observation, action, reward):
        return self.labels.ending(action, reward)

    def outcomes(self, state, action):
        return super().outcomes(state, action) if self.has_finite_visits(state, action) else {}

    @property
    def tries(self):
        return np.repeat(is_unfinished(self)[:, None].astype(np.int64), 6, axis=1)


@pytest.fixture(scope="module")
def knowing(untrained):
    """Agents of which Taxi's knows everything; its values are a little apart where they tie, as a network's are."""
    belief = Knowing()
    dice = np.random.default_rng(0)
    belief.worth = belief.worth + dice.uniform(-0.01, 0.01, belief.worth.shape)
    ExactBeliefs.__init__(belief, "Taxi-v4", belief.worth.argmax(axis=1), discount=1.0)  # the future of these values
    left = is_unfinished(belief)
    belief.trust = Trust.of(
        belief.labels, belief.worth[left].ravel(), belief.worth[left].ravel(), distance=0.0, states=400, updates=1, discount=1.0
    )  # fmt: skip
    settings = {"learner": {"discount": 1.0}, "world": untrained.taxi.settings["world"], "max_steps": 200}
    run = wf.Run(labels=belief.labels, values=belief.worth, beliefs=belief, settings=settings)
    agents = DeepAgents(device="cpu")
    agents.__dict__["_taxi"] = {"faithful": run}
    return agents


@pytest.mark.parametrize("id", ["6", "S11", "A6"])
def test_every_check_is_met_by_an_agent_that_knows_everything(knowing, id):
    assert knowing.taxi.agent is knowing.taxi.beliefs
    figure = DEEP_FIGURES[id](knowing)
    assert [check for check in figure.checks if not check.met] == []
    assert len(figure.pictures) == {"6": 1, "S11": 2, "A6": 1}[id]


def test_a_bounce_is_read_off_visits():
    """What leads back is told from what does not, and from being stuck."""
    exact = Knowing()
    best, labels = exact.worth, exact.labels
    exact.trust = Trust.of(labels, best.ravel(), best.ravel(), distance=0.0, states=400, updates=1, discount=1.0)

    def contrast(state, other):
        asked = (int(best[state].argmax()), labels.action(other))
        rows = {a: exact.row(Situation(state), a) for a in asked}
        return Contrast.of(*(Intention.of(rows[a], labels, state, a, values=best[state]) for a in asked))

    there = labels.index("taxi at row 3, column 0; passenger aboard; destination R")
    assert labels.actions[int(best[there].argmax())] == "north"
    assert back_after(contrast(there, "south")) == 2
    assert back_after(contrast(there, "west")) == 1
    assert back_after(contrast(there, "drop off")) == 1
    tie = labels.index("taxi at row 2, column 1; passenger aboard; destination R")
    assert back_after(contrast(tie, "west" if labels.actions[int(best[tie].argmax())] == "north" else "north")) is None
