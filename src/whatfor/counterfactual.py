"""Counterfactual runs: the agent at an earlier time, without some episodes, or with other rewards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from whatfor.checks import episode_number, number
from whatfor.explanations.splitting import amounts_by_function, by_reward
from whatfor.history import History
from whatfor.kernels.relearning import relearn
from whatfor.learners.named import LEARNERS
from whatfor.learners.schedules import VisitCount, from_json
from whatfor.ledger import Ledger
from whatfor.ledger.ends import last_updates, with_names
from whatfor.ledger.parts import REST, reward_parts, scaled_reward
from whatfor.ledger.walls import warn_of_visited_walls
from whatfor.naming import Names
from whatfor.playing import Origin
from whatfor.text import amount
from whatfor.worlds.repricing import RewardTable
from whatfor.worlds.world import Reprice

if TYPE_CHECKING:
    from whatfor.runs import Run

How = Literal["replay", "relearn"]
#: (state, action, reward), all as numbers, to an amount of reward.
RewardFunction = Callable[[int, int, float], float]
#: The number of episodes that a premise names.
MAX_NAMED = 3
LOADED = "a counterfactual run that was loaded cannot be relearned: load the original run, and change that"


def as_of(run: Run, episodes: int) -> Run:
    """The run as it was after this many episodes; its values are recomputed from the ledger."""
    earlier, recorded = run.need_ledger("as_of()").until(episodes), run.origin.recorded
    history = History(run.history.returns[: int(episodes)], run.history.lengths[: int(episodes)])
    origin = replace(
        run.playing.current_origin,
        recorded=None if recorded is None else recorded.until(episodes),
        history=history,
        stopped=None,
    )
    return _from_ledger(run, earlier, origin)


def without(run: Run, episodes: Iterable[int], *, how: How = "replay") -> Run:
    """The run without the experience of some episodes, given by their numbers; it answers every question.

    ``how="replay"``: the other updates are applied as they were recorded; the values are exactly what the ledger gives
    without those updates. ``how="relearn"``: the other experiences are learned from again, in the same order. Q-learning,
    double Q-learning and λ-returns choose the actions that they bootstrap from anew, and step sizes by visit count are
    counted anew. Which actions were tried stays as it was.

    >>> import whatfor as wf
    >>> run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0), episodes=2, seed=0)
    >>> run.without([1])
    Run(QLearning, 2 episodes, 2 updates, engine='compiled'; without episode 1 (replayed))
    """
    ledger, chosen = run.need_ledger("without()"), _checked_episodes(run, episodes)
    deleted = np.isin(ledger.episodes_and_steps()[0], chosen) | ~ledger.applied
    named = ", ".join(f"{one:,}" for one in chosen[:MAX_NAMED].tolist())
    more = f" and {len(chosen) - MAX_NAMED:,} more" if len(chosen) > MAX_NAMED else ""
    premise = f"without episode{'s' * (len(chosen) > 1)} {named}{more}"
    return _changed(run, deleted, how, premise)


def repriced(
    run: Run,
    reward: RewardFunction | None = None,
    *,
    factors: Mapping[str, float] | None = None,
    parts: Mapping[str, RewardFunction] | None = None,
    how: How = "relearn",
) -> Run:
    """The run with other rewards for the same experience; it answers every question.

    ``reward``: a function of (state, action, reward), all as numbers, that returns the new reward. Or ``factors`` on
    named parts of the reward: by default those of ``run.parts``, which are the recorded ones and their rest,
    ``factors={"shaping": 0, "rest": 1}``, or one for each distinct reward; ``parts`` names others,
    as functions of (state, action, reward). ``how`` as in ``without``. Simulations of such a run use the new rewards;
    ``evaluate`` and ``episode`` show those of the environment. Such a run is saved with its new rewards as a table: of
    the rewards that were paid, and of those of its world where that is known.

    >>> import whatfor as wf
    >>> run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0), episodes=20, seed=0)
    >>> run.values[0].max(), run.repriced(factors={"reward +1": 0.5}).values[0].max()
    (np.float64(1.0), np.float64(0.5))
    """
    ledger = run.need_ledger("repriced()")
    if (reward is None) == (factors is None):
        raise ValueError("pass one of reward= (a function of state, action and reward) and factors= (by part)")
    if isinstance(reward, Mapping):
        raise TypeError(
            f"reward is a function of (state, action, reward), all as numbers: for factors by part, pass factors={dict(reward)!r}"
        )
    if reward is None:
        known = _checked_factors(ledger, factors, parts)
        changed = ", ".join(f"{name!r} × {amount(float(factor))}" for name, factor in (factors or {}).items())
        premise = f"with {changed}"
        if known is None:
            return _changed(run, ~ledger.applied, how, premise, Pricing(factors=factors))
        function = _scaled(known, factors or {})
    else:
        if parts is not None:
            raise ValueError("parts= names what factors= scales: pass factors= instead of reward=")
        function, premise = _checked_function("reward", reward), "with changed rewards"

    def reprice(pairs: NDArray[np.integer[Any]], rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        return amounts_by_function("the new reward", function, pairs, rewards, ledger.n_actions)

    return _changed(run, ~ledger.applied, how, premise, Pricing(reprice))


def named(run: Run, names: Names | Mapping[str, Any] | None = None, **more: Any) -> Run:
    """The run with other names, as in ``train(names=...)``; everything is derived again, also how past episodes ended.

    Names may be given as arguments, too. What is not named keeps the name that it has.

    >>> import whatfor as wf
    >>> run = wf.train(wf.worlds.chain(), episodes=5, seed=0)
    >>> run.named(actions=("climb", "fall")).labels.actions
    ('climb', 'fall')
    """
    given = Names.of(more).over(Names.of(names))
    run.playing.actor.check_renaming()
    if run.origin.repriced and given.endings is not None:
        raise ValueError("a run with changed rewards keeps its endings' names: name the original run, and change that")
    labels = given.applied_to(run.labels)
    reads = [] if given.endings is None else [ending for ending in labels.endings if ending.reads_final]
    if reads and run.ledger is not None:
        last, finals = last_updates(run.ledger)
        if len(last) and (finals < 0).all():
            raise ValueError(
                f"the ending {reads[0].name!r} depends on the state that an episode ends in, and this ledger does not contain it: "
                "pass final_state= to ledger.record() at the end of each episode"
            )
    warn_of_visited_walls(None if given.walls is None else run.ledger, labels)
    return run.derived(labels=labels, origin=replace(run.playing.current_origin, names=given.over(run.origin.names)))


class Counterfactuals:
    """Runs derived from a run; each method is documented as a function."""

    as_of = as_of
    named = named
    without = without
    repriced = repriced


class Pricing(NamedTuple):
    """How rewards are changed: first by factors on their recorded parts, then by a function."""

    reprice: Reprice | None = None
    factors: Mapping[str, float] | None = None

    def then(self, later: Pricing) -> Pricing:
        """Both changes, one after the other."""
        if self.reprice is not None and later.factors is not None:
            raise ValueError(
                "the rewards of this run were changed by a function before: put factors on the parts of the original run first, "
                "and change the rewards of that one by the function"
            )
        factors = self.factors or later.factors
        if self.factors is not None and later.factors is not None:
            names = {**self.factors, **later.factors}
            factors = {name: self.factors.get(name, 1.0) * later.factors.get(name, 1.0) for name in names}
        return Pricing(_both(self.reprice, later.reprice), factors)

    def applied_to(self, ledger: Ledger) -> Ledger:
        """The ledger with the changed rewards."""
        if self.factors is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                reward = scaled_reward(ledger.lines.reward, reward_parts(ledger), self.factors)
                parts = ledger.part_columns * [self.factors.get(name, 1.0) for name in ledger.parts]
            if not (np.isfinite(reward).all() and np.isfinite(parts).all()):
                raise ValueError("these factors make rewards too large: choose smaller ones")
            ledger = ledger.revised(reward=reward, parts=parts)
        if self.reprice is None:
            return ledger
        pairs = ledger.lines.cell % (ledger.n_states * ledger.n_actions)
        return ledger.revised(reward=self.reprice(pairs, ledger.lines.reward))


def _changed(run: Run, deleted: NDArray[np.bool_], how: How, premise: str, pricing: Pricing | None = None) -> Run:
    """The run without some updates, or with other rewards; replayed as it is, or relearned from what was recorded first."""
    if how not in ("replay", "relearn"):
        raise ValueError(f"how is 'replay' or 'relearn', not {how!r}")
    origin, current = run.playing.current_origin, run.need_ledger("this")
    recorded = origin.recorded or current
    if not origin.repriced:  # endings keep the names that the paid rewards give
        recorded = with_names(recorded, run.labels)
    both, applied = Pricing(origin.reprice, origin.factors).then(pricing := pricing or Pricing()), "replayed"
    was_loaded = origin.recorded is None and origin.repriced  # then the paid rewards are not in the ledger
    if how == "relearn" and was_loaded:
        raise ValueError(LOADED)
    if how == "relearn":
        rule = _rule(run)
        applied = f"relearned{rule.note}"
        _check_rule(recorded, rule, changed=origin.premise is not None)
        ledger = both.applied_to(recorded)
        source, step_size = _learn_again(ledger, rule, deleted)
        ledger = ledger.revised(source=source, step_size=step_size)
    else:
        steps = np.where(deleted, 0.0, np.broadcast_to(current.lines.step_size, len(current)))
        ledger = pricing.applied_to(recorded if origin.recorded is None else current).revised(step_size=steps)
    words = " and ".join(one for one in (origin.premise, f"{premise} ({applied})") if one)
    kept = None if was_loaded else recorded
    return _from_ledger(run, ledger, replace(origin, premise=words, **both._asdict(), recorded=kept))


def _from_ledger(run: Run, ledger: Ledger, origin: Origin) -> Run:
    """The run of another ledger, which cannot be resumed; its values are those that the updates give."""
    origin = replace(origin, learner=None, snapshot=None, own_values=False)
    return run.derived(values=ledger.values(), ledger=ledger, beliefs=None, origin=origin)


def _both(first: Reprice | None, second: Reprice | None) -> Reprice | None:
    """One change of rewards after another."""
    if first is None or second is None:
        return first or second
    if isinstance(first, RewardTable):
        return first.then(second)
    return lambda pairs, rewards: second(pairs, first(pairs, rewards))


class RelearningRule(NamedTuple):
    """What a learner decides again when it learns from recorded experience."""

    name: str
    bootstraps_greedily: bool
    power: float  # of step sizes by visit count; 0: as recorded

    @property
    def note(self) -> str:
        """Says if relearning is replaying."""
        if self.bootstraps_greedily or self.power:
            return ""
        return f", which for {self.name} with a constant step size is the same as replayed"


def _rule(run: Run) -> RelearningRule:
    """The rule of a built-in learner."""
    settings = run.settings.get("learner", {})
    learner = None if run.settings.get("earlier_learners") else LEARNERS.get(settings.get("name", ""))
    if learner is None:
        raise ValueError(
            "relearning needs the rule of one built-in learner; this run has another learner, several, or was built from a custom "
            "training loop: pass how='replay'"
        )
    step_size = from_json(settings.get("step_size", 0.0))
    power = float(step_size.power) if isinstance(step_size, VisitCount) else 0.0
    return RelearningRule(learner.__name__, learner.bootstraps_greedily, power)


def _check_rule(ledger: Ledger, rule: RelearningRule, *, changed: bool) -> None:
    """Raise ``ValueError`` unless learning from everything again gives the recorded updates."""
    source, step_size = _learn_again(ledger, rule, ~ledger.applied)
    if not np.array_equal(source, ledger.lines.source) or (step_size != ledger.lines.step_size).any():
        if changed:  # a saved one: what was recorded first is not in its folder
            raise ValueError(LOADED)
        raise ValueError(
            f"the recorded updates are not those of {rule.name} with its last settings (they may have changed when training was "
            "resumed), so this run cannot be relearned: pass how='replay'"
        )


def _learn_again(
    ledger: Ledger, rule: RelearningRule, deleted: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Source and step size of every update when it is learned from again."""
    source, step_size = np.empty(len(ledger), np.int32), np.empty(len(ledger))
    tables, tries = ledger.initial_tables().ravel(), np.zeros(ledger.n_cells, np.int64)
    pairs = ledger.n_states * ledger.n_actions
    decides = (rule.bootstraps_greedily, rule.power, pairs, ledger.n_actions)
    relearn(ledger.lines, deleted, *decides, tables, tries, source, step_size)
    return source, step_size


def _checked_episodes(run: Run, episodes: Iterable[int]) -> NDArray[np.int64]:
    """Numbers of episodes of the run, in order."""
    given: Any = episodes
    if isinstance(given, str) or not isinstance(given, Iterable):
        example = f"[{given}]" if isinstance(given, int | np.integer) else "[17]"
        raise TypeError(f"episodes is a list of episode numbers: pass {example}")
    last = run.need_ledger("without()").n_episodes - 1
    if last < 0:
        raise ValueError("this run has no episodes that could be left out")
    chosen = np.unique([episode_number(one, last + 1) for one in episodes]).astype(np.int64)
    if len(chosen) == 0:
        raise ValueError("name at least one episode to leave out")
    return chosen


def _checked_factors(
    ledger: Ledger, factors: Mapping[str, float] | None, parts: Mapping[str, RewardFunction] | None
) -> Mapping[str, RewardFunction] | None:
    """The parts that factors can be on, as functions; None: the recorded ones."""
    example = f'factors={{"{ledger.parts[0] if ledger.parts else "reward -1"}": 0.5}}'
    if not isinstance(factors, Mapping) or not factors:
        raise ValueError(f"factors is a dictionary of factors by the name of a part, e.g. {example}, not {factors!r}")
    known: Mapping[str, RewardFunction] | None = None
    if parts is not None:
        known = {name: _checked_function(name, one) for name, one in parts.items()}
    elif not ledger.parts:
        known = _by_reward(ledger)
    names = (*ledger.parts, REST) if known is None else tuple(known)
    for name, factor in factors.items():
        number(f"the factor of {name!r}", factor)
        if name not in names:
            listed = f"the parts are {', '.join(map(repr, names))}" if names else "all rewards are 0"
            raise ValueError(f"there is no part {name!r} of the reward: {listed}")
    return known


def _scaled(known: Mapping[str, RewardFunction], factors: Mapping[str, float]) -> RewardFunction:
    """A reward with factors on some of its parts."""
    return lambda state, action, reward: scaled_reward(
        reward, {name: known[name](state, action, reward) for name in factors}, factors
    )


def _checked_function(name: str, function: Any) -> RewardFunction:
    """A function of (state, action, reward)."""
    try:
        inspect.signature(function).bind(0, 0, 0.0)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} is a function of (state, action, reward), all as numbers; {type(function).__name__} is not"
        ) from None
    return cast(RewardFunction, function)


def _by_reward(ledger: Ledger) -> dict[str, RewardFunction]:
    """The parts of ``run.parts``, as functions."""

    def part(paid: float) -> RewardFunction:
        return lambda _state, _action, reward: paid if reward == paid else 0.0

    paid = np.unique(ledger.lines.reward[ledger.learned_from])  # deleted rewards are no parts
    known = by_reward(np.unique(ledger.lines.reward))
    return {name: part(reward) for name, reward in known.items() if reward in paid}
