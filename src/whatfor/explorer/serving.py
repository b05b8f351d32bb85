"""uvicorn with limits on connections: the only file that uses undocumented names of uvicorn."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from whatfor.explorer.worker import Worker

#: Seconds until the headers of a request must be complete.
HEADER_SECONDS = 10.0
#: Connections at once; and how many are accepted in one go.
MAX_CONNECTIONS, BACKLOG = 200, 32
#: Seconds to send answers when the server ends.
GRACE = 0.5
#: Seconds between two messages about the same problem.
QUIET = 60.0


class Connection(H11Protocol):
    """A connection that is closed when a request takes too long to arrive, or when there are too many connections."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > connections_allowed():
            transport.abort()
            return
        self._await_request()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._time_out)

    def _time_out(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # no request is being answered
            self.transport.abort()  # close() would wait for a client that does not read


class Server(uvicorn.Server):
    """Ends at once: answers that are being computed are stopped. Signals are left to the caller."""

    def __init__(self, app: Any, worker: Worker, *, log_level: str = "warning") -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                log_config=None,  # uvicorn's own needs an output; warnings go to the error output anyway
                log_level=log_level,
                server_header=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=2,
            )
        )
        self._worker = worker
        self._quiet_until = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, with a handler for what goes wrong between requests."""
        asyncio.get_running_loop().set_exception_handler(self._report)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop what is being computed and, soon after, connections that do not read their answer."""
        self._worker.close()
        asyncio.get_running_loop().call_later(GRACE, self._abort)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the caller."""
        yield

    def _abort(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log now and then that no connection can be accepted; asyncio logs each attempt, with a traceback."""
        error = context.get("exception")
        if self.should_exit and "_start_serving" in context.get("message", ""):
            return  # asyncio accepts again a second after running out of descriptors, also on a socket that was closed
        if not (
            isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)
        ):
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + QUIET
            logging.getLogger("whatfor").warning("connections wait: %s", error.strerror)


def connections_allowed() -> int:
    """How many connections there may be: at most half of the files that this process may open."""
    with suppress(ImportError):  # Windows has no such limit
        import resource

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if soft != resource.RLIM_INFINITY:
            return min(MAX_CONNECTIONS, soft // 2)
    return MAX_CONNECTIONS
