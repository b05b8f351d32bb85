"""A future that goes on without end is called so by every question, and time limits are told apart from ends."""

import re
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import whatfor as wf
from circles import CIRCLE
from whatfor.axes import Axis, Ending
from whatfor.beliefs.exact import ExactBeliefs
from whatfor.beliefs.loop import Loop, LoopRecord
from whatfor.explanations.phrases import without_end

IN_A_LOOP = "the episode stays in a loop"
CYCLES = "its greedy policy stays in a loop"
GOES_ON = "No recorded episode terminated: "
WITHOUT_END = "never ends the episode"
QUESTIONS = [
    ("intention", {}),
    ("contrast", {}),
    ("outcomes", {}),
    ("timeline", {}),
    ("parts", {}),
    ("provenance", {}),
    ("chance", {"event": "state 2"}),
    ("change", {"since": 100}),
    ("simulation", {}),
    ("comparison", {}),
]


@pytest.fixture(scope="module")
def circling():
    return wf.train(CIRCLE, wf.QLearning(step_size=0.3, discount=0.9, exploration=0.2), episodes=300, seed=0)


@pytest.mark.parametrize(("question", "more"), QUESTIONS)
def test_every_question_says_that_it_goes_on(circling, question, more):
    text = str(getattr(circling, question)(0, **more))
    assert (WITHOUT_END if question == "simulation" else IN_A_LOOP) in text
    assert question == "simulation" or re.search(r"with no way out in [\d,]+ recorded steps", text), (
        "what is known about it"
    )
    assert "unknown" not in text
    assert "initial value" not in text


@pytest.mark.parametrize(
    "learner",
    [
        wf.Sarsa(step_size=0.3, discount=0.9, exploration=0.2),
        wf.MonteCarlo(step_size=0.3, discount=0.9, exploration=0.2),
        wf.LambdaReturns(step_size=0.3, discount=0.9, exploration=0.2, lambda_=0.7),
    ],
    ids=str,
)
@pytest.mark.parametrize("questions", [QUESTIONS[:5], QUESTIONS[5:]])
def test_a_loop_that_only_exploration_leaves_is_called_so(learner, questions):
    """What it learned includes its exploration, which ends the episode; its best actions go round."""
    run = wf.train(CIRCLE, learner, episodes=300, seed=0)
    assert "no recorded end" not in run.outcomes(0).chances, "as learned"
    for question, more in questions:
        text = str(run.ask(question, 0, **more))
        assert (WITHOUT_END if question == "simulation" else CYCLES) in text, question


def test_a_loop_is_known_where_its_ways_out_are_not():
    """After few episodes the pairs that exploration leads to are unknown; the loop of its best actions is known."""
    run = wf.train(CIRCLE, wf.Sarsa(step_size=0.1, discount=0.9, exploration=0.02), episodes=8, seed=0)
    why = run.outcomes(0, 0)
    assert why.unknown > 0.9
    assert why.loop.exploiting == pytest.approx(1.0)
    for question in ("outcomes", "intention", "provenance"):
        assert "In its recorded transitions, its greedy policy stays in a loop, with no" in str(run.ask(question, 0, 0))


@pytest.mark.parametrize("learner", [wf.MonteCarlo(step_size=wf.visit_count()), wf.Sarsa(step_size=0.9, discount=0.95)])
def test_few_steps_on_slippery_ice_do_not_settle_a_loop(learner):
    """Tied actions share the probability, and a pair that was tried a few times may lead elsewhere the next time."""
    for seed in range(10):
        run = wf.train("FrozenLake-v1", learner, episodes=10, seed=seed)
        assert CYCLES not in str(run.outcomes(0)), seed


def test_a_loop_is_not_claimed_where_a_tied_action_leads_out():
    ledger = wf.Ledger(n_states=3, n_actions=2)
    for _ in range(40):
        ledger.record(0, 0, 0.0, 1, 1, step_size=0.5, discount=0.9)
        ledger.record(1, 1, 0.0, None, step_size=0.5, discount=0.9)
        ledger.record(0, 1, 0.0, 1, 0, step_size=0.5, discount=0.9)
        ledger.record(1, 0, 1.0, 0, 0, step_size=0.5, discount=0.9)
    values = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert wf.Audit(ledger, values=values).loop(0, 0).exploiting == 0.0
    values[1, 0] = 1e-9  # it prefers to go back: no tie
    assert wf.Audit(ledger, values=values).loop(0, 0).exploiting == pytest.approx(1.0)


@pytest.mark.parametrize("learner", [wf.Sarsa, wf.MonteCarlo, wf.LambdaReturns])
def test_what_is_said_to_go_round_does(learner):
    """Against the exact future of the best actions, at several stages of training."""
    said = 0
    for world in ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"):
        run = wf.train(world, learner(step_size=0.2, discount=0.95, exploration=0.2), episodes=200, seed=0)
        known = run.playing.place().world
        for episodes in (20, 60, 200):
            then = run.as_of(episodes)
            exact = wf.ExactBeliefs(known, then.policy, discount=0.95)
            for state in np.unique(then.ledger.lines.cell // then.ledger.n_actions)[::7].tolist():
                action = int(then.values[state].argmax())
                if then.audit.loop(state, action).exploiting >= 0.8:
                    said += 1
                    assert exact.outcomes(state, action).get("never ends", 0.0) > 0.5
    assert said or learner is not wf.Sarsa


def test_so_do_other_sources(circling):
    exact = circling.believing(wf.ExactBeliefs(CIRCLE, circling.policy, discount=0.9))
    assert "leads it to go on without end (100 %)" in str(exact.intention(0))
    assert "100 %  never ends" in str(exact.outcomes(0))
    simulated = circling.believing(wf.SimulatedBeliefs(CIRCLE, circling.policy, discount=0.9, beyond_limit=True))
    assert simulated.beliefs.row(simulated.situation(0), 0).endings == {"never ends": 1.0}
    assert "100 %  never ends" in str(simulated.outcomes(0))


@pytest.mark.parametrize(("question", "more"), [("timeline", {}), ("parts", {}), ("chance", {"event": "state 2"}), ("comparison", {})])  # fmt: skip
def test_a_known_table_never_ends_and_says_so_once(circling, question, more):
    """What is known of the table is not said of the record, nor once for the belief and once for play."""
    exact = circling.believing(wf.ExactBeliefs(CIRCLE, circling.policy, discount=0.9))
    answer = exact.ask(question, 0, **more)
    text = str(answer)
    assert (
        text.count("By the transition probabilities of this environment, playing its policy never ends the episode.")
        == 1
    )
    assert IN_A_LOOP not in text
    assert "no recorded end" not in text
    if question == "chance":
        assert answer.otherwise == {"never ends": pytest.approx(1.0)}


def test_an_early_agent_that_knows_no_end_is_not_said_to_go_on_for_ever():
    run = wf.train("Taxi-v4", wf.QLearning(step_size=0.4, discount=0.9, exploration=0.1), episodes=5, seed=0)
    state = int(run.ledger.lines.cell[-1]) // 6
    text = str(run.outcomes(state))
    assert "is unknown" in text
    assert IN_A_LOOP not in text
    assert "0 %" not in text


def test_play_beyond_a_time_limit_is_told_apart(circling):
    simulation = circling.simulation(0, rollouts=20)
    assert (simulation.limit, simulation.max_steps) == (50, 132)
    assert simulation.within == {"timed out": 20}, "how an episode ends"
    assert simulation.chances == {}, "the agent looks beyond the limit, and no rollout ended there"
    assert (simulation.still_going, simulation.never) == (1.0, 1.0)
    assert simulation.undiscounted == pytest.approx(-0.1 * 50)
    assert simulation.value == pytest.approx(-1.0, abs=1e-5)
    text = str(simulation)
    assert "a return of -1 (discounted, identical in all rollouts), over the 132 steps that were played." in text
    assert "Within the time limit of 50 steps, the return is -5 undiscounted, in 50 steps on average." in text
    assert "100 %  still going after 132 steps" in text
    assert (len(circling.episode(0)), circling.episode(0).ending) == (50, "timed out")


def test_a_time_limit_that_ends_episodes_is_an_end():
    learner = wf.QLearning(step_size=0.3, discount=0.9, exploration=0.2)
    run = wf.train(CIRCLE, learner, episodes=300, seed=0, time_limit="terminal")
    simulation = run.simulation(0, rollouts=20)
    assert simulation.chances == {"timed out": 1.0}
    assert simulation.beyond == 0.0, "nothing lies beyond an end"
    assert "beyond" not in str(simulation)


def test_an_environment_stepped_in_python_is_played_beyond_its_limit_too():
    """It says that it is truncated at 200 steps; the values are those of a task that goes on."""
    learner = wf.QLearning(step_size=0.1, discount=0.95, exploration=0.1)
    run = wf.train("MountainCar-v0", learner, episodes=3, seed=1, bins=(8, 8), max_steps=60)
    state = run.labels.index(np.array([-0.5, 0.0]))
    simulation = run.simulation(state, rollouts=3)
    assert simulation.limit == 60
    assert simulation.max_steps == 135
    assert simulation.value == pytest.approx(-20.0, abs=0.05), "-1 / (1 - 0.95): it never ends"
    assert simulation.undiscounted == -60.0
    assert "by the transitions" not in str(simulation), "it was played, not solved"


def test_returns_without_a_discount_are_called_so():
    run = wf.train(CIRCLE, wf.QLearning(step_size=0.3, discount=1.0), episodes=5, seed=0)
    assert "(undiscounted, " in str(run.simulation(0, rollouts=5))
    assert "discounted" not in str(run.parts(0))


def test_returns_with_a_discount_are_called_so(circling):
    for text in (str(circling.parts(0)), str(circling.intention(0)), str(circling.simulation(0, rollouts=5))):
        assert "(discounted" in text
    assert "undiscounted" in str(circling.evaluate(2))


def renamed(run, *endings):
    labels = replace(run.labels, endings=endings)
    return wf.Run(labels=labels, values=run.tables, ledger=run.ledger, settings=run.settings, origin=run.origin)


@pytest.fixture(scope="module")
def lake():
    return wf.train("FrozenLake-v1", wf.QLearning(discount=0.95, exploration=0.3), episodes=1_000, seed=1)


def test_endings_that_are_renamed_after_training_are_derived_again(lake):
    before = lake.outcomes(0).chances
    run = renamed(lake, Ending("won", reward=1.0), Ending("drowned", reward=0.0))
    assert run.outcomes(0).chances == {"drowned": before["fell into a hole"], "won": before["reached the goal"]}
    assert run.chance(0, event="drowned").probability == before["fell into a hole"]
    assert set(run.intention(0).chances) == {"won", "drowned"}
    assert set(run.simulation(0, rollouts=50).within) <= {"won", "drowned", "timed out"}
    assert "drowned: estimated" in str(run.comparison(0, rollouts=50))
    assert lake.outcomes(0).chances == before, "the run itself keeps its names"


@pytest.mark.parametrize(
    ("learner", "replay"),
    [
        (wf.QLearning(discount=0.95), None),
        (wf.MonteCarlo(discount=0.95), None),
        (wf.QLearning(discount=0.95), wf.Replay(capacity=200, batch=2)),
    ],
    ids=["forwards", "backwards", "replayed"],
)
def test_endings_by_final_state_are_derived_for_every_order_of_updates(learner, replay):
    run = wf.train("FrozenLake-v1", learner, episodes=300, seed=1, replay=replay)
    named = renamed(run, *(Ending(f"hole {state}", state=state) for state in (5, 7, 11, 12)))
    chances = named.outcomes(0).chances
    assert sum(chances.get(f"hole {state}", 0.0) for state in (5, 7, 11, 12)) == pytest.approx(
        run.outcomes(0).chances["fell into a hole"], abs=1e-12
    )
    assert len([name for name in chances if name.startswith("hole")]) > 1


def test_an_ending_that_cannot_be_derived_is_refused(lake):
    run = renamed(lake, Ending("won", action=-1))
    with pytest.raises(ValueError, match=r"'won' is not recorded as an ending; recorded are .*'reached the goal'"):
        run.chance(0, event="won")
    assert "reached the goal" in run.outcomes(0).chances


def test_recorded_names_stay_where_labels_only_describe_them():
    ledger = wf.Ledger(1, 2)
    for action, name in ((0, "won"), (1, "lost")):
        ledger.record(0, action, 0.0, None, step_size=1.0, discount=0.9, ending=name)
    labels = wf.Labels((Axis("state", 1),), ("a", "b"), endings=(Ending("won", phrase="win"), Ending("lost", bad=True)))
    run = wf.Run(labels=labels, values=ledger.values(), ledger=ledger)
    assert run.outcomes(0, 1).chances == {"lost": 1.0}


PAYING = {"next_state": [[1, 1], [0, 1]], "reward": [[0.3, 0.3], [0.3, 0.5]], "start": [0.5, 0.5]}


@pytest.fixture(scope="module")
def cut():
    """A loop that pays, without a discount: training bootstraps through its time limit of 30 steps."""
    loop = wf.worlds.table(**PAYING, terminated=[[False, False], [False, True]])
    learner = wf.QLearning(step_size=0.1, discount=1.0, exploration=0.05)
    with pytest.warns(UserWarning, match="bootstrapped without a discount"):
        return wf.train(loop, learner, episodes=400, seed=0, max_steps=30)


def test_rollouts_that_a_limit_cuts_are_still_going(cut):
    simulation = cut.simulation(0)
    text = str(simulation)
    assert (simulation.never, simulation.still_going, simulation.chances) == (1.0, 1.0, {})
    assert "still going at the time limit" in text
    assert "timed out" not in text
    assert "by the discount" not in text
    assert "bootstrap through the time limit of 30 steps; undiscounted rollouts stop there." in text
    assert "over the 30 steps that were played." in text
    assert "How the episodes ended" not in text, "none did"
    assert "Where the episodes stood when play stopped:" in text


def test_a_mean_over_rollouts_that_were_cut_is_not_called_the_length_of_episodes():
    """Every step ends with a chance of 0.2 %: of rollouts of 132 steps, most are still going."""
    leaves = {
        "next_state": [[[0, 0]]],
        "reward": 1.0,
        "terminated": [[[False, True]]],
        "probability": [[[0.998, 0.002]]],
    }
    run = wf.train(wf.worlds.table(**leaves), wf.QLearning(discount=0.9), episodes=20, seed=0, max_steps=50)
    simulation = run.simulation(0)
    assert 0.5 < simulation.still_going < 1.0
    assert f", over {simulation.length:.1f} steps on average, of at most 132." in str(simulation)
    assert "steps on average." not in str(simulation).splitlines()[0]


def test_rollouts_that_a_limit_cuts_test_no_unlimited_belief(cut):
    comparison = cut.comparison(0)
    text = str(comparison)
    assert (comparison.verdict, comparison.causes) == ("unjudged", ())
    assert "rollouts stop at the limit of 30 steps, and its values look beyond it" in text
    assert "too low" not in text
    assert cut.comparison(1, 1).verdict != "unjudged", "this action ends at once, before the limit"


def test_a_loop_in_an_unknown_world_that_a_limit_cuts_is_not_said_to_end():
    env = gym.wrappers.TimeLimit(Pacing(), 8)
    learner = wf.QLearning(step_size=0.3, discount=1.0, exploration=0.1)
    with pytest.warns(UserWarning, match="bootstrapped without a discount"):
        run = wf.train(env, learner, episodes=100, seed=0)
    simulation, comparison = run.simulation(0, rollouts=5), run.comparison(0, rollouts=5)
    assert (simulation.never, simulation.still_going) == (None, 1.0)
    assert comparison.verdict == "unjudged"
    assert "too low" not in str(comparison)
    assert "100 % of the rollouts were still going when play stopped, after 8 steps." in str(comparison)
    assert "do not end" not in str(comparison), "a limit of 8 steps does not show that"


class Pacing(gym.Env):
    """Two states that take turns, and a reward of 1 for each step."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return self.state, {}

    def step(self, action):
        self.state = 1 - self.state
        return self.state, 1.0, False, False, {}


def random_table(seed, ends=0.02, pairs=0.15):
    """Five states; every step has two outcomes, and a share of the pairs ends rarely."""
    random = np.random.default_rng(seed)
    nexts, reward = random.integers(5, size=(5, 2, 3)), random.normal(size=(5, 2, 3))
    chances = random.dirichlet(np.ones(2), size=(5, 2)) * (1.0 - ends)
    probability = np.concatenate([chances, np.full((5, 2, 1), ends)], axis=2)
    ended = np.zeros((5, 2, 3), bool)
    ended[:, :, 2] = random.random((5, 2)) < pairs
    return wf.worlds.table(
        next_state=nexts, reward=reward, terminated=ended, probability=probability, start=np.full(5, 0.2)
    )


@pytest.mark.parametrize("learner", [wf.QLearning, wf.DoubleQLearning, wf.Sarsa])
def test_policies_are_said_to_go_round_where_they_do_and_nowhere_else(learner):
    """Learners that do not bootstrap from exploration as well; exits that are rare and recorded are exits."""
    said, true = [], []
    for seed in range(6):
        run = wf.train(random_table(seed), learner(step_size=0.1, discount=0.9, exploration=0.2), episodes=150, seed=seed, max_steps=60)  # fmt: skip
        text = str(run.outcomes(0))
        said.append(any(words in text for words in (IN_A_LOOP, CYCLES, GOES_ON)))
        true.append(ExactBeliefs(random_table(seed), run.policy, discount=0.9).outcomes(0, run.best(0)).get("never ends", 0.0) >= 0.5)  # fmt: skip
    assert said == true
    assert {*said} == {False, True}


def test_what_ends_by_exploration_alone_is_said_to():
    run = wf.train(CIRCLE, wf.Sarsa(step_size=0.3, discount=0.9, exploration=0.2), episodes=300, seed=0)
    for question, more in (("intention", {}), ("outcomes", {}), ("contrast", {}), ("change", {"since": 20})):
        assert "ith the exploration it learned from, it expects" in str(run.ask(question, 0, **more)), question


def test_from_a_half_on_every_question_says_that_it_goes_on():
    from whatfor.explanations.phrases import without_end

    assert without_end(Loop(0.62)) == ["By what it has learned, the episode stays in a loop (probability 62 %)."]
    assert without_end(Loop(0.0, 0.62)) == [
        "In its recorded transitions, its greedy policy stays in a loop (probability 62 %)."
    ]
    assert without_end(Loop(0.49, 0.49)) == []


@pytest.mark.parametrize(
    "learner",
    [
        wf.QLearning(step_size=0.1, discount=0.9, exploration=0.2),
        wf.QLearning(step_size=wf.visit_count(), discount=0.95, exploration=0.2),
        wf.Sarsa(step_size=0.1, discount=0.9, exploration=0.2),
        wf.MonteCarlo(step_size=0.1, discount=0.9, exploration=0.2),
        wf.LambdaReturns(step_size=0.1, discount=0.9, exploration=0.2, lambda_=0.7),
    ],
    ids=str,
)
def test_what_is_said_about_a_loop_holds_where_ways_out_are_rare(learner):
    """A way out with a chance of 0.1 % a step is easily overlooked: the stated bound covers it, and no true loop is unsaid."""
    said, beyond, missed = 0, 0, 0
    for seed in range(12):
        for episodes in (40, 400):
            world = random_table(seed, 0.001, pairs=0.15 if seed % 2 else 1.0)
            run = wf.train(world, learner, episodes=episodes, seed=seed, max_steps=60)
            best, exact = run.best(0), ExactBeliefs(world, run.policy, discount=0.9999)
            loop = run.outcomes(0).loop
            said += loop.stated
            missed += exact.outcomes(0, best).get("never ends", 0.0) >= 0.5 and not loop.stated
            a_step = 1.0 / exact.visits(0, best).sum() - 0.0001  # the chance of an end in each step
            beyond += loop.record is not None and a_step > loop.record.bound
    assert said >= 2
    assert (beyond, missed) == (0, 0)


class Stock(gym.Env):
    """A stock that is sold from and refilled for ever: no episode terminates, and a time limit cuts them."""

    observation_space, action_space = gym.spaces.Discrete(6), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.stock = 3
        return self.stock, {}

    def step(self, action):
        sold = min(self.stock, int(self.np_random.integers(3)))
        self.stock = min(5, self.stock - sold + 2 * action)
        return self.stock, sold - 0.5 * action, False, False, {}


@pytest.mark.parametrize("learner", [wf.QLearning, wf.Sarsa])
def test_a_task_that_goes_on_is_not_called_a_loop(learner):
    run = wf.train(Stock(), learner(discount=0.9, exploration=0.2), episodes=100, seed=0, max_steps=50)
    for question, parameters in (("intention", {}), ("contrast", {}), ("outcomes", {}), ("parts", {})):
        text = str(run.ask(question, 3, **parameters))
        assert GOES_ON in text, question
        assert "loop" not in text
        assert "learned little about how" not in text


def test_a_bound_is_stated_once():
    """It said "less than < 0.1 %"."""
    text = without_end(Loop(1.0, 1.0, LoopRecord(60_000, 0.0002, 0)))[0]
    assert text.endswith("in 60,000 recorded steps (95 % confidence: less than 0.1 % a step).")


def test_rollouts_that_have_more_time_left_than_episodes_say_so():
    """With the time limit as an end, values are of the steps left; a state that is entered has all of them ahead."""
    walk = wf.testing.random_world(82, states=12, actions=4, noisy=True)
    learner = wf.QLearning(step_size=0.2, discount=0.9, exploration=0.2)
    for time_limit in ("terminal", "bootstrap"):
        run = wf.train(walk, learner, episodes=100, seed=0, max_steps=20, time_limit=time_limit)
        for answer in (run.simulation(1), run.comparison(1, rollouts=100)):
            said = "Each rollout has the whole time limit of 20 steps ahead" in str(answer)
            assert said == (time_limit == "terminal")
        assert run.simulation(1).numbers()["arrived"] is False
    assert "the whole time limit" not in str(wf.train(wf.worlds.blackjack(), episodes=50, seed=0).simulation(100))
