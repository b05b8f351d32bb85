"""Names for states, actions and endings, given by the author of an environment."""

from whatfor.naming.names import Names

__all__ = ["Names"]
