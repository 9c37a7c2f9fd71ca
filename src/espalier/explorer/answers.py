"""Every question that a page may ask, by name. A question is plain data, and so is its answer."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from espalier.errors import ConfigError, EspalierError, nearest
from espalier.explorer.session import Session

Answer = dict[str, Any]
# Those that need torch, and so a process that may take its time.
HEAVY = ("weights", "residual", "attention", "models", "sentence", "pair", "file")
SUFFIXES = (".png", ".svg", ".csv", ".html")


def answer(session: Session, name: object, asked: Answer) -> Answer:
    """The answer to a question; {"error": ...} where espalier refuses it.

    >>> answer(Session(), "trace", {"program": "addition", "input": "34+56"})["answer"]
    '90'
    >>> answer(Session(), "trace", {"program": "addition", "input": "34+"})["error"][:18]
    'addition takes two'
    """
    known = {**_questions(), "file": file}
    try:
        if not isinstance(name, str) or name not in known:
            raise ConfigError(f"there is no question {name!r}; {nearest(name, known)}")
        return known[name](session, asked)
    except EspalierError as error:
        return {"error": str(error)}


def _questions() -> dict[str, Callable[[Session, Answer], Answer]]:
    from espalier.explorer import programs

    def weights(name: str) -> Callable[[Session, Answer], Answer]:
        def ask(session: Session, asked: Answer) -> Answer:
            from espalier.explorer import weights as room

            found: Answer = getattr(room, name)(session, asked)
            return found

        return ask

    return {
        "programs": programs.list_programs,
        "program": programs.describe_program,
        "trace": programs.show_trace,
        "why": programs.explain_cell,
        "rules": programs.search_rules,
        "weights": weights("compare"),
        "residual": weights("residual"),
        "attention": weights("attention"),
    }


def file(session: Session, asked: Answer) -> Answer:
    """What is looked at as a file: .png, .svg, .csv or .html, in base64."""
    from espalier.explorer import programs

    suffix, view = asked.get("suffix"), asked.get("view")
    made: dict[object, Callable[[Session, Answer], Any]] = {"trace": programs.trace_of}
    if suffix not in SUFFIXES or view not in made:
        raise ConfigError(f"a file is one of {', '.join(SUFFIXES)} of {', '.join(map(str, made))}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"view{suffix}"
        made[view](session, asked).save(path)
        return {"name": f"{view}{suffix}", "base64": base64.b64encode(path.read_bytes()).decode()}
