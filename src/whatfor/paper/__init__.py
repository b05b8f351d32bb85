"""The paper's figures, reproduced from training to picture: ``whatfor paper`` and ``whatfor paper --deep``."""

from whatfor.paper.deep import DEEP_CLAIMS, DEEP_FIGURES
from whatfor.paper.deep_agents import DeepAgents
from whatfor.paper.evidence import counts_text
from whatfor.paper.figures import CLAIMS, FIGURES, reproduce

__all__ = ["CLAIMS", "DEEP_CLAIMS", "DEEP_FIGURES", "FIGURES", "DeepAgents", "counts_text", "reproduce"]
