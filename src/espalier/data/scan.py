"""SCAN (Lake & Baroni 2018): commands, their actions, and the splits that are hard.

The grammar and its meaning are written out here, so the whole data set can be made without a
download; the splits are files. A file's actions are what counts: they are never taken from the
grammar.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from espalier.data import sources
from espalier.errors import DataError, FileError, is_one_of, nearest
from espalier.files import check_plain
from espalier.results import Described

Split = Literal["all", "length", "mcd1", "mcd2", "mcd3", "grammar"]
SPLITS: tuple[str, ...] = get_args(Split)

VERBS = ("walk", "look", "run", "jump")
WORDS = (
    *VERBS,
    "turn",
    "left",
    "right",
    "opposite",
    "around",
    "twice",
    "thrice",
    "and",
    "after",
)
ACTIONS = ("I_WALK", "I_LOOK", "I_RUN", "I_JUMP", "I_TURN_LEFT", "I_TURN_RIGHT")


@dataclass(frozen=True)
class Example:
    """A command and the actions it asks for, each as words with single spaces."""

    command: str
    actions: str

    @property
    def length(self) -> int:
        """How many actions there are."""
        return len(self.actions.split())


@dataclass(frozen=True, repr=False)
class ScanSplit(Described):
    """The examples to learn from and those to be tested on.

    `all` and `grammar` have only the latter: the 20,910 of the file, or made from the grammar.
    """

    name: str
    train: tuple[Example, ...]
    test: tuple[Example, ...]


def scan_split(name: str = "all", *, data: str | os.PathLike[str] | None = None) -> ScanSplit:
    """A split from its files in `data`, ESPALIER_DATA or the cache; `grammar` needs none.

    >>> split = scan_split("grammar")
    >>> len(split.test)
    20910
    """
    if not is_one_of(name, SPLITS):
        raise DataError(f"{name!r} is not a split of SCAN; {nearest(name, SPLITS)}")
    if name == "grammar":
        return ScanSplit(name, (), tuple(generate_examples()))
    folder = sources.find("scan", data)
    if name == "all":
        return ScanSplit(name, (), read_examples(folder / "tasks.txt"))
    place = folder / ("length_split" if name == "length" else "mcd_split")
    train, test = (read_examples(place / f"tasks_{part}_{name}.txt") for part in ("train", "test"))
    return ScanSplit(name, train, test)


def read_examples(file: Path) -> tuple[Example, ...]:
    """The examples of a file with a line `IN: jump twice OUT: I_JUMP I_JUMP` for each."""
    examples = []
    check_plain(file)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file} cannot be read as text in UTF-8: {error}") from error
    for number, line in enumerate(lines, start=1):
        before, found, actions = line.partition(" OUT: ")
        if not found or not before.startswith("IN: "):
            raise DataError(
                f"{file.name}, line {number}: expected 'IN: ... OUT: ...'; found {line[:60]!r}"
            )
        examples.append(Example(before.removeprefix("IN: ").strip(), actions.strip()))
    return tuple(examples)


def generate_examples() -> Iterator[Example]:
    """Every command of the grammar with its actions: 20,910."""
    clauses = list(_clauses())
    for clause in clauses:
        yield Example(clause, translate(clause))
    for one, conjunction, other in itertools.product(clauses, ("and", "after"), clauses):
        command = f"{one} {conjunction} {other}"
        yield Example(command, translate(command))


def translate(command: str) -> str:
    """The actions of a command, by the interpretation function that defines SCAN."""
    words = check_command(command)
    for conjunction in ("and", "after"):
        if conjunction in words:
            place = words.index(conjunction)
            one, other = _act(tuple(words[:place])), _act(tuple(words[place + 1 :]))
            parts = (one, other) if conjunction == "and" else (other, one)
            return " ".join(itertools.chain(*parts))
    return " ".join(_act(tuple(words)))


def check_command(command: object) -> list[str]:
    """The words of a command of the grammar; DataError says which part is not one."""
    words = check_words(command)
    joints = [place for place, word in enumerate(words) if word in ("and", "after")]
    if len(joints) > 1:
        raise DataError(f"{command!r} has {len(joints)} conjunctions; SCAN allows one")
    halves = [words] if not joints else [words[: joints[0]], words[joints[0] + 1 :]]
    for half in halves:
        if " ".join(half) not in _clauses():
            raise DataError(
                f"{' '.join(half)!r} is not a clause of SCAN; one is 'jump around left twice'"
            )
    return words


def check_words(command: object) -> list[str]:
    """The words of a command, all of SCAN, whether the grammar has them in this order or not."""
    if not isinstance(command, str) or not command.split():
        raise DataError(f"a SCAN command is words such as 'jump twice'; found {command!r}")
    words = command.split()
    for word in words:
        if word not in WORDS:
            raise DataError(f"{word!r} is not a word of SCAN; {nearest(word, WORDS)}")
    return words


def sample_command(source: random.Random, size: int) -> str:
    """A random command of at most `size` words (at least one)."""
    short = [clause for clause in _clauses() if len(clause.split()) <= size]
    one = source.choice(short)
    room = size - len(one.split()) - 1
    others = [clause for clause in _clauses() if len(clause.split()) <= room]
    if not others or source.random() < 0.2:
        return one
    return f"{one} {source.choice(('and', 'after'))} {source.choice(others)}"


@cache
def _clauses() -> tuple[str, ...]:
    """Every command without a conjunction."""
    manners = [f"{how}{side}" for how in ("", "opposite ", "around ") for side in ("left", "right")]
    directed = [f"{verb} {manner}" for verb in (*VERBS, "turn") for manner in manners]
    return tuple(
        f"{phrase}{often}" for phrase in (*VERBS, *directed) for often in ("", " twice", " thrice")
    )


def _act(words: tuple[str, ...]) -> list[str]:
    """The actions of a clause, from its last word to its first."""
    match words:
        case (*rest, "twice"):
            return _act(tuple(rest)) * 2
        case (*rest, "thrice"):
            return _act(tuple(rest)) * 3
        case (*rest, "opposite", ("left" | "right") as side):
            return [f"I_TURN_{side.upper()}"] * 2 + _act(tuple(rest))
        case (*rest, "around", ("left" | "right") as side):
            return ([f"I_TURN_{side.upper()}", *_act(tuple(rest))]) * 4
        case (*rest, ("left" | "right") as side):
            return [f"I_TURN_{side.upper()}", *_act(tuple(rest))]
        case ("turn",):
            return []
        case (verb,) if verb in VERBS:
            return [f"I_{verb.upper()}"]
    raise DataError(f"{' '.join(words)!r} is not a clause of SCAN")
