"""The entry point of `python -m whatfor` and of the command `whatfor`."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, even during imports."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Until the command starts: Python may lose an exception that is raised during an import.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from whatfor.cli import main as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
