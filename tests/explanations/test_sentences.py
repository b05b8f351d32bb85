"""Sentences on fixed cases."""

import re

import numpy as np
import pytest

import whatfor as wf
from steps_of_a_question import needed_by
from taxi_runs import START
from whatfor.question import QUESTIONS
from whatfor.text import percent


@pytest.fixture(scope="module")
def taxi(taxi_5k):
    return taxi_5k


@pytest.fixture(scope="module")
def blackjack():
    learner = wf.QLearning(step_size=wf.visit_count(0.8), discount=1.0, exploration=0.2)
    return wf.train(wf.worlds.blackjack(), learner, episodes=300_000, seed=0)


@pytest.fixture(scope="module")
def cliff():
    learner = wf.QLearning(step_size=0.5, discount=0.99, exploration=0.2)
    return wf.train("CliffWalking-v1", learner, episodes=3_000, seed=0)


def test_the_intention_in_words(taxi):
    lines = str(taxi.intention(START)).splitlines()
    assert lines[:4] == [
        f"In '{START}', it moves south because it expects to pick up the passenger at Y in 8 steps "
        "and to deliver at R 5 steps later (+20).",
        "Its estimated return is -1.529 (discounted); that of 'west' is 1.996 lower.",
        "It has updated this value 34 times.",
        "Its expected actions: south, west, south, west × 2, south × 2, pick up, north × 4, drop off.",
    ]


def test_an_action_it_would_not_take_is_not_called_its_choice(taxi):
    text = str(taxi.intention(START, "east"))
    assert text.startswith(f"In '{START}', if it moves east, it expects to deliver at R (")
    assert "% unknown." in text.splitlines()[0]
    assert "because" not in text
    assert "that of 'south' is 2.331 higher" in text
    change = str(taxi.change(START, "east", since=4_900))
    assert change.startswith(f"In '{START}', if it moves east, it expects the same as after 4,900 episodes.")


def test_a_pick_up_without_a_passenger_is_not_called_one(taxi):
    text = str(taxi.intention(START, "pick up"))
    assert "if it picks up, no single future is likely" in text
    assert "pick up the passenger" not in text
    assert "only 7 times" in text
    contrast = str(taxi.contrast(START, "south", "pick up"))
    assert "It has learned little about how the episode ends after 'pick up'" in contrast
    assert "After 'pick up', it expects to stay where it is at first." in contrast


def test_why_not_the_other(taxi):
    lines = str(taxi.contrast(START, "south", "west")).splitlines()
    assert lines[0].startswith(f"In '{START}', it chooses 'south' over 'west' because it expects to pick up")
    assert lines[1] == "The estimated return of 'west' is 1.996 lower (discounted)."
    assert any(line.startswith("It has learned little about how the episode ends after 'west' (") for line in lines)


def test_chances_are_given_where_no_single_course_is_likely(blackjack):
    text = str(blackjack.intention("player 10, dealer 7, no usable ace"))
    chances = blackjack.outcomes("player 10, dealer 7, no usable ace").chances
    assert f"it hits; it expects to win ({percent(chances['won'])}), bust ({percent(chances['bust'])})" in text
    assert "because" not in text
    assert "Its expected actions" not in text
    assert "in 1 step" not in text


def test_a_small_gap_unsettled(blackjack):
    """With 16 against a 10, hit and stick have nearly the same value: -0.5398 and -0.5404 by the rules."""
    contrast = blackjack.contrast("player 16, dealer 10, no usable ace")
    assert contrast.unsettled
    assert "This difference is not significant" in str(contrast)
    sure = blackjack.contrast("player 20, dealer 6, no usable ace")
    assert not sure.unsettled
    assert "not significant" not in str(sure)


def test_staying_and_coming_back_are_distinguished(cliff):
    stuck = cliff.contrast("row 3, column 0", "up", "down")
    assert stuck.back_after(stuck.instead) == 1
    assert "After 'down', it expects to stay where it is at first." in str(stuck)
    bounce = cliff.contrast("row 2, column 5", "right", "left")
    assert bounce.back_after(bounce.instead) == 2
    assert bounce.back_after(bounce.chosen) is None
    assert "After 'left', it expects to be back here in 2 steps." in str(bounce)
    assert "where it is" not in str(bounce)


def test_circles_are_reported():
    """Two states that lead to each other."""
    world = wf.worlds.table(next_state=[[1], [0]], reward=[[1.0], [1.0]], terminated=False, max_steps=50)
    run = wf.train(world, wf.QLearning(step_size=0.5, discount=0.9), episodes=50, seed=0)
    text = str(run.intention(0))
    assert "it expects to come back here after 2 steps, again and again" in text
    assert "reach" not in text


def test_what_it_has_not_learned_is_called_unknown():
    ledger = wf.Ledger(n_states=3, n_actions=2)
    ledger.record(0, 0, 1.0, 1, 0, step_size=0.5, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(3, 2), values=ledger.values(), ledger=ledger)
    text = str(run.intention(0, 0))
    assert "only once; its initial value still has a weight of 50 %" in text
    assert "initial values of later state-action pairs have a discounted weight of 45 %" in text
    assert "because" not in text
    assert "'action 1', the second best by value, was never tried" in text
    assert "never tried 'action 1'" in str(run.intention(0, 1))
    assert "because" not in str(run.intention(0, 1))
    assert "has never acted" in str(run.intention(2))
    assert "how the episode ends after 'action 0' is unknown (tried 1 time)" in str(run.outcomes(0, 0))
    assert "whether 'terminated' follows 'action 0' is unknown" in str(run.chance(0, 0, event="terminated"))
    assert "too few episodes to estimate a standard error" in str(run.provenance(0, 0))


def test_a_tie_is_not_called_better():
    run = wf.train(wf.worlds.chain(), wf.QLearning(step_size=1.0, discount=1.0, exploration=1.0), episodes=100, seed=0)
    text = str(run.intention("the start", "up"))
    assert "that of 'down' is the same" in text
    assert "lower" not in text
    lines = str(run.contrast("the start", "up", "down")).splitlines()
    assert lines == [
        "In 'the start', 'up' and 'down' have the same estimated return (2).",
        "It expects different futures after them:",
        "  up: up × 2.",
        "  down: down × 2.",
        "Sum: 0, equal to the difference between the agent's Q-values up to rounding (residual 0).",
    ]


def test_a_chance_near_zero_beside_all_unknown_is_unknown(taxi):
    """It never learned how episodes end after moving against a wall."""
    comparison = str(taxi.comparison(START, "north"))
    assert "  delivered: unknown, true 100 %" in comparison.splitlines()
    assert "how the episode ends after 'north' is unknown (tried 17 times)" in str(taxi.outcomes(START, "north"))
    assert "whether 'delivered' follows 'north' is unknown" in str(taxi.chance(START, "north", event="delivered"))


def test_differences_within_the_noise_are_marked(blackjack):
    hand = "player 16, dealer 10, no usable ace"
    comparison = blackjack.comparison(hand, "hit", rollouts=20)
    noise = [line for line in str(comparison).splitlines() if line.endswith("(within sampling error)")]
    assert len(noise) == sum(not measure.differs for *_, measure in comparison.places) > 0


def test_nouns_agree_with_their_numbers():
    world = wf.worlds.table(next_state=[[0]], reward=[[1.0]], terminated=True)
    run = wf.train(world, wf.QLearning(step_size=1.0, discount=1.0), episodes=1, seed=0)
    simulation = str(run.simulation(0, rollouts=2))
    assert "gives a return of 1 (undiscounted, identical in all rollouts), in 1 step on average." in simulation
    assert "rests, directly or through bootstrapping, on episode 0 (effective number of episodes: 1)." in str(
        run.provenance(0)
    )


def test_how_it_changed(taxi):
    """Another action is reported; for the same action, whether the reasons are the same."""
    early = taxi.change(START, since=300)
    assert early.after.action != early.before.action
    assert "the best action is 'south' now and was 'east' after 300 episodes." in str(early)
    assert "expecting" not in str(early)
    late = taxi.change(START, since=4_900)
    assert late.after.action == late.before.action
    assert late.in_common > 0.99
    assert "the best action is 'south' now, as it was after 4,900 episodes; the expected future is the same." in str(
        late
    )
    assert "expects more visits" not in str(late)
    assert taxi.change(START, since=10).sentences()[0].endswith("there is nothing to compare.")


def test_the_same_action_for_other_reasons():
    """Two runs take the same first action and expect different ends of it."""
    labels = wf.Labels.plain(2, 2)
    runs = []
    for later in (0, 1):
        ledger = wf.Ledger(n_states=2, n_actions=2)
        ledger.record(1, later, 5.0, None, step_size=1.0, discount=0.9)
        ledger.record(0, 0, 0.0, 1, later, step_size=1.0, discount=0.9)
        runs.append(wf.Run(labels=labels, values=ledger.values(), ledger=ledger))
    change = runs[1].change(0, since=runs[0])
    assert change.after.action == change.before.action
    assert change.different
    assert change.in_common == pytest.approx(1 / 1.9)
    assert "the best action is 'action 0' here and in the other run; the expected future is partly different." in str(
        change
    )
    assert "before" not in str(change)
    assert change.gap == 0.0
    assert change.residual == 0.0
    with pytest.raises(ValueError, match="not of the same environment"):
        runs[0].change(0, since=wf.Run(labels=wf.Labels.plain(2, 3), values=np.zeros((2, 3))))


def test_a_future_that_is_not_quite_the_same_is_called_nearly_the_same():
    """99 and 96 % of the weight is on the same end, which is below what is called different."""
    labels, runs = wf.Labels.plain(1, 1), []
    for step_size in (0.01, 0.04):
        ledger = wf.Ledger(n_states=1, n_actions=1)
        for size, reward in ((1.0, 1.0), (step_size, 3.0)):
            ledger.record(0, 0, reward, None, step_size=size, discount=0.9)
        runs.append(wf.Run(labels=labels, values=ledger.values(), ledger=ledger))
    assert "the expected future is nearly the same" in str(runs[1].change(0, since=runs[0]))
    assert "the expected future is the same" in str(runs[0].change(0, since=runs[0]))


def test_where_only_the_end_is_unknown_it_has_not_learned_too_little():
    """The value rests on its own updates; what follows was never tried."""
    ledger = wf.Ledger(n_states=2, n_actions=1)
    for reward in (1.0, 2.0):
        ledger.record(0, 0, reward, 1, 0, step_size=1.0, discount=0.9)
        ledger.new_episode()
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    text = str(run.change(0, since=1))
    assert "as it was after 1 episode; how the episode ends is mostly unknown." in text


def test_what_follows_both_actions_is_no_reason_for_one():
    """Both lead to the goal in one step; only their values differ, since one has been updated less."""
    ledger = wf.Ledger(n_states=1, n_actions=2)
    for _ in range(9):
        ledger.record(0, 0, 1.0, None, step_size=0.5, discount=0.9)
    for _ in range(8):
        ledger.record(0, 1, 1.0, None, step_size=0.5, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(1, 2), values=ledger.values(), ledger=ledger)
    first = str(run.contrast(0)).splitlines()[0]
    assert "because" not in first
    assert "; after both, it expects to end the episode at once" in first


def test_replayed_episodes_are_what_happened(taxi):
    """The most influential episodes can be replayed step by step."""
    episode = taxi.provenance(START).most_influential()[0][0]
    updates = taxi.ledger.episode(episode)
    assert [update.step for update in updates] == list(range(taxi.history.lengths[episode]))
    assert sum(update.reward for update in updates) == taxi.history.returns[episode]
    with pytest.raises(ValueError, match="episodes are 0 to 4,999"):
        taxi.ledger.episode(5_000)


def test_of_two_actions_that_it_would_not_take_neither_is_called_its_choice(taxi):
    """It moves south; 'east' is better than 'north', but it does not move east."""
    first = taxi.contrast(START, "north", "east").sentences()[0]
    assert "it would take 'south'; of these two, 'east' is better than 'north'" in first
    assert "moves" not in first
    assert "it would take 'south'" in str(taxi.contrast(START, "east", "drop off")), "neither is its choice"
    assert "it chooses 'south' over 'east'" in taxi.contrast(START, "south", "east").sentences()[0]


#: A percentage as whatfor.text.percent writes it.
PERCENTAGE = re.compile(r"(?<![\d.,])(0|[1-9]\d*|\d\.[1-9]|< 0\.1|> 99) %")


def odd_numbers(line):
    """The percentages of a line in another form, and in a sentence the values of more than four significant digits."""
    odd = re.findall(r"\S*\s?%", PERCENTAGE.sub("", line))
    values = re.findall(r"\d+\.\d+", "" if line.startswith(" ") else line)  # a table has its own widths
    return odd + [value for value in values if len(value.replace(".", "").lstrip("0")) > 4]


def test_a_number_in_another_form_is_noticed():
    assert odd_numbers("won (59.9%), lost (59.9 %), drawn (60%), 3.0 %, -1.52945") == [
        "(59.9%", "(59.9 %", "(60%", "3.0 %", "1.52945",
    ]  # fmt: skip
    assert odd_numbers("won (60 %), lost (3.1 %), < 0.1 % or > 99 %, 100 %: -1.529, 0.0001235 and 1,234") == []


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_writes_numbers_in_one_form(name, taxi_2k, blackjack):
    """The forms of whatfor.text: percent, and in sentences at most the four digits of amount."""
    for run, state in ((taxi_2k, START), (blackjack, "player 18, dealer 9, usable ace")):
        for action in range(2):
            lines = str(run.ask(name, state, action, **needed_by(QUESTIONS[name], run))).splitlines()
            assert {line: odd for line in lines if (odd := odd_numbers(line))} == {}, "write shares with percent(), values with amount()"  # fmt: skip


def test_an_evaluation_says_how_many_episodes_were_still_going():
    """CliffWalking has no time limit: its episodes are cut after 10,000 steps, and their return is that of these."""
    run = wf.train("CliffWalking-v1", wf.Sarsa(step_size=0.3, discount=0.95, exploration=0.1), episodes=30, seed=5)
    assert str(run.evaluate(20)).endswith(
        "-10,000 (identical in all episodes) over 20 episodes; still going after 10,000 steps: 20"
    )
    good = wf.train("CliffWalking-v1", wf.QLearning(), episodes=300, seed=5)
    assert str(good.evaluate(20)) == "mean undiscounted return -13 (identical in all episodes) over 20 episodes"


def test_what_comes_back_once_is_not_said_to_stay():
    """A state that is left with probability 0.1 a step: the likeliest next state is itself, and it does not stay there."""
    ledger = wf.Ledger(2, 1)
    for _ in range(80):
        for to in (0, 0, 0, 0, 0, 0, 0, 0, 0, 1):
            ledger.record(0, 0, -1.0, to, 0, step_size=0.02, discount=0.9)
    run = wf.Run(labels=wf.Labels.plain(2, 1), values=ledger.values(), ledger=ledger)
    assert "it expects to stay here at first." in str(run.intention(0))


def test_reward_noise_beyond_the_standard_error_is_explained():
    """The latest rewards are all equal, and unlike those before."""
    ledger = wf.Ledger(1, 1)
    for i in range(120):
        ledger.record(0, 0, 0.0 if i < 20 else 10.0, None, step_size=0.2, discount=1.0)
    run = wf.Run(labels=wf.Labels.plain(1, 1), values=ledger.values(), ledger=ledger)
    assert ", more than the standard error." in str(run.provenance(0))
