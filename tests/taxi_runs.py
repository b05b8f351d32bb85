"""The Taxi agent and the state that most tests use. ``conftest.py`` trains it once per session."""

import whatfor as wf

LEARNER = wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250))
START = "taxi at row 0, column 3; passenger at Y; destination R"


def train_taxi(episodes, **settings):
    return wf.train("Taxi-v4", LEARNER, **{"episodes": episodes, "seed": 0, **settings})
