"""A small server for the page: any state, any time of training; on this machine only, unless told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import signal
import socket
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whatfor.explorer.desk import Desk
from whatfor.explorer.page import page, policy
from whatfor.needed import need_server
from whatfor.runs import Run

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST, PORT = "127.0.0.1", 8642
#: A request's address may be so long, and so many requests may wait.
LONGEST, MOST_WAITING = 4_096, 64
#: Bytes of answers that are kept.
KEPT = 32_000_000
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Any, Any], Awaitable[None]]


class Kept:
    """Answers as bytes by their requests, the latest ones. One at a time is made: a run is not made for several."""

    def __init__(self, desk: Desk, most: int = KEPT) -> None:
        self.desk, self.most, self.size = desk, most, 0
        self._answers: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, what: str, given: dict[str, str]) -> bytes | None:
        """An answer that was made before."""
        with self._lock:
            found = self._answers.get(self._key(what, given))
            if found is not None:
                self._answers.move_to_end(self._key(what, given))
            return found

    def make(self, what: str, given: dict[str, str]) -> bytes:
        """The answer to a request, as JSON."""
        answer = json.dumps(self.desk.ask(what, given), ensure_ascii=False, allow_nan=False).encode()
        key = self._key(what, given)
        with self._lock:
            self.size += len(answer) - len(self._answers.get(key, b""))
            self._answers[key] = answer
            while self.size > self.most and len(self._answers) > 1:
                self.size -= len(self._answers.popitem(last=False)[1])
        return answer

    @staticmethod
    def _key(what: str, given: dict[str, str]) -> tuple[Any, ...]:
        return (what, *sorted(given.items()))


def app_of(run: Run, *, name: str = "", hosts: tuple[str, ...] = (HOST,)) -> Starlette:
    """The application: the page at ``/``, and its requests under ``/api/``; ``hosts``: names it answers to, besides this machine's."""
    need_server()
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    kept, waiting, turn = Kept(Desk(run, name=name)), threading.Semaphore(MOST_WAITING), asyncio.Lock()

    async def home(_: Request) -> Response:
        return HTMLResponse(page(None), headers={"Content-Security-Policy": policy(live=True)})

    async def answer(request: Request) -> Response:
        pairs = request.query_params.multi_items()
        given = dict(pairs)
        if len(given) != len(pairs):
            return JSONResponse({"error": "a parameter was given twice"}, 400)
        what = request.path_params["what"]
        if (found := kept.find(what, given)) is not None:
            return Response(found, media_type="application/json")
        if not waiting.acquire(blocking=False):
            return JSONResponse({"error": "too many requests wait; ask again"}, 503)
        try:
            async with turn:
                if await request.is_disconnected():  # the page has gone on to another question
                    return Response(status_code=503)
                body = kept.find(what, given) or await run_in_threadpool(kept.make, what, given)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        except Exception as error:
            logging.getLogger("whatfor").exception("a request could not be answered")
            return JSONResponse({"error": f"this could not be answered: {type(error).__name__}"}, 500)
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


class Guard:
    """Refuses what does not come from the page itself: foreign hosts, other sites, other methods, long requests."""

    def __init__(self, app: Asgi, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass a request on, or say why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        from starlette.responses import JSONResponse

        refused = self.refused(scope) if scope["type"] == "http" else (403, "only HTTP is answered")

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        answer: Any = self.app if refused is None else JSONResponse({"error": refused[1]}, refused[0])
        await answer(scope, receive, with_headers)

    def refused(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason, where a request is not answered."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            if name in (b"host", b"origin") and name.decode() in headers:
                return 400, f"there are two {name.decode()} headers"
            headers[name.decode("latin-1")] = value.decode("latin-1")
        host = headers.get("host", "")
        if not self.knows(host):
            return 403, "this server does not answer to that host name"
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return 403, "requests from other sites are not answered"
        site = headers.get("sec-fetch-site", "none")
        followed = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"  # a link to the page
        if site not in ("none", "same-origin") and not followed:
            return 403, "requests from other sites are not answered"
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "everything is asked with GET"
        if len(scope["query_string"]) + len(scope["path"]) > LONGEST:
            return 414, f"a request is at most {LONGEST:,} bytes long"
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return 413, "a request has no body"
        return None

    def knows(self, host: str) -> bool:
        """Whether this is a name of this server: given ones, this machine, or a plain address. Others could be made to point here."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name in (*self.hosts, "localhost"):
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return address.is_loopback or any(
            _is_address(host) and not ipaddress.ip_address(host).is_loopback for host in self.hosts
        )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def explore(run: Run, *, name: str = "", host: str = HOST, port: int | None = None, browser: bool = True) -> None:
    """Serve the page until it is stopped (Ctrl-C); ``port``: 8642, or any that is free if that is taken."""
    app = app_of(run, name=name, hosts=(host,))
    import uvicorn

    listening = _listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    print(f"exploring at {address} (Ctrl-C ends it)", flush=True)
    if browser:
        import webbrowser

        threading.Timer(0.5, webbrowser.open, [address]).start()
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", server_header=False, ws="none", timeout_graceful_shutdown=2)
    )
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    with suppress(KeyboardInterrupt), listening:
        server.run(sockets=[listening])
    print("ended")


def _listening(host: str, port: int | None) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, None)[0][0]
    except OSError as error:
        raise ValueError(f"there is no host {host!r} here; use {HOST}, which only this machine can reach") from error
    for wanted in (PORT, 0) if port is None else (port,):
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, wanted))
        except (OSError, OverflowError) as error:
            made.close()
            if wanted == PORT and port is None:
                continue
            raise ValueError(f"port {wanted} of {host} cannot be used ({error}); choose another with --port") from error
        made.listen(128)
        return made
    raise AssertionError("a free port is always found")
