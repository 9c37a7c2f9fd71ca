"""DI of every pair of words of a treebank, sentence by sentence from a zero state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from espalier.data import Treebank, pair_starts
from espalier.decomposition import (
    AllPairs,
    HiddenStates,
    Space,
    check_model,
    one_thread_each,
)
from espalier.nets.lstm import LanguageModel
from espalier.syntax.reading import encode_words, threads_for

Array = np.ndarray
# Called with the numbers of equal sentences, for several such groups, and their hidden states.
Hear = Callable[[Sequence[Sequence[int]], HiddenStates], None]
SPACES: tuple[Space, ...] = ("hidden", "logits")


@dataclass(frozen=True)
class Scores:
    """DI of every pair in the order (sentence, l, r), in hidden states and in logits."""

    hidden: Float[Array, " P"]
    logits: Float[Array, " P"]


def pair_scores(model: LanguageModel, bank: Treebank, *, workers: int | None = None) -> Scores:
    """DI of every pair of a treebank, sentence by sentence from a zero state.

    By default there are as many threads as torch uses; on CUDA there is one.

    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> from espalier.nets.lstm import language_model
    >>> bank = branching_corpus(BranchingConfig("left", sentences=20, tests=20)).bank
    >>> model = language_model(vocabulary_size=2, hidden=4, words=["<unk>", "a"])
    >>> len(pair_scores(model, bank, workers=1).hidden) == bank.pairs
    True
    """
    with one_thread_each(workers or threads_for(model)) as pool:
        all_pairs = AllPairs(check_model(model), spaces=SPACES)
        all_pairs.expect(words=len(bank.tags))
        return PairReader(all_pairs, pool).begin(bank).scores()


class PairReader:
    """A model prepared to read treebanks, on the threads of a pool."""

    def __init__(self, all_pairs: AllPairs, pool: ThreadPoolExecutor) -> None:
        self._all_pairs, self._pool = all_pairs, pool

    def begin(self, bank: Treebank, *, hear: Hear | None = None) -> PairReading:
        """Start reading; the result is waited for in `scores`. Equal sentences are read once.

        `hear` is called with the hidden states after the words of some sentences, on the thread
        that read them.
        """
        numbers, places = encode_words(self._all_pairs.model, bank), pair_starts(bank.lengths)
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, (start, stop) in enumerate(pairwise(bank.starts)):
            alike.setdefault(tuple(numbers[start:stop].tolist()), []).append(number)
        distinct = list(alike)
        reading = PairReading([], places, np.empty((2, places[-1]), dtype=np.float32))
        for group in self._all_pairs.groups([len(words) for words in distinct]):
            some = {distinct[member]: alike[distinct[member]] for member in group}
            task = partial(_read, self._all_pairs, some, reading, hear=hear)
            reading.futures.append(self._pool.submit(task))
        return reading


@dataclass(frozen=True)
class PairReading:
    """A treebank being read."""

    futures: list[Future[None]]
    places: Int[Array, " S_1"]
    found: Float[Array, "2 P"]

    def scores(self) -> Scores:
        """The scores of every pair, once all are read."""
        for future in self.futures:
            future.result()
        return Scores(*self.found)


def _read(
    all_pairs: AllPairs,
    sentences: dict[tuple[int, ...], list[int]],
    reading: PairReading,
    *,
    hear: Hear | None,
) -> None:
    """Fill in the pairs of some sentences: their words, and the numbers of those that have them."""
    words, like = list(sentences), all_pairs.model.encoder.weight
    shape = (len(words[0]), len(words), all_pairs.model.shape.hidden)
    states = None if hear is None else like.new_empty(shape)
    matrices = all_pairs.of(words, hidden_states=states)
    above = {n: np.triu_indices(n, 1) for n in set(map(len, words))}
    for numbers, matrix in zip(sentences.values(), matrices, strict=True):
        values = matrix.numpy()[:, *above[matrix.shape[-1]]]
        for number in numbers:
            reading.found[:, reading.places[number] : reading.places[number + 1]] = values
    if hear is not None and states is not None:
        hear(list(sentences.values()), states)
