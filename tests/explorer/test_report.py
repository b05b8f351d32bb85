"""What a report contains, for every kind of run; and the ways to get one."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from browsing import START, as_text, lead, settled, values
from gymnasium import spaces
from unpacking import unpack

import whatfor as wf
from whatfor.explorer.collecting import request_of
from whatfor.explorer.desk import Desk
from whatfor.explorer.report import BUDGET, build_payload
from whatfor.jsonable import jsonable
from whatfor.labels import Axis
from whatfor.maps import places_of
from whatfor.question import QUESTIONS, layout_of
from whatfor.runs import Run
from whatfor.worlds.taxi import LABELS as TAXI


def data_in(text: str) -> dict[str, Any]:
    """The data that a page contains."""
    letters = re.search(r'id="data">([^<]*)<', text)
    assert letters is not None
    found: dict[str, Any] = unpack(zlib.decompress(base64.b64decode(letters[1])).decode())
    return found


def trained(world: Any, learner: Any = None, **more: Any) -> Run:
    return wf.train(
        world, learner or wf.QLearning(step_size=0.2, discount=0.95, exploration=0.3), episodes=300, seed=0, **more
    )


WORLDS = {
    "a lake": lambda: trained("FrozenLake-v1"),
    "a cliff": lambda: trained("CliffWalking-v1", max_steps=25),
    "blackjack": lambda: trained(wf.worlds.blackjack(), wf.MonteCarlo(step_size=wf.visit_count(), discount=1.0)),
    "cartpole": lambda: trained(wf.worlds.cartpole()),
    "many bins": lambda: trained("CartPole-v1", bins=(7, 7, 4, 4), bounds=[(-2.4, 2.4), (-3, 3), (-0.2, 0.2), (-3, 3)]),
    "a chain": lambda: trained(wf.worlds.chain()),
    "one axis": lambda: trained(wf.worlds.chain(), wf.DoubleQLearning(step_size=0.2)),
}


@pytest.mark.parametrize("name", WORLDS)
def test_any_world_has_a_page(name: str, opened: Any, tmp_path: Path) -> None:
    run = WORLDS[name]()
    run.report(tmp_path / "page.html", episodes=1)
    page = opened((tmp_path / "page.html").as_uri())
    state = run.labels.index(page.locator("#state").input_value())
    assert values(page) == [
        text if tries else "no experience"
        for text, tries in zip(as_text(run.values[state], page), run.tries_at(state), strict=True)  # type: ignore[arg-type]
    ]
    assert lead(page, "intention") == run.intention(state, _asked(page)).sentences()[0]
    assert page.locator("#answers .error").count() == 0
    assert page.locator("#answer-intention figure svg").count() == 1
    page.get_by_label(re.compile("instead of")).nth(0 if _asked(page) else 1).check()
    settled(page)
    assert page.locator("#answer-contrast figure svg").count() == 2
    instead = int(page.locator("input[name=instead]:checked").get_attribute("value"))
    assert lead(page, "contrast") == run.contrast(state, _asked(page), instead).sentences()[0]


def _asked(page: Any) -> int:
    return int(page.locator("input[name=action]:checked").get_attribute("value"))


@pytest.mark.parametrize("name", WORLDS)
def test_a_cell_stands_for_its_state(name: str) -> None:
    """Each cell of a map with a mark at one state only is that state's cell."""
    run = WORLDS[name]()
    labels = run.labels
    for state in range(0, labels.n_states, max(1, labels.n_states // 40)):
        places = places_of(labels, state)
        shown = layout_of(run.intention(state)).to_json()
        if places is None:
            assert shown["layout"] == "bars"
            continue
        panels, grids = (shown["panels"], places) if shown["layout"] == "panels" else ([shown], [places])
        marked = {
            cells[panel["marked"][0]][panel["marked"][1]]
            for panel, cells in zip(panels, grids, strict=True)
            if panel["marked"]
        }  # type: ignore[index]
        assert marked in ({state}, set()) if name == "blackjack" else marked == {state}


def test_a_report_contains_pythons_answers(taxi: Run, report: Path) -> None:
    data = data_in(report.read_text())
    answers = data["answers"]
    state = str(taxi.labels.index(START))
    assert answers[request_of("state", {"state": state})]["values"] == pytest.approx(
        taxi.values[int(state)].tolist(), rel=1e-5
    )
    best = taxi.best(START)
    for instead in set(range(6)) - {best}:
        got = answers[
            request_of("answer", {"question": "contrast", "state": state, "action": str(best), "instead": str(instead)})
        ]
        assert got["answer"]["gap"] == pytest.approx(taxi.contrast(START, best, instead).gap, rel=1e-5, abs=1e-9)
        assert got["answer"]["sentences"] == taxi.contrast(START, best, instead).sentences()
    assert (
        len([1 for request in answers if request.startswith("state?as_of=") and request.endswith(f"state={state}")])
        == 9
    )
    assert any("rounded to 6 digits" in line for line in data["limits"])


def test_a_report_is_small(report: Path) -> None:
    most = 50_000 * len(QUESTIONS)  # a new question may take its share; --budget limits a report
    assert report.stat().st_size < most, "of one episode; make bench measures one of twenty"


def test_no_request_leaves_a_report(report: Path) -> None:
    text = report.read_text()
    assert "connect-src 'none'" in text
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", text)


def test_the_same_run_gives_the_same_bytes() -> None:
    run = WORLDS["a lake"]()
    assert build_payload(run, episodes=2) == build_payload(run, episodes=2)


def test_a_notebook_shows_the_page(taxi: Run, opened: Any, tmp_path: Path) -> None:
    shown = taxi.explore(states=[START])._repr_html_()
    inside = re.search(r'srcdoc="([^"]*)"', shown)
    assert inside is not None
    assert len(data_in(html.unescape(inside[1]))["answers"]) > 100
    sandbox = re.search(r'sandbox="([^"]*)"', shown)
    assert sandbox is not None
    assert not {"allow-same-origin", "allow-top-navigation", "allow-popups"} & set(sandbox[1].split())
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><link rel=icon href='data:,'><title>a notebook</title>{shown}"
    )
    page = opened((tmp_path / "notebook.html").as_uri(), wait=False)
    frame = page.frame_locator("iframe")
    frame.locator("#answers[aria-busy=false] > article").first.wait_for()
    assert frame.locator("#answer-intention .lead").inner_text() == taxi.intention(START).sentences()[0]
    second = taxi.episode(START)[1][0]
    frame.locator("#state").fill(taxi.labels.words(second))
    frame.locator("#state").press("Enter")
    frame.locator("#here", has_text=taxi.labels.words(second)).wait_for()
    assert frame.locator("#answer-intention .lead").inner_text() == taxi.intention(second).sentences()[0]
    frame.locator("#state").fill(START)
    frame.locator("#state").press("Enter")
    frame.locator("#here", has_text=START).wait_for()
    frame.get_by_label("instead of east", exact=True).check()
    frame.locator("#answer-contrast .lead").wait_for()
    assert frame.locator("#answer-contrast .lead").inner_text() == taxi.contrast(START, instead="east").sentences()[0]


def test_an_own_loop_has_a_page_of_its_past(tmp_path: Path, opened: Any) -> None:
    ledger = wf.Ledger(n_states=3, n_actions=2)
    for _ in range(30):
        ledger.record(0, 0, -1.0, 1, 0, step_size=0.3, discount=0.9)
        ledger.record(1, 0, 5.0, None, step_size=0.3, discount=0.9, ending="home")
    run = wf.Run(labels=wf.Labels.plain(3, 2), values=ledger.values(), ledger=ledger)
    run.report(tmp_path / "own.html")
    page = opened((tmp_path / "own.html").as_uri())
    assert page.locator("#episodes option").first.inner_text() == "episode 29 of training"
    assert "reward -1" in page.locator("#step").inner_text()
    assert (
        page.locator("#answer-comparison .missing")
        .inner_text()
        .startswith("this run was built from a custom training loop")
    )
    assert page.locator("#actions td.value").first.inner_text() == as_text(run.values[0, :1], page)[0]
    assert page.locator("tr.unknown td.value").first.inner_text() == "no experience"


def test_a_taxi_is_where_its_cell_is() -> None:
    labels = TAXI
    for state in (68, 387, 416):
        row, column, place, goal = labels.values(state)
        waiting, aboard = places_of(labels, state)  # type: ignore[misc]
        assert waiting[row][column] == state  # type: ignore[index]
        assert labels.values(aboard[row][column]) == (row, column, 4, goal)  # type: ignore[index]
        assert labels.values(waiting[4][2]) == (4, 2, place, goal)  # type: ignore[index]


def test_states_that_are_not_counted_from_0_keep_their_keys() -> None:
    labels = wf.Labels((Axis("room", 3, start=5),), ("go",))
    ledger = wf.Ledger(n_states=3, n_actions=1)
    ledger.record(2, 0, 1.0, None, step_size=0.5, discount=1.0)
    desk = Desk(wf.Run(labels=labels, values=ledger.values(), ledger=ledger))
    for key in ("0", "2"):
        state = desk.ask("state", {"state": key})
        assert (state["key"], state["state"], state["words"]) == (key, int(key), f"room {int(key) + 5}")
    assert desk.ask("answer", {"state": "2"})["answer"]["value"] == 0.5


def test_the_documentation_names_the_limits(taxi: Run) -> None:
    from whatfor.explorer import desk, guard, server

    provenance = desk.Desk(taxi).ask("answer", {"question": "provenance", "state": str(taxi.labels.index(START))})
    assert provenance["left_out"] > 0

    page = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text()
    for words in (
        f"{guard.MAX_ADDRESS:,} bytes", f"| {server.MAX_WAITING}; more get status 503", f"cached answers | {server.MAX_CACHED / 1e6:.0f} MB", f"--port {server.PORT}",
        f"plays {desk.ROLLOUTS} rollouts, a network {desk.FEW_ROLLOUTS}", f"the {len(provenance['answer']['updates'])} heaviest", f"`--budget` (default {BUDGET:g} MB)",
    ):  # fmt: skip
        assert words in page


def test_requests_know_their_parameters(taxi: Run) -> None:
    desk = Desk(taxi)
    with pytest.raises(ValueError, match="run takes nothing, not 'state'"):
        desk.ask("run", {"state": "1"})
    with pytest.raises(ValueError, match="there is no request 'x'"):
        desk.ask("x", {})
    assert desk.ask("episode", {"key": "greedy:68", "as_of": "100"})["steps"][0]["state"] == "68"


def test_a_contrast_with_an_action_that_was_never_tried_is_marked_so() -> None:
    ledger = wf.Ledger(n_states=1, n_actions=3)
    for action in (0, 1):
        ledger.record(0, action, 1.0, None, step_size=0.5, discount=1.0)
    desk = Desk(wf.Run(labels=wf.Labels.plain(1, 3), values=ledger.values(), ledger=ledger))
    badges = {
        pair: desk.ask("answer", {"question": "contrast", "state": "0", "action": pair[0], "instead": pair[1]})["badge"]
        for pair in ("01", "02", "20")
    }
    assert {pair: badge["words"] for pair, badge in badges.items()} == {
        "01": "exact",
        "02": "no experience",
        "20": "no experience",
    }


def test_few_runs_of_earlier_times_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatfor.explorer.desk.MAX_EARLIER", 2)
    ledger = wf.Ledger(n_states=1, n_actions=1)
    for _ in range(4):
        ledger.record(0, 0, 1.0, None, step_size=0.5, discount=1.0)
    desk = Desk(wf.Run(labels=wf.Labels.plain(1, 1), values=ledger.values(), ledger=ledger))
    for episodes in (1, 2, 1, 3):
        state = desk.ask("state", {"state": "0", "as_of": str(episodes)})
        assert state["values"] == [1.0 - 0.5**episodes]
    assert list(desk._earlier) == [1, 3]  # those that were asked for last


def test_times_to_look_back_to_are_close_together_where_most_is_learned(taxi: Run) -> None:
    times = np.array(Desk(taxi).checkpoints())
    assert (times[0], times[-1], len(times)) == (10, 2_000, 10)
    np.testing.assert_allclose(times[1:] / times[:-1], 200 ** (1 / 9), rtol=0.05)


@pytest.mark.parametrize(
    "learner",
    [wf.QLearning(), wf.Sarsa(), wf.MonteCarlo(), wf.LambdaReturns(lambda_=0.5), wf.DoubleQLearning()],
    ids=lambda learner: type(learner).__name__,
)
def test_episodes_begin_where_they_begin(learner: Any) -> None:
    """FrozenLake's begin in the corner, in whatever order a learner writes its updates down."""
    for replay in (None, wf.Replay(batch=2)):
        if replay is not None and not isinstance(learner, wf.QLearning):
            continue
        run = wf.train("FrozenLake-v1", learner, episodes=50, seed=0, replay=replay)
        assert Desk(run).starts == ["0"]


def test_an_episode_names_its_ending(taxi: Run) -> None:
    assert Desk(taxi).ask("episode", {"key": "greedy:68"})["ending"] == "delivered"
    assert (
        sum(step["reward"] for step in Desk(taxi).ask("episode", {"key": "greedy:68"})["steps"])
        == taxi.simulation(68, rollouts=2).length * -1 + 21
    )
    early = wf.train("Taxi-v4", wf.QLearning(), episodes=3, seed=0)
    found = Desk(early).ask("episode", {"key": "greedy:68"})
    assert (found["ending"], found["length"]) == ("timed out", 200), "it stops at the time limit"
    endless = wf.train("CliffWalking-v1", wf.QLearning(), episodes=1, seed=0)
    found = Desk(endless).ask("episode", {"key": "greedy:36"})
    assert (found["ending"], len(found["steps"])) == (None, 200)
    assert found["length"] > 200
    assert Desk(early).ask("episode", {"key": "past:0"})["ending"] == "cut"


def test_a_network_has_a_page(opened: Any, tmp_path: Path) -> None:
    from small_agents import CONCEPTS, ENDINGS, train_agent

    _, callback = train_agent("CartPole-v1", CONCEPTS, endings=ENDINGS)
    run = callback.run
    run.report(tmp_path / "deep.html", episodes=2)
    data = data_in((tmp_path / "deep.html").read_text())
    assert any(
        line.startswith("Played, so only for 2 of these situations: ")
        and all(f'"{QUESTIONS[name].title}"' in line for name in ("timeline", "parts", "chance", "simulation"))
        for line in data["limits"]
    )
    page = opened((tmp_path / "deep.html").as_uri())
    start = Desk(run, episodes=2).starts[0]
    seen = np.array(json.loads(start))
    assert values(page) == as_text(run.values_at(seen), page)
    assert lead(page, "intention") == run.intention(seen).sentences()[0]
    assert page.locator("#answer-intention .badge").inner_text() == f"off by {run.intention(seen).residual:.2g}"
    assert page.locator("#answer-provenance .missing").inner_text().startswith("needs the ledger")
    assert lead(page, "timeline") == run.timeline(seen).sentences()[0]
    assert page.locator("#answer-comparison .badge").inner_text() == "unjudged"
    assert "Estimated by a belief network" in page.locator("#about").inner_text()


def test_states_are_a_list(taxi: wf.Run, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"states is a list of states: pass \[0\]"):
        taxi.report(tmp_path / "q.html", states=0)  # type: ignore[arg-type]


def test_beliefs_alone_have_a_page_of_given_states(opened: Any, tmp_path: Path) -> None:
    world = wf.worlds.chain()
    policy = np.zeros(world.labels.n_states, int)
    exact = wf.ExactBeliefs(world, policy, discount=0.9)
    values_ = [[exact.value(s, a) for a in range(world.labels.n_actions)] for s in range(world.labels.n_states)]
    run = Run(labels=world.labels, values=values_, beliefs=exact)
    with pytest.raises(ValueError, match="states="):
        run.report(tmp_path / "exact.html")
    run.report(tmp_path / "exact.html", states=[0])
    page = opened((tmp_path / "exact.html").as_uri())
    assert values(page) == as_text(values_[0], page)


def test_from_the_command_line(tmp_path: Path) -> None:
    lake, start = WORLDS["a lake"](), "row 0, column 0"
    lake.save(tmp_path / "run")
    command = [
        sys.executable,
        "-m",
        "whatfor",
        "report",
        str(tmp_path / "run"),
        "--states",
        start,
        "--out",
        str(tmp_path / "x.html"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"written to .*x\.html \(0\.\d MB\); open it in a browser\n", done.stdout)
    assert data_in((tmp_path / "x.html").read_text())["answers"]["state?state=0"]["words"] == start
    done = subprocess.run([*command[:-1], str(tmp_path / "x.txt")], capture_output=True, text=True, check=False)
    assert (done.returncode, "must end in .html" in done.stderr) == (2, True)


def test_jsonable_returns_no_numpy_objects() -> None:
    thing = jsonable({"a": np.float64(1.5), 2: (np.int64(3), float("nan"), None, "x")})
    assert thing == {"a": 1.5, "2": [3, None, None, "x"]}
    json.dumps(thing, allow_nan=False)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"episodes": 0}, "at least one"),
        ({"states": ["nowhere"]}, "the row is missing"),
        ({"states": [9_999]}, "out of range"),
    ],
)
def test_wrong_arguments_of_a_report_are_refused(
    taxi: Run, tmp_path: Path, options: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(ValueError, match=wrong):
        taxi.report(tmp_path / "x.html", **options)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_is_refused(taxi: Run, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must end in"):
        taxi.report(tmp_path / "x.txt")
    with pytest.raises(ValueError, match="there is no folder"):
        taxi.report(tmp_path / "no" / "x.html")


class ThirdParty(gym.Env[Any, Any]):
    """A third-party environment: continuous, and unknown how to put into a state."""

    observation_space, action_space = spaces.Box(-5.0, 5.0, (2,), np.float32), spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)
        return self.at.copy(), {}

    def step(self, action: int) -> Any:
        self.at = np.clip(self.at + np.float32(0.5 * (2 * action - 1)), -5.0, 5.0)
        return self.at.copy(), -1.0, bool(abs(self.at[0]) > 2.0), False, {}


def test_a_network_is_shown_where_its_environment_begins(opened: Any, tmp_path: Path) -> None:
    """It cannot be put into a state: episodes are new ones, and rollouts start where such episodes reach the cell."""
    from small_agents import train_agent

    _, callback = train_agent(ThirdParty(), {"right": lambda seen: seen[0] > 0.0})
    run = callback.run
    run.report(tmp_path / "page.html", episodes=2)
    page = opened((tmp_path / "page.html").as_uri())
    assert page.locator("#episodes option").all_inner_texts() == ["a new episode (seed 0)", "a new episode (seed 1)"]
    played = run.episode(None, seed=0)
    assert np.array_equal(played.steps[0][0], ThirdParty().reset(seed=0)[0])
    assert page.locator("#step").inner_text().startswith(f"step 1 of {len(played.steps)}")
    assert values(page) == as_text(run.values_at(played.steps[0][0]), page)
    assert "was not tested against 20 rollouts" in page.locator("#answer-comparison").inner_text()


def test_enter_makes_comparisons_possible_in_a_third_party_environment(tmp_path: Path) -> None:
    from small_agents import train_agent

    _, callback = train_agent(ThirdParty(), {"right": lambda seen: seen[0] > 0.0})

    def enter(env: Any, state: Any, _: Any) -> None:
        env.unwrapped.at = np.array(state.observation)

    desk = Desk(callback.run, episodes=1, enter=enter)
    assert desk.unplayable is None
    start = desk.starts[0]
    got = desk.ask("answer", {"question": "comparison", "state": start})["answer"]
    want = callback.run.comparison(np.array(json.loads(start)), rollouts=desk.rollouts, enter=enter)
    assert got["distance"] == want.distance


def test_a_run_of_an_environment_that_is_not_there_has_a_page_all_the_same(tmp_path: Path) -> None:
    gym.register("Elsewhere-v0", entry_point="gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv", max_episode_steps=50)
    trained("Elsewhere-v0", engine="python").save(tmp_path / "run")
    gym.registry.pop("Elsewhere-v0")
    run = wf.load(tmp_path / "run")
    about = Desk(run).ask("run", {})
    assert "import what registers it with Gymnasium, or pass env=" in about["unavailable"]["comparison"]
    run.report(tmp_path / "page.html", episodes=2)
    assert "past:299" in str(data_in((tmp_path / "page.html").read_text())["answers"])


@pytest.mark.parametrize("states", [[15, 0], [0, 15]])
def test_one_state_that_cannot_be_played_spoils_nothing(states: list[int]) -> None:
    """The lake's goal: an episode has ended there."""
    run = trained("FrozenLake-v1")
    desk = Desk(run, starts=[str(state) for state in states])
    assert desk.unplayable is None
    assert [one["key"] for one in desk.ask("episodes", {})["episodes"]] == ["greedy:0"]
    build_payload(run, states=states)


def test_states_of_a_report_are_read_as_a_server_reads_them() -> None:
    from small_agents import CONCEPTS, train_agent

    _, callback = train_agent("CartPole-v1", CONCEPTS)
    answers = unpack(build_payload(callback.run, states=["[0,0,0.1,0]"]))["answers"]
    assert request_of("state", {"state": "[0.0,0.0,0.1,0.0]"}) in answers


def test_where_two_actions_are_equally_good_the_one_taken_is_answered_too() -> None:
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=20, seed=0)
    answers = unpack(build_payload(run, episodes=3))["answers"]
    episodes = [answer for request, answer in answers.items() if request.startswith("episode?key=greedy")]
    steps = [(step["state"], str(step["action"])) for one in episodes for step in one["steps"]]
    assert any(str(run.best(int(state))) != action for state, action in steps), "there are ties"
    answered = [request for request in answers if request.startswith("answer?")]
    kept = {request.split("state=")[1] for request in answered}
    for state, action in steps:
        if state in kept:
            assert request_of("answer", {"question": "outcomes", "state": state, "action": action}) in answers


def test_what_a_report_leaves_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatfor.explorer.report.MAX_STATES", 10)
    run = wf.train("Taxi-v4", wf.QLearning(), episodes=20, seed=0)
    data = unpack(build_payload(run, episodes=10))
    states = {
        step["state"]
        for request, one in data["answers"].items()
        if request.startswith("episode?key=greedy")
        for step in one["steps"]
    }
    assert len(states) > 10
    assert f"10 states: the first of {len(states):,} on 10 episodes." in data["limits"]


def test_few_episodes_have_times_to_look_back_to() -> None:
    run = wf.train("FrozenLake-v1", wf.QLearning(), episodes=6, seed=0)
    assert Desk(run).checkpoints() == [3, 4, 5, 6]


def test_a_run_that_expects_nothing_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="needs a ledger, or an environment"):
        Desk(wf.Run(labels=wf.Labels.plain(1, 2), values=[[0.0, 1.0]]))


def test_names_may_begin_with_a_bracket() -> None:
    labels = wf.Labels((Axis("place", 2, ("[in]", "[out]")),), ("go",), template="{place}")
    ledger = wf.Ledger(n_states=2, n_actions=1)
    ledger.record(1, 0, 1.0, None, step_size=0.5, discount=1.0)
    desk = Desk(wf.Run(labels=labels, values=ledger.values(), ledger=ledger))
    assert desk.ask("state", {"state": "[out]"})["state"] == 1


def test_a_budget_bounds_the_file_and_the_page_lists_what_is_left_out(
    taxi: Run, report: Path, tmp_path: Path, opened: Any
) -> None:
    path = tmp_path / "small.html"
    sizes = {3.0: report.stat().st_size}
    assert not any("The budget of" in line for line in data_in(report.read_text())["limits"])
    for budget in (0.25, 0.15):
        taxi.report(path, states=[START], budget=budget)
        sizes[budget] = path.stat().st_size
        assert sizes[budget] <= budget * 1e6
        assert any("The budget of" in line for line in data_in(path.read_text())["limits"])
    assert sizes[0.15] < sizes[0.25] < sizes[3.0]
    assert sizes[0.25] > 0.9 * 0.25e6, "the budget is used"
    page = opened(path.as_uri())
    assert values(page) == as_text(taxi.values[taxi.labels.index(START)], page)
    assert lead(page, "intention") == taxi.intention(START).sentences()[0]
    assert re.search(
        r"The budget of 0\.15 MB is spent\. Incomplete: .*earlier times for 0 of \d+ states",
        page.locator("#contents").inner_text(),
    )
    page.locator("#time").fill("4")
    settled(page)
    assert page.locator("#problem").inner_text() == "not in this report"


def test_answers_are_added_in_the_order_of_their_worth(taxi: Run, report: Path) -> None:
    requests = list(data_in(report.read_text())["answers"])
    state = str(taxi.labels.index(START))
    first = {
        name: next(at for at, request in enumerate(requests) if re.search(pattern, request))
        for name, pattern in {
            "opening": rf"question=intention&state={state}$",
            "first state": rf"question=comparison&state={state}$",
            "another state": rf"question=intention&state=(?!{state}$)",
            "its questions": rf"question=comparison&state=(?!{state}$)",
            "earlier times": "as_of=",
            "replays": "key=past:",
        }.items()
    }
    assert sorted(first.values()) == list(first.values()), first


@pytest.mark.parametrize("budget", [0, -1, float("nan"), 0.01])
def test_a_budget_that_is_too_small_is_refused(budget: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"budget is|too small: the page and its first answer take 0"):
        WORLDS["a lake"]().report(tmp_path / "x.html", episodes=1, budget=budget)
    assert not list(tmp_path.iterdir())


def test_progress_is_reported() -> None:
    reported: list[tuple[str, float]] = []
    build_payload(WORLDS["a lake"](), episodes=1, on_progress=lambda doing, share: reported.append((doing, share)))
    shares = [share for _, share in reported]
    assert shares == sorted(shares)
    assert (shares[0], reported[-1]) == (0.0, ("writing", 1.0))
    assert list(dict.fromkeys(doing for doing, _ in reported)) == [
        "the first state", "the findings", "the states", "all questions", "earlier times", "replays", "writing",
    ]  # fmt: skip


def test_a_question_that_cannot_be_answered_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is a line of the report, which failed."""

    def refuse(_: object) -> None:
        raise ValueError("there are 40 different rewards")

    monkeypatch.setattr("whatfor.explanations.parts.default_parts", refuse)
    ledger = wf.Ledger(n_states=2, n_actions=2)
    for reward in range(40):
        ledger.record(0, reward % 2, reward / 7, 1, 0, step_size=0.1, discount=0.9)
        ledger.record(1, 0, 0.0, None, step_size=0.1, discount=0.9)
    run = Run(labels=wf.Labels.plain(2, 2), values=ledger.values(), ledger=ledger)
    data = unpack(build_payload(run, states=[0]))
    assert any("Not answered everywhere" in line and "different rewards" in line for line in data["limits"])
    assert not any("question=parts" in request for request in data["answers"])
    assert any("question=contrast" in request for request in data["answers"])
