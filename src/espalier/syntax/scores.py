"""DI of every pair of words of a treebank, sentence by sentence from a zero state."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int

from espalier.data.treebank import Treebank
from espalier.data.trees import pair_starts
from espalier.decomposition.corpus import one_thread_each
from espalier.decomposition.dependence import Space
from espalier.decomposition.engine import Engine, trusted
from espalier.decomposition.inputs import check_model
from espalier.decomposition.native import Native
from espalier.nets.lstm import LanguageModel
from espalier.syntax.reading import encode_words, threads_for

Array = np.ndarray
WORTH_BUILDING = 50_000  # pairs from which on compiling pays
SPACES: tuple[Space, ...] = ("hidden", "logits")


@dataclass(frozen=True)
class Scores:
    """DI of every pair in the order (sentence, l, r), in hidden states and in logits."""

    hidden: Float[Array, " P"]
    logits: Float[Array, " P"]


def pair_scores(model: LanguageModel, bank: Treebank, *, workers: int | None = None) -> Scores:
    """DI of every pair of a treebank, sentence by sentence from a zero state.

    There is a thread for each of torch's by default; on CUDA there is one.
    """
    with one_thread_each(workers or threads_for(model)) as pool:
        return PairReader(model, pool).begin(bank).scores()


def native_for(model: LanguageModel, bank: Treebank) -> Native | None:
    """What is compiled for this machine, where so many pairs are worth it."""
    return trusted(model) if bank.pairs >= WORTH_BUILDING else None


class PairReader:
    """A model made ready to read treebanks, on the threads of a pool."""

    def __init__(self, model: LanguageModel, pool: ThreadPoolExecutor) -> None:
        self._engine, self._pool = Engine(check_model(model), space=SPACES), pool

    def begin(self, bank: Treebank) -> PairReading:
        """Start; what is returned waits for the end. Sentences that are alike are read once."""
        numbers, places = encode_words(self._engine.model, bank), pair_starts(bank.lengths)
        self._engine.native = native_for(self._engine.model, bank)
        self._engine.meet(torch.from_numpy(numbers))
        words = [
            tuple(numbers[a:b].tolist())
            for a, b in zip(bank.starts[:-1], bank.starts[1:], strict=True)
        ]
        first = dict(zip(reversed(words), reversed(range(len(words))), strict=True))
        distinct = sorted(first.values())
        found = np.empty((2, places[-1]), dtype=np.float32)
        futures = []
        for group in self._engine.groups([len(words[number]) for number in distinct]):
            some = {distinct[member]: words[distinct[member]] for member in group}
            futures.append(self._pool.submit(partial(_read, self._engine, some, places, found)))
        copies = [(number, first[one]) for number, one in enumerate(words) if first[one] != number]
        return PairReading(futures, copies, places, found)


@dataclass(frozen=True)
class PairReading:
    """A treebank being read."""

    futures: Sequence[Future[None]]
    copies: Sequence[tuple[int, int]]  # a sentence, and an earlier one that is the same
    places: Int[Array, " S_1"]
    found: Float[Array, "2 P"]

    def scores(self) -> Scores:
        """Of every pair, waited for."""
        for future in self.futures:
            future.result()
        for number, before in self.copies:
            here, there = (slice(*self.places[n : n + 2]) for n in (number, before))
            self.found[:, here] = self.found[:, there]
        return Scores(*self.found)


def _read(
    engine: Engine,
    sentences: dict[int, tuple[int, ...]],
    places: Int[Array, " S_1"],
    found: Float[Array, "2 P"],
) -> None:
    """Fill in the pairs of some sentences by their numbers."""
    matrices = engine.pairs_by_space(list(sentences.values()))
    for number, matrix in zip(sentences, matrices, strict=True):
        left, right = np.triu_indices(matrix.shape[-1], 1)
        found[:, places[number] : places[number + 1]] = matrix.cpu().numpy()[:, left, right]
