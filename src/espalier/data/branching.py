"""Made-up languages whose trees are known, and which branch to one side only.

Every word governs a few others that may depend on it. A sentence is a tree grown from a root by
such choices and written head first (`right`, as English tends to be) or head last (`left`): the
two orders are mirror images. Text to train on and a treebank to look at come from one grammar.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from espalier.data.treebank import ROOT, Parsed, Treebank
from espalier.errors import DataError, FileError, check_seed, check_whole, is_one_of, nearest
from espalier.files import write_text
from espalier.results import Described

Order = Literal["left", "right"]
MOST_WORDS, MOST_PAIRS = 1_000_000, 100_000_000
DEEPEST = 200  # a tree of twice as many edges may be deeper than Python calls
# Tags by turns, so that both classes occur.
_TAGS = ("VERB", "NOUN", "ADP", "ADJ", "DET")


@dataclass(frozen=True)
class BranchingConfig:
    """Sizes of the grammar, of the text and of the treebank."""

    order: Order = "left"
    words: int = 100
    governed: int = 5  # words that may depend on a word
    depth: int = 3  # edges from the root to the deepest word
    sentences: int = 5_000
    tests: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_one_of(self.order, get_args(Order)):
            raise DataError(
                f"there is no order {self.order!r}; {nearest(self.order, get_args(Order))}"
            )
        check_whole(self, ("words", "governed"), most=MOST_WORDS, error=DataError)
        check_whole(self, ("depth",), most=DEEPEST, error=DataError)
        check_whole(self, ("sentences", "tests"), most=10**8, error=DataError)
        check_seed(self.seed, least=0, error=DataError)
        if self.governed > self.words:
            raise DataError(f"a word cannot govern {self.governed} of {self.words} words")
        if (pairs := self.words * self.governed) > MOST_PAIRS:
            raise DataError(
                f"{self.words:,} words that govern {self.governed:,} each are {pairs:,} pairs; "
                f"{MOST_PAIRS:,} are the most: ask for fewer"
            )


@dataclass(frozen=True, repr=False)
class BranchingCorpus(Described):
    """A text and a treebank of one language."""

    config: BranchingConfig
    text: Treebank
    bank: Treebank

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write text.txt, one sentence per line, and treebank.conllu."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {place}: {error.strerror}") from error
        lines = (" ".join(sentence.words) for sentence in self.text)
        write_text(place / "text.txt", "".join(f"{line}\n" for line in lines))
        write_text(place / "treebank.conllu", "".join(map(conllu, self.bank)))


def branching_corpus(config: BranchingConfig = BranchingConfig()) -> BranchingCorpus:  # noqa: B008
    """The language of a config; equal configs give equal corpora."""
    rng = np.random.default_rng(config.seed)
    draw = [rng.choice(config.words, config.governed, replace=False) for _ in range(config.words)]
    grammar = np.stack(draw)
    count = config.sentences + config.tests
    grown = [_sentence(config, grammar, rng, number) for number in range(count)]
    name = f"{config.order}-branching"
    return BranchingCorpus(
        config,
        Treebank.of(grown[: config.sentences], name),
        Treebank.of(grown[config.sentences :], name),
    )


def _sentence(
    config: BranchingConfig, grammar: np.ndarray, rng: np.random.Generator, number: int
) -> Parsed:
    """A tree head first; reversed where heads come last."""
    words, heads = [int(rng.integers(config.words))], [ROOT]

    def grow(place: int, depth: int) -> None:
        for _ in range(int(rng.integers(1 if depth == 0 else 0, 3))):
            words.append(int(rng.choice(grammar[words[place]])))
            heads.append(place)
            if depth + 1 < config.depth:
                grow(len(words) - 1, depth + 1)

    grow(0, 0)
    if config.order == "left":
        last = len(words) - 1
        words.reverse()
        heads = [ROOT if head == ROOT else last - head for head in reversed(heads)]
    return Parsed(
        f"{number}",
        tuple(f"w{word}" for word in words),
        tuple(_TAGS[word % len(_TAGS)] for word in words),
        tuple(heads),
        tuple("root" if head == ROOT else "dep" for head in heads),
    )


def conllu(sentence: Parsed) -> str:
    """The sentence as CoNLL-U, with what is not known left empty."""
    lines = [f"# sent_id = {sentence.name}", f"# text = {' '.join(sentence.words)}"]
    parts = zip(sentence.words, sentence.tags, sentence.heads, sentence.relations, strict=True)
    for place, (word, tag, head, relation) in enumerate(parts):
        columns = (place + 1, word, word, tag, "_", "_", head + 1, relation, "_", "_")
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"
