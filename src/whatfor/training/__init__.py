"""The training loop in Python and compiled, sessions, progress and interrupts."""
