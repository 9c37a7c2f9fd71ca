"""All word pairs of a treebank as one Parquet table, for people who take it elsewhere.

Sentences are taken up a stretch at a time and each stretch is written as a row group, so that
what is held does not grow with the treebank.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from espalier.data import TAGS, Treebank, pair_starts
from espalier.decomposition import Asked, one_thread_each
from espalier.errors import FileError
from espalier.files import atomic_path, marked
from espalier.nets.language import AnyModel
from espalier.nets.lstm import LanguageModel
from espalier.networks import Network
from espalier.syntax.effects import Words
from espalier.syntax.networks import read_treebank
from espalier.syntax.pairs import CLASSES, TreePairs, pairs_of
from espalier.syntax.reading import counts_of, describe_words, threads_for
from espalier.syntax.scores import SPACES, PairReader, PairReading, Scores
from espalier.syntax.surprisal import Reading, SurprisalReader

if TYPE_CHECKING:
    import pyarrow

Array = np.ndarray
PAIRS_AT_ONCE = 400_000
# The number of the first sentence, pairs, DI, and surprisal of the words.
Stretches = Iterator[tuple[int, TreePairs, Scores, Float[Array, " W"]]]


@dataclass(frozen=True)
class Stretch:
    """Some successive sentences with everything that is known of their pairs and words."""

    first: int  # the number of the first sentence in the whole treebank
    pairs: TreePairs
    scores: Scores
    surprisal: Float[Array, " W"]  # NaN for the first word of a sentence
    words: Words
    counted: bool  # whether frequencies are known


def write_pairs(
    model: AnyModel | Network,
    bank: Treebank,
    path: str | os.PathLike[str],
    *,
    counts: Mapping[str, int] | None = None,
    asked: Asked | None = None,
    report: Callable[[int], None] = lambda pairs: None,
) -> int:
    """Write the table and return its number of rows; `report` is told how many there are so far.

    `counts` are those of the text behind the model, by default the ones stored with it; where
    there are none, frequencies are null. `asked` names a layer or another method than DI.
    """
    import pyarrow.parquet as parquet

    if Path(path).suffix not in (".parquet", ".pq"):
        raise FileError(f"cannot write {path}: pairs are written as Parquet; name a .parquet file")
    counted = counts is not None or counts_of(model) is not None
    if isinstance(model, LanguageModel) and asked in (None, Asked()):
        stretches = _read_on(model, bank)
    else:
        stretches = _read_networks(model, bank, asked)
    written = 0
    with atomic_path(path) as temporary, ExitStack() as stack:
        writer = None
        for first, pairs, scores, surprisal in stretches:
            words = describe_words(model, pairs.bank, counts if counted else {})
            table = tabulate(Stretch(first, pairs, scores, surprisal, words, counted))
            if writer is None:
                schema = marked(table).schema
                writer = parquet.ParquetWriter(temporary, schema, compression="zstd")
                stack.enter_context(writer)
            writer.write_table(table)
            written += len(pairs)
            report(written)
    return written


def _read_networks(model: AnyModel | Network, bank: Treebank, asked: Asked | None) -> Stretches:
    """Stretches one after the other, by any network."""
    for first, part in _stretches(bank, PAIRS_AT_ONCE):
        yield first, pairs_of(part), *read_treebank(model, part, asked=asked)


def _read_on(model: LanguageModel, bank: Treebank) -> Stretches:
    """Stretches as they are done; the next one is read meanwhile, by one pass for both."""
    with one_thread_each(threads_for(model)) as pool:
        pairs, words = PairReader(model, pool), SurprisalReader(model, pool)
        waiting: deque[tuple[int, Treebank, PairReading, Reading]] = deque()
        try:
            for first, part in (*_stretches(bank, PAIRS_AT_ONCE), (len(bank), None)):
                if part is not None:
                    expected = words.expect(part)
                    waiting.append((first, part, pairs.begin(part, hear=expected.hear), expected))
                while waiting and (part is None or len(waiting) > 1):
                    before, some, read, heard = waiting.popleft()
                    described, scores = pairs_of(some), read.scores()
                    yield before, described, scores, heard.surprisals()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # what was not begun is not wanted


def tabulate(stretch: Stretch) -> pyarrow.Table:
    """The rows of one stretch; places count from 0, surprisal is in nats."""
    import pyarrow as pa

    pairs, bank = stretch.pairs, stretch.pairs.bank
    start = bank.starts[pairs.sentence]
    columns: dict[str, Any] = {
        "sentence": pairs.sentence + stretch.first,
        "sentence_id": _named(pairs.sentence, bank.ids),
        "left": (pairs.left - start).astype(np.int16),
        "right": (pairs.right - start).astype(np.int16),
        "distance": pairs.distance.astype(np.int16),
        "tree_distance": pairs.tree,
        "class": _named(pairs.classes, CLASSES),
        "relation": _named(pairs.relation, bank.relations.names),
    }
    for side, places in (("left", pairs.left), ("right", pairs.right)):
        columns[f"{side}_word"] = _named(bank.words.ids[places], bank.words.names)
        columns[f"{side}_tag"] = _named(bank.tags[places], TAGS)
        surprisal = stretch.surprisal[places]
        columns[f"{side}_surprisal"] = pa.array(surprisal, pa.float32(), mask=np.isnan(surprisal))
        frequency = stretch.words.frequency[places].astype(np.int32)
        absent = np.full(len(pairs), not stretch.counted)
        columns[f"{side}_frequency"] = pa.array(frequency, pa.int32(), mask=absent)
        columns[f"{side}_unknown"] = stretch.words.unknown[places].astype(bool)
    for space in SPACES:
        values = getattr(stretch.scores, space)
        columns[f"di_{space}"] = pa.array(values, pa.float32(), mask=np.isnan(values))
    return pa.table(columns)


def _named(ids: Int[Array, " P"], names: Sequence[str]) -> pyarrow.Array:
    """Names as a dictionary column; null where the number is negative."""
    import pyarrow as pa

    held = pa.array(ids.astype(np.int32), pa.int32(), mask=ids < 0)
    return pa.DictionaryArray.from_arrays(held, pa.array(names, pa.string()))


def _stretches(bank: Treebank, most: int) -> Iterator[tuple[int, Treebank]]:
    """Successive sentences, as many at a time as have about so many pairs."""
    parts = pair_starts(bank.lengths)[:-1] // most
    firsts = np.flatnonzero(np.diff(parts, prepend=-1))
    for first, stop in zip(firsts, [*firsts[1:], len(bank)], strict=True):
        yield int(first), bank.select(np.arange(first, stop))
