"""`python -m whatfor`: the command line."""

from whatfor.cli import main

if __name__ == "__main__":
    main()
