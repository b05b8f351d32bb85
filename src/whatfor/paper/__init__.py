"""The paper's figures, reproduced from training to picture: ``whatfor paper`` and ``whatfor paper --deep``."""

from whatfor.paper.deep import DEEP_FIGURES
from whatfor.paper.deep_agents import DeepAgents
from whatfor.paper.figures import FIGURES, reproduce

__all__ = ["DEEP_FIGURES", "FIGURES", "DeepAgents", "reproduce"]
