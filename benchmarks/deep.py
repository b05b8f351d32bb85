"""The cost of a belief network alongside Stable-Baselines3's DQN, and its speed compared with a plain version of the paper's method."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from big import peak_gb
from report import Row, number
from whatfor.worlds.cartpole import BINS, BOUNDS

REPETITIONS = 7
STEPS = 6_000
#: The agents of ``zoo.py`` that beliefs are learned alongside, and their steps: whole rounds of the Zoo's CartPole, which is trained every 256 steps.
ZOO = ("CartPole", "MountainCar")
ZOO_STEPS, ZOO_WARM_UP = 5_120, 1_280
PAPER_REPETITIONS = 5
PAPER_STEPS = {"CartPole": 300, "Taxi": 100}
WARM_UP = 40
#: Steps between two updates, as in Stable-Baselines3 by default; batches are larger by the same factor.
UPDATE_INTERVAL = 4
#: Concepts of MountainCar.
CONCEPTS = {
    "right of the valley": lambda obs: obs[0] > -0.5,
    "moving right": lambda obs: obs[1] > 0.0,
    "height": (lambda obs: np.sin(3.0 * obs[0]), (-0.5, 0.0, 0.5)),
}


def section(scale: int) -> list[Row]:
    """All measurements. PyTorch is imported late, to keep the other sections fast."""
    return [*_with_beliefs(scale), *_settling(scale), *_against_published(scale), *_memory()]


# -- alongside DQN ---------------------------------------------------------------------------------


def _cases() -> dict[str, Any]:
    from whatfor.deep import Bins

    return {"CartPole-v1": Bins(BINS, BOUNDS), "MountainCar-v0": CONCEPTS, "Taxi-v4": None}


def _default(env: str, cells: Any, believes: bool) -> tuple[Any, Any]:
    from stable_baselines3 import DQN

    return DQN("MlpPolicy", env, seed=0, device="cpu"), _alongside(cells) if believes else None


def _of_zoo(name: str, cells: Any, believes: bool) -> tuple[Any, Any]:
    import zoo

    return zoo.make(name, 0), _alongside(cells) if believes else None


def _alongside(cells: Any) -> Any:
    from whatfor.deep import BeliefCallback

    return BeliefCallback(cells, settling=False)


def _with_beliefs(scale: int) -> list[Row]:
    """DQN with beliefs alongside against DQN without, with default settings and with those of RL Zoo."""
    cases, rows = _cases(), []
    for env, cells in cases.items():
        steps = max(STEPS // scale, 200)  # learning starts after 100
        rows.append(
            _ratio(
                f"{env}: DQN with beliefs / without, all defaults",
                partial(_default, env, cells),
                steps,
                200,
                1.5,
                scale,
            )
        )
    for name in ZOO:
        cells = next(cells for env, cells in cases.items() if env.startswith(name))
        steps = max(ZOO_STEPS // scale, 512)
        what = f"{name}: DQN with beliefs / without, settings of RL Zoo"
        rows.append(_ratio(what, partial(_of_zoo, name, cells), steps, ZOO_WARM_UP, 1.25, scale))
    return rows


def _ratio(what: str, make: Any, steps: int, warm_up: int, target: float, scale: int) -> Row:
    """The time of training with beliefs, relative to training without, in turns; the median of the ratios."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(_repetitions(REPETITIONS, scale)):
        for believes in (False, True):
            model, callback = make(believes)
            _learn(model, callback, warm_up)
            times[believes].append(_learn(model, callback, steps))
    ratios = [with_ / without for without, with_ in zip(times[False], times[True], strict=True)]
    rates = {believes: steps / median(seconds) for believes, seconds in times.items()}
    note = (
        f"{number(rates[True])} against {number(rates[False])} steps/s; {number(min(ratios))} to {number(max(ratios))}"
    )
    return Row(what, median(ratios), "×", target, note=note, detail={"ratios": ratios})


def _settling(scale: int) -> list[Row]:
    """The time of settling, relative to the whole training before it, with the settings of RL Zoo."""
    import zoo
    from whatfor.deep import BeliefCallback

    rows = []
    for name in ZOO:
        cells = next(cells for env, cells in _cases().items() if env.startswith(name))
        model, callback = zoo.make(name, 0), BeliefCallback(cells)
        settle, seconds = callback._settle, []

        def timed(belief: Any, settle: Any = settle, seconds: list[float] = seconds) -> None:
            start = time.perf_counter()
            settle(belief)
            seconds.append(time.perf_counter() - start)

        callback._settle = timed  # type: ignore[method-assign]
        trained = _learn(model, callback, max(zoo.RECIPES[name].steps // scale, 1_280)) - sum(seconds)
        note = f"{number(sum(seconds))} s of settling after {number(trained)} s of training with beliefs"
        rows.append(
            Row(f"{name}: settling / training, settings of RL Zoo", sum(seconds) / trained, "×", 1.0, note=note)
        )
    return rows


def _repetitions(repetitions: int, scale: int) -> int:
    """The number of repetitions; one in a smoke test."""
    return repetitions if scale == 1 else 1


def _learn(model: Any, callback: Any, steps: int) -> float:
    start = time.perf_counter()
    model.learn(steps, callback=callback, reset_num_timesteps=False)
    return time.perf_counter() - start


# -- with the paper's networks ---------------------------------------------------------------------


def _paper(name: str, head: Any, every: int = 1) -> tuple[Any, Any]:
    """The paper's DQN and beliefs in Stable-Baselines3, with the settings of ``published``.

    It trains on a batch of 16 at every step, or on as many samples in fewer and larger batches.
    """
    from stable_baselines3 import DQN

    import published
    from whatfor.deep import BeliefCallback, BeliefSettings, ClippedAdam
    from whatfor.deep.network import PAPER_CARTPOLE, PAPER_TAXI
    from whatfor.paper.deep_agents import cartpole_env, taxi_env

    game = published.GAMES[name]
    model = DQN(
        "MlpPolicy",
        (cartpole_env if name == "CartPole" else taxi_env)("raw"),
        learning_rate=published.RATE,
        buffer_size=published.BUFFER,
        learning_starts=published.BATCH,
        batch_size=published.BATCH * every,
        gamma=1.0,
        train_freq=every,
        target_update_interval=published.SYNC,
        exploration_initial_eps=published.EXPLORATION,
        exploration_final_eps=published.EXPLORATION,
        replay_buffer_kwargs={"handle_timeout_termination": False},
        policy_kwargs={"net_arch": list(game.hidden), "optimizer_class": ClippedAdam},
        seed=0,
        device="cpu",
    )
    if head is None:
        return model, None
    sizes = PAPER_CARTPOLE if name == "CartPole" else PAPER_TAXI
    settings = BeliefSettings(
        head=head,
        sizes=sizes,
        reads="cell",
        batches_per_update=1,
        learning_rate=published.RATE,
        optimiser=ClippedAdam,
    )
    return model, BeliefCallback(settings=settings)


def _against_published(scale: int) -> list[Row]:
    """Steps per second with the paper's networks and as many samples per step, compared with the plain loop."""
    import published

    rows = []
    for name, all_steps in PAPER_STEPS.items():
        steps = max(10, all_steps // scale)
        variants = {(head, every): [] for head in ("regression", "faithful") for every in (1, UPDATE_INTERVAL)}
        plain: list[float] = []
        for _ in range(_repetitions(PAPER_REPETITIONS, scale)):
            plain.append(published.play(published.GAMES[name], steps, WARM_UP))
            for (head, every), rates in variants.items():
                model, callback = _paper(name, head, every)
                _learn(model, callback, WARM_UP)
                rates.append(steps / _learn(model, callback, steps))
        for (head, every), rates in variants.items():
            ratios = [ours / theirs for ours, theirs in zip(rates, plain, strict=True)]
            note = f"{number(median(rates))} against {number(median(plain))} steps/s"
            how = "an update at every step" if every == 1 else f"as many samples, in an update every {every} steps"
            what = f"{name}: the paper's deep networks, {head} head, {how}, / its method written plainly"
            target = 2.0 if every == UPDATE_INTERVAL else None
            rows.append(Row(what, median(ratios), "×", target, "at least", note=note, detail={"ratios": ratios}))
    return rows


# -- memory ----------------------------------------------------------------------------------------

KINDS = ("default", "paper")


def _memory() -> list[Row]:
    """Peak memory of a short training beyond its imports, each in a separate process; and sizes of networks."""
    rows = []
    for kind in KINDS:
        for name in ("CartPole", "Taxi"):
            alone, with_beliefs = (_measure_in_process(kind, name, believes) for believes in (False, True))
            sizes = f"DQN {number(with_beliefs['agent'])} parameters, beliefs {number(with_beliefs['belief'])}"
            note = f"alone {number(alone['mb'])} MB; {sizes}; each also has a target network"
            what = f"{name}, {kind} nets: peak memory of DQN with beliefs, beyond imports"
            rows.append(Row(what, with_beliefs["mb"], "MB", note=note, detail={"alone": alone, "beside": with_beliefs}))
    return rows


def _measure_in_process(kind: str, name: str, believes: bool) -> dict[str, float]:
    """``measure`` in a new process."""
    command = [sys.executable, __file__, kind, name, str(int(believes))]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, float] = json.loads(result.stdout)
    return measured


def measure(kind: str, name: str, believes: bool) -> dict[str, float]:
    """Growth of this process's memory, in MB, and the networks' parameters."""
    import stable_baselines3  # noqa: F401

    import whatfor.deep.callback  # noqa: F401

    status = Path("/proc/self/status").read_text().splitlines()
    before = int(next(line for line in status if line.startswith("VmRSS")).split()[1]) * 1024 / 1e6
    if kind == "default":
        env, cells = next((env, cells) for env, cells in _cases().items() if env.startswith(name))
        model, callback = _default(env, cells, believes)
    else:
        model, callback = _paper(name, "regression" if believes else None)
    model.learn(500 if kind == "default" else 100, callback=callback)
    networks = {"agent": model.q_net, "belief": callback.belief.network if callback else None}
    sizes = {key: float(sum(p.numel() for p in net.parameters())) if net else 0.0 for key, net in networks.items()}
    return {"mb": peak_gb() * 1e3 - before, **sizes}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2], sys.argv[3] == "1")))
