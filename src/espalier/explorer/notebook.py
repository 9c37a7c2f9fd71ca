"""The explorer in a notebook (Jupyter, marimo, VS Code), and as one file from Python.

The widget is the page's own modules; its questions are answered in the kernel, without a server.
"""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlencode

from espalier.errors import ConfigError
from espalier.explorer.answers import answer
from espalier.explorer.bundle import page_of, script, styles
from espalier.explorer.session import Session
from espalier.explorer.training_runs import REPRODUCTION
from espalier.files import write_text

RENDER = """
export default {
  render({ model, el }) {
    const waiting = new Map();
    let asked = 0;
    model.on("msg:custom", (message) => {
      waiting.get(message.number)?.(message.answer);
      waiting.delete(message.number);
    });
    const root = el.appendChild(document.createElement("div"));
    return void espalierExplorer.start(root, {
      ask: (name, question) => new Promise((told) => {
        waiting.set(++asked, told);
        model.send({ number: asked, name, question });
      }),
      live: true,
      address: {
        read: () => model.get("state"),
        write: (state) => { model.set("state", state); model.save_changes(); },
        changed: (call) => model.on("change:state", call),
      },
    });
  },
};
"""


def widget(session: Session | None = None, **state: str) -> Any:
    """The explorer as a widget that begins with `state`: view="programs", program="addition".

    Needs anywidget: pip install 'espalier[notebook]'.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise ConfigError("the widget needs anywidget: pip install 'espalier[notebook]'") from None
    asked_of = Session() if session is None else session

    class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
        _esm, _css = script() + RENDER, styles()
        state = traitlets.Unicode("").tag(sync=True)

    made = Explorer(state=urlencode(state))

    def reply(_: Any, message: dict[str, Any], buffers: Any) -> None:
        found = answer(asked_of, message["name"], message["question"])
        made.send({"number": message["number"], "answer": found})

    made.on_msg(reply)
    return made


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
    """What a page calls a question: the same for the same question."""
    told = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{name} {told}"


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
            asked_of = {name: answer(session, "run", {"run": name}) for name in chosen}
            claims = [name for name in chosen if asked_of[name].get("kind") == REPRODUCTION]
            runs = [
                (kind, {"run": name})
                for kind, some in (("run", chosen), ("claims", claims))
                for name in some
            ]
            return [("runs", {}), *runs]
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
