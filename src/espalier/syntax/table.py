"""The word pairs of some sentences as a table, with everything known about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from espalier.data import TAGS
from espalier.syntax.effects import Words
from espalier.syntax.pairs import CLASSES, TreePairs
from espalier.syntax.scores import SPACES, Scores

if TYPE_CHECKING:
    import pyarrow

Array = np.ndarray
OF_TREES = ("tree_distance", "class", "relation", "left_tag", "right_tag")


@dataclass(frozen=True)
class Described:
    """Some successive sentences with everything known about their pairs and words."""

    first: int  # the number of the first sentence among all
    pairs: TreePairs
    scores: Scores
    surprisal: Float[Array, " W"]  # NaN for the first word of a sentence
    words: Words
    counted: bool  # whether frequencies are known
    trees: bool = True  # whether the sentences have any


def tabulate(stretch: Described) -> pyarrow.Table:
    """The rows of some sentences; places count from 0, surprisal is in nats."""
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
    without = () if stretch.trees else OF_TREES
    return pa.table({name: column for name, column in columns.items() if name not in without})


def _named(ids: Int[Array, " P"], names: Sequence[str]) -> pyarrow.Array:
    """Names as a dictionary column; null where the number is negative."""
    import pyarrow as pa

    held = pa.array(ids.astype(np.int32), pa.int32(), mask=ids < 0)
    return pa.DictionaryArray.from_arrays(held, pa.array(names, pa.string()))
