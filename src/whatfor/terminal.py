"""Safe output of the command line: no control characters, any encoding, closed pipes."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from whatfor.text import printable, speaking_shell

#: The escape sequences of colours, which Gymnasium puts into its warnings.
COLOURS = re.compile("\x1b\\[[0-9;]*m")


def print_safely(text: object) -> None:
    """Print a text; control characters are written as escapes.

    >>> print_safely("\\x1b[2Jgone")
    \\x1b[2Jgone
    """
    print(printable(str(text)))


def print_error(text: object) -> None:
    """Print a message to the error output."""
    if sys.stderr is not None:
        print(f"whatfor: {printable(in_flags(str(text), sys.argv))}", file=sys.stderr)


def in_flags(text: str, arguments: Iterable[str]) -> str:
    """A message with the flags that were given, where it names their parameters.

    >>> in_flags("max_steps is 0; an episode has at least one step", ["--max-steps", "0"])
    '--max-steps is 0; an episode has at least one step'
    >>> in_flags("resume it in Python: train(run, bins=3)", ["--bins=9"])
    'resume it in Python: train(run, bins=3)'
    >>> in_flags("bins= is too many, e.g. bins=3", ["--bins=9"])
    '--bins is too many, e.g. --bins 3'
    """
    text, python, example = text.partition("in Python")
    for flag in {argument.partition("=")[0] for argument in arguments if re.match("--[a-z]", argument)}:
        name, plain = re.escape(flag[2:].replace("-", "_")), flag.replace("\\", "")
        text = re.sub(rf"^(the )?{name}_?(?= (is|has|must|needs|takes|lies)\b)", plain, text)
        text = re.sub(rf"(?<![\w-]){name}_?=(?=\S)", f"{plain} ", text)
        text = re.sub(rf"(?<![\w-]){name}_?=", plain, text)
    return text + python + example


@contextmanager
def progress_bar(name: str) -> Iterator[Callable[[str, float], None] | None]:
    """Show a progress bar; yields a function of a description and the share that is done, or None without a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(name),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda doing, share: bar.update(task, description=doing, completed=share)


def run_command(command: Callable[[], None]) -> None:
    """Run a command; errors of the user and of files give one line and exit status 2 instead of a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # "?" for a character that the encoding lacks
    warnings.showwarning = lambda message, *_, **__: print_error(COLOURS.sub("", str(message)))
    try:
        try:
            with speaking_shell():
                command()
        finally:
            _flush()
    except BrokenPipeError:  # the reader closed the pipe, as head does
        sys.exit(1)
    except KeyboardInterrupt:
        print_error("interrupted")
        sys.exit(130)
    except OSError as error:
        print_error(describe(error))
        sys.exit(2)
    except Exception as error:
        if not isinstance(error, ValueError | ImportError) and not type(error).__module__.startswith("gymnasium"):
            raise
        print_error(error)
        sys.exit(2)


def describe(error: OSError) -> str:
    """A message about a file error, with advice.

    >>> describe(PermissionError(13, "Permission denied", "out/why.png"))
    'out/why.png cannot be read or written: Permission denied. Choose another path, or change its permissions'
    """
    if error.filename is None:
        return f"the output could not be written: {error.strerror or error}"
    place = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    advice = "change its permissions" if isinstance(error, PermissionError) else "free some space"
    return f"{place} cannot be read or written: {error.strerror}. Choose another path, or {advice}"


def _flush() -> None:
    """Flush the output; on failure drop it, so that Python does not try again at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
