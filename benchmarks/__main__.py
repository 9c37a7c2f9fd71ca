"""`python -m benchmarks [NAME ...]` runs the benchmarks named, by default all."""

import sys
from importlib import import_module

NAMES = (
    "programs",
    "functions",
    "wide",
    "generation",
    "scan",
    "interventions",
    "explain",
    "training",
    "decompose",
    "networks",
    "realism",
    "scaling",
)


def main() -> None:
    chosen, sys.argv[1:] = sys.argv[1:], []  # the benchmarks have flags of their own
    for name in chosen or NAMES:
        if name not in NAMES:
            sys.exit(f"there is no benchmark {name!r}; known: {', '.join(NAMES)}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
