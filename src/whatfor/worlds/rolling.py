"""Rollouts: independent episodes of a policy from one action in one state, and the compiled twin of the loop that plays them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whatfor.kernels.compiler import compiled, inlined
from whatfor.kernels.recursion import NOT_ENDED, TERMINATED, TIMED_OUT, ending_place
from whatfor.kernels.tables import first_above
from whatfor.kernels.tape import Tape
from whatfor.labels import ENDINGS, Labels
from whatfor.ledger.paid import last_steps_named
from whatfor.limits import limit
from whatfor.worlds.entering import observations_in
from whatfor.worlds.play import PlayedStep, check_steps
from whatfor.worlds.stepping import CARTPOLE, WORLD_DRAWS, Arrays, begin, step
from whatfor.worlds.world import World

#: The initial capacity in steps, and the uniform numbers that one step may use.
ROLLOUT_CAPACITY, ROLLOUT_DRAWS = 1 << 14, 2

# Indices into the kernel's ``now``.
ROLLOUT, STATE, ACTION, LENGTH, AT = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class Rollouts:
    """The steps of several rollouts, one rollout after the other."""

    pair: NDArray[np.int32]  # (steps,) state * A + action
    reward: NDArray[np.float64]  # (steps,)
    first: NDArray[np.int64]  # (n + 1,) the first step of each rollout
    ending: NDArray[np.int32]  # (n,) the code of each ending; TIMED_OUT: truncated
    final: NDArray[np.int32]  # (n,) the state after the last step; -1: unknown

    def __len__(self) -> int:
        return len(self.ending)

    @classmethod
    def of(cls, steps: Iterable[PlayedStep], rollouts: int, n_actions: int) -> Rollouts:
        """Collect steps that were played in parallel."""
        played: list[list[tuple[int, float]]] = [[] for _ in range(rollouts)]
        ending, final = np.full(rollouts, TIMED_OUT, np.int32), np.full(rollouts, -1, np.int32)
        for one in steps:
            played[one.rollout].append((one.state * n_actions + one.action, one.reward))
            ending[one.rollout], final[one.rollout] = one.ending, one.final
        flat = [step for rollout in played for step in rollout]
        return cls(
            np.array([pair for pair, _ in flat], np.int32),
            np.array([reward for _, reward in flat]),
            np.concatenate([[0], np.cumsum([len(rollout) for rollout in played])]).astype(np.int64),
            ending,
            final,
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(n,) Steps of each rollout."""
        return np.diff(self.first)

    @property
    def rollout(self) -> NDArray[np.int64]:
        """(steps,) The rollout of each step."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def step(self) -> NDArray[np.int64]:
        """(steps,) The index of each step in its rollout."""
        return np.arange(len(self.pair)) - np.repeat(self.first[:-1], self.lengths)

    def within(self, limit: int) -> Rollouts:
        """The first ``limit`` steps of each rollout; a longer one is truncated there."""
        if self.lengths.max(initial=0) <= limit:
            return self
        kept, lengths = self.step < limit, np.minimum(self.lengths, limit)
        ending = np.where(self.lengths > limit, TIMED_OUT, self.ending).astype(np.int32)
        final = np.where(self.lengths > limit, -1, self.final).astype(np.int32)
        return Rollouts(self.pair[kept], self.reward[kept], np.concatenate([[0], np.cumsum(lengths)]), ending, final)

    @property
    def returns(self) -> NDArray[np.float64]:
        """(n,) The sum of the rewards of each rollout, without a discount."""
        sums: NDArray[np.float64] = np.add.reduceat(self.reward, self.first[:-1])
        return sums

    def ending_counts(self, labels: Labels) -> dict[str, int]:
        """How many rollouts had each ending, the most frequent first; an unnamed ending is described by its last step."""
        counts = Counter(self.ending_names(labels))
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def ending_names(self, labels: Labels) -> list[str]:
        """The name of each rollout's ending."""
        names, last = [*ENDINGS, *labels.ending_names], self.first[1:] - 1
        unnamed = last[self.ending == TERMINATED]
        steps = iter(last_steps_named(labels, self.pair[unnamed].tolist(), self.reward[unnamed].tolist()))
        return [next(steps) if code == TERMINATED else names[ending_place(code)] for code in self.ending.tolist()]


#: For a start: where episodes begin.
BEGINNING = (-1, -1)


@inlined
def draws_from(start: tuple[int, int]) -> int:
    """The uniform numbers that one step may use, with the start of a rollout."""
    return ROLLOUT_DRAWS if start[0] >= 0 else ROLLOUT_DRAWS + WORLD_DRAWS


@compiled
def roll(
    world: Arrays,
    policy: NDArray[np.float64],  # (S * A,) cumulative action probabilities
    n_actions: int,
    start: tuple[int, int],  # BEGINNING: where episodes begin
    bodies: NDArray[np.float64],  # (n, 4) the start of each rollout of CartPole; changed
    uniforms: NDArray[np.float64],
    cursor: NDArray[np.int64],
    max_steps: int,
    pair: NDArray[np.int32],
    reward: NDArray[np.float64],
    first: NDArray[np.int64],
    ending: NDArray[np.int32],
    final: NDArray[np.int32],
    now: NDArray[np.int64],
) -> bool:
    """As ``worlds.play.play`` for a table of actions in a known world: until all rollouts are done (True), or random numbers or space are used up."""
    rollout, state, action, length, at = now[ROLLOUT], now[STATE], now[ACTION], now[LENGTH], now[AT]
    draws = draws_from(start)
    while rollout < len(ending) and at < len(pair) and cursor[0] + draws <= len(uniforms):
        if length == 0:
            state, action = start
            if state < 0:  # where an episode begins
                state = begin(world, bodies[rollout], uniforms, cursor)
                action = first_above(policy, state * n_actions, (state + 1) * n_actions, uniforms[cursor[0]])
                action -= state * n_actions
                cursor[0] += 1
        following, paid, ended = step(world, bodies[rollout], n_actions, state, action, uniforms, cursor)
        pair[at] = state * n_actions + action
        reward[at] = paid
        at += 1
        length += 1
        if ended == NOT_ENDED and length >= max_steps:
            ended = TIMED_OUT
        if ended == NOT_ENDED:
            state = following
            action = first_above(policy, state * n_actions, (state + 1) * n_actions, uniforms[cursor[0]])
            action -= state * n_actions
            cursor[0] += 1
        else:
            ending[rollout] = ended
            final[rollout] = following
            rollout += 1
            first[rollout] = at
            length = 0
    now[ROLLOUT], now[STATE], now[ACTION], now[LENGTH], now[AT] = rollout, state, action, length, at
    return bool(rollout == len(ending))


def roll_out(
    world: World,
    policy: NDArray[np.float64],  # (S, A) action probabilities
    start: tuple[int, int] | None,
    *,
    rollouts: int,
    max_steps: int,
    generator: np.random.Generator,
) -> Rollouts:
    """Play rollouts of a policy in a known world, from an action in a state; ``start=None``: from where episodes begin."""
    n_actions, summed = world.labels.n_actions, cumulative(policy)
    bodies = np.zeros((rollouts, 4))
    if start is not None and world.arrays.kind == CARTPOLE:
        bodies = observations_in(world.labels, start[0], rollouts, generator)
    tape, now = Tape(generator), np.zeros(5, np.int64)
    room = min(ROLLOUT_CAPACITY, limit("steps"))
    pair, reward = np.empty(room, np.int32), np.empty(room)
    first = np.zeros(rollouts + 1, np.int64)
    ending, final = np.zeros(rollouts, np.int32), np.zeros(rollouts, np.int32)
    done = False
    while not done:
        tape.need(draws_from(start or BEGINNING))
        if now[AT] == len(pair):
            check_steps(len(pair) + 1)
            room = min(2 * len(pair), limit("steps"))
            pair, reward = np.resize(pair, room), np.resize(reward, room)
        done = roll(
            world.arrays, summed, n_actions, start or BEGINNING, bodies, tape.uniforms, tape.cursor, max_steps,
            pair, reward, first, ending, final, now,
        )  # fmt: skip
    return Rollouts(pair[: now[AT]].copy(), reward[: now[AT]].copy(), first, ending, final)


def cumulative(policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S * A,) Cumulative action probabilities; exactly 1 from the last possible action on."""
    summed = np.cumsum(policy, axis=1)
    last = policy.shape[1] - 1 - np.argmax(policy[:, ::-1] > 0.0, axis=1)
    summed[np.arange(policy.shape[1]) >= last[:, None]] = 1.0
    return summed.ravel()
