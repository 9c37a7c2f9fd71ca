"""CoNLL-U files into treebanks, by pyconll. What is broken is refused with its file and line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from espalier.data.sources import find
from espalier.data.treebank import ROOT, TAGS, Parsed, Treebank, load_treebank
from espalier.errors import DataError, FileError, nearest

COLUMNS = 10
BANKS = ("ud-english-ewt",)  # known by name


def treebank(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, name: str | None = None
) -> Treebank:
    """The sentences of CoNLL-U files, one after the other; or of a treebank saved as .npz.

    `source` is a file, several files, or a folder: all *.conllu files in it, by name. A known
    treebank ('ud-english-ewt') is found by its name.
    """
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    files = [file for one in given for file in _files(Path(one))]
    if len(files) == 1 and files[0].suffix == ".npz":
        return load_treebank(files[0])
    sentences = [sentence for file in files for sentence in read_conllu(file)]
    if not sentences:
        raise DataError(f"{', '.join(map(str, files))} holds no sentence; a treebank needs one")
    return Treebank.of(sentences, name or "+".join(file.stem for file in files))


def read_conllu(path: str | os.PathLike[str]) -> Iterator[Parsed]:
    """The sentences of one file, checked as they are read."""
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig") as lines:  # some editors write a mark at the start
            yield from parse_conllu(lines, str(file))
    except FileNotFoundError as error:
        raise FileError(
            f"there is no treebank at {file}; name a CoNLL-U file, a folder of them, or "
            f"{' or '.join(BANKS)}"
        ) from error
    except UnicodeDecodeError as error:
        line = _undecodable(file.read_bytes())
        raise FileError(f"{file}, line {line}: not UTF-8 text; save the file as UTF-8") from error


def parse_conllu(lines: Iterable[str], origin: str = "the text") -> Iterator[Parsed]:
    """The sentences in these lines; `origin` is what errors call them."""
    from pyconll.exception import ParseError
    from pyconll.load import iter_from_resource

    counted = _Counted(lines, origin)
    try:
        for number, sentence in enumerate(iter_from_resource(counted)):
            tokens = list(zip(sentence, counted.taken(), strict=True))
            if tokens:
                yield _Checked(tokens, origin).sentence(sentence.id or f"{number + 1}")
    except ParseError as error:
        raise DataError(
            f"{origin}, line {counted.unreadable()}: not CoNLL-U; features are Name=Value|..., "
            f"enhanced dependencies head:relation|..."
        ) from error


class _Counted:
    """Lines on their way to pyconll; those that hold a token are kept with their numbers."""

    def __init__(self, lines: Iterable[str], origin: str) -> None:
        self._lines, self._origin = lines, origin
        self._tokens: dict[int, str] = {}
        self._line = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._line += 1
            if line.strip() and not line.startswith("#"):
                self._tokens[self._line] = line
                self._check(line.rstrip("\r\n").split("\t"))
            yield line

    def taken(self) -> list[int]:
        """The lines of the tokens read since this was last asked."""
        found, self._tokens = list(self._tokens), {}
        return found

    def unreadable(self) -> int:
        """The first line of the sentence at hand that is no token by itself."""
        from pyconll.exception import ParseError
        from pyconll.unit.token import Token

        for number, line in self._tokens.items():
            try:
                Token(line)
            except ParseError:
                return number
        return self._line

    def _check(self, columns: Sequence[str]) -> None:
        where = f"{self._origin}, line {self._line}"
        if len(columns) != COLUMNS:
            raise DataError(
                f"{where}: {len(columns)} columns, where CoNLL-U has {COLUMNS}, separated by tabs"
            )
        if "" in columns:
            empty = columns.index("") + 1
            raise DataError(f"{where}: column {empty} is empty; what is not known is written _")


class _Checked:
    """The tokens of one sentence with their lines, turned into words."""

    def __init__(self, tokens: Sequence[tuple[Any, int]], origin: str) -> None:
        self._origin, self._all = origin, tokens
        own = [(t, n) for t, n in tokens if not t.is_multiword() and not t.is_empty_node()]
        self._tokens, self._lines = [t for t, _ in own], [n for _, n in own]
        if not own:
            raise self._wrong(tokens[0][1], "a sentence without words; remove it")

    def sentence(self, name: str) -> Parsed:
        """The sentence, if it is a tree."""
        for place, (token, line) in enumerate(zip(self._tokens, self._lines, strict=True)):
            if token.id != str(place + 1):
                raise self._wrong(line, f"word {token.id!r} stands where {place + 1} is due")
            if token.upos not in TAGS:
                raise self._wrong(
                    line,
                    f"{token.upos or '_'!r} is no universal part of speech; "
                    f"{nearest(token.upos or '_', TAGS)}",
                )
        self._check_others()
        heads = [self._head(token, line) for token, line in self._numbered()]
        self._check_tree(heads)
        return Parsed(
            name,
            tuple(token.form or "_" for token in self._tokens),
            tuple(token.upos for token in self._tokens),
            tuple(heads),
            tuple(token.deprel or "_" for token in self._tokens),
        )

    def _numbered(self) -> Iterator[tuple[Any, int]]:
        return zip(self._tokens, self._lines, strict=True)

    def _check_others(self) -> None:
        """Multiword tokens stand before their words, empty nodes after theirs."""
        before = covered = 0  # words passed, and the last one that a multiword token stands for
        for token, line in self._all:
            if token.is_multiword():
                first, last = _numbers(token.id, "-")
                if not covered < first == before + 1 <= last <= len(self._tokens):
                    raise self._wrong(line, f"{token.id} does not span the words that follow it")
                covered = last
            elif token.is_empty_node():
                if _numbers(token.id, ".")[0] != before:
                    raise self._wrong(line, f"empty node {token.id} stands after word {before}")
            else:
                before += 1

    def _head(self, token: Any, line: int) -> int:
        count, given = len(self._tokens), token.head or "_"
        if not (given.isascii() and given.isdecimal()):
            raise self._wrong(line, f"word {token.id} has the head {given!r}; give a number")
        if int(token.head) > count:
            raise self._wrong(
                line, f"the head of word {token.id} is {token.head}, but the words are 1..{count}"
            )
        return int(token.head) - 1 if int(token.head) else ROOT

    def _check_tree(self, heads: Sequence[int]) -> None:
        """One root, which every word leads up to."""
        roots = [place for place, head in enumerate(heads) if head == ROOT]
        if len(roots) > 1:
            both = " and ".join(str(place + 1) for place in roots[:2])
            raise self._wrong(self._lines[roots[1]], f"words {both} are both roots (head 0)")
        above = list(heads)
        for _ in range(len(heads).bit_length()):  # each time twice as far up
            above = [ROOT if one == ROOT else above[one] for one in above]
        lost = [place for place, one in enumerate(above) if one != ROOT]
        if lost:
            on_it = above[lost[0]]  # as many steps up as there are words: on the cycle itself
            raise self._wrong(
                self._lines[on_it], f"word {on_it + 1} is its own ancestor: heads run in a cycle"
            )
        assert roots  # without a root there would have been a cycle

    def _wrong(self, line: int, finding: str) -> DataError:
        return DataError(f"{self._origin}, line {line}: {finding}")


def _numbers(name: str, sign: str) -> tuple[int, int]:
    """The two numbers of a range or of an empty node; -1 for what is none."""
    first, _, last = (int(n) if n.isdecimal() else -1 for n in name.partition(sign))
    return first, last


def _undecodable(content: bytes) -> int:
    """The number of the first line that is not UTF-8."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return number
    return 1


def _files(place: Path) -> list[Path]:
    """The file itself, or the CoNLL-U files of a folder or of a known treebank."""
    if str(place) in BANKS and not place.exists():
        place = find(str(place))
    if not place.is_dir():
        return [place]
    found = sorted(place.glob("*.conllu"))
    if not found:
        raise FileError(f"{place} holds no *.conllu file")
    return found
