"""Contrasts, outcomes, timelines and provenance on fixed cases."""

import json

import numpy as np
import pytest

import whatfor as wf
from taxi_runs import START, train_taxi
from whatfor.labels import Axis


@pytest.fixture(scope="module")
def taxi(taxi_50k):
    return taxi_50k


@pytest.fixture(scope="module")
def chain():
    learner = wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0)
    return wf.train(wf.worlds.chain(), learner, episodes=100, seed=0)


def test_a_tie_is_reported_with_both_futures(chain):
    """Theorem 1: one value, two futures."""
    contrast = chain.contrast("the start", "up", "down")
    assert (contrast.gap, contrast.tied, contrast.different) == (0.0, True, True)
    text = str(contrast)
    assert "have the same estimated return (2)" in text
    assert "different futures" in text
    assert "more than" not in text
    assert contrast.gained[1].sum() == 1.0
    assert contrast.lost[2].sum() == 1.0
    assert contrast.parts[1, 0] == 2.0
    assert contrast.parts[2, 1] == -2.0


def test_at_a_wall_it_stays_where_it_is(taxi):
    """North of row 0 is a wall: it expects to be back where it is, at least once (0.9, one step later)."""
    contrast = taxi.contrast(START, "south", "north")
    assert contrast.back_after(contrast.instead) == 1
    assert contrast.back_after(contrast.chosen) is None
    assert "After 'north', it expects to stay where it is at first." in str(contrast)
    assert "After 'south'" not in str(contrast)


def test_the_gap_is_the_difference_of_the_agents_own_values(taxi):
    index = taxi.labels.index(START)
    contrast = taxi.contrast(START)
    ordered = sorted(taxi.values[index])
    assert contrast.gap == ordered[-1] - ordered[-2]
    text = str(contrast)
    assert f"The estimated return of 'west' is {contrast.gap:.4g} lower" in text
    other = taxi.labels.actions[contrast.instead.action]
    assert other == "west"
    assert f"{START}: {other} (avoided cost)" in text, "a cost of only the other action is not called an earning"
    assert "passenger aboard; destination R: drop off (avoided cost)" not in text


def test_the_worse_action_has_no_reasons(taxi):
    contrast = taxi.contrast(START, "north", "south")
    assert contrast.gap < 0
    assert contrast.reasons == []
    assert "it chooses 'south' over 'north' because" in str(contrast)


def test_sentences_compare_the_better_action_with_the_worse_one(taxi):
    """Whichever action is asked about, the parts, their sum and the sentences are about the same difference."""
    worse, better = taxi.contrast(START, "north", "south"), taxi.contrast(START, "south", "north")
    assert worse.sentences() == better.sentences()
    assert worse.gap == -better.gap
    assert np.array_equal(worse.parts, -better.parts)
    text = str(worse)
    assert "Largest contributions in favour of 'south':" in text
    assert f"Sum: +{better.gap:.4g}, equal to the difference between the agent's Q-values" in text


def test_outcomes_are_named_by_the_world_or_by_what_they_pay(taxi, chain):
    assert taxi.outcomes(START).chances == {"delivered": pytest.approx(1.0)}
    outcomes = chain.outcomes("the start", "up")
    assert outcomes.chances == {"ended with +2": 1.0}  # other ends pay something else
    assert "100 %  ended with +2" in str(outcomes)


def test_what_was_never_tried_is_unknown():
    run = train_taxi(1)
    state, action = next((s, a) for s in range(500) for a in range(6) if run.ledger.tries()[s, a] == 0)
    outcomes = run.outcomes(state, action)
    assert (outcomes.chances, outcomes.unknown) == ({}, 1.0)
    assert "never tried" in str(outcomes)
    other = (action + 1) % 6
    assert "never tried" in str(run.contrast(state, other, action))


def test_few_tries_leave_a_share_unknown():
    world = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=True)
    run = wf.train(world, wf.QLearning(step_size=0.1, discount=1.0), episodes=5, seed=0)
    outcomes = run.outcomes(0)
    assert outcomes.unknown == pytest.approx(0.9**5)
    assert "59 %  unknown" in str(outcomes)


def test_a_timeline_is_the_route_step_by_step(taxi):
    """Taxi is deterministic: undiscounted, each step of the route has chance 1, and the 13th delivers."""
    timeline = taxi.timeline(START, horizon=20, discount=1.0)
    likeliest = timeline.visits.reshape(20, -1).max(axis=1)
    assert likeliest[:13] == pytest.approx([1.0] * 13, abs=1e-3)
    assert likeliest[13] < 1e-3
    drop = divmod(int(timeline.visits[12].argmax()), 6)
    assert taxi.labels.words(drop[0]) == "taxi at row 0, column 0; passenger aboard; destination R"
    assert taxi.labels.actions[drop[1]] == "drop off"
    assert " 12  1.000  taxi at row 0, column 0; passenger aboard; destination R: drop off" in str(timeline)
    with pytest.raises(ValueError, match="horizon is 0; ask for at least one step"):
        taxi.timeline(START, horizon=0)


def test_a_timeline_counts_all_visits_beyond_the_steps_that_it_lists():
    """Once no pair is likely any more, the steps that follow are summed, not left out."""
    run = wf.train("FrozenLake-v1", wf.QLearning(discount=0.95), episodes=500, seed=0)
    timeline = run.timeline("row 3, column 2", horizon=30)
    lines = str(timeline).splitlines()
    listed = [line for line in lines[1:] if line[:5].strip().isdigit()]
    assert len(listed) < 30
    beyond = float(timeline.visits[len(listed) :].sum() + timeline.remainder.sum())
    assert f"  Beyond step {len(listed) - 1}: {beyond:.3f} discounted visits in total." in lines


def test_an_average_rests_on_all_its_experiences_equally():
    """With step sizes of 1/n the value is a mean of n equal weights, with its standard error."""
    world = wf.worlds.table(next_state=[[[0, 0]]], reward=[[[0.0, 1.0]]], terminated=True, probability=[[[0.3, 0.7]]])
    run = wf.train(world, wf.QLearning(step_size=wf.visit_count(), discount=1.0), episodes=400, seed=0)
    account = run.provenance(0)
    assert account.weights == pytest.approx(1 / 400)
    assert account.effective == pytest.approx(400)
    assert account.standard_error == pytest.approx(run.history.returns.std() / 20, rel=1e-6)
    assert account.luck == pytest.approx(0.0, abs=1e-12), "the mean of the rewards seen is the value itself"
    assert account.stale == 0.0
    assert account.episodes.tolist() == list(range(400))


def test_a_constant_step_rests_on_few_experiences():
    world = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=True)
    run = wf.train(world, wf.QLearning(step_size=0.1, discount=1.0), episodes=500, seed=0)
    assert run.provenance(0).effective == pytest.approx(19.0, abs=0.01), "(2 - a) / a"


def test_stale_weight_decreases_with_training(taxi):
    shares = [taxi.as_of(n).provenance(START).stale for n in (300, 20_000)]
    assert shares[0] > 0.02 > shares[1]


def test_influential_episodes_are_real_and_ranked(taxi, taxi_2k):
    assert "No single episode stands out" in str(taxi.provenance(START)), "converged"
    account = taxi_2k.provenance(START)
    most_influential = account.most_influential()
    assert abs(most_influential[0][1]) > 1e-9, "or nothing would stand out"
    assert len(most_influential) == 5
    amounts = [abs(amount) for _, amount in most_influential]
    assert amounts == sorted(amounts, reverse=True)
    assert all(0 <= episode < len(taxi_2k.history) for episode, _ in most_influential)
    assert f"episode {most_influential[0][0]:,}" in str(account)


def test_answers_are_json_and_html(taxi):
    for answer in (
        taxi.intention(START),
        taxi.contrast(START),
        taxi.outcomes(START),
        taxi.timeline(START),
        taxi.provenance(START),
    ):
        form = json.loads(json.dumps(answer.to_json()))
        assert form["sentences"] == str(answer).splitlines()
        assert form.get("residual") == answer.residual
        assert answer._repr_html_().startswith("<pre")
    parts = taxi.contrast(START).to_json()["parts"]
    assert sum(part["number"] for part in parts) == pytest.approx(taxi.contrast(START).gap, abs=1e-9)


def test_labels_are_escaped_in_a_notebook():
    labels = wf.Labels((Axis("state", 1, ("<script>alert(1)</script>",)),), ("go",), template="{state}")
    run = wf.Run(labels=labels, values=[[0.0]], ledger=wf.Ledger(n_states=1, n_actions=1))
    assert "<script>" not in run.intention(0)._repr_html_()


def test_wrong_questions_are_rejected(chain):
    with pytest.raises(ValueError, match="cannot be compared with itself"):
        chain.contrast("the start", "up", "up")
    one = wf.Run(labels=wf.Labels.plain(1, 1), values=[[0.0]], ledger=wf.Ledger(n_states=1, n_actions=1))
    with pytest.raises(ValueError, match="only one action"):
        one.contrast(0)
    with pytest.raises(ValueError, match="needs a ledger, or an environment"):
        wf.Run(labels=wf.Labels.plain(1, 2), values=[[0.0, 1.0]]).outcomes(0)
