"""Every change a learner made to its values: written, read, cut and continued."""

from whatfor.ledger.ledger import Ledger
from whatfor.ledger.reader import Update

__all__ = ["Ledger", "Update"]
