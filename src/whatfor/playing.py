"""Playing: rollouts, evaluation and episodes of an agent's greedy policy, in its world or a given environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.protocol import Beliefs, ObservationAgent
from whatfor.beliefs.simulated import AgentPlayer, SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.checks import whole
from whatfor.history import Episode, Evaluation
from whatfor.kernels.recursion import NO_BOOTSTRAP, TIMED_OUT, ending_place
from whatfor.labels import ENDINGS, Labels
from whatfor.learners.agent import TabularAgent
from whatfor.learners.protocol import Learner
from whatfor.learners.q_learning import QLearning
from whatfor.ledger import Ledger
from whatfor.limits import MAX_EPISODE_STEPS, check_limit
from whatfor.naming import Names
from whatfor.naming.endings import revived
from whatfor.text import count
from whatfor.training.places import place_of, remake_env, remake_place
from whatfor.training.session import Place, Session, Snapshot
from whatfor.worlds.adapter import Enter, check_enter
from whatfor.worlds.gymnasium import time_limit
from whatfor.worlds.making import make_env
from whatfor.worlds.play import play
from whatfor.worlds.rolling import Rollouts
from whatfor.worlds.stepping import TABLE
from whatfor.worlds.world import Reprice, World, with_endings

#: The ending of an episode that was not played to its end.
CUT = "cut"

Best = Callable[[Situation], int]  # the action to take in a situation


@dataclass(frozen=True)
class Origin:
    """The origin of a run: what is needed to resume it and to play its policy."""

    place: Place | None = None  # the world it was trained in
    env: Any = None  # the environment of an agent that acts on observations
    table: World | None = None  # the world of a loaded run, if it is a table
    learner: Learner | None = None
    snapshot: Snapshot | None = None  # to resume from; None: the run cannot be resumed
    own_values: bool = True  # False: the values were recomputed from the ledger
    premise: str | None = None  # what is different in a counterfactual run
    reprice: Reprice | None = None  # its rewards, if they are
    recorded: Ledger | None = None  # what was recorded, before anything was changed
    names: Names = field(default_factory=Names)  # given by the user, to be applied again when training goes on


def greedy_policy(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, A) Action probabilities of the greedy policy; ties are shared equally.

    >>> greedy_policy(np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    values = np.where(np.isnan(values), -np.inf, values)  # a network may have diverged
    best = values == values.max(axis=1, keepdims=True)
    chances: NDArray[np.float64] = best / best.sum(axis=1, keepdims=True)
    return chances


@dataclass(frozen=True)
class TableActor:
    """An agent that acts on its table of values: the state is all that it sees."""

    labels: Labels
    values: NDArray[np.float64]  # (S, A)
    whole = True

    def situation(self, state: Any) -> Situation:
        """The situation of a state: its index."""
        return Situation(self.labels.index(state))

    def values_at(self, at: Situation) -> NDArray[np.float64]:
        """(A,) The values of all actions there."""
        row: NDArray[np.float64] = self.values[at.index]
        return row


class Playing:
    """Plays a greedy policy of a table or a network in its environment."""

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
        """The agent itself, if it acts on observations; None: it acts on its table of values."""
        return None if self.beliefs is None else self.beliefs.actor

    @cached_property
    def actor(self) -> TableActor | ObservationAgent:
        """What acts: the agent itself, or its table of values."""
        return TableActor(self.labels, self.values) if self.agent is None else self.agent

    @property
    def limit_is_terminal(self) -> bool:
        """Whether it was trained with its time limit as terminal."""
        return self.settings.get("time_limit") == "terminal"

    @property
    def discounts(self) -> tuple[float, ...]:
        """The discounts of training, smallest first: one, or several if it was resumed with another; none: unknown."""
        if self.ledger is not None and len(self.ledger):
            lines = self.ledger.lines
            on = lines.source >= NO_BOOTSTRAP  # where an episode ended, the discount has no meaning
            used = lines.discount if len(lines.discount) == 1 or not on.any() else lines.discount[on]
            return tuple(float(one) for one in np.unique(used))
        learners = (self.settings.get("learner", {}), *self.settings.get("earlier_learners", ()))
        return tuple(sorted({float(one["discount"]) for one in learners if "discount" in one}))

    @property
    def discount(self) -> float:
        """The discount of training."""
        discounts = self.discounts
        if not discounts:
            raise ValueError(
                "the discount of this run is unknown: pass ledger= to Run, or settings={'learner': {'name': ..., 'discount': ...}}"
            )
        if len(discounts) > 1:
            raise ValueError(
                f"this run was trained with several discounts ({', '.join(f'{one:g}' for one in discounts[:3])}{', ...' if len(discounts) > 3 else ''}), "
                "so its policy cannot be played with one: train a new run with one discount"
            )
        return discounts[0]

    # -- worlds ----------------------------------------------------------------------------

    def environment(self, env: Any = None) -> Any:
        """The environment for a network: the given one, the one of its training, or a new one like it."""
        if env is not None:
            return make_env(env) if isinstance(env, str) else env
        if self._env is None:
            remade = remake_env(self.settings.get("environment", {}))
            if self.agent is not None:
                self.agent.check_env(remade)
            self._env = remade
        return self._env

    def place(self, env: Any = None) -> Place:
        """The world of training, created again if necessary, or the given environment."""
        if env is None and self._place is not None:
            return self._place
        if "world" not in self.settings and env is None:
            raise ValueError(
                "this run was built from a custom training loop and has no environment: pass one as env= (in Python; the shell cannot)"
            )
        world = self.settings.get("world", {})
        engine = (
            "auto" if self.agent is not None else self.settings.get("engine", "auto")
        )  # not the engine of a network
        limits: dict[str, Any] = {"max_steps": self.settings.get("max_steps"), "engine": engine}
        try:
            if env is None:
                place = remake_place(world, self.origin.table, **limits)
            else:
                place = place_of(env, bins=world.get("bins"), bounds=world.get("bounds"), **limits)
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"the run's settings do not describe an environment: {type(error).__name__} {error}"
            ) from error
        if (place.labels.n_states, place.labels.n_actions) != self.values.shape:
            raise ValueError(
                f"the run has {count(self.labels.n_states, 'state')} and {count(self.labels.n_actions, 'action')}, and this environment has "
                f"{count(place.labels.n_states, 'state')} and {count(place.labels.n_actions, 'action')}: pass the environment of the run as env="
            )
        if env is None:
            self._place = place
        return place

    def live_labels(self, env: Any = None) -> Labels:
        """The labels, with functions that recognise endings if the environment carries them: they are not saved."""
        return revived(self.labels, self.place(env).labels)

    @property
    def current_origin(self) -> Origin:
        """The origin, with the place and environment created since."""
        return replace(self.origin, place=self._place, env=self._env)

    @property
    def known_world(self) -> World | None:
        """The world as arrays, if it has been created or loaded."""
        return self.origin.table if self._place is None else self._place.world

    # -- futures ---------------------------------------------------------------------------

    @cached_property
    def player(self) -> TablePlay | NetworkPlay:
        """The table of values; or the network, if states do not determine its observations or the world is unknown."""
        if self.beliefs is None or self.agent is None or (self.agent.whole and "world" in self.settings):
            return TablePlay(self)
        return NetworkPlay(self, self.beliefs, self.agent)

    def simulated(
        self, env: Any, rollouts: int, seed: int, enter: Enter | None, *, fewest: int = 1
    ) -> SimulatedBeliefs:
        """Rollouts of the greedy policy, at least ``fewest``."""
        whole("rollouts", rollouts, fewest)
        more: dict[str, Any] = {"discount": self.discount, "rollouts": rollouts, "seed": seed, "enter": enter}
        more["beyond_limit"] = not self.limit_is_terminal  # training bootstrapped at the limit
        return self.player.simulated(env, **more)

    def evaluate(self, episodes: int, seed: int, env: Any) -> Evaluation:
        """Returns of the greedy policy over whole episodes."""
        whole("episodes", episodes, 1)
        check_limit("rollouts", episodes, "this evaluation")
        return self.player.evaluate(episodes, whole("seed", seed, 0), env)


class TablePlay:
    """Plays a table of values in its world."""

    #: Whether every step takes long, so that few are played.
    slow = False

    def __init__(self, playing: Playing) -> None:
        self.playing, self.policy = playing, greedy_policy(playing.values)

    def start(self, seed: int) -> Situation:
        """Where an episode begins."""
        return Situation(self.playing.place().stepper(seed).reset())

    def simulated(self, env: Any, *, enter: Enter | None, **more: Any) -> SimulatedBeliefs:
        """Rollouts of the greedy policy."""
        place, labels = self.playing.place(env), self.playing.live_labels(env)
        limit = None if place.max_steps == MAX_EPISODE_STEPS else place.max_steps
        enters = enter is not None and place.env is not None
        world = place.env if place.world is None or enters else with_endings(place.world, labels)
        simulated = SimulatedBeliefs(world, self.policy, max_steps=limit, enter=enter, **more)
        simulated.labels = replace(labels, endings=world.labels.endings) if isinstance(world, World) else labels
        reprice = self.playing.origin.reprice
        return simulated if reprice is None else simulated.repriced(reprice)

    def exact(self, env: Any, state: int, action: int) -> ExactBeliefs | None:
        """The exact future of the greedy policy; None if the world is unknown, or visits are infinite without a discount."""
        world, ledger = self.playing.place(env).world, self.playing.ledger
        if world is None or world.arrays.kind != TABLE:
            return None
        if self.playing.limit_is_terminal and (ledger is None or ledger.timed_out.any()):  # a table has no time limit
            return None
        world = with_endings(world, self.playing.live_labels(env))
        if self.playing.origin.reprice is not None:
            world = world.repriced(self.playing.origin.reprice)
        exact = ExactBeliefs(world, self.policy, discount=self.playing.discount)
        return exact if exact.has_finite_visits(state, action) else None

    def evaluate(self, episodes: int, seed: int, env: Any) -> Evaluation:
        """Returns of the greedy policy over whole episodes."""
        place, labels = self.playing.place(env), self.playing.labels
        rule = QLearning().rule(labels.n_states, labels.n_actions, None, recording=False)
        agent = TabularAgent(rule._replace(learning=False), None, np.random.default_rng([seed, 2]))
        agent.memory.values[:] = self.playing.values.ravel()
        session = Session(place, QLearning(), agent, place.stepper(seed), None, time_out_ends=True)
        greedy, error = session.play(np.zeros(episodes))
        if error is not None:
            raise error
        return Evaluation.of(greedy.returns, greedy.lengths)

    def episode(self, at: Situation | None, best: Best, seed: int, env: Any, enter: Enter | None) -> Episode:
        """One greedy episode; ``at=None``: from the start of an episode."""
        at = self.start(seed) if at is None else at
        simulated = self.playing.simulated(env, 1, seed, enter)
        rollouts, limit = simulated.rollouts(at, best(at)), simulated.limit
        return first_episode(
            rollouts if limit is None else rollouts.within(limit), simulated.labels, limited=limit is not None
        )


class NetworkPlay:
    """Plays a network in an environment, on its observations."""

    slow = True

    def __init__(self, playing: Playing, beliefs: Beliefs, agent: ObservationAgent) -> None:
        self.playing, self.beliefs, self.agent = playing, beliefs, agent

    def start(self, seed: int) -> Situation:
        """Where an episode begins."""
        return self.agent.situation(self.playing.environment().reset(seed=seed)[0])

    def simulated(self, env: Any, **more: Any) -> SimulatedBeliefs:
        """Rollouts of the greedy policy."""
        scale = float(self.playing.settings.get("reward_scale", 1.0))
        simulated = SimulatedBeliefs(self.playing.environment(env), self.beliefs, **more)
        return simulated if scale == 1.0 else simulated.repriced(lambda _, rewards: rewards * scale)

    def exact(self, env: Any, state: int, action: int) -> None:
        """None: the world is unknown."""

    def evaluate(self, episodes: int, seed: int, env: Any) -> Evaluation:
        """Returns of the greedy policy over whole episodes."""
        place, dice = self.playing.environment(env), np.random.default_rng([seed, 2])
        limit = time_limit(place) or MAX_EPISODE_STEPS
        played = AgentPlayer(self.agent, dice).roll_out(place, rollouts=episodes, max_steps=limit)
        return Evaluation.of(played.returns, played.lengths)

    def episode(self, at: Situation | None, best: Best, seed: int, env: Any, enter: Enter | None) -> Episode:
        """One greedy episode; ``at=None``: from the start of an episode."""
        player = AgentPlayer(self.agent, np.random.default_rng([seed, 2]), at, enter=check_enter(enter))
        return play_episode(player, self.playing.environment(env))


def first_episode(rollouts: Rollouts, labels: Labels, *, limited: bool) -> Episode:
    """The first rollout as an episode; a truncated one is "timed out" if there is a time limit, else "cut"."""
    first = slice(0, rollouts.first[1])
    pairs = [divmod(int(pair), labels.n_actions) for pair in rollouts.pair[first]]
    names = [ENDINGS[0] if limited else CUT, ENDINGS[1], *labels.ending_names]
    steps = [(labels.observation(state), action) for state, action in pairs]
    return Episode(steps, rollouts.reward[first].tolist(), names[ending_place(int(rollouts.ending[0]))])


def play_episode(player: AgentPlayer, env: Any) -> Episode:
    """Play one episode, with the observations that the agent acted on."""
    steps = list(play(player, [env], rollouts=1, max_steps=MAX_EPISODE_STEPS))
    cut = len(steps) == MAX_EPISODE_STEPS and steps[-1].ending == TIMED_OUT
    names = [ENDINGS[0], ENDINGS[1], *player.agent.labels.ending_names]
    return Episode(
        [(np.asarray(one.observation), one.action) for one in steps],
        [one.reward for one in steps],
        CUT if cut else names[ending_place(steps[-1].ending)],
    )
