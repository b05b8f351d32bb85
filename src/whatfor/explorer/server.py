"""A small server for the page: any state, any time of training; by default, for this machine only."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whatfor.caching import Cache
from whatfor.explorer.desk import Desk
from whatfor.explorer.guard import Guard
from whatfor.explorer.page import build_page, policy
from whatfor.explorer.worker import Unanswered, Worker, make_worker
from whatfor.limits import limit
from whatfor.needed import need_server
from whatfor.runs import Run
from whatfor.signals import handling_signals

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from whatfor.explorer.serving import Server

HOST, PORT = "127.0.0.1", 8642
#: Requests in the queue.
MAX_WAITING = 64
#: Bytes of cached answers.
MAX_CACHED = 32_000_000


def build_app(worker: Worker, *, hosts: tuple[str, ...] = (HOST,)) -> Starlette:
    """The application: the page at ``/``, and its requests under ``/api/``; ``hosts`` are its names besides this machine's."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    cache = Cache[tuple[object, ...], bytes](MAX_CACHED, size_of=len)
    waiting, turn = threading.Semaphore(MAX_WAITING), asyncio.Lock()
    html, headers = build_page(None), {"Content-Security-Policy": policy(live=True)}

    async def home(_: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    async def answer(request: Request) -> Response:
        pairs = request.query_params.multi_items()
        parameters = dict(pairs)
        if len(parameters) != len(pairs):
            return JSONResponse({"error": "a parameter is there twice; leave one out"}, 400)
        what = request.path_params["what"]
        key = (what, *sorted(pairs))
        if (found := cache.get(key)) is not None:
            return Response(found, media_type="application/json")
        if not waiting.acquire(blocking=False):
            return JSONResponse({"error": "too many requests are waiting; ask again"}, 503)
        try:
            async with turn:  # one answer at a time
                if await request.is_disconnected():  # the page asks something else now
                    return Response(status_code=503)
                body = cache.get(key) or await worker.answer(what, parameters)
                cache.add(key, body)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        except Unanswered as error:
            return JSONResponse({"error": str(error)}, error.status)
        finally:
            waiting.release()
        return Response(body, media_type="application/json")

    async def not_found(_: Request, __: Exception) -> Response:
        return JSONResponse({"error": "there is no such page; the requests are under /api/"}, 404)

    return Starlette(
        routes=[Route("/", home), Route("/api/{what}", answer)],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={404: not_found},
    )


def build_server(run: Run, *, name: str = "", host: str = HOST, log_level: str = "warning") -> Server:
    """A server of a run's page, not started yet."""
    need_server()
    from whatfor.explorer.serving import Server

    worker = make_worker(Desk(run, name=name), limit("seconds"))
    return Server(build_app(worker, hosts=(host,)), worker, log_level=log_level)


def explore(run: Run, *, name: str = "", host: str = HOST, port: int | None = None, browser: bool = True) -> None:
    """Serve the page until Ctrl-C; ``port`` is 8642 by default, or a free one where that is in use."""
    server = build_server(run, name=name, host=host)
    with _end_on_signals(server), _listen(host, port) as listening:
        name_of_host = f"[{host}]" if ":" in host else host
        address = f"http://{name_of_host}:{listening.getsockname()[1]}/"
        print(f"exploring at {address} (Ctrl-C ends it)", flush=True)
        if browser:
            import webbrowser

            opening = threading.Timer(0.5, webbrowser.open, [address])
            opening.daemon = True  # some browsers do not return before they are closed
            opening.start()
        server.run(sockets=[listening])


@contextmanager
def _end_on_signals(server: Server) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the server without a traceback, however often they come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        server.should_exit = True

    with handling_signals(end):
        yield


def _listen(host: str, port: int | None) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, None)[0][0]
    except OSError as error:
        raise ValueError(f"there is no host {host!r} here; use {HOST}, which only this machine can reach") from error
    for wanted in (PORT, 0) if port is None else (port,):
        # Without the protocol, asyncio leaves Nagle's algorithm on, which delays every answer by 40 ms.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, wanted))
        except (OSError, OverflowError) as error:
            bound.close()
            if wanted == PORT and port is None:
                continue
            raise ValueError(f"port {wanted} of {host} cannot be used ({error}); choose another with --port") from error
        bound.listen()
        return bound
    raise AssertionError("a free port is always found")
