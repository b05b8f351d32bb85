"""`python -m whatfor`, and the command `whatfor`: the command line."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is loaded."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules are loaded
        from whatfor.cli import main as run_command

        signal.signal(signal.SIGINT, before)
        run_command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
