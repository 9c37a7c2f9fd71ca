"""Treebanks: sentences of syntactic words, each with its tag, its head and its relation.

Any CoNLL-U file will do. Syntactic words are used: the surface form of a multiword token and empty
nodes are left out, as the standard has it, and their sentences stay in. Reading the files is in
`data.conllu`, distances between words in `data.trees`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from espalier.errors import DataError, FileError
from espalier.files import atomic_path, check_readable
from espalier.results import Described, Result

if TYPE_CHECKING:
    import pandas

Array = np.ndarray
ROOT = -1  # the head of a sentence's root

OPEN = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
CLOSED = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
OTHER = ("PUNCT", "SYM", "X")
TAGS = OPEN + CLOSED + OTHER  # a tag's number is its place


@dataclass(frozen=True, repr=False)
class Coded(Described):
    """Names that occur over and over, as numbers."""

    names: tuple[str, ...]
    ids: Int[Array, " W"]

    @classmethod
    def of(cls, given: Sequence[str]) -> Coded:
        """Numbers by first appearance."""
        index: dict[str, int] = {}
        ids = np.array([index.setdefault(name, len(index)) for name in given], dtype=np.int32)
        return cls(tuple(index), ids)

    def __getitem__(self, place: slice) -> tuple[str, ...]:
        return tuple(self.names[number] for number in self.ids[place])


@dataclass(frozen=True, repr=False)
class Parsed(Described):
    """One sentence: its words, their tags, heads (places; ROOT has none) and relations."""

    name: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, repr=False)
class Treebank(Result):
    """Sentences one after the other: word w of sentence s is `starts[s] + w` in every array.

    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> bank = branching_corpus(BranchingConfig("left", sentences=3, tests=2)).bank
    >>> len(bank), len(bank.lengths)
    (2, 2)
    """

    name: str
    words: Coded
    tags: Int[Array, " W"]  # places in TAGS
    heads: Int[Array, " W"]  # places in the sentence, ROOT for its root
    relations: Coded
    starts: Int[Array, " S_1"]
    ids: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Parsed], name: str) -> Treebank:
        """All sentences, in their order."""
        if not sentences:
            raise DataError(f"{name} holds no sentence; a treebank needs one at least")
        flat: dict[str, list[Any]] = {
            part: [one for sentence in sentences for one in getattr(sentence, part)]
            for part in ("words", "tags", "heads", "relations")
        }
        return cls(
            name=name,
            words=Coded.of(flat["words"]),
            tags=np.array([TAGS.index(tag) for tag in flat["tags"]], dtype=np.int8),
            heads=np.array(flat["heads"], dtype=np.int32),
            relations=Coded.of(flat["relations"]),
            starts=np.cumsum([0, *map(len, sentences)]),
            ids=tuple(sentence.name for sentence in sentences),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> Parsed:
        if not 0 <= number < len(self):
            raise DataError(f"there is no sentence {number}; {self.name} has 0..{len(self) - 1}")
        here = slice(self.starts[number], self.starts[number + 1])
        return Parsed(
            self.ids[number],
            self.words[here],
            tuple(TAGS[tag] for tag in self.tags[here]),
            tuple(self.heads[here].tolist()),
            self.relations[here],
        )

    def __iter__(self) -> Iterator[Parsed]:
        return (self[number] for number in range(len(self)))

    @property
    def lengths(self) -> Int[Array, " S"]:
        """Words of each sentence."""
        return np.diff(self.starts)

    @property
    def pairs(self) -> int:
        """Pairs of words of one sentence, in all."""
        return int((self.lengths * (self.lengths - 1) // 2).sum())

    @property
    def digest(self) -> str:
        """SHA-256 of words, tags, heads and relations."""
        whole = hashlib.sha256()
        for names, numbers in (
            (self.words.names, self.words.ids),
            (TAGS, self.tags),
            (self.relations.names, self.relations.ids),
            ((), self.heads),
            ((), self.starts),
        ):
            whole.update("\n".join(names).encode())
            whole.update(np.ascontiguousarray(numbers, dtype=np.int64).tobytes())
        return whole.hexdigest()

    def to_frame(self) -> pandas.DataFrame:
        """One row per word: its sentence, its place there, its tag, its head and its relation."""
        import pandas as pd

        lengths = self.lengths
        return pd.DataFrame(
            {
                "sentence": np.repeat(np.arange(len(self)), lengths),
                "place": np.arange(len(self.tags)) - np.repeat(self.starts[:-1], lengths),
                "word": self.words[:],
                "tag": np.array(TAGS)[self.tags],
                "head": self.heads,
                "relation": self.relations[:],
            }
        )

    def _suffixes(self) -> tuple[str, ...]:
        return (".npz", *super()._suffixes())

    def select(self, numbers: Sequence[int] | Int[Array, " K"]) -> Treebank:
        """Some sentences, in the order given."""
        places = [np.arange(self.starts[n], self.starts[n + 1]) for n in numbers]
        if not places:
            raise DataError(f"no sentence of {self.name} is left; choose one at least")
        flat = np.concatenate(places)
        return Treebank(
            self.name,
            Coded(self.words.names, self.words.ids[flat]),
            self.tags[flat],
            self.heads[flat],
            Coded(self.relations.names, self.relations.ids[flat]),
            np.cumsum([0, *map(len, places)]),
            tuple(self.ids[n] for n in numbers),
        )

    def sample(self, count: int, *, seed: int = 0) -> Treebank:
        """That many sentences drawn without replacement, in their order; all if there are fewer."""
        if count < 1:
            raise DataError(f"a sample of {count} sentences was asked for; draw one at least")
        if count >= len(self):
            return self
        drawn = np.random.default_rng(seed).choice(len(self), size=count, replace=False)
        return self.select(np.sort(drawn))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one .npz file, read faster than CoNLL-U, or show it by the suffix."""
        if Path(path).suffix.lower() != ".npz":
            super().save(path)
            return
        given = {
            "name": np.array(self.name),
            "words": np.array("\n".join(self.words.names)),
            "word_ids": self.words.ids,
            "tags": self.tags,
            "heads": self.heads,
            "relations": np.array("\n".join(self.relations.names)),
            "relation_ids": self.relations.ids,
            "starts": self.starts,
            "ids": np.array("\n".join(self.ids)),
        }
        packed = {
            name: np.frombuffer(str(value).encode(), dtype=np.uint8) if value.ndim == 0 else value
            for name, value in given.items()
        }
        with atomic_path(path) as temporary, temporary.open("wb") as opened:
            np.savez_compressed(opened, **packed)  # type: ignore[arg-type]


def load_treebank(path: str | os.PathLike[str]) -> Treebank:
    """The treebank that `Treebank.save` wrote, checked."""
    check_readable(path)
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as held:
            names = {
                part: tuple(held[part].tobytes().decode().split("\n"))
                for part in ("name", "words", "relations", "ids")
            }
            columns = {part: held[part] for part in (*_COLUMNS, "starts")}
    except Exception as error:  # of numpy, of the archive, of its compression
        raise FileError(f"{path} is not a prepared treebank (.npz): {error}") from error
    if found := _fault(columns, names):
        raise FileError(f"{path} is damaged ({found}); save the treebank there again")
    return Treebank(
        names["name"][0],
        Coded(names["words"], columns["word_ids"]),
        columns["tags"],
        columns["heads"],
        Coded(names["relations"], columns["relation_ids"]),
        columns["starts"],
        names["ids"],
    )


_COLUMNS = ("heads", "tags", "word_ids", "relation_ids")  # a number for each word


def _fault(columns: dict[str, Array], names: dict[str, tuple[str, ...]]) -> str | None:
    """What is wrong in the arrays of a treebank, if anything is."""
    for name, array in columns.items():
        if array.ndim != 1 or array.dtype.kind != "i" or not len(array):
            return f"its {name} are of type {array.dtype} and shape {array.shape}"
    words, starts = len(columns["heads"]), columns["starts"]
    known = (words, len(TAGS), len(names["words"]), len(names["relations"]))
    for name, most in zip(_COLUMNS, known, strict=True):
        array, least = columns[name], ROOT if name == "heads" else 0
        if len(array) != words:
            return f"it has {words} heads and {len(array)} {name}"
        if array.min() < least or array.max() >= most:
            return f"its {name} are not all from {least} to {most - 1}"
    if starts[0] != 0 or starts[-1] != words or (starts[1:] <= starts[:-1]).any():
        return "its starts are not those of its sentences"
    if len(names["ids"]) != len(starts) - 1:
        return f"it has {len(starts) - 1} sentences and {len(names['ids'])} names of them"
    return None if _are_trees(columns["heads"], starts) else "its heads are not trees"


def _are_trees(heads: Array, starts: Array) -> bool:
    """Whether each sentence has one root, which all its words lead up to."""
    first, lengths = starts[:-1], np.diff(starts)
    is_root = heads == ROOT
    if (np.add.reduceat(is_root, first) != 1).any() or (heads >= lengths.repeat(lengths)).any():
        return False
    above = np.where(is_root, np.arange(len(heads)), heads + first.repeat(lengths))
    for _ in range(int(lengths.max()).bit_length()):  # each time twice as far up
        above = above[above]
    return bool(is_root[above].all())
