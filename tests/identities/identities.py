"""Identities that hold for every learner and every world, as checks that raise AssertionError.

The property tests call them on random worlds; ``broken.py`` calls them on broken kernels, where they must fail.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import oracle

import whatfor as wf
from whatfor.runs import Run
from whatfor.testing import EXACT, random_world
from whatfor.worlds.world import World


@dataclass(frozen=True)
class Case:
    """A learner in a random world."""

    learner: object
    world: int = 0
    noisy: bool = True
    replay: wf.Replay | None = None
    time_limit: str = "bootstrap"
    episodes: int = 8
    max_steps: int = 12
    seed: int = 0
    few_rewards: bool = False

    def make_world(self) -> World:
        world = random_world(self.world, noisy=self.noisy)
        if self.few_rewards:
            table = world.arrays.table
            rewards = np.round(table.reward)
            world = replace(world, arrays=world.arrays._replace(table=table._replace(reward=rewards)))
        return world

    def concepts(self) -> tuple[wf.Concept, wf.Concept]:
        """Two random concepts, of states and ends; they may overlap."""
        dice, labels = np.random.default_rng([7, self.world]), self.make_world().labels
        ends = [(), ("terminated",), ("timed out",), ("timed out", "terminated")]
        one, two = (wf.Concept(name, dice.random(labels.n_states) < 0.3, ends[dice.integers(4)]) for name in "xy")
        return one, two

    def run(self, **more) -> Run:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "episodes were truncated")
            return wf.train(
                self.make_world(),
                self.learner,
                episodes=self.episodes,
                seed=self.seed,
                max_steps=self.max_steps,
                time_limit=self.time_limit,
                replay=self.replay,
                **more,
            )


def pairs(run: Run):
    return [(s, a) for s in range(run.labels.n_states) for a in range(run.labels.n_actions)]


def ledger_gives_the_learners_table(case: Case) -> None:
    run = case.run()
    assert run.audit.residual == 0.0, "not even a rounding error: the same operations in the same order"


def earnings_sum_to_the_value(case: Case) -> None:
    run = case.run()
    for s, a in pairs(run):
        row = run.audit.account(s, a, method="scan")
        assert abs(row.total - run.values[s, a]) <= EXACT * max(row.scale, 1e-3), (s, a, row.total, run.values[s, a])


def visits_times_reward_is_the_value_at_every_iteration(case: Case) -> None:
    """The paper's Theorem 2, if the reward is a function of state and action and initial values are zero."""
    case = replace(case, noisy=False, learner=replace(case.learner, initial=0.0))
    table = case.make_world().table
    rewards = table.reward[table.first[:-1]].reshape(-1, case.make_world().labels.n_actions)
    beliefs = wf.BeliefMap(case.make_world().labels)
    seen = []

    def check(ledger, first):
        beliefs(ledger, first)
        made = ledger.values().mean(axis=0)
        for s, a in np.ndindex(rewards.shape):
            recovered = (beliefs.visits(s, a) * rewards).sum()
            scale = (beliefs.visits(s, a) * np.abs(rewards)).sum()
            assert abs(recovered - made[s, a]) <= EXACT * max(scale, 1e-3), (len(ledger), s, a)
        seen.append(len(ledger))

    run = case.run(listeners=[check], engine="python")
    assert seen[-1:] == [len(run.ledger)] or len(run.ledger) == 0
    assert np.array_equal(run.ledger.values(), run.tables)


def belief_map_equals_the_audit(case: Case) -> None:
    beliefs = wf.BeliefMap(case.make_world().labels)
    run = case.run(listeners=[beliefs])
    for s, a in pairs(run):
        row = run.audit.account(s, a, method="scan")
        assert np.abs(beliefs.visits(s, a) - row.visits).max() <= EXACT * max(row.visits.sum(), 1e-3)
        assert np.abs(beliefs.earnings(s, a) - row.earnings).max() <= EXACT * max(row.scale, 1e-3)
        assert beliefs.value(s, a) == run.values[s, a]


def kernels_equal_the_oracle(case: Case) -> None:
    """Forwards and backwards kernels against the readable version, weight by weight."""
    run = case.run()
    lines, ledger = run.audit.ledger.lines, run.audit.ledger
    n_pairs = run.values.size
    visits = oracle.forwards(lines, np.zeros((ledger.n_cells, n_pairs)), lambda k, r: np.eye(n_pairs)[k % n_pairs])
    by_table = visits.reshape(ledger.n_tables, n_pairs, n_pairs).mean(axis=0)
    belief_map = wf.BeliefMap.from_ledger(ledger)
    for s, a in pairs(run):
        pair = s * run.labels.n_actions + a
        assert np.abs(belief_map.visits(s, a).ravel() - by_table[pair]).max() <= EXACT * max(1.0, by_table[pair].sum())
        row = run.audit.account(s, a, method="scan")
        asked = {table * n_pairs + pair: 1 / ledger.n_tables for table in range(ledger.n_tables)}
        weights, left = oracle.backwards(lines, asked, ledger.n_cells)
        assert np.abs(row.visits.ravel() - by_table[pair]).max() <= EXACT * max(1.0, row.visits.sum())
        assert np.abs(row.initial_weights.ravel() - left).max() <= EXACT
        earned = np.bincount(lines.cell % n_pairs, weights=weights * lines.reward, minlength=n_pairs)
        assert np.abs(row.earnings.ravel() - earned).max() <= EXACT * max(1.0, row.scale)
        assert abs(row.scale - (weights * np.abs(lines.reward)).sum()) <= EXACT * max(1.0, row.scale)
        ended = [weights[lines.source == -2 - i].sum() for i in range(len(ledger.endings))]
        assert np.abs(row.endings - ended).max() <= EXACT


def endings_and_initial_weights_sum_to_one(case: Case) -> None:
    """Without a discount, the weights of all endings and on initial values are probabilities."""
    run = case.run()
    for s, a in pairs(run):
        row = run.audit.account(s, a, discount=1.0, method="scan")
        assert abs(row.endings.sum() + row.initial_weights.sum() - 1.0) <= EXACT


def walk_is_within_its_bound(case: Case) -> None:
    run = case.run()
    for tolerance in (0.0, 1e-6, 1e-2):
        audit = wf.Audit(run.ledger, values=run.tables, tolerance=tolerance)
        for (s, a), discount in product(pairs(run), (None, 1.0, 0.3)):
            walked, exact = (audit.account(s, a, method=method, discount=discount) for method in ("walk", "scan"))
            assert abs(walked.total - exact.total) <= walked.value_error + EXACT * max(exact.scale, 1e-3)
            missing = np.abs(walked.visits - exact.visits).sum()
            assert missing <= walked.visits_error + EXACT * max(exact.visits.sum(), 1e-3)
            assert np.abs(walked.earnings - exact.earnings).sum() <= walked.earnings_error + EXACT * max(
                exact.scale, 1e-3
            )
            assert (walked.endings <= exact.endings + EXACT).all()
            assert (exact.endings - walked.endings).sum() <= walked.dropped + EXACT
            if tolerance == 0.0:
                assert walked.dropped == 0.0


def recording_does_not_change_the_learner(case: Case) -> None:
    loud, silent = case.run(), case.run(record=False)
    assert np.array_equal(loud.tables, silent.tables)
    assert np.array_equal(loud.history.returns, silent.history.returns)


def engines_agree(case: Case) -> None:
    one, two = case.run(engine="python"), case.run(engine="compiled")
    assert np.array_equal(one.tables, two.tables)
    assert np.array_equal(one.history.returns, two.history.returns)
    for left, right in zip(one.ledger.lines, two.ledger.lines, strict=True):
        # The compiled loop gives up a constant λ when a truncation may come, the Python loop when it has come.
        assert np.array_equal(np.broadcast_to(left, len(one.ledger)), np.broadcast_to(right, len(two.ledger)))
    assert np.array_equal(one.ledger.episode_starts, two.ledger.episode_starts)


def many_rows_equal_single_rows(case: Case) -> None:
    run = case.run()
    for (s, a), row in zip(pairs(run), run.audit.accounts(pairs(run)), strict=True):
        one = run.audit.account(s, a, method="scan")
        assert np.array_equal(row.visits, one.visits)
        assert np.array_equal(row.earnings, one.earnings)
        assert row.scale == one.scale


def prefixes_equal_shorter_trainings(case: Case) -> None:
    """The prefix of a ledger is the ledger of a training that stopped there, also under replay."""
    run = case.run()
    for episodes in range(0, case.episodes + 1, 3):
        earlier = replace(case, episodes=episodes).run()
        # Last episodes without any update are not in the ledger.
        prefix = run.ledger.until(min(episodes, run.ledger.n_episodes))
        assert len(prefix) == len(earlier.ledger)
        for left, right in zip(prefix.lines, earlier.ledger.lines, strict=True):
            # A step size that varies later is a full column there.
            assert np.array_equal(np.broadcast_to(left, len(prefix)), np.broadcast_to(right, len(prefix)))
        assert np.array_equal(prefix.origins, earlier.ledger.origins)
        assert np.array_equal(prefix.episode_starts, earlier.ledger.episode_starts)
        assert np.array_equal(prefix.values(), earlier.tables)


def resumed_training_equals_uninterrupted_training(case: Case) -> None:
    whole, half = case.run(), replace(case, episodes=case.episodes // 2).run()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "episodes were truncated")
        more = wf.train(half, episodes=case.episodes - case.episodes // 2)
    assert np.array_equal(more.tables, whole.tables)
    assert np.array_equal(more.history.returns, whole.history.returns)
    assert all(np.array_equal(one, two) for one, two in zip(more.ledger.lines, whole.ledger.lines, strict=True))
    assert len(half.ledger) <= len(whole.ledger)
    assert half.audit.residual == 0.0, "the half is what it was"


def contrast_parts_sum_to_the_gap(case: Case) -> None:
    run = case.run()
    for s in range(run.labels.n_states):
        contrast = run.contrast(s)
        assert contrast.residual <= EXACT * max(contrast.magnitude, 1e-3)
        both = contrast.gained + contrast.shared, contrast.lost + contrast.shared
        assert np.abs(both[0] - contrast.chosen.visits).max() <= EXACT * max(1.0, both[0].sum())
        assert np.abs(both[1] - contrast.instead.visits).max() <= EXACT * max(1.0, both[1].sum())


def reasons_are_sufficient_and_minimal(case: Case) -> None:
    """Without any one of the reasons, the parts against the action outweigh the rest."""
    run = case.run()
    for s in range(run.labels.n_states):
        contrast = run.contrast(s)
        amounts = [amount for *_, amount in contrast.reasons]
        against = contrast.parts[contrast.parts < 0].sum() + min(contrast.initial_part, 0.0)
        if contrast.gap > EXACT * contrast.magnitude and contrast.initial_part <= 0.0:
            assert amounts, "the better action has reasons"
        if amounts:
            assert sum(amounts) + against > 0.0
            assert sum(amounts) - min(amounts) + against <= 0.0


def outcomes_and_the_unknown_sum_to_one(case: Case) -> None:
    run = case.run()
    for s, a in pairs(run):
        outcomes = run.outcomes(s, a)
        assert outcomes.unaccounted <= EXACT
        assert all(chance > 0.0 for chance in outcomes.chances.values())


def arrivals_and_the_unknown_sum_to_one(case: Case) -> None:
    """Reached, not reached and unknown sum to 1; so do x before y, y before x, neither, and unknown."""
    run, (x, y) = case.run(), case.concepts()
    for s, a in pairs(run):
        assert run.chance(s, a, event=x).unaccounted <= EXACT
        one, two = run.chance(s, a, event=x, before=y), run.chance(s, a, event=y, before=x)
        neither = sum(chance for name, chance in one.otherwise.items() if name != "y")
        assert abs(one.probability + two.probability + neither + one.unknown - 1.0) <= EXACT
        assert abs(one.otherwise.get("y", 0.0) - two.probability) <= EXACT
        assert abs(one.unknown - two.unknown) <= EXACT


def chance_equals_the_oracle(case: Case) -> None:
    """Against a probability learned forwards: of one concept, and of one before another."""
    run, (x, y) = case.run(), case.concepts()
    ledger, n_actions = run.audit.ledger, run.labels.n_actions

    final_states = ledger.final_states[ledger.episodes_and_steps()[0]]  # of the episode of each line

    def inside(concept: wf.Concept, at: int, line: int) -> bool:
        if at < 0:
            final = int(final_states[line])
            return ledger.endings[-2 - at] in concept.endings or bool(final >= 0 and concept.states[final])
        return bool(concept.states[at // n_actions % ledger.n_states])

    def alone(at: int, line: int) -> float | None:
        return 1.0 if inside(x, at, line) else 0.0 if at < 0 else None

    def first(at: int, line: int) -> float | None:
        return 0.0 if inside(y, at, line) else alone(at, line)

    shape = (ledger.n_tables, ledger.n_states, n_actions)
    for arrived, before in ((alone, None), (first, y)):
        expected = oracle.ever(ledger.lines, ledger.n_cells, arrived).reshape(shape).mean(axis=0)
        for s, a in pairs(run):
            chance = run.chance(s, a, event=x, before=before)
            if "no recorded end" in chance.otherwise:  # weight that goes round takes away, and adds nothing
                rounds = chance.otherwise["no recorded end"]
                assert expected[s, a] - rounds - EXACT <= chance.probability <= expected[s, a] + EXACT
            else:
                assert abs(chance.probability - expected[s, a]) <= EXACT


def chance_of_an_ending_is_its_outcome(case: Case) -> None:
    run = case.run()
    for s, a in pairs(run):
        outcomes = run.outcomes(s, a)
        cut = outcomes.chances.get("timed out", 0.0)
        assert abs(run.chance(s, a, event="timed out").probability - cut) <= EXACT
        ended = run.chance(s, a, event="terminated")
        never = outcomes.chances.get("no recorded end", 0.0)
        assert abs(ended.probability - (sum(outcomes.chances.values()) - cut - never)) <= EXACT
        assert abs(ended.otherwise.get("no recorded end", 0.0) - never) <= EXACT
        assert abs(ended.unknown - outcomes.unknown) <= EXACT


def larger_concepts_are_likelier(case: Case) -> None:
    run, (x, y) = case.run(), case.concepts()
    everywhere = wf.Concept("anything", np.ones(run.labels.n_states, bool), ("timed out", "terminated"))
    for s, a in pairs(run):
        either = run.chance(s, a, event=x | y).probability
        assert either >= max(run.chance(s, a, event=x).probability, run.chance(s, a, event=y).probability) - EXACT
        assert run.chance(s, a, event=everywhere).probability >= either - EXACT


def expected_visits_exclude_the_asked_step(case: Case) -> None:
    """Against maps learned forwards: visits without the first step, earnings without those of the first step."""
    run, (x, _) = case.run(), case.concepts()
    ledger, n_pairs = run.audit.ledger, run.values.size
    maps = oracle.by_depth(ledger.lines, ledger.n_cells, n_pairs, 1).reshape(ledger.n_tables, n_pairs, 2, n_pairs)
    visits = maps.mean(axis=0)[:, 1].reshape(n_pairs, *run.values.shape)
    whole, now = (
        oracle.forwards(lines, np.zeros((ledger.n_cells, n_pairs)), lambda k, r: r * np.eye(n_pairs)[k % n_pairs])
        for lines in (ledger.lines, ledger.lines._replace(discount=np.zeros(1)))
    )
    earnings = (whole - now).reshape(ledger.n_tables, n_pairs, *run.values.shape).mean(axis=0)
    for s, a in pairs(run):
        pair, chance, row = (
            s * run.labels.n_actions + a,
            run.chance(s, a, event=x),
            run.audit.account(s, a, method="scan"),
        )
        assert abs(chance.visits - visits[pair][x.states].sum()) <= EXACT * max(1.0, row.visits.sum())
        assert abs(chance.earnings - earnings[pair][x.states].sum()) <= EXACT * max(1.0, row.scale)


def parts_and_the_rest_are_the_value(case: Case) -> None:
    run, dice = case.run(), np.random.default_rng(case.world)
    parts = {
        "drawn": dice.normal(size=len(run.ledger)),
        "gains": lambda state, action, reward: max(reward, 0.0),
        "first action": lambda state, action, reward: reward * (action == 0),
    }
    for s, a in pairs(run):
        split = run.parts(s, a, parts=parts)
        row = run.audit.account(s, a, method="scan")
        scale = row.scale + float(run.audit.weights(s, a) @ np.abs(parts["drawn"]))
        assert split.residual <= EXACT * max(scale, 1e-3)
        only = np.zeros_like(row.earnings)
        only[:, 0] = row.earnings[:, 0]
        assert np.abs(split.earnings["first action"] - only).max() <= EXACT * max(scale, 1e-3)


def rewards_leave_no_rest(case: Case) -> None:
    """By default every reward is a part, so there is no rest, and each part is earned where its reward occurs."""
    run = replace(case, few_rewards=True).run()
    for s, a in pairs(run):
        split, row = run.parts(s, a), run.audit.account(s, a, method="scan")
        assert abs(split.rest) <= EXACT * max(row.scale, 1e-3)
        assert split.residual <= EXACT * max(row.scale, 1e-3)
        together = sum(split.earnings.values(), np.zeros_like(row.earnings))
        assert np.abs(together - row.earnings).max() <= EXACT * max(row.scale, 1e-3)


def weights_times_rewards_are_the_value(case: Case) -> None:
    run = case.run()
    for s, a in pairs(run):
        account = run.provenance(s, a)
        assert account.residual <= EXACT * max(float(account.weights @ np.abs(account.rewards)), 1e-3)
        assert np.array_equal(account.rewards, run.ledger.lines.reward)


def _without(run: Run, updates: set[int]) -> np.ndarray:
    """(S, A) The values of the ledger without some updates."""
    start = run.ledger.initial_tables()
    tables = oracle.forwards(run.ledger.lines, start.reshape(-1, 1), lambda k, r: r, without=updates)
    return tables.reshape(start.shape).mean(axis=0)


def _at_stake(run: Run) -> float:
    """What may be taken away: the largest value or reward."""
    return 1e-10 * max(float(np.abs(run.values).max()), float(np.abs(run.ledger.lines.reward).max(initial=0.0)), 1e-3)


def deletion_of_an_update_is_its_effect(case: Case) -> None:
    """Replaying the ledger with the step size of one update set to 0 takes away exactly what is stated, for every learner."""
    run = case.run()
    answers = {(s, a): run.provenance(s, a).deletion.updates for s, a in pairs(run)}
    for i in range(0, len(run.ledger), max(1, len(run.ledger) // 5)):
        taken = run.values - _without(run, {i})
        for (s, a), stated in answers.items():
            assert abs(stated[i] - taken[s, a]) <= _at_stake(run), (i, s, a)


def deletion_of_an_episode_is_its_effect(case: Case) -> None:
    """Replaying the ledger without all updates of an episode, wherever replay put them, takes away exactly what is stated."""
    run = case.run()
    answers, of_update = {(s, a): run.provenance(s, a) for s, a in pairs(run)}, run.ledger.episodes_and_steps()[0]
    for episode in range(run.ledger.n_episodes):
        taken = run.values - _without(run, {*np.flatnonzero(of_update == episode).tolist()})
        for (s, a), why in answers.items():
            assert why.deletion.exact[episode], "so few episodes are all replayed"
            assert abs(why.deletion.episodes[episode] - taken[s, a]) <= _at_stake(run), (episode, s, a)
    together = run.audit.episode_deletions([*answers])
    for column, why in zip(together.T, answers.values(), strict=True):
        assert np.abs(column - why.deletion.episodes).max() <= _at_stake(run), "several values by one pass"


def without_episodes_equals_a_fold_and_relearning_an_oracle(case: Case) -> None:
    """Bit for bit: ``replay`` a fresh fold without those updates, ``relearn`` the definition; all questions are answered."""
    run = case.run()
    ledger, of_update = run.ledger, run.ledger.episodes_and_steps()[0]
    episodes = sorted({0, ledger.n_episodes // 2})
    out = {*np.flatnonzero(np.isin(of_update, episodes)).tolist()}
    start = ledger.initial_tables()
    replayed = oracle.forwards(ledger.lines, start.reshape(-1, 1), lambda k, r: r, without=out).reshape(start.shape)
    assert np.array_equal(run.without(episodes).tables, replayed)
    relearned = run.without(episodes, how="relearn")
    assert np.array_equal(relearned.tables, oracle.relearned(ledger, case.learner, out))
    assert np.array_equal(relearned.ledger.values(), relearned.tables), "its own ledger gives its tables"
    kept = np.delete(np.arange(len(ledger)), sorted(out))
    assert relearned.ledger.tries().sum() == len(kept)
    assert relearned.intention(0).residual is None
    doubled = run.repriced(lambda state, action, reward: 2.0 * reward + state)
    given = 2.0 * ledger.lines.reward + ledger.lines.cell // ledger.n_actions % ledger.n_states
    assert np.array_equal(doubled.tables, oracle.relearned(ledger.revised(reward=given), case.learner))


def timeline_and_remainder_are_the_visits(case: Case) -> None:
    """Slices sum to the visits; each slice equals a map learned forwards for its depth."""
    run, horizon = case.run(), 3
    ledger, n_pairs = run.audit.ledger, run.values.size
    maps = oracle.by_depth(ledger.lines, ledger.n_cells, n_pairs, horizon)
    maps = maps.reshape(ledger.n_tables, n_pairs, horizon + 1, n_pairs).mean(axis=0)
    for s, a in pairs(run):
        timeline = run.timeline(s, a, horizon=horizon)
        scale = max(1.0, timeline.visits.sum() + timeline.remainder.sum())
        assert timeline.unaccounted <= EXACT * scale
        expected = maps[s * run.labels.n_actions + a].reshape(horizon + 1, *run.values.shape)
        assert np.abs(timeline.visits - expected[:-1]).max() <= EXACT * scale
        assert np.abs(timeline.remainder - expected[-1]).max() <= EXACT * scale


def course_follows_the_likeliest_step(case: Case) -> None:
    run = case.run()
    discount = 1.0 if case.learner.discount == 0.0 else None  # discount 0: the course is still known
    for state, action in pairs(run)[:6]:
        found = run.audit.reading(state, action).course
        left = run.audit.account(state, action, discount=discount, method="scan").initial_weights.sum(axis=0).ravel()
        weights = run.audit.weights(state, action, discount=discount)
        expected = oracle.course(run.audit.ledger, weights, left, state, action)
        if expected is None:
            continue
        assert (list(found.pairs), found.ending, found.comes_back_to) == expected[:3]
        np.testing.assert_allclose(found.chances, expected[3], atol=1e-9)


def the_spread_of_equal_experiences_is_their_standard_error(case: Case) -> None:
    """Mean returns of episodes of 1 to 3 steps, all with random rewards: every episode has weight 1 / n, so the error is known."""
    steps, chance, episodes = 3 - case.world % 3, 0.3 + 0.4 * (case.seed % 7) / 6, 20 + case.world % 180
    world = wf.worlds.table(
        next_state=[[[s + 1, s + 1]] for s in range(steps - 1)] + [[[0, 0]]],
        reward=[[[0.0, 1.0 + s]] for s in range(steps)],
        terminated=[[[s == steps - 1] * 2] for s in range(steps)],
        probability=[[[chance, 1.0 - chance]]] * steps,
    )
    discount = case.learner.discount
    learner = wf.MonteCarlo(step_size=wf.visit_count(), discount=discount)
    run = wf.train(world, learner, episodes=episodes, seed=case.seed)
    rewards = np.array([[update.reward for update in run.ledger.episode(i)] for i in range(episodes)])
    known = (rewards @ discount ** np.arange(steps)).std() / np.sqrt(episodes)
    np.testing.assert_allclose(run.audit.reading(0, 0).error, known, rtol=1e-9, atol=1e-12)


def errors_are_summed_by_episode(case: Case) -> None:
    """Against the readable version, for every learner: an experience counts once in its episode, also if it is replayed often."""
    run = case.run()
    ledger = run.ledger
    episodes, tables = ledger.episodes_and_steps()[0], ledger.values().ravel()
    for s, a in pairs(run):
        expected = oracle.standard_error(ledger.lines, run.audit.weights(s, a), tables, episodes)
        scale = run.audit.account(s, a, method="scan").scale + np.abs(tables).max()
        assert abs(run.audit.reading(s, a).error - expected) <= EXACT * max(scale, 1e-3)


ALL = (
    ledger_gives_the_learners_table,
    earnings_sum_to_the_value,
    visits_times_reward_is_the_value_at_every_iteration,
    belief_map_equals_the_audit,
    kernels_equal_the_oracle,
    endings_and_initial_weights_sum_to_one,
    walk_is_within_its_bound,
    recording_does_not_change_the_learner,
    engines_agree,
    many_rows_equal_single_rows,
    prefixes_equal_shorter_trainings,
    resumed_training_equals_uninterrupted_training,
    contrast_parts_sum_to_the_gap,
    reasons_are_sufficient_and_minimal,
    outcomes_and_the_unknown_sum_to_one,
    arrivals_and_the_unknown_sum_to_one,
    chance_equals_the_oracle,
    chance_of_an_ending_is_its_outcome,
    larger_concepts_are_likelier,
    expected_visits_exclude_the_asked_step,
    parts_and_the_rest_are_the_value,
    rewards_leave_no_rest,
    weights_times_rewards_are_the_value,
    deletion_of_an_update_is_its_effect,
    deletion_of_an_episode_is_its_effect,
    without_episodes_equals_a_fold_and_relearning_an_oracle,
    timeline_and_remainder_are_the_visits,
    course_follows_the_likeliest_step,
    the_spread_of_equal_experiences_is_their_standard_error,
    errors_are_summed_by_episode,
)

#: One of each, for the broken kernels.
CASES = (
    Case(wf.QLearning(step_size=0.3, discount=0.9, exploration=0.5)),
    Case(wf.Sarsa(step_size=0.3, discount=0.9, exploration=0.5)),
    Case(wf.DoubleQLearning(step_size=0.3, discount=0.9, exploration=0.5)),
    Case(wf.MonteCarlo(step_size=wf.visit_count(), discount=0.9, exploration=0.5)),
    Case(wf.LambdaReturns(step_size=0.3, discount=0.9, exploration=0.5, lambda_=0.7)),
    Case(wf.QLearning(step_size=0.3, discount=0.9, exploration=0.5), replay=wf.Replay(batch=2)),
)
