"""What Ctrl-C and SIGTERM do for a while."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def handling_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a function on Ctrl-C and SIGTERM, and put back what they did before; only the main thread may do that.

    >>> with handling_signals(lambda *_: print("asked to end")):
    ...     signal.raise_signal(signal.SIGTERM)
    asked to end
    """
    before = {number: signal.signal(number, handler) for number in ENDING}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
