"""Everything that the figures, the claim and the probe need of one model, as rows.

Small enough to store and copy, while the pairs themselves are millions. A row has `table`
(distance, stratum, effect, frequency or probe) and `space` (hidden or logits); the other columns
are those of its table. Baselines need no model and have space `none`.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from espalier.data import Treebank
from espalier.errors import DataError
from espalier.syntax.effects import TREE, Effect, Words, effect_of_syntax, frequency_correlations
from espalier.syntax.pairs import TreePairs
from espalier.syntax.probe import Attachment, Shape, attachment, baselines
from espalier.syntax.scores import SPACES, Scores
from espalier.syntax.strata import by_distance, by_stratum

Array = np.ndarray
Row = dict[str, Any]
FURTHEST = 10  # sequential distances that are shown one by one
NOT_HELD = "frequency not held"
SHAPES: tuple[Shape, ...] = ("noncrossing", "spanning")


def summarise(pairs: TreePairs, scores: Scores, words: Words) -> list[Row]:
    """The rows of both spaces."""
    rows: list[Row] = []
    for space in SPACES:
        values = getattr(scores, space)
        tables = {
            "distance": by_distance(pairs, values),
            "stratum": by_stratum(pairs, values, furthest=FURTHEST),
            "effect": effects(pairs, values, words),
            "frequency": frequency_correlations(pairs, values, words, furthest=FURTHEST),
            "probe": probe(pairs, values),
        }
        rows += [
            {"table": table, "space": space} | row for table, some in tables.items() for row in some
        ]
    return rows


def effects(pairs: TreePairs, values: Float[Array, " P"], words: Words) -> list[Row]:
    """The effect of syntax on DI and on its logarithm: in all, and at each sequential distance.

    `distance` 0 stands for all distances; only there are the other coefficients given too. Next to
    each is the effect with frequency not held constant, which shows what frequency explains.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        outcomes = {"DI": values, "log DI": np.where(values > 0, np.log(values), np.nan)}
    rows = []
    for outcome, given in outcomes.items():
        for distance in range(FURTHEST + 1):
            here = pairs.distance == distance if distance else np.full(len(pairs), True)
            found = _with_and_without(pairs.where(here), given[here], words)
            found = [one for one in found if one.name.startswith(TREE)] if distance else found
            rows += [{"outcome": outcome, "distance": distance} | asdict(one) for one in found]
    return rows


def _with_and_without(pairs: TreePairs, values: Float[Array, " P"], words: Words) -> list[Effect]:
    """The effect of tree distance with frequency held constant and not, then of the controls."""
    try:
        [alone] = effect_of_syntax(pairs, values)
    except DataError:  # tree distance never differs within a class and distance
        return []
    first, *held = effect_of_syntax(pairs, values, words)
    return [first, replace(alone, name=f"{TREE}, {NOT_HELD}"), *held]


def probe(pairs: TreePairs, values: Float[Array, " P"]) -> list[Row]:
    """UUAS of the trees grown from DI; as an extra, from DI over its mean at that distance."""
    distance = pairs.distance
    usable = np.isfinite(values)
    counts = np.bincount(distance[usable])
    means = np.bincount(distance[usable], values[usable]) / np.maximum(counts, 1)
    weights = {"DI": values, "DI / mean at its distance": values / means[distance]}
    return [
        {"weights": name} | probe_row(attachment(pairs.bank, given, shape=shape), shape)
        for name, given in weights.items()
        for shape in SHAPES
    ]


def probe_row(found: Attachment, shape: str) -> Row:
    """One score with its interval."""
    low, high = found.interval()
    edges = int(found.edges.sum())
    return {"shape": shape, "uuas": found.uuas, "low": low, "high": high, "edges": edges}


def baseline_rows(bank: Treebank) -> list[Row]:
    """The baselines that the probe is compared with."""
    return [
        {"table": "probe", "space": "none", "weights": name} | probe_row(found, "-")
        for name, found in baselines(bank).items()
    ]
