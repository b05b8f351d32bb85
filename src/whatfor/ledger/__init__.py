"""The ledger: the record of every update that a learner makes."""

from whatfor.ledger.ledger import Ledger
from whatfor.ledger.reader import Update

__all__ = ["Ledger", "Update"]
