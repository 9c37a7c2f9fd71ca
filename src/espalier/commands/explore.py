"""`espalier explore`: look at programs, networks and runs in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from cyclopts import Parameter

from espalier.commands.show import console
from espalier.errors import ConfigError, nearest

if TYPE_CHECKING:
    from espalier.explorer import Session

Words = Annotated[
    str, Parameter(help="A program's name, FILE.py:NAME, a .safetensors file, a folder of runs.")
]


def explore_command(
    *target: Words,
    port: int = 0,
    browser: Annotated[bool, Parameter(help="Open it in the browser.")] = True,
) -> None:
    """Look at programs, networks and runs on a local page.

    The page is served to this machine alone, at an address that cannot be guessed; Ctrl-C ends it.

    Parameters
    ----------
    target
        What to begin with: a program, a compiled or trained model, a folder of runs, or a sentence.
    port
        A free one by default.
    """
    try:
        from espalier.explorer import serve
    except ImportError:
        raise ConfigError(
            "the explorer needs Starlette and uvicorn: pip install 'espalier[explore]'"
        ) from None
    session, state = read_target(" ".join(target))

    def opened(address: str) -> None:
        console().print(f"{address}\nCtrl-C ends it.", highlight=False, soft_wrap=True)
        if browser:
            webbrowser.open(address)

    serve(session, state=f"#{urlencode(state)}" if state else "", port=port, opened=opened)


def read_target(target: str) -> tuple[Session, dict[str, str]]:
    """What may be looked at, and what the page begins with."""
    from espalier import zoo
    from espalier.explorer import Session

    path = Path(target)
    runs = "runs" if Path("runs").is_dir() else ""
    if not target:
        return Session(runs=runs), {}
    if target in zoo.names():
        return Session(runs=runs), {"view": "programs", "program": target}
    if path.is_dir():
        return Session(runs=target), {"view": "runs"}
    if target.endswith(".safetensors"):
        return _from_file(path, runs)
    if path.suffix == ".conllu" and path.is_file():
        return Session(treebank=target, runs=runs), {"view": "networks"}
    if target.rpartition(":")[0].endswith(".py"):
        from espalier.targets import load_target

        load_target(target)  # refused here, not in the browser
        return Session(programs=[target], runs=runs), {"view": "programs", "program": target}
    if len(target.split()) < 2:
        known = [*zoo.names()]
        raise ConfigError(
            f"{target!r} is no program, file or folder; {nearest(target, known)}. A sentence has "
            "two words or more"
        )
    return Session(runs=runs), {"view": "networks", "sentence": target}


def _from_file(path: Path, runs: str) -> tuple[Session, dict[str, str]]:
    from espalier.compiler import CompiledModel
    from espalier.loading import load

    if isinstance(load(path), CompiledModel):
        session = Session(programs=[str(path)], runs=runs)
        return session, {"view": "programs", "program": str(path)}
    return Session(models=[str(path)], runs=runs), {"view": "networks", "model": str(path)}
