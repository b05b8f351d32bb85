"""Workers compute answers in another process, so that an answer that takes too long can be stopped."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import struct
import sys
import threading
import traceback
import warnings
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Protocol

from whatfor.explorer.child import FAILED, HEADER, REFUSED, answer_requests
from whatfor.explorer.desk import Desk

#: Whether processes can be forked here.
FORKS = hasattr(os, "fork")
_log = logging.getLogger("whatfor")


class Unanswered(Exception):
    """A request that got no answer: the status to send, and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Worker(Protocol):
    """Computes one answer at a time. A wrong request raises ``ValueError``, any other failure ``Unanswered``."""

    async def answer(self, what: str, parameters: dict[str, str]) -> bytes:
        """The answer to a request, as JSON."""
        ...

    def close(self) -> None:
        """Stop what is being computed. There are no more answers after that."""
        ...


def make_worker(desk: Desk, seconds: int) -> Worker:
    """A process where processes can be forked, else a thread; ``seconds`` is the time limit of an answer in a process."""
    return ForkedWorker(desk, seconds) if FORKS else ThreadWorker(desk)


class ForkedWorker:
    """A forked process that shares the run's memory. It is killed when it takes too long, and forked again when needed."""

    def __init__(self, desk: Desk, seconds: int) -> None:
        self._desk, self._seconds = desk, seconds
        self._pid, self._closed = 0, False
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def answer(self, what: str, parameters: dict[str, str]) -> bytes:
        """The answer to a request, as JSON."""
        try:
            async with asyncio.timeout(self._seconds):
                kind, body = await self._exchange(what, parameters)
        except TimeoutError:
            self._end()
            raise Unanswered(
                504,
                f"this answer was stopped after {self._seconds} s. To allow more time, start the explorer with"
                f" WHATFOR_MAX_SECONDS={10 * self._seconds}; in Python, ask for fewer rollouts",
            ) from None
        except (OSError, asyncio.IncompleteReadError) as error:
            code = self._end()
            if self._closed:
                raise _ended() from None
            _log.error("the process that computes answers ended (%s): %r", _ending(code), error)
            raise Unanswered(500, f"the process that computes answers ended ({_ending(code)}); ask again") from error
        except BaseException:  # the task was cancelled: its answer must not arrive as the next one
            self._end()
            raise
        if kind == REFUSED:
            raise ValueError(body.decode())
        if kind == FAILED:
            raise _failure(*json.loads(body))
        return body

    async def _exchange(self, what: str, parameters: dict[str, str]) -> tuple[int, bytes]:
        if self._closed:
            raise ConnectionAbortedError
        if not self._pid:
            await self._start()
        self._writer.write(json.dumps([what, parameters]).encode() + b"\n")
        kind, size = struct.unpack(HEADER, await self._reader.readexactly(struct.calcsize(HEADER)))
        return kind, await self._reader.readexactly(size)

    async def _start(self) -> None:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()  # or both processes would write its buffer
        ours, its = socket.socketpair()
        try:
            pid = _fork()
        except OSError as error:
            ours.close()
            its.close()
            _log.error("no process could be started to compute answers: %s", error)
            raise Unanswered(500, f"no process could be started to compute answers ({error.strerror})") from error
        if pid == 0:
            ours.close()  # or this process would not notice that its parent is gone
            answer_requests(self._desk, its, self._seconds)
        its.close()
        self._pid = pid
        self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=1 << 20)

    def close(self) -> None:
        """Stop what is being computed. There are no more answers after that."""
        self._closed = True
        self._end()

    def _end(self) -> int:
        """Kill the process, and return its exit code."""
        pid, self._pid = self._pid, 0
        if not pid:
            return 0
        if hasattr(self, "_writer"):
            self._writer.close()
        try:
            os.kill(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except (ProcessLookupError, ChildProcessError):  # its exit code was read elsewhere
            return 0


def _fork() -> int:
    with warnings.catch_warnings():
        # From Python 3.12, forking beside other threads is warned about: a lock that one of them holds stays locked.
        # The explorer has none that hold locks for long. A test or a notebook may, and then an answer may run out of time.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


class ThreadWorker:
    """A thread, where processes cannot be forked (Windows). What it computes cannot be stopped, only ignored."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._closed = False
        self._answer: asyncio.Future[bytes] | None = None

    async def answer(self, what: str, parameters: dict[str, str]) -> bytes:
        """The answer to a request, as JSON."""
        computed: Future[bytes] = Future()
        threading.Thread(target=self._compute, args=(what, parameters, computed), daemon=True).start()
        self._answer = asyncio.wrap_future(computed)
        try:
            return await self._answer
        except ValueError:
            raise
        except asyncio.CancelledError:
            if self._closed:
                raise _ended() from None
            raise
        except BaseException as error:
            raise _failure(type(error).__name__, "".join(traceback.format_exception(error))) from None

    def _compute(self, what: str, parameters: dict[str, str], computed: Future[bytes]) -> None:
        with suppress(InvalidStateError):  # it is ignored by now
            try:
                computed.set_result(self._desk.encode(what, parameters))
            except BaseException as error:
                computed.set_exception(error)

    def close(self) -> None:
        """Ignore what is being computed. There are no more answers after that."""
        self._closed = True
        if self._answer is not None:
            self._answer.cancel()


def _ended() -> Unanswered:
    return Unanswered(503, "the explorer has ended; start it again")


def _failure(kind: str, trace: str) -> Unanswered:
    _log.error("a request failed\n%s", trace)
    return Unanswered(500, f"this request failed ({kind}); the terminal of the server has the traceback")


def _ending(code: int) -> Any:
    """How a process ended, in words."""
    return signal.Signals(-code).name if code < 0 else f"status {code}"
