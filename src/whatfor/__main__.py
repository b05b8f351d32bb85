"""`python -m whatfor`, and the command `whatfor`: the command line."""

import signal
import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it as the shell expects, without a traceback."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules are loaded
    from whatfor.cli import main as run_command

    signal.signal(signal.SIGINT, before)
    try:
        run_command()
    except KeyboardInterrupt:
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
