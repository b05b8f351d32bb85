"""An agent's greedy policy at play: in its world, made again or given back, and one episode to look at step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.protocol import Beliefs, ObservationAgent
from whatfor.beliefs.simulated import AgentPlayer, SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.checks import whole
from whatfor.history import Episode, Evaluation
from whatfor.kernels.recursion import TIMED_OUT, ending_place
from whatfor.labels import ENDINGS, Labels
from whatfor.learners.agent import TabularAgent
from whatfor.learners.protocol import Learner
from whatfor.learners.q_learning import QLearning
from whatfor.ledger import Ledger
from whatfor.limits import MAX_EPISODE_STEPS, check_limit
from whatfor.training.places import remake_env, remake_place, place_of
from whatfor.training.session import Place, Session, Snapshot
from whatfor.worlds.adapter import Enter
from whatfor.worlds.gymnasium import time_limit
from whatfor.worlds.making import make_env
from whatfor.worlds.play import play
from whatfor.worlds.rolling import Rollouts
from whatfor.worlds.stepping import TABLE
from whatfor.worlds.world import World

#: Discounted below this, what follows does not matter.
MIN_DISCOUNT = 1e-6
#: An episode that was not played to its end.
CUT = "cut"


@dataclass(frozen=True)
class Origin:
    """What a run came from: by that it is resumed, and plays again."""

    place: Place | None = None  # the world it was trained in
    env: Any = None  # where an agent plays that acts on observations
    table: World | None = None  # a world of arrays, for a loaded run
    learner: Learner | None = None
    snapshot: Snapshot | None = None  # from which training goes on; None: it cannot
    own_values: bool = True  # False: the values are those that the ledger makes, not the learner's own table


def greedy_policy(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, A) Chances of the greedy policy; equally good actions share.

    >>> greedy_policy(np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    values = np.where(np.isnan(values), -np.inf, values)  # of a network that diverged
    best = values == values.max(axis=1, keepdims=True)
    chances: NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
    return chances


class Playing:
    """A greedy policy, and where it plays: the same for tables and networks."""

    def __init__(
        self,
        labels: Labels,
        values: NDArray[np.float64],  # (S, A)
        settings: Mapping[str, Any],
        *,
        beliefs: Beliefs | None,
        ledger: Ledger | None,
        origin: Origin,
    ) -> None:
        self.labels, self.values, self.settings = labels, values, settings
        self.beliefs, self.ledger, self.origin = beliefs, ledger, origin
        self._place, self._env = origin.place, origin.env

    @property
    def agent(self) -> ObservationAgent | None:
        """The agent itself, where it acts on observations; None: its table says what it does."""
        return None if self.beliefs is None else self.beliefs.actor

    @property
    def plays_network(self) -> bool:
        """Whether only the network itself can be played: it sees more than states tell, or the world is not known."""
        return self.agent is not None and not (self.agent.whole and "world" in self.settings)

    @property
    def limit_is_terminal(self) -> bool:
        """Whether it learned that its time limit is an end."""
        return self.settings.get("time_limit") == "terminal"

    @property
    def discount(self) -> float:
        """The discount it learned with."""
        learner = self.settings.get("learner", {})
        if "discount" in learner:
            return float(learner["discount"])
        if self.ledger is None:
            raise ValueError("the discount of this run is unknown: it has no ledger, and its settings do not name one")
        discounts = np.unique(self.ledger.lines.discount)
        if len(discounts) != 1:
            raise ValueError("this run was learned with several discounts, so no single one can be played by")
        return float(discounts[0])

    # -- where -----------------------------------------------------------------------------

    def environment(self, env: Any = None) -> Any:
        """The environment a network plays in: the given one, its own, or one like it."""
        if env is not None:
            return make_env(env) if isinstance(env, str) else env
        if self._env is None:
            again = remake_env(self.settings.get("environment", {}))
            if self.agent is not None:
                self.agent.check_env(again)
            self._env = again
        return self._env

    def place(self, env: Any = None) -> Place:
        """The world it was trained in, made again or given back."""
        if env is None and self._place is not None:
            return self._place
        if "world" not in self.settings and env is None:
            raise ValueError("this run does not know its world, since it was made from an own loop: pass it as env=")
        world = self.settings.get("world", {})
        engine = "auto" if self.agent is not None else self.settings.get("engine", "auto")  # a network's was not this
        limits: dict[str, Any] = {"max_steps": self.settings.get("max_steps"), "engine": engine}
        try:
            if env is None:
                place = remake_place(world, self.origin.table, **limits)
            else:
                place = place_of(env, bins=world.get("bins"), bounds=world.get("bounds"), **limits)
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"the run's settings do not describe a world: {type(error).__name__} {error}") from error
        if (place.labels.n_states, place.labels.n_actions) != self.values.shape:
            raise ValueError(
                f"the run has {self.labels.n_states} states and {self.labels.n_actions} actions, "
                f"this world {place.labels.n_states} and {place.labels.n_actions}"
            )
        if env is None:
            self._place = place
        return place

    @property
    def current_origin(self) -> Origin:
        """What the run came from, with what has been made again since."""
        return replace(self.origin, place=self._place, env=self._env)

    @property
    def known_world(self) -> World | None:
        """The world of arrays, where it has been made or was loaded."""
        return self.origin.table if self._place is None else self._place.world

    # -- what follows ----------------------------------------------------------------------

    def simulated(self, env: Any, rollouts: int, seed: int, enter: Enter | None) -> SimulatedBeliefs:
        """Rollouts of the greedy policy."""
        more: dict[str, Any] = {"discount": self.discount, "rollouts": rollouts, "seed": seed, "enter": enter}
        if self.plays_network:
            assert self.beliefs is not None
            scale = float(self.settings.get("reward_scale", 1.0))
            return SimulatedBeliefs(self.environment(env), self.beliefs, **more, reward_scale=scale)
        place = self.place(env)
        longest = place.max_steps
        if not self.limit_is_terminal and self.discount < 1.0:  # it looks past the limit; so do rollouts, as far as it counts
            longest = max(longest, min(MAX_EPISODE_STEPS, math.ceil(math.log(MIN_DISCOUNT) / math.log(max(self.discount, 1e-3)))))
        world = place.env if place.world is None or (enter and place.env is not None) else place.world
        return SimulatedBeliefs(world, greedy_policy(self.values), max_steps=longest, **more)

    def exact(self, env: Any, state: int, action: int) -> ExactBeliefs | None:
        """The exact future of the greedy policy; None where the world is not known, or has no end without a discount."""
        world, ledger = self.place(env).world, self.ledger
        if world is None or world.arrays.kind != TABLE:
            return None
        if self.limit_is_terminal and (ledger is None or ledger.timed_out.any()):  # a table knows no limit
            return None
        exact = ExactBeliefs(world, greedy_policy(self.values), discount=self.discount)
        return exact if exact.has_finite_visits(state, action) else None

    def evaluate(self, episodes: int, seed: int, env: Any) -> Evaluation:
        """Returns of the greedy policy from where episodes begin."""
        if whole("episodes", episodes) < 1:
            raise ValueError(f"episodes is {episodes}; play at least one")
        check_limit("rollouts", episodes, "this evaluation")
        seed = whole("seed", seed, 0)
        if self.plays_network:
            played = self._play_network(env, episodes, seed)
            return Evaluation.of(np.add.reduceat(played.reward, played.first[:-1]), played.lengths)
        place = self.place(env)
        rule = QLearning().rule(self.labels.n_states, self.labels.n_actions, None, recording=False)
        agent = TabularAgent(rule._replace(learning=False), None, np.random.default_rng([seed, 2]))
        agent.memory.values[:] = self.values.ravel()
        session = Session(place, QLearning(), agent, place.stepper(seed), None, time_out_ends=True)
        greedy, error = session.play(np.zeros(episodes))
        if error is not None:
            raise error
        return Evaluation.of(greedy.returns, greedy.lengths)

    def _play_network(self, env: Any, episodes: int, seed: int) -> Rollouts:
        """The network at play, from the start of episodes."""
        assert self.agent is not None
        place, dice = self.environment(env), np.random.default_rng([seed, 2])
        limit = time_limit(place) or MAX_EPISODE_STEPS
        return AgentPlayer(self.agent, dice).roll_out(place, rollouts=episodes, max_steps=limit)

    def network_episode(self, at: Situation | None, seed: int, env: Any, enter: Enter | None) -> Episode:
        """One episode of a network; ``at=None``: where its environment begins."""
        assert self.agent is not None
        player = AgentPlayer(self.agent, np.random.default_rng([seed, 2]), at, enter=enter)
        return play_episode(player, self.environment(env))

    def episode(self, at: Situation, action: int, seed: int, env: Any, enter: Enter | None) -> Episode:
        """One greedy episode of a table."""
        simulated = self.simulated(env, 1, seed, enter)
        return first_episode(simulated.rollouts(at, action), simulated.labels, limit_is_terminal=self.limit_is_terminal)


def first_episode(rollouts: Rollouts, labels: Labels, *, limit_is_terminal: bool) -> Episode:
    """The first of some rollouts; ``limit_is_terminal``: whether one that was cut ran out of time, or only out of what matters."""
    first = slice(0, rollouts.first[1])
    pairs = [divmod(int(pair), labels.n_actions) for pair in rollouts.pair[first]]
    names = [ENDINGS[0] if limit_is_terminal else CUT, ENDINGS[1], *labels.ending_names]
    steps = [(labels.observation(state), action) for state, action in pairs]
    return Episode(steps, rollouts.reward[first].tolist(), names[ending_place(int(rollouts.ending[0]))])


def play_episode(player: AgentPlayer, env: Any) -> Episode:
    """An episode with the very observations that an agent acted on."""
    steps = list(play(player, [env], rollouts=1, max_steps=MAX_EPISODE_STEPS))
    cut = len(steps) == MAX_EPISODE_STEPS and steps[-1].ending == TIMED_OUT
    names = [ENDINGS[0], ENDINGS[1], *player.agent.labels.ending_names]
    return Episode(
        [(np.asarray(one.observation), one.action) for one in steps],
        [one.reward for one in steps],
        CUT if cut else names[ending_place(steps[-1].ending)],
    )
