"""What Ctrl-C and SIGTERM do for a while."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import ParamSpec

P = ParamSpec("P")


def interruptible(command: Callable[P, None]) -> Callable[P, None]:
    """A command that Ctrl-C interrupts with an exception, where it would end the process until now."""

    @wraps(command)
    def begun(*args: P.args, **kwargs: P.kwargs) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command(*args, **kwargs)

    return begun


@contextmanager
def handling_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a function on Ctrl-C and SIGTERM, and put back what they did before; only the main thread may do that.

    >>> with handling_signals(lambda *_: print("asked to end")):
    ...     signal.raise_signal(signal.SIGTERM)
    asked to end
    """
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
