"""The paper's tabular agents, trained on first use."""

from __future__ import annotations

from functools import cache, cached_property

from whatfor.learners import MonteCarlo, QLearning, Replay, exponential, linear
from whatfor.runs import Run
from whatfor.trainer import train
from whatfor.worlds import World, blackjack, cartpole, chain

#: The paper gives neither the length of training on CartPole and Taxi nor the size of a small buffer.
TAXI_EPISODES, BLACKJACK_EPISODES = 50_000, 500_000
#: CartPole was trained "until reasonably stable". With a constant step size the policy keeps changing, so training goes
#: in rounds of this many episodes, until it balances the pole for this many steps.
CARTPOLE_EPISODES, CARTPOLE_ROUNDS, MIN_BALANCED_STEPS = 500, 20, 150.0
BUFFERS, BUFFER_EPISODES, BATCH = (500, 1_000, 2_000, 4_000), 60_000, 4
SEEDS = 20

GAME = {"step_size": 0.1, "discount": 1.0}
BLACKJACK_EXPLORATION = exponential(1.0, 0.05, decay=0.9999)
CARTPOLE_EXPLORATION = linear(1.0, 0.1, episodes=500)
TAXI = QLearning(step_size=0.4, discount=0.9, exploration=linear(1.0, 0.1, episodes=250))


class Agents:
    """The agents of the figures; with ``trained=False`` they are untrained, and every check must fail."""

    def __init__(self, *, trained: bool = True) -> None:
        self.trained = trained
        self.blackjack_q = cache(self._blackjack_q)
        self.from_buffer = cache(self._from_buffer)

    def _episodes(self, episodes: int) -> int:
        return episodes if self.trained else 0

    @cached_property
    def chain(self) -> Run:
        """Q-learning on the ambiguity chain."""
        learner = QLearning(step_size=1.0, discount=1.0, exploration=1.0)
        return train(chain(), learner, episodes=self._episodes(200), seed=0)

    @cached_property
    def game(self) -> World:
        """Blackjack by the paper's rules."""
        return blackjack()

    def _blackjack_q(self, seed: int = 0) -> Run:
        """Q-learning on Blackjack."""
        learner = QLearning(**GAME, exploration=BLACKJACK_EXPLORATION)
        return train(self.game, learner, episodes=self._episodes(BLACKJACK_EPISODES), seed=seed)

    def _from_buffer(self, capacity: int, seed: int) -> Run:
        """Q-learning on Blackjack from a small fixed buffer, which contains only its first experiences."""
        learner, replay = (
            QLearning(**GAME, exploration=BLACKJACK_EXPLORATION),
            Replay(capacity=capacity, keep="first", batch=BATCH),
        )
        return train(self.game, learner, episodes=self._episodes(BUFFER_EPISODES), seed=seed, replay=replay)

    @cached_property
    def blackjack_mc(self) -> Run:
        """Monte Carlo control on Blackjack."""
        learner = MonteCarlo(**GAME, exploration=BLACKJACK_EXPLORATION)
        return train(self.game, learner, episodes=self._episodes(BLACKJACK_EPISODES), seed=0)

    @cached_property
    def cartpole_q(self) -> Run:
        """Q-learning on CartPole."""
        return self._cartpole(QLearning(**GAME, exploration=CARTPOLE_EXPLORATION))

    @cached_property
    def cartpole_mc(self) -> Run:
        """Monte Carlo control on CartPole."""
        return self._cartpole(MonteCarlo(**GAME, exploration=CARTPOLE_EXPLORATION))

    def _cartpole(self, learner: QLearning | MonteCarlo) -> Run:
        episodes = self._episodes(CARTPOLE_EPISODES)
        run = train(cartpole(), learner, episodes=episodes, seed=0, time_limit="terminal")
        for _ in range(CARTPOLE_ROUNDS):
            if not self.trained or balanced_steps(run) >= MIN_BALANCED_STEPS:
                break
            run = train(run, episodes=episodes)
        return run

    @cached_property
    def taxi(self) -> Run:
        """Q-learning on Taxi."""
        return train("Taxi-v4", TAXI, episodes=self._episodes(TAXI_EPISODES), seed=0)


def balanced_steps(run: Run) -> float:
    """The mean number of steps that the greedy agent balances the pole; the limit is 200."""
    return float(run.evaluate(episodes=100).lengths.mean())
