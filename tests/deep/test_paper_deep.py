"""The paper's deep figures: controls fail every check, exact beliefs pass them; agents are saved and loaded."""

import importlib
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import whatfor as wf
from whatfor.beliefs import ExactBeliefs, Situation, value_iteration
from whatfor.deep.belief import BeliefNetwork
from whatfor.explanations import Contrast, Intention, Trust
from whatfor.paper import DEEP_CLAIMS, DEEP_FIGURES, FIGURES, DeepAgents, deep_agents, reproduce
from whatfor.paper.deep import deep_study, is_unfinished
from whatfor.paper.deep_wrong import DEEP_WRONG
from whatfor.paper.evidence import DEEP_LEVEL
from whatfor.paper.presets import PRESETS
from whatfor.paper.taxi import TAXI_START, back_after
from whatfor.players import player_of

IDS = [f"{claim.figure}: {claim.says[:50]}" for claim in DEEP_CLAIMS]
STATES = {"taxi": TAXI_START, "cartpole": 79}


@pytest.fixture(scope="module")
def untrained():
    return DeepAgents(trained=False, device="cpu", both_heads=True)


@pytest.mark.parametrize("id", DEEP_FIGURES)
def test_figures_of_an_agent_trained_on_one_batch(untrained, id):
    figure = DEEP_FIGURES[id](untrained)
    assert figure.id == id
    assert figure.claim
    assert figure.pictures
    assert "Deviations: " in figure.note
    assert untrained.taxi.beliefs.updates == 1


@pytest.mark.parametrize("claim", DEEP_CLAIMS, ids=IDS)
def test_no_check_is_met_by_an_agent_trained_on_one_batch(untrained, claim):
    assert not claim.measure(untrained).met


def test_every_claim_has_a_wrong_mechanism():
    assert {claim.figure for claim in DEEP_CLAIMS} == set(DEEP_FIGURES) - {"A6"}
    assert {claim.wrong for claim in DEEP_CLAIMS} == set(DEEP_WRONG)


def test_both_heads_are_trained_alongside_the_same_agent(untrained):
    for ours, papers in (
        (untrained.taxi_learned, untrained.taxi_regression),
        (untrained.cartpole_learned, untrained.cartpole_regression),
    ):
        assert np.array_equal(ours.values, papers.values)
        assert (ours.beliefs.settings.head, papers.beliefs.settings.head) == ("faithful", "regression")
        assert np.array_equal(ours.beliefs.tries, papers.beliefs.tries)


def test_pictures_show_what_settled_and_consistency_is_of_what_was_learned_alongside(tmp_path, monkeypatch):
    """The agent of a tiny preset."""
    preset = replace(PRESETS["small"]["cartpole"], steps=4_000, learning_starts=400, sync=200, both_heads=True)
    monkeypatch.setitem(PRESETS["small"], "cartpole", preset)
    agents = DeepAgents(device="cpu")
    agents.use(tmp_path)
    settled, learned = agents.cartpole, agents.cartpole_learned
    assert (settled.trust.source, learned.trust.source) == ("evaluated", "trained alongside")
    assert agents.cartpole_regression.trust.source == "trained alongside"
    assert np.array_equal(settled.values, learned.values), "one agent"
    checked = settled.trust.checked.visits, learned.trust.checked.visits
    assert checked[0] < checked[1]
    assert sorted(folder.name for folder in tmp_path.iterdir() if folder.is_dir()) == [
        "cartpole", "cartpole-learned", "cartpole-paper-head",
    ]  # fmt: skip
    again = DeepAgents(device="cpu")
    again.use(tmp_path)
    assert again.cartpole.trust == settled.trust
    assert again.cartpole_learned.trust == learned.trust
    figure = DEEP_FIGURES["4D"](agents)
    assert [picture.file.split(".")[0] for picture in figure.pictures] == [
        "4D-belief", "4D-simulation", "4D-settled", "4D-tabular",
    ]  # fmt: skip
    assert "What settled when training had ended: visits" in figure.note
    consistent = next(claim for claim in DEEP_CLAIMS if claim.figure == "4D" and "consistent with Q" in claim.says)
    assert (
        consistent.measure(agents).number
        == consistent.measure(SimpleNamespace(cartpole_learned=learned, seed=0)).number
    )


def test_the_papers_head_is_left_out_by_default():
    agents = DeepAgents(trained=False, device="cpu")
    assert agents.taxi_regression is None
    assert "The paper's head" not in DEEP_FIGURES["6"](agents).note


@pytest.mark.parametrize("inputs", ["one-hot", "raw"])
@pytest.mark.parametrize("name", ["taxi", "cartpole"])
def test_a_loaded_agent_gives_the_same_answers(tmp_path, name, inputs):
    agents = DeepAgents(trained=False, device="cpu", inputs=inputs)
    agents.use(tmp_path)
    run, state = getattr(agents, name), STATES[name]
    space = run.beliefs.partition.space
    assert (space.shape == ()) == (inputs == "one-hot")
    loaded = wf.load(tmp_path / name)
    assert isinstance(loaded.beliefs, BeliefNetwork)
    assert np.array_equal(loaded.values, run.values)
    assert loaded.trust == run.trust
    for question in ("intention", "contrast", "outcomes", "simulation", "comparison"):
        assert getattr(loaded, question)(state).to_json() == getattr(run, question)(state).to_json(), question
    assert np.array_equal(loaded.evaluate(3).returns, run.evaluate(3).returns)
    assert (loaded.playing.place().world is None) == (run.playing.place().world is None)


def test_raw_inputs_are_the_values_of_a_state():
    run = DeepAgents(trained=False, device="cpu", inputs="raw").taxi
    state = run.labels.index(TAXI_START)
    assert run.beliefs.example(state).tolist() == list(run.labels.values(state))


def test_reproduce_writes_a_page_and_the_runs_of_all_seeds(tmp_path):
    agents, folder = DeepAgents(trained=False, device="cpu"), tmp_path / "new"
    progress = []
    figures, results = reproduce(folder, ["s11", "4d"], seeds=2, agents=agents, progress=False)
    assert [figure.id for figure in figures] == ["S11", "4D"]
    assert {one.claim.figure for one in results} == {"S11", "4D"}
    assert {(one.rate.seeds, one.level) for one in results} == {(2, DEEP_LEVEL)}
    page = (folder / "index.html").read_text()
    assert "deep figures, reproduced" in page
    assert "with only 2 seeds, these intervals are 80 % ones, and the evidence is weak" in page
    for picture in re.findall(r"<img src='([^']+)'", page):
        assert (folder / picture).is_file()
    saved = [wf.load(folder / name / "taxi") for name in ("", "seed-1")]
    assert saved[0].intention(TAXI_START).value == agents.taxi.intention(TAXI_START).value
    assert not np.array_equal(saved[0].values, saved[1].values)
    fresh = DeepAgents(trained=False, device="cpu")
    fresh.on_progress = lambda name, share: progress.append((name, share))
    assert fresh.taxi.labels.kind == "taxi"
    assert progress[-1] == ("taxi", 1.0)
    assert [share for _, share in progress] == sorted(share for _, share in progress)


def test_saved_agents_with_the_same_settings_are_not_trained_again(tmp_path, monkeypatch):
    first = DeepAgents(trained=False, device="cpu")
    first.use(tmp_path)
    values = first.cartpole.values
    trained = []
    original = deep_agents.train_heads
    monkeypatch.setattr(
        deep_agents, "train_heads", lambda name, *args, **more: trained.append(name) or original(name, *args, **more)
    )
    again = DeepAgents(trained=False, device="cpu")
    again.use(tmp_path)
    assert np.array_equal(again.cartpole.values, values)
    assert again.cartpole_regression is not None, "the preset trains both heads"
    assert trained == []
    other = DeepAgents(trained=False, device="cpu", inputs="raw")
    other.use(tmp_path)
    assert other.cartpole.labels.kind == "cartpole"
    assert trained == ["cartpole"], "another input"


@pytest.mark.long
def test_processes_train_the_seeds_and_the_next_run_goes_on_with_them(tmp_path, monkeypatch):
    claims, progress = [claim for claim in DEEP_CLAIMS if claim.figure == "S11"][:1], {}
    agents = DeepAgents(trained=False, device="cpu")
    agents.use(tmp_path)
    agents.on_progress = progress.__setitem__
    results = deep_study(claims, agents, 2, jobs=2)
    assert progress == {"taxi, seed 0": 1.0, "taxi, seed 1": 1.0}
    assert sorted(str(file.parent.relative_to(tmp_path)) for file in tmp_path.rglob("taxi.json")) == [".", "seed-1"]
    assert not list(tmp_path.rglob("cartpole*")), "this figure shows Taxi alone"
    monkeypatch.setattr(DeepAgents, "_save", lambda agents, *_: pytest.fail("trained again") if agents.folder else None)
    again = DeepAgents(trained=False, device="cpu")
    again.use(tmp_path)
    assert [one.to_json() for one in deep_study(claims, again, 2)] == [one.to_json() for one in results]
    alone = DeepAgents(trained=False, device="cpu", seed=1)
    assert np.array_equal(alone.taxi.values, wf.load(tmp_path / "seed-1" / "taxi").values)


def test_a_folder_with_other_files_is_refused_before_training(tmp_path):
    (tmp_path / "taxi").mkdir()
    (tmp_path / "taxi" / "notes.txt").touch()
    agents = DeepAgents(trained=False, device="cpu")
    with pytest.raises(ValueError, match="contains files but no run"):
        reproduce(tmp_path, agents=agents, progress=False)
    assert agents.runs == {}


def test_the_error_for_an_unknown_figure_lists_the_known_ones(tmp_path, whatfor, untrained):
    with pytest.raises(ValueError, match="there is no deep figure '9'; the figures are 4D, 6, S11, A6"):
        reproduce(tmp_path / "paper", ["9"], agents=untrained)
    with pytest.raises(ValueError, match="figure 7 shows tabular agents: leave out --deep"):
        reproduce(tmp_path / "paper", ["7"], agents=untrained)
    assert not (tmp_path / "paper").exists()
    for id in DEEP_FIGURES:
        code, _, err = whatfor("paper", "--only", id, "--out", tmp_path / "paper")
        assert code == 2
        assert f"figure {id} shows deep agents: add --deep" in err
    assert not set(FIGURES) & set(DEEP_FIGURES)


def test_the_command_line(whatfor, tmp_path, monkeypatch):
    from whatfor import paper

    untrained = lambda *args, **more: DeepAgents(*args, **more, trained=False)  # noqa: E731
    monkeypatch.setattr(paper, "DeepAgents", untrained)
    code, out, _ = whatfor("paper", "--deep", "--only", "S11", "--device", "cpu", "--inputs", "raw", "--out", tmp_path)
    assert code == 0
    assert "training taxi: 100 %" in out, "where there is no terminal, lines report progress"
    *_, summary, hint = out.splitlines()
    assert summary == f"0 reproduced, 4 not reproduced, 0 unclear, of 4 claims; see {tmp_path / 'index.html'}"
    assert hint == f"to ask this agent: whatfor explain {tmp_path / 'taxi'} --state '{TAXI_START}'"
    code, out, _ = whatfor("explain", tmp_path / "taxi", "--state", TAXI_START)
    assert code == 0
    assert TAXI_START in out


@pytest.mark.parametrize("option", [("--preset", "small"), ("--device", "cpu"), ("--inputs", "raw"), ("--both-heads",)])
def test_options_of_deep_agents_need_deep(whatfor, tmp_path, option):
    code, _, err = whatfor("paper", *option, "--out", tmp_path / "paper")
    assert code == 2
    assert f"{option[0]} is for deep agents: add --deep" in err


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3", "safetensors"])
def test_a_missing_extra_is_reported_before_training(whatfor, tmp_path, monkeypatch, missing):
    original = importlib.import_module

    def import_module(name, *more):
        if name == missing:
            raise ImportError(name)
        return original(name, *more)

    monkeypatch.setattr("whatfor.needed.import_module", import_module)
    code, _, err = whatfor("paper", "--deep", "--out", tmp_path / "paper")
    assert code == 2
    assert "pip install 'whatfor[deep]'" in err
    assert not (tmp_path / "paper").exists()


def test_tabular_figures_do_not_need_torch():
    import subprocess

    code = "import sys; sys.modules['torch'] = None; from whatfor.paper import FIGURES, DEEP_FIGURES, reproduce; print(len(FIGURES), len(DEEP_FIGURES))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["20", "4"]


def test_invalid_options_are_refused():
    with pytest.raises(ValueError, match="preset='huge': the presets are small, full"):
        DeepAgents("huge")
    with pytest.raises(ValueError, match="inputs='pixels'"):
        DeepAgents(inputs="pixels")
    with pytest.raises(ValueError, match="device='tpu'"):
        DeepAgents(device="tpu")


def test_unfinished_states_are_counted(untrained):
    assert int(is_unfinished(untrained.taxi).sum()) == 400


class PerfectAgent(ExactBeliefs):
    """A Taxi agent with exact beliefs, in place of a network."""

    learned = True  # it believes what is so

    whole = True

    def __init__(self):
        self.q_table = value_iteration("Taxi-v4", discount=1.0)
        super().__init__("Taxi-v4", self.q_table.argmax(axis=1), discount=1.0)

    def actor(self, table):
        return self

    def check_renaming(self):
        """It may be renamed."""

    def player(self, playing):
        return player_of(self, playing)

    def situation(self, state):
        index = state.index if isinstance(state, Situation) else self.labels.index(state)
        return Situation(index, index)

    def row(self, at, action):
        return replace(super().row(at, action), tries=self.tries, trust=self.trust)

    def values_at(self, at):
        return self.q_table[at.index]

    def act(self, observations):
        return self.q_table.argmax(axis=1)[observations]

    def check_env(self, env: object) -> None:
        """Accept every environment."""

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
def perfect(untrained):
    """Agents with exact beliefs in Taxi; noise in their values breaks ties, as in a network."""
    belief = PerfectAgent()
    rng = np.random.default_rng(0)
    belief.q_table = belief.q_table + rng.uniform(-0.01, 0.01, belief.q_table.shape)
    ExactBeliefs.__init__(belief, "Taxi-v4", belief.q_table.argmax(axis=1), discount=1.0)  # of the new policy
    unfinished = is_unfinished(belief)
    belief.trust = Trust.of(
        belief.labels, belief.q_table[unfinished].ravel(), belief.q_table[unfinished].ravel(), distance=0.0, states=400, updates=1, discount=1.0
    )  # fmt: skip
    settings = {"learner": {"discount": 1.0}, "world": untrained.taxi.settings["world"], "max_steps": 200}
    run = wf.Run(labels=belief.labels, values=belief.q_table, beliefs=belief, settings=settings)
    agents = DeepAgents(device="cpu")
    agents.__dict__["_taxi"] = {"learned": run, "settled": run}
    return agents


TAXI_CLAIMS = [claim for claim in DEEP_CLAIMS if claim.figure in ("6", "S11")]
#: What not even exact beliefs show: they are a single path from the start.
NOT_OF_A_PERFECT_AGENT = "Several potential routes"


@pytest.mark.parametrize("claim", TAXI_CLAIMS, ids=lambda claim: f"{claim.figure}: {claim.says[:50]}")
def test_checks_are_met_by_exact_beliefs_and_not_by_the_wrong_mechanism(perfect, claim):
    assert perfect.taxi.actor is perfect.taxi.beliefs
    assert claim.measure(perfect).met != claim.says.startswith(NOT_OF_A_PERFECT_AGENT)
    assert not claim.measure(DEEP_WRONG[claim.wrong](perfect)).met


def test_figures_of_an_agent_with_exact_beliefs(perfect):
    assert {id: len(DEEP_FIGURES[id](perfect).pictures) for id in ("6", "S11", "A6")} == {"6": 1, "S11": 2, "A6": 1}


def test_the_steps_until_it_is_back_follow_from_visits():
    """An action may lead back, not move the agent, or do neither."""
    exact = PerfectAgent()
    best, labels = exact.q_table, exact.labels
    exact.trust = Trust.of(labels, best.ravel(), best.ravel(), distance=0.0, states=400, updates=1, discount=1.0)

    def contrast(state, other):
        actions = (int(best[state].argmax()), labels.action(other))
        rows = {a: exact.row(Situation(state), a) for a in actions}
        return Contrast.of(*(Intention.of(rows[a], labels, state, a, values=best[state]) for a in actions))

    there = labels.index("taxi at row 3, column 0; passenger aboard; destination R")
    assert labels.actions[int(best[there].argmax())] == "north"
    assert back_after(contrast(there, "south")) == 2
    assert back_after(contrast(there, "west")) == 1
    assert back_after(contrast(there, "drop off")) == 1
    tie = labels.index("taxi at row 2, column 1; passenger aboard; destination R")
    assert back_after(contrast(tie, "west" if labels.actions[int(best[tie].argmax())] == "north" else "north")) is None
