"""Every pair of every sentence of a corpus: a stream of flat arrays in the order of the sentences.

Sentences are processed a stretch at a time, sorted by length within it, and distributed in groups
among threads that never wait for each other; on CUDA one thread keeps the device busy. Memory is
bounded by a setting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int

from espalier.data import Parsed
from espalier.decomposition.all_pairs import AllPairs
from espalier.decomposition.dependence import check_space
from espalier.decomposition.inputs import Words, as_tokens, check_model, encode
from espalier.decomposition.parts import Space
from espalier.errors import ConfigError, DataError, as_whole
from espalier.nets.lstm import LanguageModel
from espalier.results import Result

if TYPE_CHECKING:
    import pandas

# Pairs that are sorted and computed together: more of them fill groups better.
PAIRS_AT_ONCE = 400_000
CUDA_PAIRS_AT_ONCE = 4_000_000


@dataclass(frozen=True, repr=False)
class PairBlock(Result):
    """The pairs of some successive sentences: an entry for each, in the order (sentence, l, r).

    >>> from espalier.nets.lstm import language_model
    >>> model = language_model(vocabulary_size=9, hidden=4)
    >>> block = next(interdependence_corpus(model, [[1, 2, 3], [4, 5]], workers=1))
    >>> block.left.tolist(), block.right.tolist()
    ([0, 0, 1, 0], [1, 2, 2, 1])
    """

    first: int  # the number of the first sentence
    lengths: tuple[int, ...]
    sentence: Int[np.ndarray, " P"]
    left: Int[np.ndarray, " P"]
    right: Int[np.ndarray, " P"]
    value: Float[np.ndarray, " P"]  # DI; NaN: undefined
    unknown: int  # words that were read as <unk>

    @property
    def undefined(self) -> int:
        """How many pairs contribute nothing together, so that they have no DI."""
        return int(np.isnan(self.value).sum())

    def __len__(self) -> int:
        return len(self.value)

    def to_frame(self) -> pandas.DataFrame:
        """One row per pair."""
        import pandas as pd

        names = ("sentence", "left", "right", "value")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def interdependence_corpus(
    model: LanguageModel,
    sentences: Iterable[Words],
    *,
    space: Space = "hidden",
    memory: int | None = None,
    workers: int | None = None,
) -> Iterator[PairBlock]:
    """DI of every pair of words of every sentence, in blocks, in the order of the sentences.

    `memory` bounds the bytes that each of `workers` threads holds while it computes, and those of
    word inputs that all share (256 MiB by default, 8 GiB on CUDA). By default there are as many
    threads as torch uses, one on CUDA. Errors in the model or a setting are raised immediately,
    those in a sentence when it is reached.

    >>> from espalier.nets.lstm import language_model
    >>> model = language_model(vocabulary_size=9, hidden=4)
    >>> [len(block) for block in interdependence_corpus(model, [[1, 2, 3], [4, 5]], workers=1)]
    [4]
    """
    all_pairs = AllPairs(check_model(model), spaces=[check_space(space)], memory=memory)
    if workers is not None:
        workers = as_whole("workers", workers, least=1, error=ConfigError)
    cuda = model.encoder.weight.is_cuda
    count = workers or (1 if cuda else torch.get_num_threads())
    return _stream(all_pairs, iter(sentences), count, CUDA_PAIRS_AT_ONCE if cuda else PAIRS_AT_ONCE)


def _stream(
    all_pairs: AllPairs, sentences: Iterator[Words], workers: int, most: int
) -> Iterator[PairBlock]:
    """Blocks as they are done; the next one is computed meanwhile."""
    with one_thread_each(workers) as pool:
        waiting: deque[_Stretch] = deque()
        first = 0
        try:
            for taken in _stretches(all_pairs, sentences, most):
                all_pairs.expect(words=sum(map(len, taken[0])))
                waiting.append(_Stretch(all_pairs, pool, first, taken))
                first += len(taken[0])
                if len(waiting) > 1:
                    yield waiting.popleft().block()
            while waiting:
                yield waiting.popleft().block()
        finally:
            for stretch in waiting:
                stretch.cancel()


def _stretches(
    all_pairs: AllPairs, sentences: Iterator[Words], most: int
) -> Iterator[tuple[list[tuple[int, ...]], int]]:
    """Encoded sentences, as many at a time as have `most` pairs; and unknown words among them."""
    ids: list[tuple[int, ...]] = []
    pairs = unknown = 0
    for number, given in enumerate(sentences):
        sentence = given if isinstance(given, Parsed) else as_tokens(given)
        if not len(sentence):
            raise DataError(f"sentence {number} is empty; leave it out, or give it words")
        encoded = encode(all_pairs.model, sentence)
        all_pairs.check_room(len(encoded.ids))
        ids.append(encoded.ids)
        unknown += encoded.unknown
        pairs += _pairs_of([encoded.ids])
        if pairs >= most:
            yield ids, unknown
            ids, pairs, unknown = [], 0, 0
    if ids:
        yield ids, unknown


def _pairs_of(sentences: Sequence[Sequence[int]]) -> int:
    return sum(len(ids) * (len(ids) - 1) // 2 for ids in sentences)


class _Stretch:
    """Sentences being computed: equal ones once, of similar length together."""

    def __init__(
        self,
        all_pairs: AllPairs,
        pool: ThreadPoolExecutor,
        first: int,
        taken: tuple[list[tuple[int, ...]], int],
    ) -> None:
        self._first, (self._ids, self._unknown) = first, taken
        distinct = list(dict.fromkeys(self._ids))
        groups = all_pairs.groups([len(ids) for ids in distinct])
        batches = [[distinct[number] for number in group] for group in groups]
        self._futures = [
            (batch, pool.submit(partial(_flat, all_pairs, batch))) for batch in batches
        ]

    def block(self) -> PairBlock:
        """The result, once it is computed."""
        found: dict[tuple[int, ...], Float[np.ndarray, " P"]] = {}
        for batch, future in self._futures:
            found.update(zip(batch, future.result(), strict=True))
        lengths = [len(ids) for ids in self._ids]
        places = {n: np.triu_indices(n, 1) for n in set(lengths)}
        numbers = np.arange(self._first, self._first + len(lengths))
        counts = [n * (n - 1) // 2 for n in lengths]
        return PairBlock(
            first=self._first,
            lengths=tuple(lengths),
            sentence=np.repeat(numbers, counts),
            left=np.concatenate([places[n][0] for n in lengths]).astype(np.int32),
            right=np.concatenate([places[n][1] for n in lengths]).astype(np.int32),
            value=np.concatenate([found[ids] for ids in self._ids]),
            unknown=self._unknown,
        )

    def cancel(self) -> None:
        """Cancel everything that has not begun."""
        for _, future in self._futures:
            future.cancel()


def _flat(all_pairs: AllPairs, batch: Sequence[tuple[int, ...]]) -> list[Float[np.ndarray, " _"]]:
    """The upper triangles of a group's matrices, each row by row."""
    above = {n: np.triu_indices(n, 1) for n in set(map(len, batch))}
    return [matrix[0].numpy()[above[matrix.shape[-1]]] for matrix in all_pairs.of(batch)]


@contextmanager
def one_thread_each(workers: int) -> Iterator[ThreadPoolExecutor]:
    """A pool whose threads compute on one core each, so that they do not wait for each other."""
    threads = torch.get_num_threads()

    def one_thread() -> None:
        torch.set_num_threads(1)

    try:
        with ThreadPoolExecutor(workers, initializer=one_thread) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)
