"""Run folders changed at random, loaded and questioned in processes that may crash; and saves that meet readers and SIGKILL.

``python -m fuzz`` (``make fuzz``) and ``python -m fuzz.stress`` (``make stress``).
"""
