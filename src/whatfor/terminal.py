"""What the command line writes: text that a terminal shows and does not act on, in any encoding, also into a closed pipe."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from whatfor.text import printable


def prepare() -> None:
    """Replace characters that the output's encoding lacks by "?", instead of failing on them."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def say(text: object) -> None:
    """Print a text; control characters are written as escapes.

    >>> say("\\x1b[2Jgone")
    \\x1b[2Jgone
    """
    print(printable(str(text)))


def complain(text: object) -> None:
    """Print a message to the error output."""
    if sys.stderr is not None:
        print(f"whatfor: {printable(str(text))}", file=sys.stderr)


def finish() -> None:
    """Write what is still buffered; where that fails, drop it, so that Python does not try again at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def describe(error: OSError) -> str:
    """What went wrong with a file, and what to do about it.

    >>> describe(PermissionError(13, "Permission denied", "out/why.png"))
    'out/why.png cannot be read or written: Permission denied. Choose another place, or change who may use this one'
    """
    if error.filename is None:
        return f"the output could not be written: {error.strerror or error}"
    place = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    return f"{place} cannot be read or written: {error.strerror}. Choose another place, or change who may use this one"
