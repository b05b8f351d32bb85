"""The update recursion, forwards and backwards, on plain arrays; compiled with Numba."""
