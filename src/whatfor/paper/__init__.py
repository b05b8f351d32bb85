"""The paper's tabular figures, made again from training to picture: ``whatfor paper``."""

from whatfor.paper.figures import FIGURES, reproduce

__all__ = ["FIGURES", "reproduce"]
