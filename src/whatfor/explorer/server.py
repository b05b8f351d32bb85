"""A small server for the page: any state, any time of training; on this machine only, unless another host is given."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whatfor.explorer.cache import AnswerCache
from whatfor.explorer.desk import Desk
from whatfor.explorer.guard import Guard
from whatfor.explorer.page import page, policy
from whatfor.explorer.worker import Unanswered, Worker, worker_for
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
#: Requests that may wait for their turn.
MAX_WAITING = 64


def app_of(worker: Worker, *, hosts: tuple[str, ...] = (HOST,)) -> Starlette:
    """The application: the page at ``/``, and its requests under ``/api/``; ``hosts``: names it answers to, besides this machine's."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    cache, waiting, turn = AnswerCache(), threading.Semaphore(MAX_WAITING), asyncio.Lock()
    html, headers = page(None), {"Content-Security-Policy": policy(live=True)}

    async def home(_: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    async def answer(request: Request) -> Response:
        pairs = request.query_params.multi_items()
        given = dict(pairs)
        if len(given) != len(pairs):
            return JSONResponse({"error": "a parameter was given twice"}, 400)
        what = request.path_params["what"]
        if (found := cache.find(what, given)) is not None:
            return Response(found, media_type="application/json")
        if not waiting.acquire(blocking=False):
            return JSONResponse({"error": "too many requests wait; ask again"}, 503)
        try:
            async with turn:  # one answer at a time
                if await request.is_disconnected():  # the page has gone on to another question
                    return Response(status_code=503)
                body = cache.find(what, given) or await worker.answer(what, given)
                cache.add(what, given, body)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        except Unanswered as error:
            return JSONResponse({"error": str(error)}, error.status)
        finally:
            waiting.release()
        return Response(body, media_type="application/json")

    async def lost(_: Request, __: Exception) -> Response:
        return JSONResponse({"error": "there is no such page; the requests are under /api/"}, 404)

    return Starlette(
        routes=[Route("/", home), Route("/api/{what}", answer)],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={404: lost},
    )


def server_of(run: Run, *, name: str = "", host: str = HOST, log_level: str = "warning") -> Server:
    """A server of a run's page, not started yet."""
    need_server()
    from whatfor.explorer.serving import Server

    worker = worker_for(Desk(run, name=name), limit("seconds"))
    return Server(app_of(worker, hosts=(host,)), worker, log_level=log_level)


def explore(run: Run, *, name: str = "", host: str = HOST, port: int | None = None, browser: bool = True) -> None:
    """Serve the page until it is stopped (Ctrl-C); ``port``: 8642, or any that is free if that is taken."""
    server = server_of(run, name=name, host=host)
    with _ended_by_signals(server), _listening(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        print(f"exploring at {address} (Ctrl-C ends it)", flush=True)
        if browser:
            import webbrowser

            opening = threading.Timer(0.5, webbrowser.open, [address])
            opening.daemon = True  # some browsers do not return before they are closed
            opening.start()
        server.run(sockets=[listening])


@contextmanager
def _ended_by_signals(server: Server) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the server, again and again if need be, without a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        server.should_exit = True

    with handling_signals(end):
        yield


def _listening(host: str, port: int | None) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, None)[0][0]
    except OSError as error:
        raise ValueError(f"there is no host {host!r} here; use {HOST}, which only this machine can reach") from error
    for wanted in (PORT, 0) if port is None else (port,):
        # The protocol is named, or asyncio leaves Nagle's algorithm on, which delays every answer by 40 ms.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, wanted))
        except (OSError, OverflowError) as error:
            made.close()
            if wanted == PORT and port is None:
                continue
            raise ValueError(f"port {wanted} of {host} cannot be used ({error}); choose another with --port") from error
        made.listen()
        return made
    raise AssertionError("a free port is always found")
