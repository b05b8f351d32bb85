"""Answers, one file a question."""

from whatfor.explanations.intention import Intention

__all__ = ["Intention"]
