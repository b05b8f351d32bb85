"""Timeline, parts and chance of a network: read from rollouts of its policy, compared with a plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from small_agents import CONCEPTS, ENDINGS, cart, endless, train_agent
from stable_baselines3 import DQN

import whatfor as wf
from whatfor.deep import BeliefCallback, BeliefNetwork, run_of
from whatfor.explorer.desk import Desk
from whatfor.explorer.report import build_payload
from whatfor.question import QUESTIONS, is_played, layout_of
from whatfor.runs import Run

UPRIGHT = np.array([0.0, 0.0, 0.01, 0.0], np.float32)
PLAYED: dict[str, dict[str, Any]] = {"timeline": {}, "parts": {}, "chance": {"event": "fell left"}}


def plain_rollout(model: DQN, start: Any, action: int, steps: int) -> list[tuple[Any, int]]:
    """The observations and actions of one episode in CartPole, which has no randomness after its start."""
    env: Any = gym.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    env.state, seen, played = np.array(start, np.float64), start, []
    for _ in range(steps):
        played.append((seen, action))
        seen, _, ended, _, _ = env.step(action)
        if ended:
            return [*played, (seen, -1)]
        action = int(model.predict(seen, deterministic=True)[0])
    return played


@pytest.fixture(scope="module")
def course() -> list[tuple[int, int]]:
    """The cells and actions that follow UPRIGHT; the last cell is that of the last observation."""
    model, run = cart()
    played = plain_rollout(model, UPRIGHT, run.best(UPRIGHT), 200)
    assert played[-1][1] == -1, "a small agent falls"
    return [(run.situation(seen).index, action) for seen, action in played]


def test_a_timeline_is_that_of_a_plain_loop(course: list[tuple[int, int]]) -> None:
    _, run = cart()
    why = run.timeline(UPRIGHT, horizon=5)
    assert why.rollouts == 50
    assert not why.learned
    expected = np.zeros_like(why.visits.sum(axis=0))
    for step, (cell, action) in enumerate(course[:-1]):
        expected[cell, action] += 0.9**step
        if step < 5:
            assert why.visits[step, cell, action] == pytest.approx(0.9**step)
            assert why.visits[step].sum() == pytest.approx(0.9**step)
    assert why.visits.sum(axis=0) + why.remainder == pytest.approx(expected)
    simulated = run.simulation(UPRIGHT, rollouts=2)
    assert why.visits.sum(axis=0) + why.remainder == pytest.approx(simulated.visits)
    assert "playing its policy after" in str(why)
    assert "over 50 rollouts" in str(why)
    assert run.timeline(UPRIGHT, horizon=5, discount=1).visits[4].sum() == pytest.approx(1.0)


def test_parts_sum_to_the_simulated_value(course: list[tuple[int, int]]) -> None:
    _, run = cart()
    why = run.parts(UPRIGHT)
    value = sum(0.9**step for step in range(len(course) - 1))
    assert why.totals == pytest.approx({"reward +1": value})
    assert why.value == pytest.approx(run.simulation(UPRIGHT, rollouts=2).value)
    assert why.residual is None, "it is not the agent's own value"
    assert "(discounted) over 50 rollouts, which consists of" in str(why)
    split = run.parts(UPRIGHT, parts={"left": lambda state, action, reward: reward * (action == 0)})
    left = sum(0.9**step for step, (_, action) in enumerate(course[:-1]) if action == 0)
    assert split.totals == pytest.approx({"left": left})
    assert split.rest == pytest.approx(value - left)
    other = run.parts(UPRIGHT, instead=1 - run.best(UPRIGHT))
    assert sum(other.gaps.values()) == pytest.approx(value - run.parts(UPRIGHT, 1 - run.best(UPRIGHT)).value)


def test_chances_are_those_of_a_plain_loop(course: list[tuple[int, int]]) -> None:
    _, run = cart()
    (end,) = run.simulation(UPRIGHT, rollouts=2).chances
    other = next(name for name in ENDINGS if name != end)
    certain = run.chance(UPRIGHT, event=end)
    assert certain.probability == 1.0
    assert "(95 % interval 93 % to 100 %) over 50 rollouts" in str(certain)
    assert run.chance(UPRIGHT, event=other).otherwise == {end: 1.0}
    cells = [cell for cell, _ in course]
    later = next(cell for cell in cells[1:] if cell != cells[0])  # the first cell after the one that it starts in
    assert run.chance(UPRIGHT, event=[later], before=end).probability == 1.0
    assert run.chance(UPRIGHT, event=[later]).visits == pytest.approx(
        sum(0.9**step for step, cell in enumerate(cells[:-1]) if cell == later and step)
    )
    never = [cell for cell in range(run.labels.n_states) if cell not in cells]
    assert run.chance(UPRIGHT, event=never).probability == 0.0
    assert run.chance(UPRIGHT, event=never, before=[later]).otherwise == {"the given states": 1.0}


def test_play_is_not_called_an_expectation() -> None:
    _, run = cart()
    for name, more in PLAYED.items():
        answer = run.ask(name, UPRIGHT, **more)
        assert "expect" not in str(answer)
        assert "Estimated by a belief network" not in str(answer), "the network was not asked"
        assert "expect" not in layout_of(answer).title
        assert answer.to_json()["rollouts"] == 50
    for name in ("intention", "outcomes", "contrast"):
        assert "Estimated by a belief network" in str(run.ask(name, UPRIGHT)), "the network can answer"


@pytest.mark.parametrize("terminal", [False, True], ids=["bootstrap", "terminal"])
def test_what_lies_beyond_a_time_limit_is_told_apart(terminal: bool) -> None:
    """MountainCar with an untrained policy never ends."""
    run, start = endless(terminal=terminal), np.array([-0.5, 0.0])
    timeline, parts = run.timeline(start, horizon=5), run.parts(start)
    cut = run.chance(start, event="timed out")
    within = (1 - 0.9**20) / 0.1
    if terminal:
        assert (timeline.limit, parts.limit, cut.within) == (None, None, None)
        assert timeline.visits.sum() + timeline.remainder.sum() == pytest.approx(within)
        assert cut.probability == 1.0
    else:
        beyond = (0.9**20 - 0.9**66) / 0.1  # until the discount is below 1e-3
        assert (timeline.limit, parts.limit, cut.limit) == (20, 20, 20)
        assert timeline.beyond == pytest.approx(beyond)
        assert parts.beyond == pytest.approx(-beyond)
        assert parts.value == pytest.approx(-within - beyond)
        assert "Beyond the time limit of 20 steps: 1.206 discounted visits." in str(timeline)
        assert "Beyond the time limit of 20 steps: -1.206 of the sum." in str(parts)
        assert (cut.probability, cut.unknown) == (0.0, 1.0), "no limit ends what is played beyond it"
        assert cut.within is not None
        assert cut.within.probability == 1.0
        assert (
            "Within the time limit of 20 steps, through which its values bootstrap: 100 % (95 % interval 93 % to 100 %)."
            in str(cut)
        )
        assert cut.to_json()["within"] == {"probability": 1.0, "otherwise": {}}
        assert sum(run.parts(start, instead=0).gaps.values()) == pytest.approx(0.0)


def test_a_limit_that_is_as_far_as_the_discount_counts_is_no_ending() -> None:
    """An agent that hovers until it is cut, at a limit of 100 steps: 0.9 ** 66 is below 1e-3."""
    env = gym.make("MountainCar-v0", max_episode_steps=100)
    model = DQN("MlpPolicy", env, seed=0, device="cpu", learning_starts=50, gamma=0.9, policy_kwargs={"net_arch": [8]})
    callback = BeliefCallback({"moving left": lambda obs: obs[1] < 0}, settling=False)
    model.learn(100, callback=callback)
    start = np.array([-0.5, 0.0])
    cut, timeline = callback.run.chance(start, event="timed out"), callback.run.timeline(start)
    assert (cut.probability, cut.unknown) == (0.0, 1.0)
    assert cut.within is not None
    assert cut.within.probability == 1.0
    assert timeline.beyond == 0.0
    assert "Beyond the time limit" not in str(timeline)


class Walk(gym.Env[Any, Any]):
    """Steps of random lengths to the right; it cannot be entered."""

    observation_space, action_space = gym.spaces.Box(-1.0, 9.0, (1,), np.float32), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0.0
        return np.array([self.at], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += float(self.np_random.random())
        return np.array([self.at], np.float32), 1.0, self.at > 3.0, False, {}


def walk(env: Any) -> Run:
    """A network that always takes the second action; nothing was learned."""
    cells = {"place": (lambda obs: obs[0], (1.0, 2.0))}
    belief = BeliefNetwork.of(Walk(), lambda observations: np.tile([0.0, 1.0], (len(observations), 1)), cells, discount=0.9)  # fmt: skip
    return run_of(belief, (np.zeros((1, 1), np.float32), np.array([1])), env=env)


def test_an_observation_that_cannot_be_entered_is_reached_by_play() -> None:
    run = walk(Walk())
    why = run.timeline(np.array([1.5], np.float32), horizon=4)
    assert why.visits[0].sum() == pytest.approx(1.0)
    assert why.state == 1
    assert "reached this state, not at the observation in question: an average over the observations there" in str(why)
    dice, ahead = np.random.default_rng(0), []
    for _ in range(4_000):  # a plain loop: from the first place in the cell on
        at = 0.0
        while at < 1.0:
            at += dice.random()
        ahead.append(at + dice.random() < 2.0 if at < 2.0 else False)
    assert why.visits[1, 1].sum() == pytest.approx(0.9 * np.mean(ahead), abs=0.9 * 4.0 * np.sqrt(0.25 / 50))
    assert "reached this state" not in str(cart()[1].timeline(UPRIGHT)), "CartPole is put there"
    assert str(run.parts(np.array([1.5], np.float32))) == str(walk(Walk()).parts(np.array([1.5], np.float32)))


@pytest.mark.parametrize("question", PLAYED)
def test_without_an_environment_one_error_says_what_to_pass(question: str) -> None:
    run = walk(None)
    more = PLAYED[question] and {"event": "timed out"}
    with pytest.raises(ValueError, match=f"^{question} is answered by playing its policy, and this run has no environment: pass env= to run_of, or to whatfor.load"):  # fmt: skip
        run.ask(question, np.array([1.5], np.float32), **more)


def test_the_environment_of_a_loaded_run_can_be_passed(tmp_path: Path) -> None:
    _, callback = train_agent(Walk(), {"place": (lambda obs: obs[0], (1.0, 2.0))}, steps=200)
    callback.run.save(tmp_path / "run")
    cells = {"place": (lambda obs: obs[0], (1.0, 2.0))}
    with pytest.raises(
        ValueError, match=r"Walk is not registered with Gymnasium.*pass the environment of the run as env="
    ):
        wf.load(tmp_path / "run", cells=cells).timeline(np.zeros(1))
    loaded = wf.load(tmp_path / "run", cells=cells, env=Walk())
    assert str(loaded.timeline(np.zeros(1))) == str(callback.run.timeline(np.zeros(1)))


def test_a_ledger_is_read_not_played() -> None:
    run = wf.train("FrozenLake-v1", episodes=20, seed=0)
    other = run.believing(wf.BeliefMap.from_ledger(run.ledger))
    assert not any(is_played(other, question) for question in QUESTIONS.values() if "play" not in question.needs)
    assert other.timeline(0).rollouts is None


def test_the_shell_answers_them(tmp_path: Path, whatfor: Any) -> None:
    _, run = cart()
    run.save(tmp_path / "cart")
    words = run.labels.words(run.situation(UPRIGHT).index)
    command = ("explain", str(tmp_path / "cart"), "--state", words, "--cells", "fuzz.deep_corpus:CELLS")
    for name, more in PLAYED.items():
        flags = [text for flag, value in more.items() for text in (f"--{flag}", value)]
        code, out, err = whatfor(*command, "--question", name, *flags)
        assert code == 0, err
        assert out.strip() == str(run.ask(name, words, **more))


def test_the_page_and_a_report_answer_them_where_they_play() -> None:
    _, run = cart()
    desk = Desk(run, episodes=2)
    about = desk.ask("run", {})
    assert set(about["unavailable"]) == {"provenance"}
    assert "over 50 rollouts" in desk.ask("answer", {"question": "timeline", "state": desk.starts[0]})["answer"]["sentences"][0]  # fmt: skip
    payload = build_payload(run, episodes=8)
    for name in PLAYED:
        states = {text.split("&")[1] for text in payload.split('"') if text.startswith("answer?") and f"question={name}&" in text}  # fmt: skip
        assert 0 < len(states) <= 5, "the others are not played"
    assert f'"{QUESTIONS["timeline"].title}"' in payload.replace("\\", "")


def test_cells_and_events_are_concepts() -> None:
    _, run = cart()
    assert set(CONCEPTS) == {"pole left", "cart", "swing"}
    assert run.chance(UPRIGHT, event="cart middle", before="pole left").unaccounted == pytest.approx(0.0)
