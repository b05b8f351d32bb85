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

#: What is broken: file, the rule, what stands there instead, and the identities that must notice.
BROKEN = {
    "fold forgets λ": (
        "kernels/forwards.py",
        "previous[x] = target(added, g, lambda_, bootstrap, previous[x])",
        "previous[x] = target(added, g, 0.0, bootstrap, previous[x])",
        ["ledger_makes_the_learners_table", "beside_is_the_audit", "kernels_are_the_oracle"],
    ),
    "fold goes on after an end": (
        "kernels/recursion.py",
        "discount = lines.discount[i & g_mask] if source >= NO_BOOTSTRAP else 0.0",
        "discount = lines.discount[i & g_mask]",
        [
            "ledger_makes_the_learners_table",
            "visits_times_reward_is_the_value_at_every_iteration",
            "arrivals_and_the_unknown_are_certain",
        ],
    ),
    "fold adds up at the wrong place": (
        "kernels/forwards.py",
        "own = k % width",
        "own = (k + 1) % width",
        ["visits_times_reward_is_the_value_at_every_iteration", "beside_is_the_audit"],
    ),
    "scan keeps the weight that an update has replaced": (
        "kernels/backwards.py",
        "left[k, row] *= 1.0 - a",
        "left[k, row] *= 1.0",
        [
            "earnings_sum_to_the_value",
            "kernels_are_the_oracle",
            "chances_and_what_is_left_sum_to_one",
            "outcomes_and_the_unknown_are_certain",
        ],
    ),
    "scan forgets λ": (
        "kernels/backwards.py",
        "carry[row] = g * lambda_ * m",
        "carry[row] = 0.0",
        [
            "earnings_sum_to_the_value",
            "chances_and_what_is_left_sum_to_one",
            "weights_times_rewards_are_the_value",
            "influence_is_what_deletion_takes_away",
        ],
    ),
    "scan of many rows reads the first": (
        "kernels/backwards.py",
        "earnings[k, row] += m * lines.reward[i]",
        "earnings[k, row] += (a * left[k, 0] + m) * lines.reward[i]",
        ["many_rows_are_single_rows"],
    ),
    "walk drops weight without saying so": (
        "kernels/walk.py",
        "dropped += own + passed",
        "dropped += 0.0",
        ["walk_is_within_its_bound"],
    ),
    "walk passes a line over": (
        "kernels/walk.py",
        "place[k] -= 1",
        "place[k] -= 2",
        ["walk_is_within_its_bound"],
    ),
    "a line names the wrong bootstrap cell": (
        "learners/rule.py",
        "log.source[line] = source",
        "log.source[line] = cell",
        ["ledger_makes_the_learners_table", "earnings_sum_to_the_value"],
    ),
    "a line has the wrong reward": (
        "learners/rule.py",
        "log.reward[line] = reward",
        "log.reward[line] = reward + 1e-9 * line",
        ["ledger_makes_the_learners_table", "earnings_sum_to_the_value", "contrast_parts_sum_to_the_gap"],
    ),
    "recording takes part in learning": (
        "learners/rule.py",
        "log.cell[line] = cell",
        "log.cell[line] = cell\n        memory.values[cell] += 1e-12",
        ["recording_leaves_the_learner_alone", "ledger_makes_the_learners_table"],
    ),
    "the compiled loop draws once more": (
        "training/compiled.py",
        "action = begin_episode(rule, memory, log, epsilon, state)",
        "action = begin_episode(rule, memory, log, epsilon, state)\n            action = begin_episode(rule, memory, log, epsilon, state)",
        ["engines_agree"],
    ),
    "an arrival on a λ-return is passed over": (
        "beliefs/arrivals.py",
        "source[trailing] = np.where(arrived < 0, arrived, NO_BOOTSTRAP)",
        "source[trailing] = NO_BOOTSTRAP",
        ["ever_is_the_oracle"],
    ),
    "of two concepts the second comes first": (
        "explanations/chance.py",
        "[*(concept for concept, _ in first), event]",
        "[*(concept for concept, _ in first[1:]), event, event]",
        ["ever_is_the_oracle", "arrivals_and_the_unknown_are_certain"],
    ),
    "an ending is no arrival": (
        "beliefs/arrivals.py",
        "becomes[ending_place(ledger.endings.index(name))] = ending_place(place)",
        "pass",
        ["ever_is_the_oracle", "ever_of_an_ending_is_its_outcome"],
    ),
    "arrival is what lies outside the concept": (
        "beliefs/arrivals.py",
        "cells[:, concept.states] = ending_place(place)",
        "cells[:, ~concept.states] = ending_place(place)",
        ["ever_is_the_oracle", "larger_concepts_are_likelier"],
    ),
    "the asked step counts among what follows": (
        "explanations/chance.py",
        "(row.visits - now.visits)[event.states]",
        "row.visits[event.states]",
        ["what_follows_is_all_but_the_step"],
    ),
    "the asked step is paid among what follows": (
        "explanations/chance.py",
        "(row.earnings - now.earnings)[event.states]",
        "row.earnings[event.states]",
        ["what_follows_is_all_but_the_step"],
    ),
    "the rest is forgotten": (
        "explanations/parts.py",
        "rest = float(weights @ (rewards - covered))",
        "rest = 0.0",
        ["parts_and_the_rest_are_the_value"],
    ),
    "a part covers only what was paid last": (
        "explanations/parts.py",
        "covered += amounts",
        "covered = amounts",
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
        "errors[i] = previous[0] - before",
        "errors[i] = previous[0] - tables[k, 0]",
        ["influence_is_what_deletion_takes_away"],
    ),
    "a reason too many is given": (
        "explanations/difference.py",
        "if weight > 0.0 or self.parts[state, action] <= 0.0:",
        "if self.parts[state, action] <= 0.0:",
        ["reasons_are_enough_and_none_too_many"],
    ),
    "a tape forgets what nobody has read": (
        "kernels/tape.py",
        "bits.advance(PERIOD - unread)",
        "bits.advance(0)",
        ["going_on_is_never_having_stopped"],
    ),
    "a course takes the unlikeliest way": (
        "beliefs/course.py",
        "best = int(shares.argmax())",
        "best = int(shares.argmin())",
        ["course_follows_what_is_likeliest"],
    ),
    "errors of different episodes are added up before they are squared": (
        "beliefs/noise.py",
        "together = summed_by(ledger.episodes_and_steps(used)[0], errors)",
        "together = np.atleast_1d(errors.sum())",
        ["the_spread_of_equal_experiences_is_their_standard_error", "errors_are_added_up_by_episode"],
    ),
    "errors of one episode are squared before they are added up": (
        "beliefs/noise.py",
        "together = summed_by(ledger.episodes_and_steps(used)[0], errors)",
        "together = errors",
        ["the_spread_of_equal_experiences_is_their_standard_error", "errors_are_added_up_by_episode"],
    ),
    "an experience counts wherever it is replayed": (
        "beliefs/noise.py",
        "together = summed_by(ledger.episodes_and_steps(used)[0], errors)",
        "together = summed_by(ledger.update_episodes(used), errors)",
        ["errors_are_added_up_by_episode"],
    ),
    "under replay an episode starts at the line with the number of its first experience": (
        "ledger/episodes.py",
        "return breaks[:, 0], breaks[:, 1]",
        "return breaks[:, 1], breaks[:, 1]",
        ["prefixes_are_what_was_then"],
    ),
    "a prefix is one line too long": (
        "ledger/reader.py",
        "return self if episodes == len(starts) else self[: starts[episodes]]",
        "return self if episodes == len(starts) else self[: starts[episodes] + 1]",
        ["prefixes_are_what_was_then"],
    ),
}


def copied(tmp_path: Path, file: str = "", old: str = "", new: str = "") -> dict[str, str]:
    """An environment in which a changed copy of the package is imported, as plain Python."""
    shutil.copytree(SOURCE, tmp_path / "whatfor", ignore=shutil.ignore_patterns("*.pyc.*"))  # being written
    if file:
        path = tmp_path / "whatfor" / file
        text = path.read_text()
        assert text.count(old) == 1, f"the rule to break stands {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE)]), "WHATFOR_COMPILE": "0"}


def failing(names: list[str], env: dict[str, str]) -> dict[str, bool]:
    command = [sys.executable, HERE / "broken.py", *names]
    told: dict[str, bool] = json.loads(
        subprocess.run(command, env=env, check=True, timeout=120, stdout=subprocess.PIPE).stdout
    )
    return told


@pytest.mark.parametrize("what", BROKEN)
def test_broken_kernel_is_noticed(what, tmp_path):
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
    """One rule, two engines, compiled for real: the change must reach both, also past any cache."""
    results = []
    for i, change in enumerate(("", "0.5 * ")):
        folder = tmp_path / str(i)
        env = copied(folder, "learners/rule.py", "discount = rule.discount if", f"discount = {change}rule.discount if")
        env["WHATFOR_COMPILE"] = "1"
        subprocess.run([sys.executable, "-c", TRAIN, folder / "tables.npz"], env=env, check=True, timeout=240)
        results.append(np.load(folder / "tables.npz"))
    plain, changed = results
    assert np.array_equal(plain["python"], plain["compiled"])
    assert np.array_equal(changed["python"], changed["compiled"])
    assert not np.array_equal(plain["python"], changed["python"])
