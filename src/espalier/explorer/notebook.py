"""The explorer in a notebook (Jupyter, marimo, VS Code).

The widget is the page's own modules; its questions are answered in the kernel, without a server.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from espalier.errors import ConfigError
from espalier.explorer.answers import answer
from espalier.explorer.bundle import script, styles
from espalier.explorer.session import Session

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
      ask: (name, question) => new Promise((resolve) => {
        waiting.set(++asked, resolve);
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
