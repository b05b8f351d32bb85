"""Players: a table of values in its world, or a network in an environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.agent_player import AgentPlayer
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.policy import greedy_policy
from whatfor.beliefs.protocol import ObservationAgent
from whatfor.beliefs.simulated import SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.history import CUT, Episode, Evaluation
from whatfor.kernels.recursion import TIMED_OUT, ending_place
from whatfor.labels import ENDINGS, Labels
from whatfor.ledger.ends import states_only_final
from whatfor.limits import MAX_EPISODE_STEPS
from whatfor.text import either
from whatfor.training.places import pass_env
from whatfor.worlds.adapter import Enter, check_enter
from whatfor.worlds.arriving import how_to_enter
from whatfor.worlds.gymnasium import enter_observation_of, time_limit
from whatfor.worlds.play import play
from whatfor.worlds.rolling import Rollouts
from whatfor.worlds.steppers import first_met
from whatfor.worlds.stepping import TABLE
from whatfor.worlds.terms import RewardTerms
from whatfor.worlds.world import World, with_endings

if TYPE_CHECKING:
    from whatfor.playing import Origin, Playing

Best = Callable[[Situation], int]  # the action to take in a situation


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

    def check_renaming(self) -> None:
        """A table may be renamed."""

    def player(self, playing: Playing) -> TablePlay:
        """What plays it."""
        return TablePlay(playing)


def player_of(agent: ObservationAgent, playing: Playing) -> TablePlay | NetworkPlay:
    """What plays an agent: its table where the state is all that it observes and the world is known, else the agent itself."""
    return TablePlay(playing) if agent.whole and "world" in playing.settings else NetworkPlay(playing, agent)


class TablePlay:
    """Plays a table of values in its world."""

    rollouts = 1_000  # behind each answer about a policy whose exact future is unknown

    def __init__(self, playing: Playing) -> None:
        self.playing, self.policy = playing, greedy_policy(playing.values)

    @property
    def missing(self) -> str | None:
        """What there is no world without; None: there is one, as far as is known without creating it."""
        if self.playing.origin.place is None and "world" not in self.playing.settings:
            return "needs a ledger, or an environment: pass ledger=, or env= and discount=, to Run"
        return None

    def origin_in(self, env: Any) -> Origin:
        """The origin of the run, with an environment as its place."""
        return replace(self.playing.current_origin, place=self.playing.place(env))

    @cached_property
    def slow(self) -> bool:
        """Whether every step takes long, so that few are played."""
        try:
            return not self._rollouts(None, discount=1.0, rollouts=1, seed=0).compiled
        except ValueError:  # it has no world
            return False

    def start(self, seed: int) -> Situation:
        """Where an episode begins."""
        return Situation(first_met(self.playing.place().stepper(seed), self.playing.labels.n_states))

    def _rollouts(self, env: Any, *, enter: Enter | None = None, **more: Any) -> SimulatedBeliefs:
        """Rollouts of the greedy policy, with the rewards of the environment."""
        place, labels = self.playing.place(env), self.playing.live_labels(env)
        limit = None if place.max_steps == MAX_EPISODE_STEPS else place.max_steps
        enters = enter is not None and place.env is not None
        world = place.env if place.world is None or enters else with_endings(place.world, labels)
        simulated = SimulatedBeliefs(world, self.policy, max_steps=limit, enter=enter, **more)
        if self.playing.ledger is not None and place.world is None:
            simulated.only_final = states_only_final(self.playing.ledger)
        simulated.labels = replace(labels, endings=world.labels.endings) if isinstance(world, World) else labels
        return simulated

    def simulated(self, env: Any, **more: Any) -> SimulatedBeliefs:
        """Rollouts of the greedy policy, with the rewards of the run."""
        simulated, origin = self._rollouts(env, **more), self.playing.origin
        if origin.factors is not None:
            terms = RewardTerms.scaled(self.playing.settings.get("reward_parts"), origin.factors)
            simulated = simulated.scaled(terms)
        return simulated if origin.reprice is None else simulated.repriced(origin.reprice)

    def exact(self, env: Any, state: int, action: int) -> ExactBeliefs | None:
        """The exact future of the greedy policy; None if the world is unknown, or visits are infinite without a discount."""
        exact = self.exact_future(env)
        return exact if exact is not None and exact.has_finite_visits(state, action) else None

    def exact_future(self, env: Any = None) -> ExactBeliefs | None:
        """As ``exact``, whatever is asked about: without a discount, the visits from some states may be infinite."""
        return self._own_future if env is None else self._future_in(env)

    @cached_property
    def _own_future(self) -> ExactBeliefs | None:
        """In the world of the run."""
        return self._future_in(None)

    def _future_in(self, env: Any) -> ExactBeliefs | None:
        world, ledger = self.playing.place(env).world, self.playing.ledger
        if world is None or world.arrays.kind != TABLE or self.playing.origin.factors is not None:
            return None
        if self.playing.limit_is_terminal and (ledger is None or ledger.timed_out.any()):  # a table has no time limit
            return None
        world = with_endings(world, self.playing.live_labels(env))
        if self.playing.origin.reprice is not None:
            world = world.repriced(self.playing.origin.reprice)
        return ExactBeliefs(world, self.policy, discount=self.playing.discount)

    def evaluate(self, episodes: int, seed: int, env: Any) -> Evaluation:
        """Returns of the greedy policy over whole episodes."""
        played = self._rollouts(env, discount=1.0, rollouts=episodes, seed=seed).episodes()
        return _evaluation(played)

    def episode(self, at: Situation | None, best: Best, seed: int, env: Any, enter: Enter | None) -> Episode:
        """One greedy episode; ``at=None``: from the start of an episode."""
        simulated = self._rollouts(env, discount=1.0, rollouts=1, seed=seed, enter=enter)
        rollouts, limit = simulated.episodes() if at is None else simulated.rollouts(at, best(at)), simulated.limit
        return first_episode(
            rollouts if limit is None else rollouts.within(limit), simulated.played_labels, limited=limit is not None
        )


class NetworkPlay:
    """Plays a network in an environment, on its observations."""

    slow = True
    rollouts = 50  # a thousand times as slow

    def __init__(self, playing: Playing, agent: ObservationAgent) -> None:
        self.playing, self.agent = playing, agent

    @property
    def missing(self) -> str | None:
        """What there is no environment without; None: there is one, as far as is known without creating it."""
        if self.playing.origin.env is None and "environment" not in self.playing.settings:
            how = either("pass env= to run_of, or to whatfor.load(path, env=...)", pass_env())
            return f"is answered by playing its policy, and this run has no environment: {how}"
        return None

    def origin_in(self, env: Any) -> Origin:
        """The origin of the run, with an environment to play in."""
        return replace(self.playing.current_origin, env=self.environment(env))

    def environment(self, env: Any) -> Any:
        """The environment to play in, checked."""
        place = self.playing.environment(env)
        self.agent.check_env(place)
        return place

    def start(self, seed: int) -> Situation:
        """Where an episode begins."""
        return self.agent.situation(self.environment(None).reset(seed=seed)[0])

    def simulated(self, env: Any, **more: Any) -> SimulatedBeliefs:
        """Rollouts of the greedy policy."""
        scale = float(self.playing.settings.get("reward_scale", 1.0))
        simulated = SimulatedBeliefs(self.environment(env), self.agent, **more)
        return simulated if scale == 1.0 else simulated.repriced(lambda _, rewards: rewards * scale)

    def exact(self, env: Any, state: int, action: int) -> None:
        """None: the world is unknown."""

    def exact_future(self, env: Any = None) -> None:
        """None: the world is unknown."""

    def evaluate(self, episodes: int, seed: int, env: Any) -> Evaluation:
        """Returns of the greedy policy over whole episodes."""
        place, dice = self.environment(env), np.random.default_rng([seed, 2])
        limit = time_limit(place) or MAX_EPISODE_STEPS
        played = AgentPlayer(self.agent, dice).roll_out(place, rollouts=episodes, max_steps=limit)
        return _evaluation(played)

    def episode(self, at: Situation | None, best: Best, seed: int, env: Any, enter: Enter | None) -> Episode:
        """One greedy episode; ``at=None``: from the start of an episode."""
        place, dice = self.environment(env), np.random.default_rng([seed, 2])
        if at is None:
            return play_episode(AgentPlayer(self.agent, dice, seed=seed), place)
        enter = check_enter(enter) or enter_observation_of(place)
        if enter is None:  # play reaches its cell, with another observation
            raise ValueError(
                f"{type(place.unwrapped).__name__} cannot be put into this observation: {how_to_enter('state.observation')}"
            )
        return play_episode(AgentPlayer(self.agent, dice, (at, best(at)), enter), place)


def _evaluation(played: Rollouts) -> Evaluation:
    """The evaluation of played episodes; one that no time limit ended was cut after ``MAX_EPISODE_STEPS``."""
    going = int(((played.ending == TIMED_OUT) & (played.lengths >= MAX_EPISODE_STEPS)).sum())
    return Evaluation.of(played.returns, played.lengths, going)


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
