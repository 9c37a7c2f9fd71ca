"""espalier: how sequence models compose meaning.

Programs into Transformers: write an algorithm with `espalier.language`, run it on symbols with
`interpret`, turn it into weights with `compile_program`, compare the two with `verify`, and ask
with `minimal` and `train` whether training could have found it.

Networks into parts: `train` language models, or take `english_model`; `decompose` every state into
what some words contribute and the rest, and measure `interdependence`. `load` opens whatever was
saved, and `reproduce` makes the papers' figures. Types of results and settings are in subpackages
(`espalier.interpreter.Trace`); the names here are listed in `__init__.pyi`.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from espalier.results import load_views_with
from espalier.version import __version__ as __version__

# Where each public name lives, as the stub has it: `from .room import name as name`.
_HOMES = {
    alias.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'espalier' has no attribute {name!r}")
    home = _HOMES[name]
    found = import_module(f"espalier.{home or name}")
    globals()[name] = found if home is None else getattr(found, name)
    return globals()[name]


def __dir__() -> list[str]:
    return __all__


def _load_views(module: str) -> None:
    """Import the views of a module's results from `show`, which is above every result."""
    from espalier.show import load_views

    load_views(module)


load_views_with(_load_views)
