"""Tabular learners, one module for each method."""

from whatfor.learners.double_q import DoubleQLearning
from whatfor.learners.lambda_returns import LambdaReturns
from whatfor.learners.monte_carlo import MonteCarlo
from whatfor.learners.protocol import Agent, Learner, Transition
from whatfor.learners.q_learning import QLearning
from whatfor.learners.replay import Replay
from whatfor.learners.sarsa import Sarsa
from whatfor.learners.schedules import exponential, linear, visit_count

__all__ = [
    "Agent",
    "DoubleQLearning",
    "LambdaReturns",
    "Learner",
    "MonteCarlo",
    "QLearning",
    "Replay",
    "Sarsa",
    "Transition",
    "exponential",
    "linear",
    "visit_count",
]
