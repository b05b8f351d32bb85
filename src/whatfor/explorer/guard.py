"""Guard: refuses requests that do not come from the page, before anything is computed."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

#: Bytes of a request's path and parameters.
MAX_ADDRESS = 4_096
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


class Guard:
    """Refuses what does not come from the page itself: foreign hosts, other sites, other methods, long requests."""

    def __init__(self, app: Asgi, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, tuple(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it with a reason."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        from starlette.responses import JSONResponse

        refusal = self.refusal(scope) if scope["type"] == "http" else (403, "only HTTP is answered")

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        answer: Any = self.app if refusal is None else JSONResponse({"error": refusal[1]}, refusal[0])
        await answer(scope, receive, with_headers)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason, where a request is refused."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            if name in (b"host", b"origin") and name.decode() in headers:
                return 400, f"there are two {name.decode()} headers"
            headers[name.decode("latin-1")] = value.decode("latin-1")
        host = headers.get("host", "").lower()  # names of hosts have no case
        if not self.knows(host):
            return 403, "unknown host name; open the address that whatfor explore printed"
        if headers.get("origin", f"http://{host}").lower() != f"http://{host}":
            return 403, "requests from other sites are not answered"
        site = headers.get("sec-fetch-site", "none")
        is_link = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"  # a link to the page
        if site not in ("none", "same-origin") and not is_link:
            return 403, "requests from other sites are not answered"
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "use GET"
        if len(scope["query_string"]) + len(scope["path"]) > MAX_ADDRESS:
            return 414, f"a request is at most {MAX_ADDRESS:,} bytes long"
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return 413, "send the request without a body"
        return None

    def knows(self, host: str) -> bool:
        """Whether a host is this server: its own hosts, this machine, or an IP address. Another name may belong to an attacker (DNS rebinding)."""
        name = (host.rsplit(":", 1)[0] if not host.endswith("]") else host).lower()
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
