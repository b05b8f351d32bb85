"""Settling: a belief network learns what a frozen policy leads to, until held-out play says that it no longer gets better."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from whatfor.checks import whole
from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.held_out import HeldOut
from whatfor.deep.sequences import Sequences
from whatfor.deep.settings import MIN_RATE_SHARE
from whatfor.deep.targets import LambdaTargets
from whatfor.training.watch import Interrupted, Watch

#: How often targets are computed anew.
ROUNDS = 32
#: The weights that targets are computed with, and that are kept, are averages over about so many updates: those of single ones are noisy.
AVERAGED = 200
#: After so many rounds without a better result on held-out play, the learning rate is divided by ``SLOWER``.
PATIENCE, SLOWER = 4, 3.0
#: A result is better if the error falls by at least this share.
BETTER = 0.01


@dataclass(frozen=True)
class Settling:
    """The budget of settling: how much is played, and how much is learned from it.

    ``steps`` of the frozen policy, with a share ``exploration`` of random actions; ``updates`` of the belief network, at most, on batches of
    ``batch_size``. ``seed``: of the play. ``progress``: whether to show a bar; None: in a terminal, if it takes longer than a second.

    >>> Settling(steps=20_000).updates
    8000
    """

    steps: int = 100_000
    updates: int = 8_000
    batch_size: int = 128
    learning_rate: float = 4e-3
    exploration: float = 0.02
    seed: int = 0
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "updates", "batch_size"):
            whole(name, getattr(self, name), 1)
        whole("seed", self.seed, 0)
        if not 0.0 <= self.exploration <= 1.0:
            raise ValueError(f"exploration is {self.exploration}; it must lie in [0, 1]")
        if not self.learning_rate > 0.0:
            raise ValueError(f"learning_rate is {self.learning_rate}; it must be above 0")


def settle(
    belief: BeliefNetwork,
    played: Sequences,
    stopping: tuple[HeldOut, HeldOut],
    settling: Settling,
    rng: np.random.Generator,
) -> bool:
    """Train on sequences; the averaged weights with the smallest error on held-out play are kept, the last where there is none. False: Ctrl-C stopped it early."""
    trainer, targets = belief.training, LambdaTargets(belief, played)
    trainer.experience.add(targets.pair, targets.rewards, targets.cell, played.observations)
    # After other actions, only futures without a later one are known, which are shorter than most: they count where nothing else does.
    compared = stopping[0] if len(stopping[0]) else stopping[1]
    rounds = min(ROUNDS, settling.updates)
    best, kept, since, slower, done = np.inf, None, 0, 1.0, 0
    watch = Watch(settling.updates, lambda: done, progress=settling.progress, what=("settling beliefs", "updates"))
    finished = True
    belief.network = trainer.target  # which holds the averages
    try:
        with watch:
            for updates in np.diff(np.linspace(0, settling.updates, rounds + 1).astype(int)).tolist():
                targets.refresh(rng)
                for _ in range(updates):
                    share = max(MIN_RATE_SHARE, min(1.0 - done / settling.updates, 1.0 / slower))
                    trainer.set_learning_rate(settling.learning_rate * share)
                    inputs, actions, towards = targets.batch(rng.integers(len(targets), size=settling.batch_size))
                    trainer.learn(inputs, actions, towards, "squared")
                    done += 1
                    trainer.sync(max(1.0 / AVERAGED, 1.0 / done))
                    watch()
                if not len(compared):
                    continue
                error = squared_error(belief, compared)
                since = 0 if error < (1.0 - BETTER) * best else since + 1
                if error < best:
                    best, kept = error, copy.deepcopy(trainer.target.state_dict())
                if since >= PATIENCE:
                    since, slower = 0, slower * SLOWER
                    if slower > 1.0 / MIN_RATE_SHARE:
                        break
    except (Interrupted, KeyboardInterrupt):
        finished = False
    trainer.online.load_state_dict(trainer.target.state_dict() if kept is None else kept)
    trainer.sync()
    belief.network = trainer.online
    return finished


def squared_error(belief: BeliefNetwork, held: HeldOut) -> float:
    """How far a belief is from what followed: the squared distance of visits, relative to their squares, and that of chances of endings.

    In random environments the mean of all futures has the smallest squared distance; in absolute distance it has not.
    """
    off = sum(float(np.square(rows - held.visits[at]).sum()) for at, rows, _ in held.rows(belief))
    ended = held.endings.sum(axis=1) == 1.0
    error = off / float(np.square(held.visits).sum())
    if not ended.any():
        return error
    chances = belief.endings(held.observations[ended], held.actions[ended])[:, :-1]
    return error + float(np.square(chances - held.endings[ended]).sum(axis=1).mean())
