"""The page itself: one HTML file with its style and script in it."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from importlib.resources import files

from whatfor.layouts.colours import COLOURS, MIN_VISIBLE_SHARE, SIGNED, STOPS

#: What the page may do: run its own script, and nothing else; "connect" is where a live page asks.
POLICY = "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"


def page(held: str | None) -> str:
    """The page, with what a report holds (packed, as JSON); None: a page that asks a server."""
    html, style, script = (_asset(name) for name in ("page.html", "page.css", "page.js"))
    return (
        html.replace("{{policy}}", policy(held is None))
        .replace("{{style}}", style)
        .replace("{{script}}", script)
        .replace("{{look}}", json.dumps({"stops": STOPS, "faint": MIN_VISIBLE_SHARE, "colours": {**COLOURS, "signed": SIGNED}}))
        .replace("{{data}}", embedded(held))
    )


def policy(live: bool) -> str:
    """The page's content security policy: by checksums, so that no other script can run in it."""
    script, style = (_checksum(_asset(name)) for name in ("page.js", "page.css"))
    return POLICY.format(script=script, style=style, connect="'self'" if live else "'none'")


def embedded(held: str | None) -> str:
    """What a report holds, compressed, in letters that mean nothing to a page; the script has the reverse of it.

    >>> embedded("</script>") == base64.b64encode(zlib.compress(b"</script>", 9)).decode()
    True
    """
    return "" if held is None else base64.b64encode(zlib.compress(held.encode(), 9)).decode()


def _asset(name: str) -> str:
    return files("whatfor.explorer").joinpath("assets", name).read_text(encoding="utf-8")


def _checksum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
