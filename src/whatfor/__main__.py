"""`python -m whatfor`, and the command `whatfor`: the command line."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is loaded."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Until the command begins: Python may lose an exception that is raised while modules are loaded.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from whatfor.cli import main as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
