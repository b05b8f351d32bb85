"""The speed of training: with and without the ledger, against the plain loop, and stepped from Python."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import whatfor as wf
from cases import CASES, Case, timed, touch
from plain import q_learning_with_belief_map
from report import Row, number
from whatfor.training.session import Place

REPETITIONS = 7
PLAIN_STEPS = 100_000
PLAIN_REPETITIONS = 3


def ledger(scale: int) -> list[Row]:
    """Compiled training with and without the ledger; the best of interleaved repetitions."""
    return [row for case in CASES for row in _with_and_without(case, case.episodes // scale)]


def _with_and_without(case: Case, episodes: int) -> list[Row]:
    place, epsilons = case.place(), case.epsilons(episodes)
    _, steps = timed(case.session(place, record=False), epsilons)  # compiles, too
    timed(case.session(place), epsilons[:10])
    without, warm, cold = [], [], []
    for _ in range(REPETITIONS):
        without.append(timed(case.session(place, record=False), epsilons)[0])
        session = case.session(place)
        touch(session, steps + (1 << 16))  # the loop reserves room in advance
        warm.append(timed(session, epsilons)[0])
        cold.append(timed(case.session(place), epsilons)[0])
    times = {"without": min(without), "with, warm": min(warm), "with, cold": min(cold)}
    nanoseconds = {name: 1e9 * seconds / steps for name, seconds in times.items()}
    note = ", ".join(f"{name} {number(ns)}" for name, ns in nanoseconds.items()) + " ns a step"
    detail: dict[str, Any] = {"steps": steps, "ns_a_step": nanoseconds}
    return [
        Row(
            f"{case.name}: time with ledger / without, warm",
            min(warm) / min(without),
            "×",
            1.25,
            note=note,
            detail=detail,
        ),
        Row(f"{case.name}: the same in memory never used before", min(cold) / min(without), "×"),
    ]


def plain(scale: int) -> list[Row]:
    """Compiled training with the ledger against the paper's method written plainly."""
    return [row for case in CASES for row in _against_plain(case, case.episodes // scale, PLAIN_STEPS // scale)]


def _against_plain(case: Case, episodes: int, plain_steps: int) -> list[Row]:
    place, epsilons = case.place(), case.epsilons(episodes)
    warm, whole, by_hand = [], [], []
    _, steps = timed(case.session(place), epsilons)
    for _ in range(PLAIN_REPETITIONS):
        for _ in range(REPETITIONS):
            session = case.session(place)
            touch(session, steps + (1 << 16))
            warm.append(timed(session, epsilons)[0])
        whole.append(_whole_call(case, episodes))
        by_hand.append(_plainly(case, plain_steps, epsilons))
    rate, plain_rate = steps / min(warm), plain_steps / min(by_hand)
    # train() also creates the world, evaluates the schedule and uses fresh memory. The plain loop does none of this
    # here, so this ratio is a lower bound.
    whole_rate = steps / min(whole)
    detail = {"steps_a_second": {"compiled": rate, "plain": plain_rate, "train()": whole_rate}, "steps": steps}
    rates = f"{number(rate)} against {number(plain_rate)} steps/s"
    return [
        Row(f"{case.name}: compiled with ledger / plain loop", rate / plain_rate, "×", case.times_plain, "at least", note=rates, detail=detail),
        Row(f"{case.name}: the whole call train() / plain loop", whole_rate / plain_rate, "×", note=f"{number(whole_rate)} steps/s"),
    ]  # fmt: skip


def _whole_call(case: Case, episodes: int) -> float:
    began = time.perf_counter()
    limit = "terminal" if case.time_out_ends else "bootstrap"
    wf.train(case.world(), case.learner, episodes=episodes, seed=0, time_limit=limit, progress=False)
    return time.perf_counter() - began


def _plainly(case: Case, steps: int, epsilons: np.ndarray) -> float:
    """Seconds of the plain loop, after a warm-up of its memory and its code."""
    place = case.place("python")
    shape = (place.labels.n_states, place.labels.n_actions)
    values, beliefs = np.zeros(shape), np.full(shape + shape, 1.0)
    chances = [*epsilons.tolist(), *[float(epsilons[-1])] * steps]  # at least one for each episode
    for stretch in (steps // 20, steps):
        values.fill(0.0)
        beliefs.fill(0.0)
        began = time.perf_counter()
        q_learning_with_belief_map(
            place.env,
            case.index,
            values,
            beliefs,
            step_size=float(case.learner.step_size),  # type: ignore[arg-type]
            discount=case.learner.discount,
            exploration=chances.__getitem__,
            steps=stretch,
            time_out_ends=case.time_out_ends,
        )
        seconds = time.perf_counter() - began
    return seconds


def stepped(scale: int) -> list[Row]:
    """Training stepped from Python, with the ledger, against random steps alone."""
    return [_against_random(case, case.python_episodes // scale) for case in CASES]


def _against_random(case: Case, episodes: int) -> Row:
    place, epsilons = case.place("python"), case.epsilons(episodes)
    timed(case.session(place), epsilons[: max(1, episodes // 20)])
    trained, at_random = [], []
    for _ in range(REPETITIONS):
        seconds, steps = timed(case.session(place), epsilons)
        trained.append(steps / seconds)
        at_random.append(steps / _at_random(place, steps))
    rates = f"{number(max(trained))} against {number(max(at_random))} steps/s"
    return Row(
        f"{case.name}: stepped from Python with ledger / random steps",
        max(trained) / max(at_random),
        "×",
        0.5,
        "at least",
        note=rates,
        detail={"steps_a_second": {"training": max(trained), "random": max(at_random)}, "steps": steps},
    )


def _at_random(place: Place, steps: int) -> float:
    env: Any = place.env
    env.action_space.seed(0)
    env.reset(seed=0)
    began = time.perf_counter()
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return time.perf_counter() - began


def line(scale: int) -> list[Row]:
    """The memory of an update in the ledger."""
    return [_line(case, case.episodes // scale) for case in CASES]


def _line(case: Case, episodes: int) -> Row:
    session = case.session(case.place())
    timed(session, case.epsilons(episodes))
    ledger = session.ledger
    assert ledger is not None
    lines, breaks = len(ledger), len(ledger.breaks)
    columns = sum(column.nbytes for column in ledger.lines if len(column) > 1)  # one of length 1 is a constant
    note = f"{ledger.nbytes / lines:.5f} with the constants and {breaks:,} extra episode boundaries, over {lines:,} updates"
    return Row(
        f"{case.name}: an update in the ledger",
        columns / lines,
        "bytes",
        16,
        note=note,
        detail={"bytes": ledger.nbytes, "lines": lines},
    )
