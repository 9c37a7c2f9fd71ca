"""What may be looked at in one visit: programs, language models and a folder of runs.

All of it is named when the explorer starts. A browser can only choose among the names, so no path
and no code ever comes from a page; entries, traces and models are built once and cached.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from espalier import zoo
from espalier.errors import ConfigError, DataError, nearest

if TYPE_CHECKING:
    from espalier.zoo import Entry

T = TypeVar("T")

ENGLISH = "english"
HELD = 16  # traces, models and runs that are cached


@dataclass
class Session:
    """The names that a page may choose among, and what has been made for it so far.

    >>> Session(programs=["addition"]).entry("addition").expected("34+56")
    '90'
    """

    programs: list[str] = field(default_factory=list)  # beyond the zoo: FILE.py:NAME, FILE
    models: list[str] = field(default_factory=list)  # beyond the package's own
    runs: str = ""  # the folder whose runs are listed
    treebank: str = ""  # a file of parsed sentences
    _entries: dict[str, Entry] = field(default_factory=dict, repr=False)
    _held: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What it was made of, as JSON holds it."""
        names = ("programs", "models", "runs", "treebank")
        return {name: getattr(self, name) for name in names}

    def program_names(self) -> dict[str, str]:
        """Every program with what it computes, one's own first."""
        return dict.fromkeys(self.programs, "a program of your own") | zoo.names()

    def entry(self, name: object) -> Entry:
        """The program of that name."""
        known = self.program_names()
        if not isinstance(name, str) or name not in known:
            raise ConfigError(f"there is no program {name!r} here; {nearest(name, known)}")
        if name not in self._entries:
            from espalier.targets import load_target  # not in the server's own process

            self._entries[name] = load_target(name)
        return self._entries[name]

    def folder(self, name: object) -> Path:
        """The run of that name, which lies inside the folder of runs."""
        root = Path(self.runs).resolve() if self.runs else None
        if root is None or not isinstance(name, str):
            raise ConfigError("no folder of runs was given: espalier explore RUN_FOLDER")
        found = (root / name).resolve()
        if not found.is_relative_to(root) or not found.is_dir():
            raise ConfigError(f"{name!r} is no run of this folder")
        return found

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, cached until `HELD` others have been used since."""
        if key not in self._held:
            self._held[key] = make()
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]  # type: ignore[no-any-return]


def text_of(asked: dict[str, Any], name: str, most: int = 2000) -> str:
    """A text that a page sent, of at most `most` characters."""
    found = asked.get(name, "")
    if not isinstance(found, str) or len(found) > most:
        raise DataError(f"{name} is a text of at most {most:,} characters; found {found!r:.60}")
    return found


def number_of(asked: dict[str, Any], name: str, *, least: int = 0, most: int = 10**6) -> int:
    """A whole number that a page sent."""
    found = asked.get(name)
    if type(found) is not int or not least <= found <= most:
        raise DataError(f"{name} is a whole number from {least} to {most:,}; found {found!r}")
    return found
