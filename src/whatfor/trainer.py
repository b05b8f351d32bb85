"""train(): train a tabular agent and record every update."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from whatfor.checks import flag, whole
from whatfor.history import History
from whatfor.labels import ENDINGS, Labels
from whatfor.learners.named import learner_from
from whatfor.learners.protocol import Learner
from whatfor.learners.q_learning import QLearning
from whatfor.learners.replay import Replay
from whatfor.learners.schedules import explorations, to_json
from whatfor.learners.tabular import Tabular
from whatfor.ledger import Ledger
from whatfor.ledger.paid import without_paid_endings
from whatfor.ledger.walls import warn_of_visited_walls
from whatfor.naming import Names
from whatfor.naming.endings import revived, without_functions
from whatfor.playing import Origin
from whatfor.runs import Run
from whatfor.text import count, either, one_line
from whatfor.training.places import BinCounts, Engine, Ranges, check_no_sb3_agent, place_with_terms
from whatfor.training.session import Listener, Place, Session
from whatfor.worlds.discovering import StateOf
from whatfor.worlds.gymnasium import names_of
from whatfor.worlds.terms import RewardParts, RewardTerms

TimeLimit = Literal["bootstrap", "terminal"]
TERMINAL_IN_PYTHON = "Pass time_limit='terminal'"


class TrainingStopped(RuntimeError):
    """The environment failed during training; ``run`` is the run up to then.

    >>> from whatfor.labels import ENDINGS, Labels
    >>> try:
    ...     raise TrainingStopped("the environment failed in episode 3", Run(labels=Labels.plain(1, 1), values=[[0.5]]))
    ... except TrainingStopped as stopped:
    ...     print(stopped, stopped.run.values.tolist())
    the environment failed in episode 3 [[0.5]]
    """

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run


def train(
    world: Any,
    learner: Learner | None = None,
    *,
    episodes: int,
    seed: int | None = None,
    bins: BinCounts = None,
    bounds: Ranges = None,
    state_of: StateOf | None = None,
    max_steps: int | None = None,
    time_limit: TimeLimit | None = None,
    replay: Replay | None = None,
    listeners: Sequence[Listener] = (),
    engine: Engine | None = None,
    progress: bool | None = None,
    record: bool | None = None,
    reward_parts: RewardParts | None = None,
    env: Any = None,
    names: Names | Mapping[str, Any] | None = None,
) -> Run:
    """Train a tabular agent and record every update.

    ``world``: the id of an environment, a ``gymnasium.Env`` with finite (discrete) observations (or a Box with ``bins``), a world
    of ``whatfor.worlds``, or a ``Run`` to resume; ``env`` is the environment of a resumed run if it cannot be created
    again. ``bins``: the number of bins of each dimension, or one number for all; ``bounds``: their range, a (low, high) pair for each
    dimension. Values beyond it belong to the outermost bins. ``state_of``: a function that maps an observation to its state, for states that are discovered while they
    are met: a number, text, or a tuple of these. ``max_steps``: the longest an episode may get, 10,000 by default where the
    environment has no time limit. ``time_limit``: "bootstrap" at a time limit (the default), or treat it as "terminal". ``listeners`` are called
    with the ledger and the index of its first new update. ``engine``: "auto" (the default) uses the compiled version of an
    environment if it has one. ``record=False``: without a ledger; most questions need it. ``reward_parts``: terms of the reward
    that the environment reports in ``info``, recorded with every update: a list of keys, or a dictionary from names to keys;
    ``"reward_terms/shaping"`` is an entry of a dictionary in ``info``. ``names``: what axes, actions, endings and so on are
    called, a ``Names`` or a dictionary with its keys. Ctrl-C ends training early and
    returns the run so far; an error of the environment raises ``TrainingStopped``, whose ``run`` is the run so far.

    >>> from whatfor.worlds import chain
    >>> run = train(chain(), QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=20, seed=0)
    >>> run.values[0].tolist(), run.engine
    ([2.0, 2.0], 'compiled')
    """
    episodes = whole("episodes", episodes)
    if episodes < 0:
        raise ValueError(f"episodes is {episodes}; it must not be negative")
    if isinstance(world, Run):
        fixed: dict[str, Any] = {"seed": seed, "bins": bins, "bounds": bounds, "state_of": state_of}
        fixed |= {"time_limit": time_limit, "replay": replay, "engine": engine, "record": record}
        fixed |= {"max_steps": max_steps, "reward_parts": reward_parts}
        wrong = [name for name, value in fixed.items() if value is not None]
        if wrong:
            raise ValueError(
                f"{wrong[0]}= was set when this run was started and cannot be changed; leave it out to resume"
            )
        resumed = world if names is None else world.named(names)
        return _resume(resumed, learner, env, episodes, listeners, progress)
    if env is not None:
        raise ValueError(
            "env= is the environment of a run to resume; to train a new run, pass the environment as the first argument"
        )
    time_limit = "bootstrap" if time_limit is None else time_limit
    if time_limit not in ("bootstrap", "terminal"):
        raise ValueError(f"time_limit is 'bootstrap' or 'terminal', not {time_limit!r}")
    learner = QLearning() if learner is None else learner
    _check_learner(learner)
    if replay is not None and not isinstance(replay, Replay):
        raise TypeError(f"replay must be a Replay, e.g. whatfor.Replay(capacity=10_000), not {replay!r}")
    terms, engine = RewardTerms.named(reward_parts), "auto" if engine is None else engine
    place = place_with_terms(
        terms, world, bins=bins, bounds=bounds, state_of=state_of, max_steps=max_steps, engine=engine
    )
    if "discovered" in place.recipe and not episodes:
        raise ValueError("states are discovered during training: pass episodes=1 or more")
    given = Names.of(names)
    (given.before_discovery if "discovered" in place.recipe else given).applied_to(
        place.labels
    )  # errors before training
    if not isinstance(learner, Tabular) and place.engine == "compiled":
        place.engine, place.reason = "python", f"{type(learner).__name__} is not one of the built-in learners"
    seed = secrets.randbits(32) if seed is None else whole("seed", seed)
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must not be negative")
    recorded = record is None or flag("record", record)
    if terms.keys and not recorded:
        raise ValueError("reward_parts= are recorded in the ledger; with record=False there is none")
    session = Session.fresh(
        place, learner, seed=seed, time_out_ends=time_limit == "terminal", replay=replay, record=recorded
    )
    settings = {
        "learner": learner.to_json() if isinstance(learner, Tabular) else {"name": type(learner).__name__},
        "seed": seed,
        "time_limit": time_limit,
        "replay": None if replay is None else {name: to_json(value) for name, value in asdict(replay).items()},
        "engine": place.engine,
        "engine_reason": place.reason,
        "max_steps": place.max_steps,
        "world": place.recipe,
    }
    if terms.keys:
        settings["reward_parts"] = {**terms.keys}
    return _train(session, settings, None, given, episodes, listeners, progress)


def _resume(
    run: Run, learner: Learner | None, env: Any, episodes: int, listeners: Sequence[Listener], progress: bool | None
) -> Run:
    """Resume the training of a run."""
    if run.origin.premise is not None:
        raise ValueError(f"this run cannot be resumed: it is the run {run.origin.premise}; resume the original run")
    if run.origin.snapshot is None:
        raise ValueError(f"this run cannot be resumed: {_no_snapshot_reason(run)}")
    if learner is not None:
        _check_learner(learner)
    settings, place = {**run.settings}, run.playing.place(env)
    try:
        if "reward_parts" in settings:
            place = replace(place, terms=RewardTerms.named(settings["reward_parts"]))
        replay = None if settings["replay"] is None else Replay(**settings["replay"])
        if learner is None:
            learner = run.origin.learner if run.origin.learner is not None else learner_from(settings["learner"])
        elif isinstance(learner, Tabular) and learner.to_json() != settings["learner"]:
            before = {**settings["learner"], "until": len(run.history)}
            settings["earlier_learners"] = [*settings.get("earlier_learners", ()), before]
            settings["learner"] = learner.to_json()
        session = Session.from_snapshot(
            place,
            learner,
            run.origin.snapshot,
            None if run.ledger is None else _continued(run.ledger, run.labels, place.labels),
            seed=settings["seed"],
            time_out_ends=settings["time_limit"] == "terminal",
            replay=replay,
        )
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"this run cannot be resumed with its settings: {type(error).__name__} {error}") from error
    return _train(session, settings, run, run.origin.names, episodes, listeners, progress)


def _continued(ledger: Ledger, named: Labels, own: Labels) -> Ledger:
    """A ledger that goes on, with codes for endings that the run has been named with, and the environment has now."""
    continued, names = ledger.continued(), list(own.ending_names)
    known = continued.endings[len(ENDINGS) :]
    if set(names) <= set(named.ending_names) and names[: len(known)] == known:
        continued.endings += names[len(known) :]
    return continued


def _labels(place: Place, before: Run | None, names: Names) -> Labels:
    """The labels of a run: those of its world, or of the run before, with the names given by the user."""
    own = place.labels
    if (
        own.states is not None and place.env is not None
    ):  # now that they are known, the names that the environment carries fit
        names = names.over(names_of(place.env))
    if before is not None and before.labels.n_states == own.n_states:
        own = revived(without_paid_endings(before.labels), own)
    elif before is not None and names == Names() and before.labels.axes[0].name != own.axes[0].name:
        warnings.warn(
            "training met new states, and the names of the run that was loaded do not cover them: give them again with run.named(...)",
            stacklevel=4,
        )
    return names.applied_to(own)


def _check_learner(learner: Any) -> None:
    if isinstance(learner, type):
        raise ValueError(f"{learner.__name__} is a class, not a learner: pass {learner.__name__}(...)")
    check_no_sb3_agent(learner)
    if not isinstance(learner, Learner):
        raise ValueError(
            f"{learner!r} is not a learner: pass e.g. whatfor.QLearning(step_size=0.1); whatfor.testing.check_learner checks a custom learner"
        )


def _no_snapshot_reason(run: Run) -> str:
    """Why a run has no state to resume from, and what to do."""
    if not run.origin.own_values:
        return "it is an earlier time of another run (as_of); resume that run, or train a new one"
    if "seed" in run.settings and "learner" in run.settings:  # train() sets them
        return f"{run.settings['learner'].get('name')} is not one of the built-in learners; train a new run"
    return (
        "it was built from a custom training loop; continue that loop, with the same ledger (a network in its own library, "
        "e.g. model.learn(..., callback=BeliefCallback(...))), and use the new run"
    )


def _train(
    session: Session,
    settings: dict[str, Any],
    before: Run | None,
    names: Names,
    episodes: int,
    listeners: Sequence[Listener],
    progress: bool | None,
) -> Run:
    """Play the episodes and build the run, also after an error or Ctrl-C."""
    done = 0 if before is None else len(before.history)
    epsilons = explorations(session.learner.exploration, done, episodes)
    cut_before = session.cuts
    played, error = session.play(epsilons, listeners=listeners, progress=progress)
    if error is not None and before is None and session.has_no_states:
        raise error  # nothing was learned that could be kept
    history = History(played.returns, played.lengths)
    if error is None and not np.isfinite(session.agent.tables).all():
        error = OverflowError("values are no longer finite: the rewards are too large")
    stopped = None
    if error is not None:
        under_way = min(done + played.episodes + (not played.running), done + episodes)  # counted from 1
        where = f"in episode {under_way:,} of {done + episodes:,}"
        what = one_line(f"{type(error).__name__}: {error}", 1_000)
        stopped = f"interrupted {where}" if isinstance(error, KeyboardInterrupt) else f"{where}: {what}"
    if session.ledger is not None:
        session.ledger.freeze()
    more: dict[str, Any] = {"values": session.agent.tables, "ledger": session.ledger, "settings": settings}
    more["origin"] = Origin(
        session.place,
        learner=session.learner,
        snapshot=session.snapshot(),
        history=history if before is None else before.history.followed_by(history),
        stopped=stopped,
        names=names,
    )
    try:
        run = Run(labels=_labels(session.place, before, names), **more)
    except ValueError as wrong:  # names do not fit the discovered states, or a function failed
        run = Run(labels=without_functions(session.place.labels), **more)
        raise TrainingStopped(
            f"training {f'stopped {stopped}' if stopped else 'is done'}, and the names cannot be given: {wrong}. The run without "
            "them is in the exception's attribute `run`: give them again with run.named(...)",
            run,
        ) from wrong
    warn_of_visited_walls(run.ledger, run.labels, stacklevel=4)
    cut = int((played.lengths >= session.place.max_steps).sum())  # an environment may end its episodes before
    if cut and session.cuts > cut_before and session.place.has_default_limit:
        warnings.warn(
            f"{cut:,} of {count(played.episodes, 'episode')} {'was' if cut == 1 else 'were'} cut at {either('max_steps=', '--max-steps ')}{session.place.max_steps:,}, "
            "the default where an environment has no time limit: check that it returns terminated=True, or set another limit",
            stacklevel=3,
        )
    if session.cuts > cut_before == 0 and session.learner.discount == 1.0 and not session.time_out_ends:
        warnings.warn(
            "episodes were truncated by a time limit and bootstrapped without a discount, so values may grow without bound. "
            f"{either(TERMINAL_IN_PYTHON, 'Add --time-limit terminal')} to treat the limit as terminal, or a discount below 1",
            stacklevel=3,
        )
    if isinstance(error, KeyboardInterrupt):
        warnings.warn(f"training was {stopped}; the run so far is returned", stacklevel=3)
    elif error is not None:
        diverged = not np.isfinite(run.tables).all()
        use = "its history can be read" if diverged else "it can be explained, saved and resumed"
        raise TrainingStopped(
            f"training stopped {stopped}. The run so far is in the exception's attribute `run`: {use}", run
        ) from error
    return run
