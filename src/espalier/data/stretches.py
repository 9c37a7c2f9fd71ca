"""Any number of sentences, in stretches of successive ones that are small enough for memory.

Files are read through once, which checks them; of a stretch only its place in the file is stored.
Its sentences are read from those bytes when they are needed.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from espalier.data.characters import refuse_nul
from espalier.data.conllu import conllu_files, parse_conllu
from espalier.data.treebank import ROOT, Parsed, Treebank
from espalier.errors import DataError, FileError
from espalier.files import check_plain

Format = Literal["conllu", "text"]
LONGEST = 2_000  # words of a line of text: its pairs are held together


@dataclass(frozen=True)
class Stretch:
    """Successive sentences of a file: where their bytes are, and how many came before them."""

    file: str
    format: Format
    start: int
    stop: int
    line: int  # lines of the file before it
    count: int  # sentences of the file before it
    first: int  # sentences of all files before it
    sentences: int
    chosen: tuple[int, ...] | None = None  # of its sentences, if not all

    def read(self) -> Treebank:
        """Its sentences; those of plain text have no trees to speak of."""
        with Path(self.file).open("rb") as opened:
            opened.seek(self.start)
            lines = _Lines(io.BytesIO(opened.read(self.stop - self.start)), self.file, self.line)
        found = list(_parsed(lines, self.format, self.count))
        return Treebank.of([found[n] for n in self.chosen] if self.chosen else found, self.file)


@dataclass(frozen=True)
class Stretches:
    """All stretches of some files, what they hold, and a SHA-256 over the files."""

    parts: tuple[Stretch, ...]
    sentences: int
    words: int
    pairs: int
    sha256: str

    def sample(self, count: int, *, seed: int = 0) -> Stretches:
        """That many sentences, those that `Treebank.sample` draws, renumbered."""
        if count < 1:
            raise DataError(f"a sample of {count} sentences was asked for; draw one at least")
        if count >= self.sentences:
            return self
        drawn = np.random.default_rng(seed).choice(self.sentences, size=count, replace=False)
        drawn.sort()
        parts, words, pairs = [], 0, 0
        for part in self.parts:
            low, high = np.searchsorted(drawn, [part.first, part.first + part.sentences])
            if low < high:
                chosen = tuple((drawn[low:high] - part.first).tolist())
                parts.append(replace(part, first=int(low), chosen=chosen))
                bank = parts[-1].read()
                words, pairs = words + len(bank.tags), pairs + bank.pairs
        return Stretches(tuple(parts), count, words, pairs, self.sha256)


def stretches(
    source: Sequence[str | os.PathLike[str]], *, format: Format = "conllu", pairs: int
) -> Stretches:
    """The sentences of files, in stretches of about `pairs` pairs of words each.

    CoNLL-U files are found as `treebank` finds them; in plain text every line is a sentence.

    >>> file = getfixture("tmp_path") / "text.txt"
    >>> _ = file.write_text("the dog sees\\n\\nthe cat\\na bird sings\\n")
    >>> found = stretches([file], format="text", pairs=3)
    >>> [part.read()[0].words for part in found.parts], found.pairs
    ([('the', 'dog', 'sees'), ('the', 'cat')], 7)
    """
    files = [Path(one) for one in source]
    if format == "conllu":
        files = [file for one in files for file in conllu_files(one)]
    parts: list[Stretch] = []
    total, digest = np.zeros(3, dtype=np.int64), hashlib.sha256()
    for file in files:
        for stretch, held in _cut(file, format, digest.update, pairs):
            parts.append(replace(stretch, first=int(total[0])))
            total += held
    if not parts:
        raise DataError(f"{', '.join(map(str, files))} holds no sentence; give one at least")
    sentences, words, count = total.tolist()
    return Stretches(tuple(parts), sentences, words, count, digest.hexdigest())


def _cut(
    file: Path, format: Format, see: Callable[[bytes], None], most: int
) -> Iterator[tuple[Stretch, tuple[int, int, int]]]:
    """Stretches of one file, each with its sentences, words and pairs."""
    check_plain(file)
    try:
        with file.open("rb") as opened:
            lines = _Lines(opened, str(file), see=see)
            start = line = before = sentences = words = pairs = 0
            for sentence in _parsed(lines, format, 0):
                sentences, words = sentences + 1, words + len(sentence)
                pairs += len(sentence) * (len(sentence) - 1) // 2
                if pairs >= most:
                    part = Stretch(str(file), format, start, lines.stop, line, before, 0, sentences)
                    yield part, (sentences, words, pairs)
                    start, line, before = lines.stop, lines.line, before + sentences
                    sentences = words = pairs = 0
            if sentences:
                part = Stretch(str(file), format, start, lines.stop, line, before, 0, sentences)
                yield part, (sentences, words, pairs)
    except FileError:
        raise
    except FileNotFoundError as error:
        what = "treebank" if format == "conllu" else "text"
        raise FileError(f"there is no {what} at {file}; name a file that is there") from error
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror}; name a file of text") from error


@dataclass
class _Lines:
    """Lines of a file as text, and how far they were read."""

    opened: Iterable[bytes]
    file: str
    line: int = 0
    stop: int = 0
    see: Callable[[bytes], None] | None = None

    def __iter__(self) -> Iterator[str]:
        for held in self.opened:
            self.line += 1
            self.stop += len(held)
            if self.see is not None:
                self.see(held)
            try:
                text = held.decode()
            except UnicodeDecodeError as error:
                raise FileError(
                    f"{self.file}, line {self.line}: not UTF-8 text; save the file as UTF-8"
                ) from error
            refuse_nul(text, self.file, line=self.line)
            yield text.removeprefix("\ufeff") if self.line == 1 else text


def _parsed(lines: _Lines, format: Format, count: int) -> Iterator[Parsed]:
    if format == "conllu":
        return parse_conllu(lines, lines.file, line=lines.line, count=count)
    return _text(lines)


def _text(lines: _Lines) -> Iterator[Parsed]:
    """One sentence per line, named by its number; without a tree, words hang from the first."""
    for text in lines:
        words = tuple(text.split())
        if len(words) > LONGEST:
            raise DataError(
                f"{lines.file}, line {lines.line}: {len(words):,} words; at most {LONGEST:,} are "
                f"read together: give a line to each sentence"
            )
        if words:
            some = len(words)
            heads = (ROOT, *[0] * (some - 1))
            yield Parsed(str(lines.line), words, ("X",) * some, heads, ("",) * some)
