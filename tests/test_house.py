"""The house keeps its shape: faces, no circles, nothing hidden, files that can be read."""

import ast
import re
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

import espalier

SOURCE = Path(espalier.__file__).parent


def module_of(file: Path) -> str:
    parts = ("espalier", *file.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


FILES = {module_of(file): file for file in sorted(SOURCE.rglob("*.py"))}
PACKAGES = {name for name, file in FILES.items() if file.name == "__init__.py"}


@cache
def exported(package: str) -> set[str]:
    """What a package's `__all__` names, if it is one of ours."""
    for node in ast.parse(FILES[package].read_text()).body if package in PACKAGES else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            with suppress(ValueError):
                return set(ast.literal_eval(node.value))
    return set()


@cache
def imports(name: str, *, types: bool = True) -> frozenset[str]:
    """Every module of the package that a file imports, wherever in the file it does."""
    found, tree = set(), ast.parse(FILES[name].read_text())
    for node in ast.walk(tree if types else RuntimeOnly().visit(tree)):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                # `from package import file` imports the file, if the face does not offer it.
                for alias in node.names:
                    file = f"{module}.{alias.name}"
                    offered = module != name and alias.name in exported(module)
                    inside = file in FILES and not offered
                    found.add(file if inside else module)
    return frozenset(found & FILES.keys())


class RuntimeOnly(ast.NodeTransformer):
    """Leaves out what only a type checker imports."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def room(name: str) -> str:
    return ".".join(name.split(".")[:2])


def circles() -> list[set[str]]:
    """Sets of files that reach each other, by the closure of who imports whom."""
    reach = {name: set(imports(name, types=False)) for name in FILES}
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
        for name in FILES
        for other in imports(name)
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


def test_what_contributors_are_told_is_so() -> None:
    """The rooms are drawn as they are kept, and what a contributor is sent to is there."""
    root = SOURCE.parent.parent
    told = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    linter = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]
    drawn = [re.split(" {2,}", line)[0] for line in told.split("```")[1].strip().splitlines()]
    assert drawn == linter["contracts"][0]["layers"][1:]
    table = told[told.index("| where would I") : told.index("## How code reads")]
    for place in re.findall(r"`([\w/]+(?:/|\.py))`", table):
        assert (SOURCE / place).exists() or (root / place).exists(), place
