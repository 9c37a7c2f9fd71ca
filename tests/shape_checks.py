"""Checks of the shapes in annotations, and of nothing else in them.

The other types are mypy's to check; many tests give a wrong one on purpose, to read the refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from beartype import beartype

import espalier

SOURCES = Path(espalier.__file__).parent


def check_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses arrays of another shape or kind than its annotations say."""
    hints = function.__annotations__.items()
    function.__annotations__ = {
        name: hint if "jaxtyping." in repr(hint) else Any for name, hint in hints
    }
    return beartype(function)


def modules_with_shapes() -> list[str]:
    """The modules of every room that annotate an array; the others would only be slowed down."""
    return [
        ".".join(("espalier", *file.relative_to(SOURCES).with_suffix("").parts))
        for file in SOURCES.rglob("*.py")
        if "jaxtyping" in (text := file.read_text()) or "espalier.shapes" in text
    ]
