"""The house keeps its shape: faces, no circles, nothing hidden, files that can be read."""

import ast
from pathlib import Path

import pytest

import espalier

SOURCE = Path(espalier.__file__).parent


def module_of(file: Path) -> str:
    parts = ("espalier", *file.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


FILES = {module_of(file): file for file in sorted(SOURCE.rglob("*.py"))}
PACKAGES = {name for name, file in FILES.items() if file.name == "__init__.py"}


def imports(name: str) -> set[str]:
    """Every module of the package that a file imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                # `from package import file` imports the file.
                found |= {
                    whole if (whole := f"{module}.{alias.name}") in FILES else module
                    for alias in node.names
                }
    return found & FILES.keys()


GRAPH = {name: imports(name) for name in FILES}


def room(name: str) -> str:
    return ".".join(name.split(".")[:2])


def circles() -> list[set[str]]:
    """Sets of files that reach each other, by the closure of who imports whom."""
    reach = {name: set(found) for name, found in GRAPH.items()}
    changed = True
    while changed:
        changed = False
        for found in reach.values():
            more = set().union(*(reach[other] for other in found)) - found
            if more:
                found |= more
                changed = True
    return [
        {other for other in reach[name] if name in reach[other]}
        for name in reach
        if name in reach[name]
    ]


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert circles() == []


def test_rooms_are_entered_through_their_face() -> None:
    bypassing = {
        f"{name} imports {other}"
        for name, found in GRAPH.items()
        for other in found
        if room(name) != room(other) and other not in PACKAGES and other.count(".") > 1
    }
    assert bypassing == set()


def test_faces_say_what_is_public() -> None:
    silent = [name for name in PACKAGES if "__all__" not in FILES[name].read_text()]
    assert silent == []


@pytest.mark.parametrize("word", ["import_module", "__import__("])
def test_no_import_is_hidden(word: str) -> None:
    """Only the top of the package loads by name, what its stub says."""
    assert {name for name, file in FILES.items() if word in file.read_text()} <= {"espalier"}


def test_files_can_be_read_in_one_sitting() -> None:
    lines = {name: file.read_text().count("\n") for name, file in FILES.items()}
    assert {name: count for name, count in lines.items() if count > 400} == {}
    assert sorted(lines.values())[len(lines) // 2] < 120
    assert sum(lines.values()) < 26_000
