"""Plain text: which characters names may contain, safe printing, and the format of numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Characters that a terminal or a page would interpret instead of showing: control characters, line separators,
#: marks that change the writing direction, and unpaired surrogates.
UNSAFE = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
#: The most characters in a name.
MAX_LENGTH = 10_000
#: Whether a command of the command line runs.
_IN_SHELL: ContextVar[bool] = ContextVar("whether a command runs", default=False)
_UNSAFE = re.compile(f"[{UNSAFE}]")
_UNSAFE_IN_LINES = re.compile(f"(?![\n\t])[{UNSAFE}]")


def is_plain(text: str) -> bool:
    """Whether a text is one line of characters that can be shown.

    >>> is_plain("passenger at Y"), is_plain("two\\nlines"), is_plain("\\x1b[31mred")
    (True, False, False)
    """
    return _UNSAFE.search(text) is None


def check_plain(what: str, text: object) -> None:
    """Raise ``ValueError`` unless ``text`` is one line of plain text.

    >>> check_plain("an action's name", "go\\x07")
    Traceback (most recent call last):
    ValueError: an action's name is 'go\\x07'; write it as one line of plain text, without control characters
    """
    if not isinstance(text, str) or not is_plain(text):
        raise ValueError(f"{what} is {text!r}; write it as one line of plain text, without control characters")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{what} has {len(text):,} characters; write it in at most {MAX_LENGTH:,}")


def printable(text: str) -> str:
    """A text with every unsafe character escaped; newlines and tabs stay.

    >>> printable("\\x1b[31mred")
    '\\\\x1b[31mred'
    """
    return _UNSAFE_IN_LINES.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def normalized(text: str) -> str:
    """A text in lower case with single spaces.

    >>> normalized("  Taxi at\\tROW 0 ")
    'taxi at row 0'
    """
    return " ".join(text.lower().split())


def joined(text: str) -> str:
    """A text in lower case without spaces, dashes and underscores between its words; those before numbers stay.

    >>> joined("Pick-up"), joined(" pick_up "), joined("action 1"), joined("-1"), joined("1-2")
    ('pickup', 'pickup', 'action1', '-1', '1-2')
    """
    return re.sub(r"(?<=\w)[\s_-]+(?=[^\W\d])|(?<=[^\W\d_])[\s_-]+(?=\w)", "", text.strip().lower())


def either(python: str, shell: str) -> str:
    """What to type, in the language of the reader: Python's, or within a command that of the command line.

    >>> either("pass bins=10", "add --bins 10")
    'pass bins=10'
    >>> with speaking_shell():
    ...     either("pass bins=10", "add --bins 10")
    'add --bins 10'
    """
    return shell if _IN_SHELL.get() else python


@contextmanager
def speaking_shell() -> Iterator[None]:
    """While a command runs: ``either`` gives what to type on the command line."""
    before = _IN_SHELL.set(True)
    try:
        yield
    finally:
        _IN_SHELL.reset(before)


def one_line(text: str, length: int | None = None) -> str:
    """A printable text on one line, shortened to ``length`` characters.

    >>> one_line("it failed:\\n  twice"), one_line("again and again", 8)
    ('it failed: twice', 'again...')
    """
    line = printable(" ".join(text.split()))
    return line if length is None else shortened(line, length)


def shortened(text: str, length: int = 200) -> str:
    """The beginning of a long text.

    >>> shortened("again and again", 8)
    'again...'
    """
    return text if len(text) <= length else f"{text[: length - 3]}..."


def file_name(path: str | os.PathLike[str]) -> str:
    """The last part of a path as one line of text, whatever the file system's encoding.

    >>> file_name("runs/taxi"), file_name(os.fsdecode("runs/p\u00f6nk".encode()))
    ('taxi', 'p\u00f6nk')
    """
    return one_line(os.fsencode(os.path.basename(os.path.realpath(path))).decode("utf-8", "replace"))


def count(number: int, what: str) -> str:
    """A number with its noun in the singular or plural.

    >>> count(1, "time"), count(1234, "time")
    ('1 time', '1,234 times')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def percent(share: float) -> str:
    """A share as a percentage, in the form that all texts use; only exact shares print as 0 % or 100 %.

    >>> percent(0.678), percent(0.0312), percent(0.0003), percent(0.9996), percent(1.0), percent(0.0)
    ('68 %', '3.1 %', '< 0.1 %', '> 99 %', '100 %', '0 %')
    """
    number = 100.0 * share
    if abs(number) < 1e-9:
        return "0 %"
    if 0.0 < number < 0.05:
        return "< 0.1 %"
    if 99.5 <= number < 100.0 - 1e-9:  # a sum of shares may miss 100 by a rounding error
        return "> 99 %"
    return f"{number:.0f} %" if abs(number) >= 9.95 else f"{number:.1f}".removesuffix(".0") + " %"


def amount(number: float, *, signed: bool = False) -> str:
    """A value with at most four significant digits.

    >>> amount(15.28412), amount(-0.00123456), amount(20.0), amount(123456.7), amount(2.5, signed=True), amount(0.0, signed=True)
    ('15.28', '-0.001235', '20', '123,457', '+2.5', '0')
    """
    number += 0.0  # no minus before 0
    sign = "+" if signed and number else ""
    if abs(number) >= 9_999.5:
        return f"{number:{sign},.0f}"
    return f"{number:{sign}.4g}"


def rough(number: float) -> str:
    """A size with two significant digits; a large one without an exponent.

    >>> rough(0.02634), rough(20.4), rough(204.0), rough(15_300.0)
    ('0.026', '20', '200', '15,000')
    """
    text = f"{number:.2g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def capital(text: str) -> str:
    """The text with a capital at its start.

    >>> capital("without episode 3, Q is lower")
    'Without episode 3, Q is lower'
    """
    return text[:1].upper() + text[1:]
