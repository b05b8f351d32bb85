"""Fuzzing: load randomly changed run folders in processes that may crash; save during loads and under SIGKILL.

``python -m fuzz`` (``make fuzz``) and ``python -m fuzz.stress`` (``make stress``).
"""
