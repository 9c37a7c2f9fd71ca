"""What the site makes of the code: the reference's pages, docstrings as text, equations as MathML.

Nothing here is kept: `docs/reference/generated` is written anew by every build, so it cannot lag.
"""

import inspect
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import ModuleType

import espalier as es

SOURCE = Path(es.__file__).parent
HIDDEN = {
    "espalier",
    "espalier.commands",
}  # the front page lists the one, the command line the other
ALONE = ("espalier.alta", "espalier.errors", "espalier.loading", "espalier.results")


def rooms() -> list[str]:
    """Every package with a face, and the files that are rooms by themselves."""
    packages = (
        ".".join(f.parent.relative_to(SOURCE.parent).parts) for f in SOURCE.rglob("__init__.py")
    )
    return sorted({*packages, *ALONE} - HIDDEN)


def public_names(module: ModuleType) -> list[str]:
    """What a face offers; of a file, what it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    return sorted(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def write_reference(docs: Path) -> None:
    """Write a page for every room, one for the names at the top, and one for the command line."""
    from espalier.cli import app

    folder = docs / "reference" / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seen: set[int] = set()
    for room in sorted(rooms(), key=lambda name: (name.count("."), name)):
        import_module(room)
        (folder / f"{room}.md").write_text(room_page(sys.modules[room], seen))
    (folder / "names.md").write_text(names_page())
    text = app.generate_docs(output_format="markdown")
    text = text.replace(" -m sphinx", "")  # how the site is built is no part of a command
    text = re.sub(r"(?s)## Table of Contents\n.*?(?=\*\*Commands)", "", text)  # the margin has it
    (folder / "command-line.md").write_text(text.replace("# espalier\n", "# The command line\n", 1))


def room_page(module: ModuleType, seen: set[int]) -> str:
    """A page that lets autodoc say what a room offers; what was seen elsewhere is only named."""
    entries = "\n".join(entry(module, name, seen) for name in public_names(module))
    about = markdown(inspect.getdoc(module) or "")
    return f"# {module.__name__}\n\n{about}\n\n```{{eval-rst}}\n{entries}\n```\n"


def entry(module: ModuleType, name: str, seen: set[int]) -> str:
    """The directive for one name."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        return ""
    kind, options = "data", ["no-value"]
    if inspect.isclass(value):
        kind, options = "class", ["members"]
        if issubclass(value, BaseException):
            kind = "exception"
    elif inspect.isroutine(value):
        kind, options = "function", []
    if id(value) in seen and kind != "data":
        return f":py:obj:`{value.__module__}.{value.__name__}`: see its own room.\n"
    seen.add(id(value))
    return f".. auto{kind}:: {module.__name__}.{name}\n" + "".join(f"   :{o}:\n" for o in options)


def names_page() -> str:
    """The names of `import espalier as es`, each with what it is and where it lives."""
    rows = []
    for name in es.__all__:
        value, home = getattr(es, name), es._HOMES[name]
        first = "The version." if isinstance(value, str) else inspect.getdoc(value).split("\n")[0]
        link = f"[`es.{name}`](espalier.{name}.md)"
        if home is not None:
            link = f"{{py:obj}}`es.{name} <espalier.{home}.{name}>`"
        rows.append(f"| {link} | {first.replace('|', chr(92) + '|')} |")
    head = "# Names of `import espalier as es`\n\n| name | what it is |\n|---|---|\n"
    return head + "\n".join(rows) + "\n"


def markdown(text: str) -> str:
    """A docstring as Markdown: examples fenced."""
    return re.sub(r"(?ms)^(>>> .*?)(?=\n\n|\Z)", r"```python\n\1\n```", text)


def read_markdown(app, what, name, found, options, lines) -> None:
    """Docstrings are written as Markdown is; turn one into what autodoc reads, in place."""
    # A constant has no docstring but that of its type, and a field of a tuple only its number.
    silent = what == "data" or "\n".join(lines).startswith("Alias for field number")
    lines[:] = [] if silent else as_rst("\n".join(lines)).splitlines()


def as_rst(text: str) -> str:
    """The docstring's paragraphs, examples and indented lines in reStructuredText."""
    parts = []
    for part in re.split(r"\n[ \t]*\n", text.strip("\n")):
        if not part.strip():
            continue
        if part.startswith(">>>"):
            parts.append(part)
        elif not part.startswith("- ") and re.search(r"^  ", part, re.M):  # set out by hand
            parts.append("::\n\n" + indent(part, "    "))
        else:
            parts.append(prose(part))
    return "\n\n".join(parts) + "\n"


def prose(text: str) -> str:
    """One paragraph: `names` are literal, and nothing else is markup but the dash of a list."""
    pieces = text.split("`")
    for number, piece in enumerate(pieces):
        if number % 2 and piece.strip():
            pieces[number] = f"\\ ``{piece.strip()}``\\ "
        else:
            pieces[number] = re.sub(r"([\\*|_])", r"\\\1", piece)
    return "".join(pieces).replace("\n\\ ``", "\n``").removeprefix("\\ ")


def link_pictures(app, page, template, context, doctree) -> None:
    """Every picture of a page is a link to itself: a wide figure is read at its own size."""
    context["body"] = linked(context.get("body", ""))


def linked(body: str) -> str:
    """The page's text with its pictures as links, but for those that lead elsewhere."""
    whole = r'(?s)<a\b[^>]*>.*?</a>|<img\b[^>]*?src="([^"]+\.png)"[^>]*>'

    def link(found: re.Match[str]) -> str:
        picture, file = found[0], found[1]
        if file is None or "sd-card" in picture:
            return picture
        return f'<a href="{file}" title="at its own size">{picture}</a>'

    return re.sub(whole, link, body)


def _converted(node, display: str) -> str:
    from latex2mathml.converter import convert

    return convert(node.astext(), display=display)


def _inline(translator, node) -> None:
    from docutils import nodes

    translator.body.append(_converted(node, "inline"))
    raise nodes.SkipNode


def _display(translator, node) -> None:
    from docutils import nodes

    for block in node.astext().split("\n\n"):
        math = _converted(type(node)(block, block), "block")
        translator.body.append(f'<div class="equation">{math}</div>')
    raise nodes.SkipNode


INLINE, DISPLAY = (_inline, None), (_display, None)
