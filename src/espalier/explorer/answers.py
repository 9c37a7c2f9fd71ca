"""Every question that a page may ask, by name. A question is plain data, and so is its answer."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from espalier.errors import ConfigError, EspalierError, nearest
from espalier.explorer.session import Session
from espalier.results import Result

Answer = dict[str, Any]
# Those that need torch, and so the slower process.
HEAVY = ("weights", "residual", "attention", "models", "sentence", "pair", "claims", "file")
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
    """By name; torch is imported by those that need it, when they are asked."""
    from espalier.explorer import programs, training_runs

    def weights(name: str) -> Callable[[Session, Answer], Answer]:
        def ask(session: Session, asked: Answer) -> Answer:
            from espalier.explorer.weights import attention, compare, residual

            made = {"weights": compare, "residual": residual, "attention": attention}
            return made[name](session, asked)

        return ask

    def networks(name: str) -> Callable[[Session, Answer], Answer]:
        def ask(session: Session, asked: Answer) -> Answer:
            from espalier.explorer.networks import list_models, show_pair, show_sentence

            made = {"models": list_models, "sentence": show_sentence, "pair": show_pair}
            return made[name](session, asked)

        return ask

    return {
        "programs": programs.list_programs,
        "program": programs.describe_program,
        "trace": programs.show_trace,
        "why": programs.explain_cell,
        "rules": programs.search_rules,
        "runs": training_runs.show_runs,
        "run": training_runs.show_run,
        "claims": training_runs.show_claims,
        **{name: weights(name) for name in ("weights", "residual", "attention")},
        **{name: networks(name) for name in ("models", "sentence", "pair")},
    }


def file(session: Session, asked: Answer) -> Answer:
    """What is looked at as a file: .png, .svg, .csv or .html, in base64."""
    suffix, view = asked.get("suffix"), asked.get("view")
    if suffix not in SUFFIXES or view not in ("trace", "sentence"):
        raise ConfigError(f"a file is one of {', '.join(SUFFIXES)} of a trace or a sentence")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"view{suffix}"
        _result(session, asked).save(path)
        return {"name": f"{view}{suffix}", "base64": base64.b64encode(path.read_bytes()).decode()}


def _result(session: Session, asked: Answer) -> Result:
    if asked.get("view") == "trace":
        from espalier.explorer.programs import trace_of

        return trace_of(session, asked)
    from espalier.explorer.networks import matrix_of

    return matrix_of(session, asked)
