"""The page as files: its modules as they lie in `static/`, or all of it in one file.

The build is small because the modules keep to two forms: `import { a, b } from "./other.js"` and
`export` before a function or const. In one file every module becomes a function that returns what
it exports, in the order in which they need each other.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from espalier.errors import FileError

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
SHARED = {"history.js": "espalierHistory", "page.css": ""}  # what `show` has already
MAIN = "app.js"


@cache
def asset(name: str) -> str:
    """A file of the page; FileError if it has none of that name."""
    if name in SHARED:
        export = f"\nexport {{ {SHARED[name]} }};\n" if SHARED[name] else ""
        shared = files("espalier") / "show" / "static" / name  # without importing that room
        return shared.read_text("utf-8") + export
    file = files("espalier.explorer") / "static" / name
    if not re.fullmatch(r"[\w-]+\.(js|css|html)", name) or not file.is_file():
        raise FileError(f"the page has no file {name!r}")
    return file.read_text("utf-8")


@cache
def order(name: str = MAIN) -> tuple[str, ...]:
    """A module and all that it imports, those that are needed first."""
    found: list[str] = []
    for _, other in IMPORT.findall(asset(name)):
        found += [one for one in order(other) if one not in found]
    return (*found, name)


@cache
def script() -> str:
    """Every module in one script, which leaves `start` and `answerFrom` in `espalierExplorer`."""
    parts = [_wrapped(name) for name in order()]
    return "const espalierExplorer = (() => {\n" + "".join(parts) + f"return {_name(MAIN)};\n}})();"


def _wrapped(name: str) -> str:
    """A module as a function that is called once and returns what it exports."""
    text = asset(name)
    exported = [SHARED[name]] if name in SHARED else EXPORT.findall(text)
    body = re.sub(r"\nexport \{.*\};\n", "\n", text)
    body = IMPORT.sub(lambda m: f"const {{{m[1].replace(' as ', ': ')}}} = {_name(m[2])};\n", body)
    body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    return f"const {_name(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();\n"


def _name(file: str) -> str:
    return "m_" + file.removesuffix(".js").replace("-", "_")


def styles() -> str:
    """Every style of the page."""
    return asset("page.css") + asset("explorer.css")


def page_of(state: str, answers: dict[str, Any]) -> str:
    """One self-contained file: a view and the answers that it was given, without a server.

    `state` is the part after the # of an address, `answers` are by `name {question}`.
    """
    held = json.dumps({"state": state, "answers": answers}, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        held = held.replace(character, f"\\u{ord(character):04x}")
    return template().replace("{}/*recorded*/", held)


def template() -> str:
    """The file with no answers in it yet; a page puts in its own."""
    return (
        asset("offline.html")
        .replace("/*styles*/", styles())
        .replace("/*script*/", script().replace("</script", "<\\/script"))
    )
