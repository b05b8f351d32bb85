"""Agents with a wrong mechanism: every check must fail on the one that fits its claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from whatfor.beliefs import ExactBeliefs, SimulatedBeliefs
from whatfor.beliefs.exact import known_world
from whatfor.ledger.store import Store
from whatfor.paper.agents import ANOTHER_SEED, LARGE_BUFFER, Agents
from whatfor.runs import Run
from whatfor.worlds import World

#: Changes the columns of a ledger in place.
Alter = Callable[[Store, Run], None]


class WrongBeliefs(Agents):
    """The right values, explained by an altered ledger."""

    def __init__(self, seed: int, alter: Alter) -> None:
        super().__init__(seed)
        self.alter = alter

    def explained(self, run: Run, world: World | str) -> Run:
        """The agent with the altered ledger, which nothing has read yet."""
        assert run.ledger is not None
        self.alter(run.ledger.writable(), run)
        return run


def without_discount(ledger: Store, run: Run) -> None:
    """Leave the discount out of the beliefs, as the paper's published code did."""
    ledger.discount[:] = 1.0


def without_future(ledger: Store, run: Run) -> None:
    """Leave the future out: only the present step is left."""
    ledger.discount[:] = 0.0


def slower(ledger: Store, run: Run) -> None:
    """Use a hundredth of the step size for the beliefs."""
    ledger.step_size[:] *= 0.01


def from_another_action(ledger: Store, run: Run) -> None:
    """Bootstrap from another action than the greedy one."""
    source, actions = ledger.source[: ledger.used], run.labels.n_actions
    dice = np.random.default_rng(run.settings["seed"])
    other = (source + 1 + dice.integers(actions - 1, size=len(source), dtype=np.int32)) % actions
    source[:] = np.where(source >= 0, source - source % actions + other, source)


def shuffled(ledger: Store, run: Run) -> None:
    """Attribute each update to the state and action of another one."""
    np.random.default_rng(run.settings["seed"]).shuffle(ledger.cell[: ledger.used])


def of_the_next_action(ledger: Store, run: Run) -> None:
    """Attribute each update to the next action of its state; where there are two, to the other one."""
    cell, actions = ledger.cell[: ledger.used], run.labels.n_actions
    cell[:] = cell - cell % actions + (cell + 1) % actions


class WrongReward(Agents):
    """Agents that were trained on the negated reward."""

    def __init__(self, seed: int, methods: tuple[str, ...] = ("td", "mc")) -> None:
        super().__init__(seed)
        self.methods = methods

    def world(self, world: World | str, method: str) -> World | str:
        """The world with all rewards negated; endings keep their names."""
        if method not in self.methods:
            return world
        known = world if isinstance(world, World) else known_world(world)
        assert isinstance(known, World)
        table, cart = known.arrays.table, known.arrays.cart
        cart = cart._replace(reward=-cart.reward, last_reward=-cart.last_reward)
        return replace(known, arrays=known.arrays._replace(table=table._replace(reward=-table.reward), cart=cart))


class OtherDeck(Agents):
    """Agents that were trained with a deck in which the first so many cards are equally likely, and no others."""

    def __init__(self, seed: int, cards: int) -> None:
        super().__init__(seed)
        self.cards = cards

    def world(self, world: World | str, method: str) -> World | str:
        """Blackjack with such a deck for the player."""
        assert isinstance(world, World)
        table, chance = world.table, world.table.chance.copy()
        for first in table.first[:-1][np.diff(table.first) == 10]:  # a hit: one entry for each card, cumulative
            chance[first : first + 10] = np.minimum(np.arange(1, 11) / self.cards, 1.0)
        return replace(world, arrays=world.arrays._replace(table=table._replace(chance=chance)))


class OneMoreCard(Agents):
    """Agents that were trained in a game where only one card can be drawn: from 12 on, every hit is a bust."""

    def world(self, world: World | str, method: str) -> World | str:
        """Blackjack with that rule."""
        assert isinstance(world, World)
        table = world.table
        reward, ending = table.reward.copy(), table.ending.copy()
        hits = np.flatnonzero(np.diff(table.first) == 10)  # one entry for each card
        bust = ending[table.first[hits]][reward[table.first[hits]] == -1.0].min()
        for pair in hits:
            if world.labels.values(int(pair) // world.labels.n_actions)[0] >= 12:
                entries = slice(table.first[pair], table.first[pair + 1])
                reward[entries], ending[entries] = -1.0, bust
        return replace(world, arrays=world.arrays._replace(table=table._replace(reward=reward, ending=ending)))


class FromTheTable(Agents):
    """Beliefs read off the finished Q-table, without a ledger: the future of the first of the best actions."""

    def explained(self, run: Run, world: World | str) -> Run:
        """The agent with these beliefs."""
        discount = run.settings["learner"]["discount"]
        return run.believing(ExactBeliefs(world, run.values.argmax(axis=1), discount=discount))


class FromSimulation(Agents):
    """Beliefs that are a forward simulation: of one start in the bin, which each agent draws anew, or of many."""

    def __init__(self, seed: int, rollouts: int) -> None:
        super().__init__(seed)
        self.rollouts = rollouts

    def explained(self, run: Run, world: World | str) -> Run:
        """The agent with these beliefs."""
        seed = self.seed + ANOTHER_SEED
        return run.believing(SimulatedBeliefs(world, run.policy, discount=1.0, rollouts=self.rollouts, seed=seed))


class LargeBuffer(Agents):
    """A buffer that is not small where the claim is about a small one."""

    @property
    def small_buffer(self) -> Run:
        """Q-learning on Blackjack from a large fixed buffer."""
        return self.from_buffer(LARGE_BUFFER)


class ZeroStart(Agents):
    """A belief map that starts at zero where the claim is about a random start."""

    max_initial_visit = 0.0


#: The wrong mechanisms by name; each takes a seed.
WRONG: dict[str, Callable[[int], Agents]] = {
    "beliefs without the discount, as in the published code": lambda seed: WrongBeliefs(seed, without_discount),
    "beliefs of the present step alone": lambda seed: WrongBeliefs(seed, without_future),
    "beliefs of another policy": lambda seed: WrongBeliefs(seed, from_another_action),
    "beliefs with a hundredth of the step size": lambda seed: WrongBeliefs(seed, slower),
    "beliefs of the other action": lambda seed: WrongBeliefs(seed, of_the_next_action),
    "a shuffled ledger": lambda seed: WrongBeliefs(seed, shuffled),
    "beliefs read off the Q-table": FromTheTable,
    "one forward simulation in place of the belief": lambda seed: FromSimulation(seed, 1),
    "forward simulation in place of the belief": lambda seed: FromSimulation(seed, 1_000),
    "trained on the negated reward": WrongReward,
    "Monte Carlo trained on the negated reward": lambda seed: WrongReward(seed, ("mc",)),
    "a deck with as many tens as other cards": lambda seed: OtherDeck(seed, 10),
    "a deck of aces to fours": lambda seed: OtherDeck(seed, 4),
    "a game in which only one card can be drawn": OneMoreCard,
    "a large buffer": LargeBuffer,
    "a belief map that starts at zero": ZeroStart,
}  # fmt: skip
