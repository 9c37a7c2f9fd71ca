"""The code blocks of the pages: read, run, and held against what stands below them.

Python blocks of a page share one namespace, and commands its folder. A block may be followed by
what it prints, with ... for what may differ. One that cannot be run here has a comment above it,
`<!-- not run: why -->`; then its Python is compiled and its commands are parsed. So are blocks of
commands without a language: what stands in them takes minutes or more. A block that begins with
the name of a file (`# seen.py`) is put there.
"""

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from docs.notebooks import FENCE, NAMED

from espalier.cli import app, main

ROOT = Path(__file__).parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SHELL = ("bash", "console", "")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    code: str
    shown: str | None
    why: str | None  # it is not run

    @property
    def commands(self) -> list[str]:
        """What a shell would be given, continued lines joined, without comments."""
        lines = self.code.replace("\\\n", " ").splitlines()
        words = (shlex.join(shlex.split(line, comments=True)) for line in lines)
        return [line for line in words if line]


def pages() -> list[str]:
    """README and every page that is written by hand."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [file.relative_to(ROOT).as_posix() for file in found]
    return [name for name in names if "_build" not in name and "/generated/" not in name]


def blocks(page: str) -> list[Block]:
    """The Python and shell blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("fence")) + 1
        parts = match["language"], match["code"], match["shown"], match["why"]
        found.append(Block(page, line, *parts))
    return [block for block in found if block.language == "python" or is_shell(block)]


def is_shell(block: Block) -> bool:
    """Marked as such; or without a mark, and beginning with a command."""
    if block.language:
        return block.language in SHELL
    return bool(re.match(r"(\w+=\S+ )?(espalier|python|pytest|make|pip|uv) ", block.code))


def run(block: Block, names: dict[str, object]) -> None:
    """Run a block where it stands, or see that it could be, and compare what it prints."""
    where = f"{block.page}, line {block.line}"
    printed = io.StringIO()
    if block.language == "python":
        code = compile("\n" * block.line + block.code, block.page, "exec")
        if file := NAMED.match(block.code):
            Path(file[1]).write_text(block.code, encoding="utf-8")
        if file or block.why is not None:
            return
        with contextlib.redirect_stdout(printed):
            exec(code, names)
    else:
        for command in block.commands:
            check(command, where)
            if block.language and block.why is None and command.startswith("espalier "):
                with contextlib.redirect_stdout(printed):
                    call(command, where)
    if block.shown is not None and block.language and block.why is None:
        got = printed.getvalue()
        assert doctest.OutputChecker().check_output(block.shown, got, FLAGS), f"{where}:\n{got}"


def call(command: str, where: str) -> None:
    errors, status = io.StringIO(), 0
    with contextlib.redirect_stderr(errors):
        try:
            main(shlex.split(command)[1:])
        except SystemExit as stopped:
            status = stopped.code
    assert not status, f"{where}: {command}\n{errors.getvalue()}"


def check(command: str, where: str) -> None:
    """See that a command exists and takes these words."""
    words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
    match words:
        case ["espalier", *rest]:
            app.parse_args(rest, exit_on_error=False, print_error=False)
        case ["python", "-m", module, *_] if module.partition(".")[0] in ("benchmarks", "docs"):
            path = ROOT.joinpath(*module.split("."))
            assert path.is_dir() or path.with_suffix(".py").is_file(), f"{where}: {command}"
        case ["python", file, *_] if file.endswith(".py"):
            assert (ROOT / file).is_file(), f"{where}: {command}"
        case ["make", target]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), where
        case ["pip" | "uv" | "pytest" | "python" | "python3" | "source" | "git" | "cd", *_]:
            pass
        case _:
            raise AssertionError(f"{where}: nothing is known of the command {command!r}")
