"""The paper's tabular agents of one seed, trained on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from whatfor.axes import Axis
from whatfor.labels import Labels
from whatfor.learners import DoubleQLearning, MonteCarlo, QLearning, Replay, exponential, linear
from whatfor.runs import Run
from whatfor.trainer import train
from whatfor.worlds import World, blackjack, cartpole, chain, table

#: The paper gives neither the length of training on CartPole and Taxi nor the size of a small buffer.
TAXI_EPISODES, EARLY_TAXI_EPISODES, BLACKJACK_EPISODES = 50_000, 2_000, 500_000
#: CartPole was trained "until reasonably stable". With a constant step size the policy keeps changing, so training goes
#: in rounds of this many episodes, until it balances the pole for this many steps.
CARTPOLE_EPISODES, CARTPOLE_ROUNDS, MIN_BALANCED_STEPS = 500, 20, 150.0
#: Sizes of a small fixed buffer; the one that is shown; and one that is not small.
BUFFERS, SHOWN_BUFFER, LARGE_BUFFER = (500, 1_000, 2_000, 4_000), 2_000, 40_000
BUFFER_EPISODES, BATCH = 60_000, 4
SEEDS, DEEP_SEEDS = 20, 3
ANOTHER_SEED = 1_000  # apart from all seeds of a study

GAME: dict[str, Any] = {"step_size": 0.1, "discount": 1.0}
BLACKJACK_EXPLORATION = exponential(1.0, 0.05, decay=0.9999)
CARTPOLE_EXPLORATION = linear(1.0, 0.1, episodes=500)
TAXI: dict[str, Any] = {"step_size": 0.4, "discount": 0.9, "exploration": linear(1.0, 0.1, episodes=250)}
TAXI_ID = "Taxi-v4"
#: The chain's agents are trained for so many episodes; the extended one is also asked at each of these times.
CHAIN_EPISODES, CHAIN_TIMES = 200, tuple(range(100, 201, 10))
CHAIN = QLearning(step_size=1.0, discount=1.0, exploration=1.0)


class Agents:
    """The agents of one seed; with ``trained=False`` they are untrained, and every check must fail.

    ``world`` and ``explained`` are where a wrong mechanism comes in: another world to learn in, or other beliefs.
    """

    max_initial_visit = 0.5  # of a belief map that starts at random

    def __init__(self, seed: int = 0, *, trained: bool = True) -> None:
        self.seed, self.trained = seed, trained
        self._from_buffer: dict[int, Run] = {}

    def world(self, world: World | str, method: str) -> World | str:
        """The world in which a method learns."""
        return world

    def explained(self, run: Run, world: World | str) -> Run:
        """The trained agent with its beliefs."""
        return run

    def _train(self, world: World | str, learner: Any, episodes: int, **more: Any) -> Run:
        lived = self.world(world, "mc" if isinstance(learner, MonteCarlo) else "td")
        return train(lived, learner, episodes=episodes if self.trained else 0, **{"seed": self.seed, **more})

    def _explain(self, world: World | str, learner: Any, episodes: int, **more: Any) -> Run:
        return self.explained(self._train(world, learner, episodes, **more), world)

    # -- chains ----------------------------------------------------------------------------

    @cached_property
    def chain(self) -> Run:
        """Q-learning on the ambiguity chain."""
        return self._explain(chain(), CHAIN, CHAIN_EPISODES)

    @cached_property
    def extended_chains(self) -> tuple[Run, ...]:
        """Q-learning on the chain with an entrance before it: one agent at several times of its training."""
        return tuple(self._explain(extended_chain(), CHAIN, episodes) for episodes in CHAIN_TIMES)

    # -- Blackjack -------------------------------------------------------------------------

    @cached_property
    def blackjack_q(self) -> Run:
        """Q-learning on Blackjack."""
        return self._blackjack(QLearning)

    @cached_property
    def blackjack_q_again(self) -> Run:
        """The same with another seed."""
        return self._blackjack(QLearning, seed=self.seed + ANOTHER_SEED)

    @cached_property
    def blackjack_mc(self) -> Run:
        """Monte Carlo control on Blackjack."""
        return self._blackjack(MonteCarlo)

    def _blackjack(self, method: Callable[..., Any], **more: Any) -> Run:
        learner = method(**GAME, exploration=BLACKJACK_EXPLORATION)
        return self._explain(game(), learner, BLACKJACK_EPISODES, **more)

    def from_buffer(self, capacity: int) -> Run:
        """Q-learning on Blackjack from a fixed buffer, which contains only its first experiences."""
        if capacity not in self._from_buffer:
            learner = QLearning(**GAME, exploration=BLACKJACK_EXPLORATION)
            replay = Replay(capacity=capacity, keep="first", batch=BATCH)
            self._from_buffer[capacity] = self._explain(game(), learner, BUFFER_EPISODES, replay=replay)
        return self._from_buffer[capacity]

    @property
    def small_buffer(self) -> Run:
        """Q-learning on Blackjack from a small fixed buffer."""
        return self.from_buffer(SHOWN_BUFFER)

    # -- CartPole --------------------------------------------------------------------------

    @cached_property
    def cartpole_q(self) -> Run:
        """Q-learning on CartPole."""
        return self._cartpole(QLearning)

    @cached_property
    def cartpole_q_again(self) -> Run:
        """The same with another seed."""
        return self._cartpole(QLearning, seed=self.seed + ANOTHER_SEED)

    @cached_property
    def cartpole_mc(self) -> Run:
        """Monte Carlo control on CartPole."""
        return self._cartpole(MonteCarlo)

    def _cartpole(self, method: Callable[..., Any], **more: Any) -> Run:
        world, learner = cartpole(), method(**GAME, exploration=CARTPOLE_EXPLORATION)
        run = self._train(world, learner, CARTPOLE_EPISODES, time_limit="terminal", **more)
        for _ in range(CARTPOLE_ROUNDS):
            if not self.trained or balanced_steps(run) >= MIN_BALANCED_STEPS:
                break
            run = train(run, episodes=CARTPOLE_EPISODES)
        return self.explained(run, world)

    # -- Taxi ------------------------------------------------------------------------------

    @cached_property
    def taxi(self) -> Run:
        """Q-learning on Taxi."""
        return self._explain(TAXI_ID, QLearning(**TAXI), TAXI_EPISODES)

    @cached_property
    def early_taxi(self) -> Run:
        """The same after a short training."""
        return self._explain(TAXI_ID, QLearning(**TAXI), EARLY_TAXI_EPISODES)

    @cached_property
    def taxi_double(self) -> Run:
        """Double Q-learning on Taxi."""
        return self._explain(TAXI_ID, DoubleQLearning(**TAXI), TAXI_EPISODES)


@cache
def game() -> World:
    """Blackjack by the paper's rules; it takes a while to build."""
    return blackjack()


def extended_chain() -> World:
    """An entrance, whose two actions both lead to the start of the ambiguity chain.

    So one value, that of the entrance, may rest on either of two futures.
    """
    return table(
        next_state=[[1, 1], [2, 3], [2, 2], [3, 3]],
        reward=[[0, 0], [0, 0], [2, 1], [1, 2]],
        terminated=[[False, False], [False, False], [True, True], [True, True]],
        labels=Labels(
            (Axis("node", 4, ("the entrance", "the start", "the upper node", "the lower node")),), ("up", "down"), template="{node}"
        ),
    )  # fmt: skip


def balanced_steps(run: Run) -> float:
    """The mean number of steps that the greedy agent balances the pole; the limit is 200."""
    return float(run.evaluate(episodes=100).lengths.mean())


#: Which of the agents of one seed a claim is about.
RunOf = Callable[[Agents], Run]
