"""`python -m docs.pages [NAME ...]` fills the pages named, by default all."""

import sys

from docs.pages.architectures import architectures
from docs.pages.composition import composition
from docs.pages.learning import learning
from docs.pages.minimal import minimal
from docs.pages.peers import peers
from docs.pages.protocols import protocols
from docs.pages.realism import realism
from docs.pages.scaffolds import scaffolds
from docs.pages.small_claims import small_claims
from docs.pages.syntax import syntax
from docs.pages.tools import tools

PAGES = {
    "architectures": architectures,
    "composition": composition,
    "learning": learning,
    "minimal": minimal,
    "peers": peers,
    "protocols": protocols,
    "realism": realism,
    "scaffolds": scaffolds,
    "small_claims": small_claims,
    "syntax": syntax,
    "tools": tools,
}


def main() -> None:
    for name in sys.argv[1:] or PAGES:
        if name not in PAGES:
            sys.exit(f"there is no page {name!r}; known: {', '.join(PAGES)}")
        print(f"{name}: {', '.join(PAGES[name]())}")


if __name__ == "__main__":
    main()
