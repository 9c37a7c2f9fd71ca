"""CoNLL-U files into treebanks. What is broken is refused with its file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from espalier.data.characters import refuse_nul
from espalier.data.sources import find
from espalier.data.treebank import ROOT, TAGS, Parsed, Treebank, load_treebank
from espalier.errors import DataError, FileError, check_kind, nearest
from espalier.files import as_path, check_plain

COLUMNS, LONGEST = 10, 1 << 16  # of a line; and its characters
BANKS = ("ud-english-ewt",)  # known by name
FEATURES = re.compile(r"_|[^=|]+=[^=|]+(\|[^=|]+=[^=|]+)*")
ENHANCED = re.compile(r"_|[\d.]+:[^|]+(\|[\d.]+:[^|]+)*")


class _Line(NamedTuple):
    """A token's line; its number counts from the start of the file."""

    number: int
    id: str
    form: str
    tag: str
    head: str
    relation: str


def treebank(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, name: str | None = None
) -> Treebank:
    """The sentences of CoNLL-U files, one after the other; or of a treebank saved as .npz.

    `source` is a file, several files, or a folder: all *.conllu files in it, by name. A known
    treebank ('ud-english-ewt') is found by its name.

    >>> line = chr(9).join("1 Go go VERB _ _ 0 root _ _".split())
    >>> file = getfixture("tmp_path") / "one.conllu"
    >>> _ = file.write_text(line)
    >>> treebank(file)[0].words
    ('Go',)
    """
    if name is not None:
        check_kind("name", name, str, error=DataError)
    several = (
        getattr(source, "ndim", 1)
        and isinstance(source, Iterable)
        and not isinstance(source, str | bytes | os.PathLike)
    )
    given: list[Any] = list(source) if several else [source]  # type: ignore[arg-type]
    files = [file for one in given for file in conllu_files(as_path(one))]
    if len(files) == 1 and files[0].suffix == ".npz":
        return load_treebank(files[0])
    sentences = [sentence for file in files for sentence in read_conllu(file)]
    if not sentences:
        raise DataError(f"{', '.join(map(str, files))} holds no sentence; a treebank needs one")
    return Treebank.of(sentences, name or "+".join(file.stem for file in files))


def read_conllu(path: str | os.PathLike[str]) -> Iterator[Parsed]:
    """The sentences of one file, checked as they are read."""
    file = Path(path)
    check_plain(file, piped=True)
    try:
        with file.open(encoding="utf-8-sig") as lines:  # some editors write a mark at the start
            yield from parse_conllu(lines, str(file))
    except FileNotFoundError as error:
        raise FileError(
            f"there is no treebank at {file}; name a CoNLL-U file, a folder of them, or "
            f"{' or '.join(BANKS)}"
        ) from error
    except OSError as error:
        raise FileError(
            f"the treebank {file} cannot be read: {error.strerror}; name a CoNLL-U file"
        ) from error
    except UnicodeDecodeError as error:
        line = _undecodable(file)
        raise FileError(f"{file}, line {line}: not UTF-8 text; save the file as UTF-8") from error


def parse_conllu(
    lines: Iterable[str], origin: str = "the text", *, line: int = 0, count: int = 0
) -> Iterator[Parsed]:
    """The sentences in these lines; `origin` is what errors call them.

    `line` lines and `count` sentences of the file came before.
    """
    numbered = enumerate(lines, start=line + 1)
    blocks = (list(block) for some, block in groupby(numbered, _has_text) if some)
    for block in blocks:
        for n, text in block:
            refuse_nul(text, origin, line=n)
        tokens = [_token(text, n, origin) for n, text in block if not text.startswith("#")]
        if tokens:
            count += 1
            named = [text.partition("=")[2].strip() for _, text in block if _names(text)]
            yield _sentence(tokens, named[-1] if named else str(count), origin)


def _has_text(numbered: tuple[int, str]) -> bool:
    return bool(numbered[1].strip())


def _names(line: str) -> bool:
    """Whether a comment gives the sentence its name."""
    return line.startswith("#") and line[1:].partition("=")[0].strip() == "sent_id"


def _token(line: str, number: int, origin: str) -> _Line:
    where = f"{origin}, line {number}"
    if len(line) > LONGEST:
        raise DataError(
            f"{where}: {len(line):,} characters; a token's line has at most {LONGEST:,}: is it "
            f"CoNLL-U?"
        )
    columns = line.rstrip("\r\n").split("\t")
    if len(columns) != COLUMNS:
        raise DataError(
            f"{where}: {len(columns)} columns, where CoNLL-U has {COLUMNS}, separated by tabs"
        )
    if "" in columns:
        empty = columns.index("") + 1
        raise DataError(f"{where}: column {empty} is empty; what is not known is written _")
    if not columns[1].strip():
        raise DataError(
            f"{where}: the word is blank, {columns[1]!a}; what is not known is written _"
        )
    name, form, _, tag, _, features, head, relation, enhanced, _ = columns
    if not (FEATURES.fullmatch(features) and ENHANCED.fullmatch(enhanced)):
        raise DataError(
            f"{where}: not CoNLL-U; features are Name=Value|..., enhanced dependencies "
            f"head:relation|..."
        )
    return _Line(number, name, form, tag, head, relation)


def _sentence(tokens: Sequence[_Line], name: str, origin: str) -> Parsed:
    """The words of one sentence, if they are a tree."""
    try:
        words = _words(tokens)
        heads = [_head(word, len(words)) for word in words]
        _check_tree(heads, words)
    except _BrokenLineError as error:
        raise DataError(f"{origin}, line {error.number}: {error}") from None
    return Parsed(
        name,
        tuple(word.form for word in words),
        tuple(word.tag for word in words),
        tuple(heads),
        tuple(word.relation for word in words),
    )


class _BrokenLineError(Exception):
    def __init__(self, line: _Line, finding: str) -> None:
        super().__init__(finding)
        self.number = line.number


def _words(tokens: Sequence[_Line]) -> list[_Line]:
    """The syntactic words; multiword tokens stand before theirs, empty nodes after theirs."""
    words = [token for token in tokens if "-" not in token.id and "." not in token.id]
    if not words:
        raise _BrokenLineError(tokens[0], "a sentence without words; remove it")
    before = covered = 0  # words passed, and the last one that a multiword token stands for
    for token in tokens:
        if "-" in token.id:
            first, last = _numbers(token.id, "-")
            if not covered < first == before + 1 <= last <= len(words):
                raise _BrokenLineError(token, f"{token.id} does not span the words that follow it")
            covered = last
        elif "." in token.id:
            if _numbers(token.id, ".")[0] != before:
                raise _BrokenLineError(token, f"empty node {token.id} stands after word {before}")
        else:
            before += 1
            if token.id != str(before):
                raise _BrokenLineError(token, f"word {token.id!r} stands where {before} is due")
            if token.tag not in TAGS:
                raise _BrokenLineError(
                    token,
                    f"{token.tag!r} is no universal part of speech; {nearest(token.tag, TAGS)}",
                )
    return words


def _head(word: _Line, count: int) -> int:
    """The place of a word's head, ROOT for a root's."""
    if not (word.head.isascii() and word.head.isdecimal()):
        raise _BrokenLineError(word, f"word {word.id} has the head {word.head!r}; give a number")
    # a number longer than any sentence is not worth reading
    if len(word.head) > 9 or int(word.head) > count:
        raise _BrokenLineError(
            word, f"the head of word {word.id} is {word.head}, but the words are 1..{count}"
        )
    return int(word.head) - 1 if int(word.head) else ROOT


def _check_tree(heads: Sequence[int], words: Sequence[_Line]) -> None:
    """One root, which every word leads up to."""
    roots = [place for place, head in enumerate(heads) if head == ROOT]
    if len(roots) > 1:
        both = " and ".join(words[place].id for place in roots[:2])
        raise _BrokenLineError(words[roots[1]], f"words {both} are both roots (head 0)")
    above = list(heads)
    for _ in range(len(heads).bit_length()):  # each time twice as far up
        above = [ROOT if one == ROOT else above[one] for one in above]
    on_it = next((one for one in above if one != ROOT), None)
    if on_it is not None:  # as many steps up as there are words: on the cycle itself
        word = words[on_it]
        raise _BrokenLineError(word, f"word {word.id} is its own ancestor: heads run in a cycle")
    assert roots  # without a root there would have been a cycle


def _numbers(name: str, sign: str) -> tuple[int, int]:
    """The two numbers of a range or of an empty node; -1 for what is none."""
    first, _, last = name.partition(sign)
    low, high = (
        int(n) if n.isascii() and n.isdecimal() and len(n) < 9 else -1 for n in (first, last)
    )
    return low, high


def _undecodable(file: Path) -> int:
    """The number of the first line that is not UTF-8."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def conllu_files(place: Path) -> list[Path]:
    """The file itself, or the CoNLL-U files of a folder or of a known treebank."""
    if str(place) in BANKS and not place.exists():
        place = find(str(place))
    if not place.is_dir():
        return [place]
    found = sorted(place.glob("*.conllu"))
    if not found:
        raise FileError(f"{place} holds no *.conllu file")
    return found
