"""Text corpora: words split at white space, <eos> at the end of each line, numbers out.

The vocabulary is that of the training text, in the order of first appearance. In held-out text a
word outside it is <unk>, and counted.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Int

from espalier.data.characters import refuse_nul
from espalier.data.sources import find
from espalier.errors import DataError, FileError, check_kind
from espalier.files import as_path, check_plain
from espalier.results import Described

Array = np.ndarray
END, UNKNOWN = "<eos>", "<unk>"
# Corpora that are known by name.
TEXTS = ("wikitext-2",)
WIKITEXT_2_WORDS = 33_278


@dataclass(frozen=True, repr=False)
class TextCorpus(Described):
    """Three streams of token numbers and the words they stand for."""

    name: str
    words: tuple[str, ...]
    train: Int[Array, " T"]
    valid: Int[Array, " T_valid"]
    test: Int[Array, " T_test"]
    unknown: dict[str, int]  # words of each part that became <unk>

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each word occurs in the training text."""
        return tuple(np.bincount(self.train, minlength=len(self.words)).tolist())

    @property
    def digest(self) -> str:
        """SHA-256 of the three streams of numbers; the words they stand for have another."""
        whole = hashlib.sha256()
        for part in (self.train, self.valid, self.test):
            whole.update(np.ascontiguousarray(part, dtype=np.int32).tobytes())
        return whole.hexdigest()

    @property
    def words_digest(self) -> str:
        """SHA-256 of the words in the order of their numbers."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()


def text_corpus(
    source: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    vocabulary: int | None = None,
) -> TextCorpus:
    """A corpus from a known name ('wikitext-2'), a directory of parts, or one text file.

    `vocabulary` keeps that many most frequent words, <unk> and <eos> among them. One file is
    split by lines: nine tenths to train on, the rest for validation and test.

    >>> folder = getfixture("tmp_path")
    >>> for part in ("train", "valid", "test"):
    ...     _ = (folder / f"{part}.txt").write_text("the cat sat")
    >>> text_corpus(folder).words
    ('the', 'cat', 'sat', '<eos>', '<unk>')
    """
    known = str(source) in TEXTS
    place = find(str(source), data) if known else as_path(source)
    lines = _parts(place)
    words = _words(lines["train"], vocabulary)
    parts = {part: _encode(text, words) for part, text in lines.items()}
    if str(source) == "wikitext-2" and vocabulary is None and len(words) != WIKITEXT_2_WORDS:
        raise DataError(
            f"{place} has {len(words):,} distinct words; WikiText-2 has {WIKITEXT_2_WORDS:,} with "
            f"{END}. Is it the raw or another version?"
        )
    return TextCorpus(
        name=str(source) if known else place.stem,
        words=words,
        train=parts["train"][0],
        valid=parts["valid"][0],
        test=parts["test"][0],
        unknown={part: count for part, (_, count) in parts.items()},
    )


def _parts(place: Path) -> dict[str, list[str]]:
    """The lines of each part."""
    if place.is_dir():
        return {part: _lines(_part_file(place, part)) for part in ("train", "valid", "test")}
    check_plain(place)
    if not place.is_file():
        raise FileError(
            f"there is no text at {place}; give a file, a directory with train, valid and test "
            f"files, or one of {', '.join(TEXTS)}"
        )
    lines = _lines(place)
    if len(lines) < 10:
        raise DataError(f"{place} has {len(lines)} lines; at least 10 are needed to split it")
    first, second = len(lines) * 9 // 10, len(lines) * 19 // 20
    return {"train": lines[:first], "valid": lines[first:second], "test": lines[second:]}


def _part_file(folder: Path, part: str) -> Path:
    """The file of a folder whose name holds `train`, `valid` (or `dev`) or `test`."""
    names = ("valid", "dev") if part == "valid" else (part,)
    files = sorted(file for file in folder.iterdir() if file.is_file())
    found = [f for f in files if any(name in f.name.lower().split(".") for name in names)]
    found = found or [f for f in files if any(name in f.stem.lower() for name in names)]
    if len(found) != 1:
        there = ", ".join(file.name for file in files[:8]) or "nothing"
        raise FileError(
            f"{folder} should hold one {part} file, such as {part}.txt; {len(found)} match, and "
            f"it holds {there}"
        )
    return found[0]


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors write a mark at the start
    except UnicodeDecodeError as error:
        raise FileError(f"{file} is not UTF-8 text: {error}") from error
    refuse_nul(text, file)
    if not text.strip():
        raise DataError(f"{file} holds no words")
    return text.removesuffix("\n").split("\n")


def _tokens(lines: Iterable[str]) -> Iterable[str]:
    return chain.from_iterable([*line.split(), END] for line in lines)


def _words(lines: Sequence[str], limit: int | None) -> tuple[str, ...]:
    """Distinct words by first appearance; with a limit, the most frequent of them."""
    counts = Counter(_tokens(lines))
    if limit is None:
        return tuple(counts) if UNKNOWN in counts else (*counts, UNKNOWN)
    check_kind("vocabulary", limit, int, error=DataError)
    if limit < 3:
        raise DataError(f"a vocabulary of {limit} is too small: {UNKNOWN} and {END} are in it")
    frequent = {word for word, _ in counts.most_common() if word not in (UNKNOWN, END)}
    ranked = [word for word, _ in counts.most_common() if word in frequent][: limit - 2]
    kept = {*ranked, UNKNOWN, END}
    ordered = tuple(word for word in counts if word in kept)
    return ordered if UNKNOWN in counts else (*ordered, UNKNOWN)


def _encode(lines: Sequence[str], words: tuple[str, ...]) -> tuple[Int[Array, " T"], int]:
    """Numbers, and how many words were not known."""
    index = {word: number for number, word in enumerate(words)}
    missing = index[UNKNOWN]
    numbers = np.fromiter((index.get(t, -1) for t in _tokens(lines)), dtype=np.int32)
    unknown = numbers < 0
    numbers[unknown] = missing
    return numbers, int(unknown.sum())
