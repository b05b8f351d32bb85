"""The page: one HTML file that contains its style, its script and, in a report, its data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from importlib.resources import files

from whatfor.layouts.colours import COLOURS, MIN_VISIBLE_SHARE, SIGNED, STOPS

#: What the page may do: run its own script, and nothing else; "connect" is where a live page sends its requests.
POLICY = "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
#: The modules of the script. Each imports only from those before it.
MODULES = (
    "dom", "store", "colours", "board", "grid", "charts", "cloud", "draw", "state", "question", "episode", "answers", "main",
)  # fmt: skip
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
#: Comments for the type checker that fill whole lines; they are a seventh of the script.
_JSDOC = re.compile(r"^ */\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)


def build_page(payload: str | None) -> str:
    """The page with the payload of a report (packed JSON); None: a live page, which asks a server."""
    look = {"stops": STOPS, "faint": MIN_VISIBLE_SHARE, "colours": {**COLOURS, "signed": SIGNED}}
    return (
        _asset("page.html")
        .replace("{{policy}}", policy(live=payload is None))
        .replace("{{style}}", _asset("page.css"))
        .replace("{{script}}", script())
        .replace("{{look}}", json.dumps(look))
        .replace("{{data}}", "" if payload is None else encode(payload))
    )


@cache
def script() -> str:
    """The modules as one script: in order, without imports, exports and comments for the type checker.

    >>> "import" in re.findall(r"^\\w+", script(), re.MULTILINE)
    False
    """
    modules = (_asset(f"script/{name}.js") for name in MODULES)
    joined = "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)
    joined = _JSDOC.sub("", joined)
    return f'"use strict";\n(() => {{\n{joined}}})();\n'


def policy(*, live: bool) -> str:
    """The page's content security policy: by checksums, so that no other script can run in it."""
    checksums = {"script": _checksum(script()), "style": _checksum(_asset("page.css"))}
    return POLICY.format(**checksums, connect="'self'" if live else "'none'")


def encode(payload: str) -> str:
    """A payload compressed, in letters that have no meaning in HTML; the script decodes it.

    >>> encode("</script>") == base64.b64encode(zlib.compress(b"</script>", 9)).decode()
    True
    """
    return base64.b64encode(zlib.compress(payload.encode(), 9)).decode()


@cache
def _asset(name: str) -> str:
    return files("whatfor.explorer").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def _checksum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
