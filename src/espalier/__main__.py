"""`python -m espalier`: the command line."""

from espalier.cli import main

if __name__ == "__main__":
    main()
