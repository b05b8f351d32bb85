"""Each identity fails on a broken kernel: the package is copied, one rule is changed, the identity is run on the copy."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import identities
import whatfor

SOURCE = Path(whatfor.__file__).parent
HERE = Path(__file__).parent

#: By name of the defect: file, the line, its broken version, and the identities that must fail.
BROKEN = {
    "fold forgets λ": (
        "kernels/forwards.py",
        "previous[x] = target(added, g, lambda_, bootstrap, previous[x])",
        "previous[x] = target(added, g, 0.0, bootstrap, previous[x])",
        ["belief_map_equals_the_audit", "kernels_equal_the_oracle"],
    ),
    "fold of one column forgets λ": (
        "kernels/forwards.py",
        "last = target(cumulant, g, lambda_, tables[j, 0] if j >= 0 else 0.0, last)",
        "last = target(cumulant, g, 0.0, tables[j, 0] if j >= 0 else 0.0, last)",
        ["ledger_gives_the_learners_table"],
    ),
    "weights by depth stop a step too early": (
        "kernels/backwards.py",
        "reached[j] = max(reached[j], min(deep + 1, depths))",
        "reached[j] = max(reached[j], deep)",
        ["timeline_and_remainder_are_the_visits"],
    ),
    "fold ignores endings": (
        "kernels/recursion.py",
        "discount = lines.discount[i & g_mask] if source >= NO_BOOTSTRAP else 0.0",
        "discount = lines.discount[i & g_mask]",
        [
            "ledger_gives_the_learners_table",
            "visits_times_reward_is_the_value_at_every_iteration",
            "arrivals_and_the_unknown_sum_to_one",
        ],
    ),
    "fold adds up at the wrong place": (
        "kernels/forwards.py",
        "own = k % width",
        "own = (k + 1) % width",
        ["visits_times_reward_is_the_value_at_every_iteration", "belief_map_equals_the_audit"],
    ),
    "scan keeps the weight that an update has replaced": (
        "kernels/backwards.py",
        "left[k, row] *= 1.0 - a",
        "left[k, row] *= 1.0",
        [
            "earnings_sum_to_the_value",
            "kernels_equal_the_oracle",
            "endings_and_initial_weights_sum_to_one",
            "outcomes_and_the_unknown_sum_to_one",
        ],
    ),
    "scan forgets λ": (
        "kernels/backwards.py",
        "carry[row] = g * lambda_ * m",
        "carry[row] = 0.0",
        [
            "earnings_sum_to_the_value",
            "endings_and_initial_weights_sum_to_one",
            "weights_times_rewards_are_the_value",
        ],
    ),
    "scan of many rows reads the first": (
        "kernels/backwards.py",
        "earnings[k, row] += m * lines.reward[i]",
        "earnings[k, row] += (a * left[k, 0] + m) * lines.reward[i]",
        ["many_rows_equal_single_rows"],
    ),
    "walk does not count dropped weight": (
        "kernels/walk.py",
        "dropped += own + passed",
        "dropped += 0.0",
        ["walk_is_within_its_bound"],
    ),
    "walk skips a line": (
        "kernels/walk.py",
        "place[k] -= 1",
        "place[k] -= 2",
        ["walk_is_within_its_bound"],
    ),
    "a line names the wrong bootstrap cell": (
        "learners/rule.py",
        "log.source[line] = source",
        "log.source[line] = cell",
        ["ledger_gives_the_learners_table", "earnings_sum_to_the_value"],
    ),
    "a line has the wrong reward": (
        "learners/rule.py",
        "log.reward[line] = reward",
        "log.reward[line] = reward + 1e-9 * line",
        ["ledger_gives_the_learners_table", "earnings_sum_to_the_value", "contrast_parts_sum_to_the_gap"],
    ),
    "recording takes part in learning": (
        "learners/rule.py",
        "log.cell[line] = cell",
        "log.cell[line] = cell\n        memory.values[cell] += 1e-12",
        ["recording_does_not_change_the_learner", "ledger_gives_the_learners_table"],
    ),
    "the compiled loop draws once more": (
        "training/compiled.py",
        "action = begin_episode(rule, memory, log, epsilon, state)",
        "action = begin_episode(rule, memory, log, epsilon, state)\n            action = begin_episode(rule, memory, log, epsilon, state)",
        ["engines_agree"],
    ),
    "an arrival on a λ-return is ignored": (
        "beliefs/arrivals.py",
        "source[trailing] = np.where(arrived < 0, arrived, NO_BOOTSTRAP)",
        "source[trailing] = NO_BOOTSTRAP",
        ["chance_equals_the_oracle"],
    ),
    "of two concepts the second comes first": (
        "explanations/chance.py",
        "[*(concept for concept, _ in first), event]",
        "[*(concept for concept, _ in first[1:]), event, event]",
        ["chance_equals_the_oracle", "arrivals_and_the_unknown_sum_to_one"],
    ),
    "an ending does not count as an arrival": (
        "beliefs/arrivals.py",
        "reached[concept.holds_at_end(final_states, ledger.endings, which)] = ending_place(place)",
        "pass",
        ["chance_equals_the_oracle", "chance_of_an_ending_is_its_outcome"],
    ),
    "arrival is what lies outside the concept": (
        "beliefs/arrivals.py",
        "cells[:, concept.states] = ending_place(place)",
        "cells[:, ~concept.states] = ending_place(place)",
        ["chance_equals_the_oracle", "larger_concepts_are_likelier"],
    ),
    "the asked step counts among what follows": (
        "beliefs/recorded.py",
        "visits, earnings = row.visits - now.visits,",
        "visits, earnings = row.visits,",
        ["expected_visits_exclude_the_asked_step"],
    ),
    "the asked step earns among what follows": (
        "beliefs/recorded.py",
        "row.earnings - now.earnings  # without",
        "row.earnings  # without",
        ["expected_visits_exclude_the_asked_step"],
    ),
    "the rest is forgotten": (
        "explanations/parts.py",
        "float(paid.weight @ left)",
        "0.0",
        ["parts_and_the_rest_are_the_value"],
    ),
    "a part covers only the last amounts": (
        "explanations/parts.py",
        "sum(amounts.values(), np.zeros(len(paid.reward)))",
        "[*amounts.values(), np.zeros(len(paid.reward))][-2]",
        ["parts_and_the_rest_are_the_value", "rewards_leave_no_rest"],
    ),
    "a λ-return looks no step ahead": (
        "kernels/backwards.py",
        "carry[ahead] += g * lambda_ * moved[depth]",
        "carry[depth] += g * lambda_ * moved[depth]",
        ["timeline_and_remainder_are_the_visits"],
    ),
    "the error is measured after the update": (
        "kernels/forwards.py",
        "errors[i] = last - before",
        "errors[i] = last - tables[k, 0]",
        ["deletion_of_an_update_is_its_effect", "deletion_of_an_episode_is_its_effect"],
    ),
    "the weight that a target carries is taken for that of the cell": (
        "kernels/deletion.py",
        "by_line[i] = own * errors[i]",
        "by_line[i] = (own + carry) * errors[i]",
        ["deletion_of_an_update_is_its_effect"],
    ),
    "an episode's deletion is the sum of its updates' deletions": (
        "kernels/deletion.py",
        "by_block[block] = taken if carry == 0.0 else np.nan",
        "by_block[block] = (by_line[starts[block] : starts[block + 1]] * 1.0).sum()",
        ["deletion_of_an_episode_is_its_effect"],
    ),
    "a replayed episode is deleted where its updates were applied": (
        "beliefs/deletion.py",
        "of_update = ledger.episodes_and_steps()[0]",
        "of_update = np.searchsorted(ledger.episode_starts, np.arange(len(ledger)), side='right') - 1",
        ["deletion_of_an_episode_is_its_effect"],
    ),
    "a replayed episode is deleted nowhere": (
        "kernels/deletion.py",
        "if group[i] != x:",
        "if True:",
        ["deletion_of_an_episode_is_its_effect"],
    ),
    "replaying forgets the λ-returns that pass through deleted updates": (
        "kernels/deletion.py",
        "carry = g * lambda_ * (own + carry)",
        "carry = g * lambda_ * own",
        ["deletion_of_an_update_is_its_effect", "deletion_of_an_episode_is_its_effect"],
    ),
    "of several values the first loses all": (
        "kernels/deletion.py",
        "by_block[block, row] += left[lines.cell[i], row] * moved_by",
        "by_block[block, row] += left[lines.cell[i], 0] * moved_by",
        ["deletion_of_an_episode_is_its_effect"],
    ),
    "relearning prefers the lowest of equal actions to the recorded one": (
        "kernels/relearning.py",
        "return recorded if tables[first + recorded] == tables[first + best] else best",
        "return best",
        ["without_episodes_equals_a_fold_and_relearning_an_oracle"],
    ),
    "relearning selects the action by the table that evaluates it": (
        "kernels/relearning.py",
        "k // pairs * pairs + first % pairs",
        "first",
        ["without_episodes_equals_a_fold_and_relearning_an_oracle"],
    ),
    "replaying without an episode keeps its updates": (
        "counterfactual.py",
        "steps = np.where(deleted, 0.0, np.broadcast_to(",
        "steps = np.where(deleted, current.lines.step_size, np.broadcast_to(",
        ["without_episodes_equals_a_fold_and_relearning_an_oracle"],
    ),
    "relearning keeps the recorded bootstrap action": (
        "kernels/relearning.py",
        "if choosing and j >= 0:",
        "if False:",
        ["without_episodes_equals_a_fold_and_relearning_an_oracle"],
    ),
    "relearning counts deleted updates": (
        "kernels/relearning.py",
        "if deleted[i]:",
        "tries[k] += deleted[i]\n        if deleted[i]:",
        ["without_episodes_equals_a_fold_and_relearning_an_oracle"],
    ),
    "one reason too many is given": (
        "explanations/difference.py",
        "if weight > 0.0 or self.parts[state, action] <= 0.0:",
        "if self.parts[state, action] <= 0.0:",
        ["reasons_are_sufficient_and_minimal"],
    ),
    "a tape loses unread numbers": (
        "kernels/tape.py",
        "bits.advance(PERIOD - unread)",
        "bits.advance(0)",
        ["resumed_training_equals_uninterrupted_training"],
    ),
    "a course takes the least likely step": (
        "beliefs/course.py",
        "best = int(shares.argmax())",
        "best = int(shares.argmin())",
        ["course_follows_the_likeliest_step"],
    ),
    "errors of different episodes are added up before they are squared": (
        "beliefs/noise.py",
        "together = by_episode(ledger, used, errors)",
        "together = np.atleast_1d(errors.sum())",
        ["the_spread_of_equal_experiences_is_their_standard_error", "errors_are_summed_by_episode"],
    ),
    "errors of one episode are squared before they are added up": (
        "beliefs/noise.py",
        "together = by_episode(ledger, used, errors)",
        "together = errors",
        ["the_spread_of_equal_experiences_is_their_standard_error", "errors_are_summed_by_episode"],
    ),
    "an experience counts wherever it is replayed": (
        "beliefs/noise.py",
        "together = by_episode(ledger, used, errors)",
        "together = summed_by(np.searchsorted(ledger.episode_starts, used, side='right'), errors)",
        ["errors_are_summed_by_episode"],
    ),
    "under replay an episode starts at the line with the number of its first experience": (
        "ledger/episodes.py",
        "return breaks[:, 0], breaks[:, 1]",
        "return breaks[:, 1], breaks[:, 1]",
        ["prefixes_equal_shorter_trainings"],
    ),
    "a prefix is one line too long": (
        "ledger/reader.py",
        "return self if episodes == len(starts) else self[: starts[episodes]]",
        "return self if episodes == len(starts) else self[: starts[episodes] + 1]",
        ["prefixes_equal_shorter_trainings"],
    ),
}


def copied(tmp_path: Path, file: str = "", old: str = "", new: str = "") -> dict[str, str]:
    """An environment in which a changed copy of the package is imported, as plain Python."""
    shutil.copytree(SOURCE, tmp_path / "whatfor", ignore=shutil.ignore_patterns("*.pyc.*"))  # being written
    if file:
        path = tmp_path / "whatfor" / file
        text = path.read_text()
        assert text.count(old) == 1, f"the line to break occurs {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE)]), "WHATFOR_COMPILE": "0"}


def failing(names: list[str], env: dict[str, str]) -> dict[str, bool]:
    command = [sys.executable, HERE / "broken.py", *names]
    failed: dict[str, bool] = json.loads(
        subprocess.run(command, env=env, check=True, timeout=120, stdout=subprocess.PIPE).stdout
    )
    return failed


@pytest.mark.parametrize("what", BROKEN)
def test_broken_kernel_fails_its_identities(what, tmp_path):
    file, old, new, names = BROKEN[what]
    env = copied(tmp_path, file, old, new)
    assert failing(names, env) == dict.fromkeys(names, True)


def test_every_identity_is_broken_once():
    noticed = {name for *_, names in BROKEN.values() for name in names}
    assert noticed == {check.__name__ for check in identities.ALL}


def test_unbroken_copy_passes_without_numba(tmp_path):
    """The same harness on an unchanged copy: plain Python gives the same answers."""
    env = copied(tmp_path)
    names = sorted({name for *_, names in BROKEN.values() for name in names})
    assert failing(names, env) == dict.fromkeys(names, False)


TRAIN = """
import sys, numpy as np, whatfor as wf
run = lambda engine: wf.train(wf.testing.random_world(3), wf.QLearning(exploration=0.3), episodes=50, seed=1, engine=engine).tables
np.savez(sys.argv[1], python=run("python"), compiled=run("compiled"))
"""


def test_changing_a_rule_changes_both_engines(tmp_path):
    """One rule, two engines: the change must reach both, also the compiled one with its cache."""
    results = []
    broken = copied(tmp_path, "learners/rule.py", "discount = rule.discount if", "discount = 0.5 * rule.discount if")
    for i, env in enumerate((dict(os.environ), broken | {"WHATFOR_COMPILE": "1"})):
        subprocess.run([sys.executable, "-c", TRAIN, tmp_path / f"{i}.npz"], env=env, check=True, timeout=240)
        results.append(np.load(tmp_path / f"{i}.npz"))
    plain, changed = results
    assert np.array_equal(plain["python"], plain["compiled"])
    assert np.array_equal(changed["python"], changed["compiled"])
    assert not np.array_equal(plain["python"], changed["python"])
