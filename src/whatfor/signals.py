"""Temporary handlers for Ctrl-C and SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import ParamSpec

P = ParamSpec("P")


def interruptible(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command so that Ctrl-C raises ``KeyboardInterrupt`` again after ``__main__`` has turned that off."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command(*args, **kwargs)

    return wrapper


@contextmanager
def handling_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a function on Ctrl-C and SIGTERM, and restore the previous handlers; for the main thread only.

    >>> with handling_signals(lambda *_: print("stopping")):
    ...     signal.raise_signal(signal.SIGTERM)
    stopping
    """
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def exit_once() -> Callable[..., None]:
    """A function that exits the process and prints a message once, even if signals call it again meanwhile."""
    begun: list[bool] = []

    def end(*_: object) -> None:
        if not begun:  # a signal before the next line ends the process there; one after it does nothing
            begun.append(True)
            try:
                os.write(sys.stdout.fileno(), b"ended\n")  # print() may be what was interrupted
            finally:  # even if the output is closed
                os._exit(0)

    return end
