"""Some 200 answers in words, over worlds, learners and stages of training: ``.venv/bin/python tests/words/make_corpus.py``.

The text is compared with what the package says, so that every change of wording is seen. After a change that is meant,
run this, and read the difference. Ten questions take turns; each further one is asked in a few worlds, at the end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

import whatfor as wf
from whatfor.question import QUESTIONS

sys.path.insert(0, str(Path(__file__).parents[1]))
from steps_of_a_question import needed_by

ANSWERS = Path(__file__).with_name("answers.txt")
#: How far rounding is off depends on the machine's vector width.
ROUNDING = re.compile(r"(residual:? )\d[\d.]*(e-1\d)?")
#: The questions that take turns. A further one does not join them, since that would change every answer after the first.
IN_TURN = ("intention", "contrast", "outcomes", "timeline", "provenance", "comparison", "parts", "chance", "change", "simulation")  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A world with its settings, the states that are asked about, and an event."""

    make: Callable[[], Any]
    discount: float
    episodes: tuple[int, int, int]  # after which it is asked
    states: tuple[str | int, ...]
    event: str
    before: str
    more: tuple[tuple[str, Any], ...] = ()  # arguments of train()


#: Where further questions are asked, of the trained Q-learning agent.
FURTHER_WORLDS = ("FrozenLake slippery", "Taxi", "Blackjack")
LAKE = ("row 0, column 0", "row 2, column 1", "row 3, column 2")
PLACES = {
    "FrozenLake slippery": Place(
        lambda: "FrozenLake-v1", 0.95, (20, 500, 5_000), LAKE, "reached the goal", "fell into a hole"
    ),
    "FrozenLake": Place(
        lambda: gym.make("FrozenLake-v1", is_slippery=False),
        0.95,
        (20, 200, 2_000),
        LAKE,
        "reached the goal",
        "column 2",
    ),
    "Taxi": Place(
        lambda: "Taxi-v4",
        0.9,
        (20, 500, 5_000),
        (
            "taxi at row 0, column 3; passenger at Y; destination R",
            "taxi at row 2, column 2; passenger aboard; destination G",
            "taxi at row 4, column 0; passenger at B; destination Y",
        ),
        "passenger aboard",
        "row 4",
    ),
    "CliffWalking": Place(
        lambda: "CliffWalking-v1",
        0.95,
        (5, 50, 1_000),
        ("row 3, column 0", "row 2, column 5", "row 0, column 11"),
        "reached the goal",
        "row 0",
        (("max_steps", 200),),
    ),
    "Blackjack": Place(
        wf.worlds.blackjack,
        1.0,
        (50, 2_000, 50_000),
        ("player 10, dealer 7, no usable ace", "player 17, dealer 9, no usable ace", "player 18, dealer 9, usable ace"),
        "bust",
        "player 20",
    ),
    "CartPole binned": Place(
        wf.worlds.cartpole, 1.0, (20, 200, 1_000), (86, 89, 100), "fell", "timed out", (("time_limit", "terminal"),)
    ),
    "random world": Place(
        lambda: wf.testing.random_world(3, states=6, actions=2, noisy=False),
        0.9,
        (5, 50, 1_000),
        ("state 0", "state 2", "state 5"),
        "state 1",
        "state 4",
        (("max_steps", 50),),
    ),
}


def learners(discount: float) -> tuple[Any, ...]:
    """The five learners."""
    same: dict[str, Any] = {"step_size": 0.2, "discount": discount, "exploration": wf.linear(1.0, 0.1, episodes=300)}
    return (
        wf.QLearning(**same),
        wf.Sarsa(**same),
        wf.DoubleQLearning(**same),
        wf.MonteCarlo(**same),
        wf.LambdaReturns(lambda_=0.8, **same),
    )


def trained(place: Place, learner: Any) -> Iterator[wf.Run]:
    """The agent at each stage; each continues from the one before."""
    run, before = None, 0
    for episodes in place.episodes:
        more = dict(place.more) if run is None else {}
        start = place.make() if run is None else run
        run = wf.train(start, *(() if before else (learner,)), episodes=episodes - before, **({} if before else {"seed": 0}), **more)  # fmt: skip
        before = episodes
        yield run


def call(
    run: wf.Run, place: Place, name: str, state: str | int, action: int | None, stage: int
) -> tuple[str, list[str]]:
    """A question as one would write it, and the answer's lines."""
    given: dict[str, Any] = {}
    if name == "chance":
        given = {"event": place.event} if action is None else {"event": place.event, "before": place.before}
    if name == "change":
        given = {"since": place.episodes[stage - 1] if stage else place.episodes[0] // 2}
    if name not in IN_TURN:
        given = needed_by(QUESTIONS[name], run)
    if action is not None:
        given = {"chosen" if name == "contrast" else "action": run.labels.actions[action], **given}
    written = f"run.{name}({', '.join([repr(state), *(f'{key}={value!r}' for key, value in given.items())])})"
    try:
        lines = str(QUESTIONS[name].ask(run, state, **given)).splitlines()
    except ValueError as error:
        lines = [f"ValueError: {error}"]
    return written, [ROUNDING.sub(r"\1…", line) for line in lines]


def answers() -> Iterator[str]:
    """Two answers of every agent: one about its best action, one about another; the questions take turns."""
    turn, trained_runs = 0, {}
    for world, place in PLACES.items():
        for learner in learners(place.discount):
            for stage, run in enumerate(trained(place, learner)):
                state = place.states[(turn + turn // 3) % 3]  # not always the same one at a stage
                for action in (None, turn % run.labels.n_actions):
                    name = IN_TURN[(turn + (0 if action is None else 5)) % len(IN_TURN)]
                    yield block(world, learner, run, name, state, action, stage)
                turn += 1
                if world in FURTHER_WORLDS and type(learner) is wf.QLearning:
                    trained_runs[world] = run  # at last, that of the last stage
    for name in QUESTIONS:
        if name not in IN_TURN:
            yield from further(name, trained_runs)


def block(world: str, learner: Any, run: wf.Run, name: str, state: str | int, action: int | None, stage: int) -> str:
    """One answer, below what was asked."""
    place = PLACES[world]
    written, lines = call(run, place, name, state, action, stage)
    head = f"== {world}, {type(learner).__name__}, {place.episodes[stage]:,} episodes"
    return "\n".join([head, written, *lines, ""])


def further(name: str, runs: dict[str, wf.Run]) -> Iterator[str]:
    """The answers to a question that does not take turns, about the best action in trained runs, by world."""
    for world, run in runs.items():
        place = PLACES[world]
        yield block(world, learners(place.discount)[0], run, name, place.states[0], None, len(place.episodes) - 1)


def text() -> str:
    """The whole corpus."""
    return "\n".join(answers())


if __name__ == "__main__":
    ANSWERS.write_text(text(), encoding="utf-8")
    print(ANSWERS)
