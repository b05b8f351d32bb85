"""The recursion forwards and backwards, on plain arrays."""
