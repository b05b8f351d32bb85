"""Playing: rollouts, evaluation and episodes of an agent's greedy policy, in its world or a given environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whatfor.beliefs.policy import PolicyBeliefs
from whatfor.beliefs.protocol import Actor, Beliefs
from whatfor.beliefs.simulated import SimulatedBeliefs
from whatfor.beliefs.situation import Situation
from whatfor.checks import number, whole
from whatfor.history import Evaluation, History
from whatfor.kernels.recursion import NO_BOOTSTRAP
from whatfor.labels import Labels
from whatfor.learners.protocol import Learner
from whatfor.ledger import Ledger
from whatfor.limits import check_limit
from whatfor.naming import Names
from whatfor.naming.endings import revived
from whatfor.players import NetworkPlay, TablePlay
from whatfor.text import count
from whatfor.training.places import known_states, pass_env, place_of, remake_env, remake_place
from whatfor.training.session import Place, Snapshot
from whatfor.worlds.adapter import Enter
from whatfor.worlds.making import make_env
from whatfor.worlds.spaces import NotCountable
from whatfor.worlds.world import Reprice, World


@dataclass(frozen=True)
class Origin:
    """The origin of a run: what is needed to resume it and to play its policy."""

    place: Place | None = None  # the world it was trained in
    env: Any = None  # the environment of an agent that acts on observations
    table: World | None = None  # the world of a loaded run, if it is a table
    learner: Learner | None = None
    snapshot: Snapshot | None = None  # to resume from; None: the run cannot be resumed
    own_values: bool = True  # False: the values were recomputed from the ledger
    history: History | None = None  # of its training episodes
    stopped: str | None = None  # why training stopped early; None: it did not
    premise: str | None = None  # what is different in a counterfactual run
    reprice: Reprice | None = None  # its rewards, if they are
    factors: Mapping[str, float] | None = None  # on the recorded parts of its rewards
    recorded: Ledger | None = None  # what was recorded, before anything was changed
    names: Names = field(default_factory=Names)  # given by the user, to be applied again when training goes on

    @property
    def repriced(self) -> bool:
        """Whether its rewards are not the recorded ones."""
        return self.reprice is not None or self.factors is not None


def described(
    labels: Labels | None, env: Any, discount: float | None, settings: dict[str, Any] | None, origin: Origin | None
) -> tuple[Labels, dict[str, Any], Origin]:
    """What a table of values is about, from what was given: its world and its discount, if any."""
    settings, origin = {**(settings or {})}, origin or Origin()
    if env is not None:
        place = _place_of_table(env, labels)
        if labels is None and "discovered" in place.recipe:
            raise ValueError(
                "the states of this environment are discovered during training, so the rows of a table mean nothing without "
                "their names: pass labels=, e.g. the labels of the run that discovered them"
            )
        labels, origin = labels or place.labels, replace(origin, place=place)
        settings |= {"world": place.recipe, "max_steps": place.max_steps}
    if discount is not None:
        settings["learner"] = {"name": "table of values", "discount": number("discount", discount, 0, 1)}
    if labels is None:
        raise ValueError(
            "the names of the states and actions are unknown: pass env= or labels=, e.g. labels=Labels.plain(16, 4)"
        )
    return labels, settings, origin


def _place_of_table(env: Any, labels: Labels | None) -> Place:
    """The place for an environment, with the discovered states or the bins of the labels."""
    try:
        return place_of(env, **({} if labels is None else known_states(labels, {})))
    except NotCountable as error:
        if labels is None or labels.observed != "bins":
            raise error.without_training("pass labels=run.labels, of the run that learned the table, or ") from None
    edges = [axis.edges for axis in labels.axes]
    place = place_of(env, bins=[len(row) - 1 for row in edges], bounds=[(row[0], row[-1]) for row in edges])
    if [axis.edges for axis in place.labels.axes] != edges:
        raise ValueError(
            "the bins of the labels are not equally wide, so this environment cannot be played through them"
        )
    return place


class Playing:
    """Plays a greedy policy of a table or a network in its environment."""

    def __init__(
        self,
        labels: Labels,
        values: NDArray[np.float64],  # (S, A)
        settings: Mapping[str, Any],
        *,
        actor: Actor,
        ledger: Ledger | None,
        origin: Origin,
    ) -> None:
        self.labels, self.values, self.settings = labels, values, settings
        self.actor, self.ledger, self.origin = actor, ledger, origin
        self._place, self._env = origin.place, origin.env

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
            raise ValueError("the discount of this run is unknown: pass discount= or ledger= to Run")
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
            self._env = remake_env(self.settings.get("environment", {}))
        return self._env

    def place(self, env: Any = None) -> Place:
        """The world of training, created again if necessary, or the given environment."""
        if env is None and self._place is not None:
            return self._place
        if "world" not in self.settings and env is None:
            raise ValueError(f"this run was built from a custom training loop and has no environment: {pass_env()}")
        world = self.settings.get("world", {})
        limits: dict[str, Any] = {
            name: self.settings[name] for name in ("max_steps", "engine") if name in self.settings
        }
        limits |= known_states(self.labels, world)
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
                f"{count(place.labels.n_states, 'state')} and {count(place.labels.n_actions, 'action')}: {pass_env()}"
            )
        if env is None:
            self._place = place
        return place

    def live_labels(self, env: Any = None) -> Labels:
        """The labels, with functions that recognise endings if the environment carries them: they are not saved."""
        return revived(self.labels, self.place(env).labels)

    def origin_in(self, env: Any) -> Origin:
        """The origin, with a given environment as the one of the run."""
        if self.origin.table is not None:
            raise ValueError(
                "env= is for runs whose environment is not saved, and this one contains its world: leave it out"
            )
        return self.player.origin_in(env)

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
    def policy_beliefs(self) -> PolicyBeliefs:
        """What playing its policy leads to."""
        return PolicyBeliefs(self._future, self.no_future, lambda: self._rollouts.start_text)

    def _future(self, at: Situation, action: int) -> Beliefs:
        """The exact future of an action, or rollouts."""
        return self.player.exact(None, at.index, action) or self._rollouts

    @cached_property
    def _rollouts(self) -> SimulatedBeliefs:
        return self.simulated(None, self.player.rollouts, int(self.settings.get("seed", 0)), None)

    def no_future(self) -> str | None:
        """Why its policy cannot be played without more; None: it can, as far as is known without playing."""
        if self.player.missing is not None or self.discounts:
            return self.player.missing
        return "needs the discount that its values were learned with: pass discount= to Run"

    @cached_property
    def player(self) -> TablePlay | NetworkPlay:
        """The table of values; or the network, if states do not determine its observations or the world is unknown."""
        chosen: TablePlay | NetworkPlay = self.actor.player(self)
        return chosen

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
