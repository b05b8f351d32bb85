"""The paper's tabular figures and claims: seed 0 is drawn, many seeds are measured, controls fail."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from whatfor import Run, train
from whatfor.beliefs import ExactBeliefs, value_iteration
from whatfor.learners import QLearning
from whatfor.paper import CLAIMS, DEEP_CLAIMS, FIGURES, reproduce, taxi
from whatfor.paper import agents as settings
from whatfor.paper.agents import Agents, balanced_steps
from whatfor.paper.evidence import ALL, MOST, Claim, ClaimResult, SeedRate, Seen, counts_text
from whatfor.paper.small_buffer import CLAIMS as BUFFER_CLAIMS
from whatfor.paper.study import RIGHT, UNTRAINED, measure_claims, study
from whatfor.paper.taxi import CASES, back_after, states_of, value_after
from whatfor.paper.wrong import WRONG, WrongReward

ROOT = Path(__file__).parents[2]
MEASURED = json.loads((ROOT / "benchmarks" / "paper.json").read_text(encoding="utf-8"))
IDS = [f"{claim.figure}: {claim.says[:50]}" for claim in CLAIMS]
#: The largest share of agents with the wrong mechanism that may pass a check by chance.
MAX_CHANCE = 0.05
#: Seeds of the controls. A rate of 0 of 4 lies below both thresholds.
CONTROL_SEEDS = 4


@pytest.fixture(scope="module")
def short():
    """Short training, which is enough for controls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "BLACKJACK_EPISODES", 60_000)
        patch.setattr(settings, "TAXI_EPISODES", 8_000)
        yield patch


@pytest.fixture(scope="module")
def agents():
    return Agents()


@pytest.fixture(scope="module")
def unmeasured(short):
    """Agents of a seed that is not among those of the study, with its whole training."""
    made = Agents(77)
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(settings, "BLACKJACK_EPISODES", 500_000)
        whole.setattr(settings, "TAXI_EPISODES", 50_000)
        trained = [made.taxi, made.blackjack_q, made.blackjack_mc]
    assert [len(run.history.returns) for run in trained] == [50_000, 500_000, 500_000]
    return made


@pytest.fixture(scope="module")
def controls(short):
    """Every claim on untrained agents, and on those with the wrong mechanism that fits it."""
    makers = [
        {UNTRAINED: lambda seed=seed: Agents(seed, trained=False), **{name: lambda make=make, seed=seed: make(seed) for name, make in WRONG.items()}}
        for seed in range(2, 2 + CONTROL_SEEDS)
    ]  # fmt: skip
    seen = {}
    for one in makers:
        for name, make in one.items():
            asked = [i for i, claim in enumerate(CLAIMS) if name in (UNTRAINED, claim.wrong)]
            made = make()
            for i in asked:
                seen.setdefault((name, i), []).append(CLAIMS[i].measure(made))
    return seen


# -- evidence ------------------------------------------------------------------------------


def test_status_follows_from_the_interval():
    assert [SeedRate(met, 20).status(MOST) for met in (0, 5, 6, 14, 15, 20)] == [
        "not reproduced", "not reproduced", "unclear", "unclear", "reproduced", "reproduced",
    ]  # fmt: skip
    assert [SeedRate(met, 20).status(ALL) for met in (10, 19, 20)] == ["not reproduced", "unclear", "reproduced"]
    assert [SeedRate(met, 3, 0.8).status(MOST) for met in range(4)] == [
        "not reproduced", "unclear", "unclear", "reproduced",
    ]  # fmt: skip
    low, high = SeedRate(15, 20).interval
    assert (round(low, 3), round(high, 3)) == (0.531, 0.888)  # Wilson's, from a table


def test_a_check_that_a_control_passes_is_unclear():
    claim = Claim("2", "It is so.", "it is", "number", lambda agents: Seen(True, 1.0), "wrong")
    yes, no = (Seen(True, 1.0),) * 20, (Seen(False, 0.0),) * 20
    assert ClaimResult(claim, yes, no, no).status == "reproduced"
    assert ClaimResult(claim, yes, no, yes).status == "unclear"
    assert ClaimResult(claim, yes, yes, no).status == "unclear"
    assert ClaimResult(claim, no, no, yes).status == "not reproduced"
    assert ClaimResult(claim, yes, no, (*yes[:9], *no[9:])).status == "unclear", "as T1 and figure 3 once were"
    assert ClaimResult(claim, yes, no, (*yes[:1], *no[1:])).status == "reproduced", "by chance"
    assert counts_text([ClaimResult(claim, yes, no, no)]) == "1 reproduced, 0 not reproduced, 0 unclear, of 1 claims"


def test_every_figure_but_the_animation_has_claims_and_every_claim_a_wrong_mechanism():
    assert list(FIGURES) == ["1", "2", "T1", "T2", "3", "4", "5", "7", *(f"S{n}" for n in range(1, 11)), "A5", "TD"]
    assert {claim.figure for claim in CLAIMS} == set(FIGURES) - {"A5"}
    assert {claim.wrong for claim in CLAIMS} == set(WRONG), "each is used"
    assert len({(claim.figure, claim.says) for claim in CLAIMS}) == len(CLAIMS)


# -- controls ------------------------------------------------------------------------------


@pytest.mark.parametrize("i", range(len(CLAIMS)), ids=IDS)
def test_untrained_agents_fail_every_check(controls, i):
    assert [one.met for one in controls[UNTRAINED, i]] == [False] * CONTROL_SEEDS


@pytest.mark.parametrize("i", range(len(CLAIMS)), ids=IDS)
def test_agents_with_the_wrong_mechanism_fail_every_check(controls, i):
    met = sum(one.met for one in controls[CLAIMS[i].wrong, i])
    assert met <= 1, "chance alone; benchmarks/paper.json has the rate over all seeds"


@pytest.mark.parametrize(
    "i", [i for i in range(len(CLAIMS)) if MEASURED[i]["status"] == "reproduced"], ids=lambda i: IDS[i]
)
def test_what_is_reproduced_is_shown_by_agents_that_nobody_measured(unmeasured, i):
    """Every check passes somewhere: by agents with their whole training, of a seed that was not chosen for it."""
    assert CLAIMS[i].measure(unmeasured).met


def test_the_wrong_mechanisms_are_wrong(short):
    """Each differs from the right agents in what it is named after, and in nothing else."""
    right = Agents(3)
    for name in ("beliefs of another policy", "a shuffled ledger", "beliefs of the present step alone", "beliefs with a hundredth of the step size"):  # fmt: skip
        wrong = WRONG[name](3)
        assert np.array_equal(wrong.cartpole_q.values, right.cartpole_q.values), "the values are its own"
        assert wrong.cartpole_q.audit.residual > 1.0
        assert right.cartpole_q.audit.residual < 1e-9
    assert WRONG["beliefs without the discount, as in the published code"](3).taxi.audit.residual > 1.0
    assert balanced_steps(WrongReward(3).cartpole_q) < 20 < balanced_steps(right.cartpole_q)


def test_the_story_of_figure_1_is_seen_where_it_is_so(short):
    """Agents that believe in a bust with every card, and therefore stick, pass the checks that small buffers do not."""

    class Believer(Agents):
        @property
        def small_buffer(self):
            run = self.blackjack_q
            run.values[:, 0], run.values[:, 1] = 0.0, -1.0  # sticks always

            class Doomed(type(run.audit)):
                def named_endings(self, at, action, labels):
                    return {"bust": 1.0}, 0.0

            return run.believing(Doomed(run.ledger))

        @property
        def blackjack_q(self):
            return self._blackjack(settings.QLearning)

    assert [claim.measure(Believer(0)).met for claim in BUFFER_CLAIMS[1:]] == [True] * 3


def test_two_equally_good_routes_are_seen_where_an_agent_has_learned_both(short):
    """An agent with the values of a converged one and the beliefs of its policy, which takes tied actions equally often."""

    class Converged(Agents):
        @property
        def taxi(self):
            learner = QLearning(**settings.TAXI)
            known = train(settings.TAXI_ID, learner, episodes=1, seed=self.seed)
            run = Run(
                labels=known.labels, values=taxi.optimal_values(0.9), settings=known.settings, origin=known.origin
            )
            return run.believing(ExactBeliefs(settings.TAXI_ID, run.policy, discount=0.9))

    asked = [
        claim for claim in CLAIMS
        if claim.figure == "7" and ("mbiguity" in claim.says or claim.says.startswith("The value of the best action"))
    ]  # fmt: skip
    assert len(asked) == 5
    assert [claim.measure(Converged(77)).met for claim in asked] == [True] * 5


def test_a_random_start_that_is_forgotten_on_cartpole_is_seen(short):
    (claim,) = [claim for claim in CLAIMS if claim.says.startswith("It converges all the same: CartPole")]
    assert WRONG["a belief map that starts at zero"](77).max_initial_visit == 0.0
    seen = claim.measure(WRONG["a belief map that starts at zero"](77))
    assert seen.met
    assert seen.number < 1e-12


# -- figures -------------------------------------------------------------------------------


@pytest.mark.parametrize("id", [pytest.param(id, marks=pytest.mark.long if id == "1" else ()) for id in FIGURES])
def test_figures_of_trained_and_untrained_agents(agents, id):
    for one in (agents, Agents(trained=False)):
        if id == "1" and not one.trained:
            continue  # there is nothing to select
        figure = FIGURES[id](one)
        assert figure.id == id
        assert figure.claim
        assert figure.pictures


def test_all_states_with_the_cart_in_the_middle_are_drawn(agents):
    for picture in FIGURES["4"](agents).pictures:
        (panels,) = picture.frames
        drawn = [len(grid.rows) * len(grid.columns) for grid in panels.panels]
        assert drawn == [18, 18, 18], "three speeds of the cart, of 162 states a third"
        assert sum(grid.marked is not None for grid in panels.panels) == 1


def test_the_printed_pairs_of_actions_are_shown(agents):
    labels, best = agents.taxi.labels, value_iteration("Taxi-v4", discount=0.9)
    assert [(case.best, case.second, round(case.value, 4)) for case in CASES] == [
        ("east", "south", 7.7147), ("south", "east", 11.87), ("north", "east", -2.3744),
    ]  # fmt: skip
    assert [len(states_of(case)) for case in CASES] == [1, 1, 7]
    assert labels.words(states_of(CASES[0])[0]) == "taxi at row 0, column 2; passenger aboard; destination B"
    for case in CASES:
        for state in states_of(case):
            ordered = np.sort(best[state])
            assert best[state, labels.action(case.best)] == pytest.approx(ordered[-1])
            assert best[state, labels.action(case.second)] == pytest.approx(ordered[-2])
    table = agents.taxi.playing.place().env.unwrapped.P
    for state in states_of(CASES[2]):
        assert table[state][labels.action("east")][0][1] == state, "the action leaves the taxi where it is"
    (bounce,) = states_of(CASES[1])
    away = table[bounce][labels.action("east")][0][1]
    good = np.flatnonzero(np.isclose(best[away], best[away].max()))
    assert bounce in [table[away][action][0][1] for action in good], "going back is one of the best routes"
    assert len(good) == 2, "and the other one leads on"
    assert back_after(agents.taxi.contrast(states_of(CASES[2])[0], "north", "east")) == 1
    assert [round(value_after(n), 4) for n in (5, 3, 13)] == [7.7147, 11.87, -2.3744]


def test_a_belief_over_one_path_covers_one_route(agents):
    along = taxi.episode(agents.taxi)
    for step, why in enumerate(along):
        assert taxi.routes_at(why, len(along) - step, 0.9) == pytest.approx(1.0, abs=1e-3)
    assert taxi.routes_at(along[0], 3, 0.9) > 2.0


def test_reproduce_writes_pictures_a_page_and_the_claims(tmp_path, agents):
    folder = tmp_path / "new" / "paper"
    figures, results = reproduce(folder, ["2", "s4", "A5"], seeds=2, agents=agents, progress=False)
    assert [figure.id for figure in figures] == ["2", "S4", "A5"]
    assert [one.claim.figure for one in results] == ["2", "S4", "S4"]
    page = (folder / "index.html").read_text()
    pictures = re.findall(r"<img src='([^']+)'", page)
    assert sorted(pictures) == sorted(file.name for file in folder.iterdir() if file.suffix in (".png", ".gif"))
    assert "Figure S4: " in page
    assert page.index("claims in all") < page.index("<details>") < page.index("<table>") < page.index("<img"), (
        "counts first"
    )
    assert not re.search(r"<table>(?!.*</details>)", page, re.DOTALL), "tables are folded"
    for one in results:
        assert one.claim.says in page
        assert f"{one.controls[1]}: {one.claim.wrong}" in page
    saved = json.loads((folder / "claims.json").read_text())
    assert [row["seeds"] for row in saved] == [2, 2, 2]
    assert saved == [one.to_json() for one in results]
    with Image.open(folder / "A5-episode.gif") as moving:
        assert moving.n_frames == len(agents.taxi.episode("taxi at row 0, column 3; passenger at Y; destination R"))
    assert "http" not in page, "nothing is loaded from elsewhere"


def test_a_study_measures_every_seed_and_its_controls():
    claims = [claim for claim in CLAIMS if claim.figure in ("2", "T1")]
    results = study(claims, 3)
    assert [str(one.rate) for one in results] == ["3 of 3", "3 of 3"]
    assert [str(one.controls[0]) for one in results] == ["0 of 3", "0 of 3"]
    assert study(claims, 3, jobs=2) == results, "the same from two processes"
    makers = [{RIGHT: Agents, UNTRAINED: lambda: Agents(trained=False), **dict.fromkeys(WRONG, Agents)}]
    assert measure_claims(claims, makers, 0.95, lambda share: None)[0].controls[1].met == 1, "no control in place"


def test_an_unknown_figure_gets_a_list(tmp_path):
    with pytest.raises(
        ValueError, match="there is no tabular figure '8'; the figures are 1, 2, T1, T2, 3, 4, 5, 7, S1"
    ):
        reproduce(tmp_path / "paper", ["8"])
    with pytest.raises(ValueError, match="figure 6 shows deep agents: add --deep"):
        reproduce(tmp_path / "paper", ["6"])
    assert not (tmp_path / "paper").exists()


def test_the_command(whatfor, tmp_path):
    code, said, _ = whatfor("paper", "--only", "2", "--out", tmp_path)
    assert code == 0
    assert (
        said.splitlines()[-1]
        == f"1 reproduced, 0 not reproduced, 0 unclear, of 1 claims; see {tmp_path / 'index.html'}"
    )
    code, said, _ = whatfor("paper", "--only", "2", "--seeds", "2", "--out", tmp_path)
    assert "claims: 50 %" in said, "where there is no terminal, lines report progress"
    *_, named, summary = said.splitlines()
    assert named.startswith("unclear in 2 (2 of 2 agents): Both first actions")
    assert summary.startswith("0 reproduced, 0 not reproduced, 1 unclear, of 1 claims; see ")
    code, _, error = whatfor("paper", "--seeds", "0", "--out", tmp_path)
    assert code == 2
    assert "--seeds is 0; use at least 1" in error
    code, _, error = whatfor("paper", "--jobs", "0", "--out", tmp_path)
    assert code == 2
    assert "--jobs is 0; use at least 1" in error
    (tmp_path / "file").touch()
    code, _, error = whatfor("paper", "--only", "2", "--out", tmp_path / "file")
    assert code == 2
    assert "choose another folder" in error
    code, _, error = whatfor("paper", "--only", "S11", "--out", tmp_path)
    assert code == 2
    assert "figure S11 shows deep agents: add --deep" in error


@pytest.mark.parametrize(("file", "claims"), [("paper", CLAIMS), ("paper_deep", DEEP_CLAIMS)])
def test_the_documented_numbers_are_of_these_claims(file, claims):
    rows = json.loads((ROOT / "benchmarks" / f"{file}.json").read_text(encoding="utf-8"))
    assert [(row["figure"], row["says"], row["test"], row["wrong_mechanism"]) for row in rows] == [
        (claim.figure, claim.says, claim.test, claim.wrong) for claim in claims
    ], "run `make paper` or `make paper-deep`"
    for row, claim in zip(rows, claims, strict=True):
        assert row["seeds"] >= (20 if file == "paper" else 3)
        assert row["untrained"] == [0, row["seeds"]]
        assert row["wrong"][0] <= MAX_CHANCE * row["wrong"][1], "the wrong mechanism passes by chance alone"
        assert SeedRate(row["met"], row["seeds"], row["level"]).status(claim.at_least) == row["status"]
