"""Rollouts: a policy played from one state, many times over, each by random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled
from whatfor.kernels.recursion import GOES_ON, TIMED_OUT
from whatfor.kernels.tables import first_above
from whatfor.kernels.tape import Tape
from whatfor.limits import LimitError, limit, variable
from whatfor.worlds.adapter import Enter
from whatfor.worlds.entering import observations_in
from whatfor.worlds.steppers import EnvStepper
from whatfor.worlds.stepping import CARTPOLE, Arrays, step
from whatfor.worlds.world import World

#: Steps there is room for at first, and the uniform numbers that one of them may use.
ROOM, DRAWS = 1 << 14, 2

# Places in the kernel's ``now``.
ROLLOUT, STATE, ACTION, LENGTH, AT = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class Rollouts:
    """What happened, rollout by rollout."""

    pair: NDArray[np.int32]  # (steps,) state * A + action
    reward: NDArray[np.float64]  # (steps,)
    first: NDArray[np.int64]  # (n + 1,) where each rollout starts in the above
    ending: NDArray[np.int32]  # (n,) the code of how each ended; TIMED_OUT where it was cut

    def __len__(self) -> int:
        return len(self.ending)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) Steps of each rollout."""
        return np.diff(self.first)

    @property
    def rollout(self) -> NDArray[np.int64]:
        """(steps,) Which rollout each step belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def step(self) -> NDArray[np.int64]:
        """(steps,) How many steps each lies ahead."""
        return np.arange(len(self.pair)) - np.repeat(self.first[:-1], self.lengths)


@compiled
def roll(
    world: Arrays,
    policy: NDArray[np.float64],  # (S * A,) chances, summed up within each state
    n_actions: int,
    start: tuple[int, int],
    bodies: NDArray[np.float64],  # (n, 4) where CartPole's rollouts start; changed
    uniforms: NDArray[np.float64],
    cursor: NDArray[np.int64],
    max_steps: int,
    pair: NDArray[np.int32],
    reward: NDArray[np.float64],
    first: NDArray[np.int64],
    ending: NDArray[np.int32],
    now: NDArray[np.int64],
) -> bool:
    """Play on until all rollouts are done (True), or numbers or room are short."""
    rollout, state, action, length, at = now[ROLLOUT], now[STATE], now[ACTION], now[LENGTH], now[AT]
    while rollout < len(ending) and at < len(pair) and cursor[0] + 2 <= len(uniforms):
        if length == 0:
            state, action = start
        following, paid, ended = step(world, bodies[rollout], n_actions, state, action, uniforms, cursor)
        pair[at] = state * n_actions + action
        reward[at] = paid
        at += 1
        length += 1
        if ended == GOES_ON and length >= max_steps:
            ended = TIMED_OUT
        if ended == GOES_ON:
            state = following
            action = first_above(policy, state * n_actions, (state + 1) * n_actions, uniforms[cursor[0]])
            action -= state * n_actions
            cursor[0] += 1
        else:
            ending[rollout] = ended
            rollout += 1
            first[rollout] = at
            length = 0
    now[ROLLOUT], now[STATE], now[ACTION], now[LENGTH], now[AT] = rollout, state, action, length, at
    return bool(rollout == len(ending))


def rolled(
    world: World,
    policy: NDArray[np.float64],  # (S, A) chances
    state: int,
    action: int,
    *,
    rollouts: int,
    max_steps: int,
    generator: np.random.Generator,
) -> Rollouts:
    """Play a policy in a known world, after one action in one state."""
    n_actions, summed = world.labels.n_actions, _summed(policy)
    bodies = np.zeros((rollouts, 4))
    if world.arrays.kind == CARTPOLE:
        bodies = observations_in(world.labels, state, rollouts, generator)
    tape, now = Tape(generator), np.zeros(5, np.int64)
    room = min(ROOM, limit("steps"))
    pair, reward = np.empty(room, np.int32), np.empty(room)
    first, ending = np.zeros(rollouts + 1, np.int64), np.zeros(rollouts, np.int32)
    done = False
    while not done:
        tape.need(DRAWS)
        if now[AT] == len(pair):
            _check_steps(len(pair) + 1)
            room = min(2 * len(pair), limit("steps"))
            pair, reward = np.resize(pair, room), np.resize(reward, room)
        done = roll(
            world.arrays, summed, n_actions, (state, action), bodies, tape.uniforms, tape.cursor, max_steps,
            pair, reward, first, ending, now,
        )  # fmt: skip
    return Rollouts(pair[: now[AT]].copy(), reward[: now[AT]].copy(), first, ending)


def rolled_in_env(
    stepper: EnvStepper,
    policy: NDArray[np.float64],  # (S, A) chances
    state: int,
    action: int,
    *,
    rollouts: int,
    max_steps: int,
    generator: np.random.Generator,
    enter: Enter,
) -> Rollouts:
    """Play a policy in an environment, after one action in one state."""
    pairs: list[int] = []
    rewards: list[float] = []
    first, endings, most = [0], [], limit("steps")
    n_actions, summed = policy.shape[1], _summed(policy).reshape(policy.shape)
    for _ in range(rollouts):
        stepper.reset()
        enter(stepper.env, state, generator)
        at, doing, ending = state, action, GOES_ON
        while ending == GOES_ON:
            following, reward, ending, truncated = stepper.step(doing)
            pairs.append(at * n_actions + doing)
            rewards.append(reward)
            if len(pairs) > most:
                _check_steps(len(pairs))
            if ending == GOES_ON and (truncated or len(pairs) - first[-1] >= max_steps):
                ending = TIMED_OUT
            at, doing = following, int((summed[following] <= generator.random()).sum())
        first.append(len(pairs))
        endings.append(ending)
    return Rollouts(
        np.array(pairs, np.int32), np.array(rewards), np.array(first, np.int64), np.array(endings, np.int32)
    )


def rolled_by(
    act: Callable[[NDArray[Any]], NDArray[np.int64]],  # (B, ...) observations -> (B,) actions
    cells: Callable[[NDArray[Any]], NDArray[np.int64]],  # (B, ...) observations -> (B,) states
    ended: Callable[[Any, int, float], int],  # last observation, action, reward -> the code of an ending
    n_actions: int,
    begin: Callable[
        [Any], tuple[Any, int | None]
    ],  # puts an environment into a state; what it shows, and the first action
    *,
    envs: Sequence[Any],
    rollouts: int,
    max_steps: int,
) -> Rollouts:
    """Play a function of observations in several environments side by side."""
    steps: list[list[tuple[int, float]]] = [[] for _ in range(rollouts)]
    endings, begun, played = [TIMED_OUT] * rollouts, min(len(envs), rollouts), 0
    playing = [(n, env, *begin(env)) for n, env in zip(range(begun), envs, strict=False)]
    while playing:
        played += len(playing)
        _check_steps(played)
        seen = np.stack([np.asarray(shown) for _, _, shown, _ in playing])
        at, doing = cells(seen), act(seen)
        still: list[tuple[int, Any, Any, int | None]] = []
        for i, (n, env, _, first) in enumerate(playing):
            action = int(doing[i]) if first is None else first
            shown, reward, terminated, truncated, _ = env.step(action)
            steps[n].append((int(at[i]) * n_actions + action, float(reward)))
            if not (terminated or truncated or len(steps[n]) >= max_steps):
                still.append((n, env, shown, None))
                continue
            if terminated:
                endings[n] = ended(shown, action, float(reward))
            if begun < rollouts:
                still.append((begun, env, *begin(env)))
                begun += 1
        playing = still
    flat = [step for rollout in steps for step in rollout]
    first_steps = np.concatenate([[0], np.cumsum([len(rollout) for rollout in steps])])
    return Rollouts(
        np.array([pair for pair, _ in flat], np.int32),
        np.array([reward for _, reward in flat]),
        first_steps.astype(np.int64),
        np.array(endings, np.int32),
    )


def _check_steps(steps: int) -> None:
    """Raise ``ValueError`` where rollouts together have become too long."""
    if steps > (most := limit("steps")):  # how many more it would play is unknown
        raise LimitError(
            f"this simulation needs more than {most:,} steps, which is the limit. Play fewer rollouts, or set {variable('steps')}={10 * most}"
        )


def _summed(policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S * A,) Chances summed up within each state, reaching 1 at the last action that is possible."""
    summed = np.cumsum(policy, axis=1)
    last = policy.shape[1] - 1 - np.argmax(policy[:, ::-1] > 0.0, axis=1)
    summed[np.arange(policy.shape[1]) >= last[:, None]] = 1.0
    return summed.ravel()
