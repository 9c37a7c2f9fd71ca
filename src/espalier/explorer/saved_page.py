"""A view as one self-contained file, from Python: it holds the answers that its page asks for."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlencode

from espalier.errors import ConfigError
from espalier.explorer.answers import answer
from espalier.explorer.bundle import page_of
from espalier.explorer.session import Session
from espalier.explorer.training_runs import REPRODUCTION
from espalier.files import write_text


def save_page(path: str | os.PathLike[str], session: Session | None = None, **state: str) -> None:
    """Write a view as one self-contained file that needs no network.

    >>> file = getfixture("tmp_path") / "addition.html"
    >>> save_page(file, view="programs", program="addition", input="34+56")
    >>> "turn = NOW" in file.read_text()
    True
    """
    session = Session() if session is None else session
    answers: dict[str, Any] = {}
    for name, asked in _questions(session, state):
        found = answer(session, name, asked)
        if "error" in found:
            raise ConfigError(found["error"])
        answers[key_of(name, asked)] = found
    write_text(path, page_of(urlencode(state), answers))


def key_of(name: str, asked: dict[str, Any]) -> str:
    """The key of a question: the same for the same question."""
    written = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{name} {written}"


def _questions(session: Session, state: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """What a page asks when it is opened with a state."""
    match state.get("view", "programs"):
        case "networks":
            options = {"method": "papers", "space": "hidden", "model": "english", "checkpoint": ""}
            asked = {name: state.get(name, value) for name, value in options.items()}
            layer = int(state.get("layer", -1))
            asked |= {"sentence": state.get("sentence", ""), "layer": layer}  # type: ignore[dict-item]
            return [("models", {}), ("sentence", asked)]
        case "runs":
            chosen = [name for name in state.get("runs", "").split("|") if name]
            runs = [("run", {"run": name}) for name in chosen]
            claims = [
                ("claims", asked)
                for name, asked in runs
                if answer(session, name, asked).get("kind") == REPRODUCTION
            ]
            return [("runs", {}), *runs, *claims]
        case _:
            program = state.setdefault("program", "addition")
            about = answer(session, "program", {"program": program})
            text = state.setdefault("input", str(about.get("example", "")))
            run = {"program": program, "input": text, "sets": []}
            return [
                ("programs", {}),
                ("program", {"program": program}),
                ("trace", run),
                ("weights", run),
                ("rules", {**run, "query": ""}),
            ]
