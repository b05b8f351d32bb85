"""Watch: progress bar, listeners and Ctrl-C during training."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import FrameType, TracebackType
from typing import Any

#: Seconds of training before a progress bar appears by default.
SECONDS_BEFORE_BAR = 1.0


class Interrupted(Exception):
    """Ctrl-C, raised between two steps."""


class Watch:
    """Shows progress, notifies listeners, and raises ``Interrupted`` between two steps after Ctrl-C; ``what``: it is, and what is counted.

    A second Ctrl-C raises ``KeyboardInterrupt`` at once.
    """

    def __init__(
        self,
        total: int,
        done: Callable[[], int],
        notify: Sequence[Callable[[], None]] = (),
        progress: bool | None = None,
        what: tuple[str, str] = ("training", "episodes"),
    ) -> None:
        self.what, self.unit = what
        self.total = total
        self.done = done
        self.notify = notify
        self.progress = progress
        self._pressed = False
        self._bar: Any = None
        self._next_update = 0.0
        self._old_handler: Any = None

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._old_handler = signal.signal(signal.SIGINT, self._press)
        self._next_update = time.monotonic() + (0.0 if self.progress else SECONDS_BEFORE_BAR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._old_handler is not None:
            signal.signal(signal.SIGINT, self._old_handler)
        if self._bar is not None:
            self._bar.stop()

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True

    def __call__(self) -> None:
        """Notify listeners, raise ``Interrupted`` after Ctrl-C, and update the progress bar; called between two steps."""
        for call in self.notify:
            call()
        if self._pressed:
            raise Interrupted
        if self.progress is not False and time.monotonic() > self._next_update:
            self._show()

    def _show(self) -> None:
        self._next_update = time.monotonic() + 0.1
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn(self.what),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn(self.unit),
                TimeRemainingColumn(),
            )
            console = Console(stderr=True)
            if console.is_jupyter:
                shows_bars = find_spec("ipywidgets") is not None  # else rich warns at every update
            else:
                shows_bars = console.is_terminal or self.progress is True
            if not shows_bars:
                self.progress = False
                return
            self._bar = Progress(*columns, console=console, transient=True)
            self._bar.add_task(self.what, total=self.total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self.done())
