"""Beliefs about an agent that is already trained: learned from play of its policy, and labelled as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from whatfor.deep.agent import (
    check_supported,
    copy_of,
    make_environment,
    normaliser_of,
    observes_single_env,
    q_values_of,
    reward_scale,
    time_limit_of,
)
from whatfor.deep.belief import BeliefNetwork
from whatfor.deep.cells import Predicate, make_partition
from whatfor.deep.checks import Checks, check
from whatfor.deep.held_out import HeldOut, held_out, some_of, with_futures
from whatfor.deep.images import encoder_of
from whatfor.deep.network import Sizes
from whatfor.deep.replaying import DoesNotRepeat, replay
from whatfor.deep.run import TrainingRecord, run_of
from whatfor.deep.sequences import Sequences, play_sequences, steps_beyond
from whatfor.deep.settings import BeliefSettings
from whatfor.deep.settling import Settling, settle
from whatfor.runs import Run
from whatfor.worlds.gymnasium import time_limit

#: The number of steps on which beliefs are compared with Q.
SAMPLE_SIZE = 2_000
#: The shares of the steps of settling that are played besides: to know when to stop, and to check the result.
STOPPING, CHECKING = 0.1, 0.2
#: Layers of a network that is trained for itself.
SIZES = Sizes(joint=(256, 256))
#: Situations whose futures are played again to see whether they differ; where they do, how many have several futures, and how many of
#: them, as the steps of settling allow.
PROBES, REPEATED, FEWEST, MOST = 6, 40, 4, 16
#: At least so many of the longest episodes are played to check the result, within the steps of settling.
EPISODES = 20
#: Observations in memory, and those that follow them, take at most so many bytes: of images, less is played.
MAX_BYTES = 2**30
#: A time limit is short if the future counts for so many times as many steps beyond it.
SHORT = 2
#: The most situations of each.
STOPPING_SITUATIONS, CHECKING_SITUATIONS = 128, 300


class GivenCells(NamedTuple):
    """What beliefs are over, and the names of endings and actions, as users give them."""

    cells: Any
    endings: Mapping[str, Predicate] | None
    actions: Sequence[str] | None


def learn_after(
    model: Any,
    cells: Any = None,
    *,
    endings: Mapping[str, Predicate] | None = None,
    actions: Sequence[str] | None = None,
    world: Any = None,
    settings: BeliefSettings | None = None,
    settling: Settling | None = None,
    play_in: Callable[[], gym.Env[Any, Any]] | None = None,
) -> Run:
    """A Run of an agent that was trained without beliefs: they are learned by playing its policy, and checked against held-out play.

    They show what its policy leads to, not what it believed during training; every answer says so. ``settling``: the budget.
    ``play_in``: makes the environment to play in, where it cannot be created again. The other parameters are those of ``BeliefCallback``.

    >>> from stable_baselines3 import DQN
    >>> agent = DQN("MlpPolicy", "CartPole-v1", device="cpu")
    >>> run = learn_after(agent, {"moving left": lambda obs: obs[1] < 0}, settling=Settling(steps=500, updates=5))
    >>> run.trust.source
    'evaluated'
    """
    check_supported(model)
    env = environment_of(model, play_in)
    if env is None:
        raise ValueError(no_environment(model))
    evaluated = evaluate(
        model, env, GivenCells(cells, endings, actions), settings or BeliefSettings(), settling or Settling()
    )
    record = TrainingRecord(
        learner=type(model).__name__, time_limit=time_limit_of(model), reward_scale=reward_scale(model)
    )
    return evaluated.run(env, world, record)


def no_environment(model: Any) -> str:
    """Why there is no environment to play in, and what to do."""
    if model.get_env() is None:
        return (
            "the agent has no environment; set one with model.set_env(env), or pass play_in=, a function that makes one"
        )
    return "the agent's environment cannot be made anew with its observations from what it was registered as; pass play_in=, a function that makes one"


def environment_of(model: Any, play_in: Callable[[], gym.Env[Any, Any]] | None) -> gym.Env[Any, Any] | None:
    """An environment to play the agent in, made anew; None: there is none with its observations."""
    env = make_environment(model.get_env(), copies=False) if play_in is None else play_in()
    if env is not None and play_in is not None and env.observation_space != model.observation_space:
        raise ValueError(
            f"play_in= makes an environment with observations of {env.observation_space}; the agent observes {model.observation_space}"
        )
    return env if play_in is not None or observes_single_env(model.get_env()) else None


class Evaluated(NamedTuple):
    """A belief network that was settled, and what it was checked on."""

    belief: BeliefNetwork
    played: Sequences
    visited: tuple[NDArray[Any], NDArray[np.int64]]
    held: tuple[HeldOut, HeldOut]  # after the policy's own action, and after others
    finished: bool  # False: Ctrl-C stopped it
    seed: int

    def run(self, env: Any, world: Any, record: TrainingRecord) -> Run:
        """A Run that answers questions."""
        return run_of(self.belief, self.visited, env=env, world=world, rewards=self.played.rewards, record=record)

    def check(self, belief: BeliefNetwork) -> Checks | None:
        """How far another belief about the same agent is from the same held-out play."""
        return check(belief, *self.held, self.seed)


def evaluate(
    model: Any, env: gym.Env[Any, Any], cells: GivenCells, settings: BeliefSettings, settling: Settling
) -> Evaluated:
    """Play the agent's policy, learn what follows, and check it."""
    play = _Play(model, env, settling)
    played = play(settling.steps, settling.exploration, play.beyond if play.is_short else 0)
    partition = make_partition(
        cells.cells,
        model.observation_space,
        env,
        played.observations,
        n_actions=int(model.action_space.n),
        actions=cells.actions,
        endings=cells.endings,
    )
    settings = replace(
        settings,
        loss=settings.loss_or("squared"),
        device=settings.device or model.device,
        sizes=settings.sizes or SIZES,
    )
    belief = BeliefNetwork(
        partition, play.q_values, discount=model.gamma, settings=settings, encoder=encoder_of(model), scaled=True
    )
    normaliser = normaliser_of(model)
    belief.source, belief.agent = "evaluated", copy_of(model)
    belief.normaliser = None if normaliser is None else normaliser.snapshot()
    belief.training.scale_to(belief.normalised(played.observations))
    stopping = play.held_out(belief, STOPPING, STOPPING_SITUATIONS)
    finished = settle(belief, played, stopping, settling, play.rng)
    held = play.held_out(belief, CHECKING, CHECKING_SITUATIONS, repeat=True)
    belief.checks = check(belief, *held, settling.seed)
    sample = np.sort(play.rng.integers(len(played), size=min(SAMPLE_SIZE, len(played))))
    return Evaluated(
        belief, played, (played.observations[sample], played.actions[sample]), held, finished, settling.seed
    )


class _Play:
    """Plays an agent's frozen policy."""

    def __init__(self, model: Any, env: gym.Env[Any, Any], settling: Settling) -> None:
        self.env, self.settling, self.limit = env, settling, time_limit(env)
        self.q_values, self.scale = q_values_of(model, frozen=True), reward_scale(model)
        self.discount, self.limit_terminates = float(model.gamma), time_limit_of(model) == "terminal"
        self.rng = np.random.default_rng(settling.seed)
        self.beyond = steps_beyond(self.discount, self.limit, limit_terminates=self.limit_terminates)

    @property
    def is_short(self) -> bool:
        """Whether a time limit hides most of what the discount sees: then episodes are played beyond it, or nearly all targets would be bootstrapped."""
        return self.limit is not None and SHORT * self.limit < self.beyond

    def __call__(self, steps: int, exploration: float, beyond: int = 0) -> Sequences:
        """Play, with rewards as the agent is trained on them."""
        space: Any = self.env.observation_space
        size = 2 * int(np.prod(space.shape or (1,))) * np.dtype(space.dtype).itemsize
        played = play_sequences(
            self.env,
            self.q_values,
            steps=min(steps, max(1, MAX_BYTES // size)),
            exploration=exploration,
            rng=self.rng,
            limit_terminates=self.limit_terminates,
            beyond=beyond,
        )
        return replace(played, rewards=played.rewards * self.scale)

    def held_out(self, belief: BeliefNetwork, share: float, n: int, *, repeat: bool = False) -> tuple[HeldOut, HeldOut]:
        """Situations after the policy's own action, and after others, of play that is not learned from; ``repeat``: with several futures of each where they differ."""
        beyond = self.beyond
        enough = round(EPISODES * share / CHECKING) * ((self.limit or 0) + beyond)
        steps = min(self.settling.steps, max(round(self.settling.steps * share / 2), enough))
        own = self(steps, 0.0, beyond)
        once = min(0.5, 1.0 / own.lengths.mean())  # about one other action in an episode
        other = self(steps, once, beyond)
        given = belief.partition, self.discount
        held = (
            held_out(own, *given, n, self.rng, limit=self.limit),
            held_out(other, *given, n // 2, self.rng, limit=self.limit, explored=True),
        )
        longest = beyond or max(int(own.lengths.max()), int(other.lengths.max()))
        if not repeat:
            return held
        return self._repeated(held[0], own, belief, longest), self._repeated(held[1], other, belief, longest)

    def _repeated(self, held: HeldOut, played: Sequences, belief: BeliefNetwork, longest: int) -> HeldOut:
        """With several futures of each situation, unless the environment is not random."""
        if not len(held):
            return held
        try:
            few = self._with_futures(some_of(held, PROBES), played, belief, longest, 2)
            if not few.noise.any():
                return replace(held, measured=True)
            some = some_of(held, REPEATED)
            affordable = self.settling.steps // max(1, round(len(some) * few.visits.sum(axis=1).mean()))
            each = 2 * (min(max(affordable, FEWEST), MOST) // 2)  # two halves say how far they are off by chance
            return replace(held, several=self._with_futures(some, played, belief, longest, each))
        except DoesNotRepeat:
            return held

    def _with_futures(
        self, held: HeldOut, played: Sequences, belief: BeliefNetwork, longest: int, each: int
    ) -> HeldOut:
        steps = np.repeat(held.steps, each)
        futures = replay(
            self.env,
            self.q_values,
            played,
            steps,
            longest=longest,
            limit_terminates=self.limit_terminates,
            rng=self.rng,
        )
        futures = replace(futures, rewards=futures.rewards * self.scale)
        return with_futures(held, futures, belief.partition, self.discount, each)
