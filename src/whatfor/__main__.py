"""`python -m whatfor`, and the command `whatfor`: the command line."""

import signal


def main() -> None:
    """Run the command line; Ctrl-C while it is loaded ends it without a traceback."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules are loaded
    from whatfor.cli import main as run_command

    signal.signal(signal.SIGINT, before)
    run_command()


if __name__ == "__main__":
    main()
