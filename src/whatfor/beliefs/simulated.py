"""Forward simulation: play a fixed policy from a state many times, and average."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whatfor.beliefs.agent_player import AgentPlayer
from whatfor.beliefs.exact import ExactBeliefs, chances_of, check_discount
from whatfor.beliefs.futures import Arrivals, Depths, Payments, standard_error
from whatfor.beliefs.loop import NO_LOOP, Loop
from whatfor.beliefs.protocol import CAPABILITIES, Beliefs, Capability, ObservationAgent, situation_of, sizes_of
from whatfor.beliefs.rolled import mean_arrivals, mean_depths, mean_payments
from whatfor.beliefs.row import Row
from whatfor.beliefs.situation import Situation
from whatfor.caching import Cache
from whatfor.checks import whole
from whatfor.concepts import Concept
from whatfor.kernels.recursion import TIMED_OUT
from whatfor.labels import ENDINGS, NEVER_ENDS, Labels
from whatfor.limits import MAX_EPISODE_STEPS, check_limit
from whatfor.text import count
from whatfor.worlds.adapter import Enter, NoTwin, check_enter
from whatfor.worlds.arriving import Search, arrival_text
from whatfor.worlds.discovering import Discovering
from whatfor.worlds.gymnasium import enter_observation_of, enter_of, labels_of, time_limit, twin
from whatfor.worlds.making import make_env
from whatfor.worlds.play import TablePlayer, play
from whatfor.worlds.rolling import Rollouts, cumulative, roll_out
from whatfor.worlds.steppers import EnvStepper
from whatfor.worlds.stepping import TABLE
from whatfor.worlds.terms import RewardTerms
from whatfor.worlds.world import Reprice, World, is_terminal

#: Rollouts beyond a time limit end where the discount of a step is below this: in compiled worlds, and where every step is played in Python.
MIN_DISCOUNT, MIN_DISCOUNT_PLAYED = 1e-6, 1e-3
#: Rows whose rollouts are cached.
MAX_CACHED_ROWS = 64


class SimulatedBeliefs(Beliefs):
    """The mean future of a policy over independent rollouts.

    ``world``: a world of ``whatfor.worlds``, a Gymnasium environment, or its id. ``policy``: an action for each state,
    (S, A) action probabilities, or an agent that acts on observations, such as a ``BeliefNetwork``. ``enter``: a function
    (env, state, rng) that puts an environment into a state, for environments that whatfor does not know;
    without it, fresh episodes are played until they reach the state. ``max_steps``: a time limit instead of the world's own. ``beyond_limit``: go on beyond the time limit, as far as the
    discount counts, for an agent that bootstraps through it. The same seed gives the same rollouts.

    >>> from whatfor.worlds import chain
    >>> beliefs = SimulatedBeliefs(chain(), policy=[0, 0, 1], discount=1.0, rollouts=10)
    >>> beliefs.value(0, 0), beliefs.visits(0, 1).tolist()
    (2.0, [[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    """

    can: ClassVar[frozenset[Capability]] = frozenset(CAPABILITIES)
    learned: ClassVar[bool] = False
    only_final: frozenset[int] = frozenset()  # states that only ended episodes of training

    def __init__(
        self,
        world: Any,
        policy: ArrayLike | ObservationAgent,
        *,
        discount: float,
        rollouts: int = 1_000,
        seed: int = 0,
        max_steps: int | None = None,
        enter: Enter | None = None,
        beyond_limit: bool = False,
    ) -> None:
        whole("rollouts", rollouts, 1)
        check_enter(enter)
        check_limit("rollouts", rollouts, "this simulation")
        if max_steps is not None:
            check_limit("steps", whole("max_steps", max_steps, 1), "a rollout of max_steps")
        check_discount(discount)
        self._agent = policy if isinstance(policy, ObservationAgent) else None
        if self._agent is None:
            self._world, self._env = _playable(world, enter)
            self.labels = labels_of(self._env) if self._world is None else self._world.labels
            self._enter = enter or (enter_of(self._env, self.labels) if self._world is None else None)
            self.policy = chances_of(policy, self.labels)  # type: ignore[arg-type]
        else:
            self._world, self._env = None, make_env(world) if isinstance(world, str) else world
            self.labels = self._agent.labels
            self._enter = enter or enter_observation_of(self._env)
        self.shape = (self.labels.n_states, self.labels.n_actions)
        own = time_limit(self._env) if self._world is None else self._world.max_steps
        self.limit = max_steps or own  # None: episodes have no time limit
        self.discount, self.beyond_limit = discount, beyond_limit
        self.max_steps = self._longest(self.limit or MAX_EPISODE_STEPS)
        self.n = int(rollouts)
        self.seed = whole("seed", seed, 0)
        self._reprice: Reprice | None = None
        self._terms: RewardTerms | None = None
        self._cache = Cache[tuple[Situation, int] | None, Rollouts](MAX_CACHED_ROWS)

    @property
    def start_text(self) -> tuple[str, ...]:
        """A sentence about where rollouts start, if the state cannot be entered."""
        whole = self._agent is None or self._agent.whole
        return (arrival_text(whole=whole),) if self.arrives else ()

    def _about(self) -> str:
        return f"{count(self.n, 'rollout')}, {sizes_of(self.labels)}"

    def repriced(self, reprice: Reprice) -> SimulatedBeliefs:
        """The same rollouts with other rewards."""
        other = copy.copy(self)
        other._reprice = reprice
        return other

    @property
    def arrives(self) -> bool:
        """Whether rollouts start where fresh episodes reach a state, since it cannot be entered."""
        return not self.compiled and self._enter is None

    @property
    def compiled(self) -> bool:
        """Whether a known world is played, about 1000 times as fast as an environment."""
        return self._world is not None

    def scaled(self, terms: RewardTerms) -> SimulatedBeliefs:
        """Rollouts with factors on the terms of the rewards, which the environment reports."""
        if self._world is not None:
            raise ValueError(
                "the parts of these rewards are reported in info, which this world does not have: pass the environment as env="
            )
        other = copy.copy(self)
        other._terms, other._cache = terms, Cache[tuple[Situation, int] | None, Rollouts](MAX_CACHED_ROWS)
        return other

    def row(self, at: Situation, action: int) -> Row:
        """The means over the rollouts."""
        returns, visits = self.returns(at, action), self.visits(at, action)
        going = self.still_going(at, action)
        loop = self.loop(at, action)
        never = min(going, loop.never)
        endings = {name: count / self.n for name, count in self.ending_counts(at, action).items()}
        return Row(
            visits=visits,
            earnings=self.earnings(at, action),
            value=float(returns.mean()),
            unknown=0.0,
            now=min(1.0, float(visits[at.index, action])),
            discounted=self.discount < 1.0,
            endings=endings | ({loop.name: never} if never else {}),
            endings_unknown=going - never,
            loop=loop,
            error=standard_error(returns) if len(returns) > 1 else None,
        )

    def depths(self, at: Situation, action: int, horizon: int, discount: float | None = None) -> Depths:
        """The mean visits by the number of steps ahead."""
        return mean_depths(
            self.rollouts(at, action), self.shape, horizon, self.discount if discount is None else discount
        )

    def arrivals(self, at: Situation, action: int, concepts: Sequence[Concept]) -> Arrivals:
        """The shares of rollouts that reach each concept first."""
        rollouts = self.rollouts(at, action)
        going = self._going(rollouts)
        return mean_arrivals(rollouts, going, self.played_labels, self.shape, concepts, self.discount)

    def payments(self, at: Situation, action: int) -> Payments:
        """The rewards of all steps of the rollouts."""
        return mean_payments(self.rollouts(at, action), self.labels, self.shape[0] * self.shape[1], self.discount)

    def samples(self, at: Situation, action: int) -> int:
        """The number of rollouts."""
        return self.n

    def within_limit(self, at: Situation, action: int) -> SimulatedBeliefs | None:
        """The same rollouts, cut at the time limit."""
        played = self.rollouts(at, action)
        if self.limit is None or not ((played.lengths > self.limit) | self._going(played)).any():
            return None
        other = copy.copy(self)
        other.max_steps, other.beyond_limit = self.limit, False
        return other

    def visits(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Mean visits after this action, discounted; this step counts."""
        return self._mean(self._visits_by_rollout(self.rollouts(state, action)))

    def earnings(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) Mean discounted reward at every pair."""
        return self._mean(self._earnings_by_rollout(self.rollouts(state, action)))

    def value(self, state: int | Situation, action: int) -> float:
        """The mean discounted return."""
        return float(self.returns(state, action).mean())

    def returns(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(n,) The discounted return of every rollout."""
        return np.asarray(self._earnings_by_rollout(self.rollouts(state, action)).sum(axis=1)).ravel()

    def gap_error(self, at: Situation, one: int, other: int) -> float | None:
        """The standard error of the gap between two actions' values, whose rollouts are independent."""
        errors = self.row(at, one).error, self.row(at, other).error
        return None if errors[0] is None or errors[1] is None else float(np.hypot(errors[0], errors[1]))

    def visits_error(self, state: int | Situation, action: int) -> NDArray[np.float64]:
        """(S, A) The standard error of ``visits``; 0 where all rollouts agree, which does not mean certainty."""
        if self.n < 2:
            raise ValueError("one rollout has no standard error: rollouts=2 or more")
        visits = self._visits_by_rollout(self.rollouts(state, action))
        spread = self._mean(visits.multiply(visits)) - self._mean(visits) ** 2
        error: NDArray[np.float64] = np.sqrt(np.maximum(spread, 0.0) / (self.n - 1))
        return error

    def ending_counts(self, state: int | Situation, action: int) -> dict[str, int]:
        """How many rollouts had each ending, the most frequent first; those that were still going are left out."""
        rollouts = self.rollouts(state, action)
        counts, going = rollouts.ending_counts(self.played_labels), int(self._going(rollouts).sum())
        counts[ENDINGS[0]] = counts.get(ENDINGS[0], 0) - going
        return {name: count for name, count in counts.items() if count}

    @property
    def played_labels(self) -> Labels:
        """The labels, with the states that only play has met."""
        if not isinstance(self._env, Discovering) or len(self._env) == self.labels.n_states:
            return self.labels
        return replace(self._env.labels(), endings=self.labels.endings)

    def unmet(self, state: int | Situation, action: int) -> float:
        """The share of steps in states that training never met: no visits or earnings are counted there."""
        return float((self.rollouts(state, action).pair >= self.policy.size).mean()) if self._agent is None else 0.0

    def still_going(self, state: int | Situation, action: int) -> float:
        """The share of rollouts that were still going when play stopped, not at a time limit that ends episodes."""
        return float(self._going(self.rollouts(state, action)).mean())

    def _going(self, rollouts: Rollouts) -> NDArray[np.bool_]:
        """(n,) Whether a rollout was still going when play stopped."""
        stopped: NDArray[np.bool_] = (rollouts.ending == TIMED_OUT) & (rollouts.lengths >= self.max_steps)
        return stopped & (self.beyond_limit or self.max_steps != self.limit)

    def unplayed(self, state: int | Situation, action: int) -> float:
        """The mean discounted weight of what lies beyond truncated rollouts; 0 where a time limit ends episodes."""
        rollouts = self.rollouts(state, action)
        cut = rollouts.ending == TIMED_OUT if self.beyond_limit else self._going(rollouts)
        return float(np.where(cut, np.power(self.discount, rollouts.lengths, dtype=float), 0.0).mean())

    def never_ends(self, state: int | Situation, action: int) -> float | None:
        """The exact probability that the policy never ends, if rollouts were still going; None: unknown."""
        if not self.still_going(state, action):
            return 0.0
        if self._world is None or self._world.arrays.kind != TABLE:
            return None
        exact = ExactBeliefs(self._world, self.policy, discount=self.discount)
        return exact.outcomes(situation_of(state).index, action).get(NEVER_ENDS, 0.0)

    def loop(self, at: Situation, action: int) -> Loop:
        """That exact probability, where it is known."""
        never = self.never_ends(at, action)
        return NO_LOOP if never is None else Loop(never, known=True)

    def _longest(self, limit: int) -> int:
        """The steps of the longest rollout: up to the limit, or beyond it until the discount leaves nothing to count."""
        if not self.beyond_limit or self.discount == 1.0:
            return limit
        smallest = MIN_DISCOUNT if self._world is not None else MIN_DISCOUNT_PLAYED
        steps = math.ceil(math.log(smallest) / math.log(max(self.discount, 1e-3)))
        return max(limit, min(MAX_EPISODE_STEPS, steps))

    def rollouts(self, state: int | Situation, action: int) -> Rollouts:
        """The rollouts behind a row, cached."""
        at, action = situation_of(state), self.labels.action(action)
        self.labels.check_state(at.index)
        return self._played((at, action))

    def episodes(self) -> Rollouts:
        """Rollouts from where episodes begin, cached; the first where the environment resets to with the seed."""
        return self._played(None)

    def _played(self, start: tuple[Situation, int] | None) -> Rollouts:
        played = self._cache.get_or_add(start, lambda: self._play(start)).within(self.max_steps)
        if self._reprice is None:
            return played
        return replace(played, reward=self._reprice(played.pair, played.reward))

    def _play(self, start: tuple[Situation, int] | None) -> Rollouts:
        """Play rollouts from a row or from the start of episodes; each row has its own random numbers."""
        seed = np.random.SeedSequence(self.seed, spawn_key=() if start is None else (2, start[0].index, start[1]))
        generator = np.random.Generator(np.random.PCG64(seed))
        pair = None if start is None else (start[0].index, start[1])
        limits: dict[str, Any] = {"rollouts": self.n, "max_steps": self.max_steps}
        if self._world is not None:
            if pair is not None and is_terminal(self._world, pair[0]):
                raise ValueError(
                    f"episodes end on reaching {self.labels.words(pair[0])!r}: nothing can be played from there"
                )
            return roll_out(self._world, self.policy, pair, **limits, generator=generator)
        limits["limit"], search = time_limit(self._env), None
        if start is not None and self._enter is None:
            search = Search(self.labels, start[0].index, start[1], self.n, generator, only_final=self.only_final)
        if self._agent is not None:
            at = None if start is None else (self._agent.situation(start[0]), start[1])
            return AgentPlayer(self._agent, generator, at, self._enter, search).roll_out(self._env, **limits)
        first = self.seed if start is None else int(generator.integers(2**31))
        stepper = EnvStepper(self._env, self.labels, first, self._terms)
        chances = cumulative(self.policy).reshape(self.shape)
        table = TablePlayer(stepper, chances, pair, generator, self._enter, search)
        return Rollouts.of(play(table, [self._env], **limits), self.n, self.labels.n_actions)

    def _visits_by_rollout(self, rollouts: Rollouts) -> Any:
        return self._sum_by_rollout(rollouts, self._discounts(rollouts))

    def _earnings_by_rollout(self, rollouts: Rollouts) -> Any:
        return self._sum_by_rollout(rollouts, self._discounts(rollouts) * rollouts.reward)

    def _discounts(self, rollouts: Rollouts) -> NDArray[np.float64]:
        return np.power(self.discount, rollouts.step, dtype=np.float64)

    def _sum_by_rollout(self, rollouts: Rollouts, amount: NDArray[np.float64]) -> Any:
        """(n, S * A) Amounts of steps, summed by rollout and pair; sparse."""
        from scipy import sparse

        pair = np.minimum(rollouts.pair, pairs := self.shape[0] * self.shape[1])  # the last column: states never met
        return sparse.csr_array((amount, (rollouts.rollout, pair)), shape=(len(rollouts), pairs + 1))

    def _mean(self, by_rollout: Any) -> NDArray[np.float64]:
        return np.asarray(by_rollout.sum(axis=0))[:-1].reshape(self.shape) / self.n


def _playable(world: Any, enter: Enter | None) -> tuple[World | None, Any]:
    """The compiled twin of an environment if it has one, else the environment; a twin is about 1000 times as fast."""
    if isinstance(world, World):
        if enter is not None:
            raise ValueError("enter= is for Gymnasium environments; a whatfor world needs none")
        return world, None
    env = make_env(world) if isinstance(world, str) else world
    env = env.fork() if isinstance(env, Discovering) else env  # what play discovers is not the run's
    if enter is not None:
        return None, env
    try:
        return twin(env), None
    except NoTwin:
        return None, env
