"""The claim in one number: the effect of a tree edge on DI, other known factors held constant.

Least squares of DI on tree distance. Every sequential distance within every class has a level of
its own, as every panel and line of Figure 4 does; log frequencies of both words, and whether they
are outside the vocabulary, are held constant too. Intervals allow for anything that the pairs of
one sentence share: they are cluster-robust, by sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from espalier.errors import DataError
from espalier.syntax.pairs import CLASSES, TreePairs

Array = np.ndarray
NORMAL = NormalDist().inv_cdf(0.975)  # of a 95% interval
TREE = "tree distance"  # the coefficient that the claim is about


@dataclass(frozen=True)
class Effect:
    """A coefficient with its 95% interval, and how much it rests on."""

    name: str
    estimate: float
    low: float
    high: float
    pairs: int
    sentences: int

    def __str__(self) -> str:
        return f"{self.name} {self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


@dataclass(frozen=True)
class Words:
    """What is known of every word of a treebank besides its place in a tree."""

    frequency: Int[Array, " W"]  # in the text that the model was trained on; 0: never seen
    unknown: Int[Array, " W"]  # 1 where the model reads <unk>


def effect_of_syntax(
    pairs: TreePairs,
    values: Float[Array, " P"],
    words: Words | None = None,
    *,
    furthest: int | None = None,
) -> list[Effect]:
    """Per edge of tree distance first, then of what is held constant; class `other` is left out.

    With values log DI, an estimate of -0.02 says that an edge more takes two per cent off.

    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> from espalier.syntax import pairs_of
    >>> pairs = pairs_of(branching_corpus(BranchingConfig("left", sentences=50, tests=50)).bank)
    >>> print(effect_of_syntax(pairs, 2.0 - 0.25 * pairs.tree)[0])
    tree distance -0.25 [-0.25, -0.25]
    """
    classes = pairs.classes
    used = np.isfinite(values) & (classes < CLASSES.index("other"))
    if furthest is not None:
        used &= pairs.distance <= furthest
    some = pairs.where(used)
    columns = {TREE: some.tree.astype(np.float64)}
    if words is not None:
        for name, side in (("left", some.left), ("right", some.right)):
            columns[f"log frequency, {name}"] = np.log1p(words.frequency[side])
            columns[f"unknown, {name}"] = words.unknown[side].astype(np.float64)
    groups = some.distance.astype(np.int64) * len(CLASSES) + classes[used]
    return regress(values[used], columns, groups=groups, clusters=some.sentence)


def regress(
    outcome: Float[Array, " P"],
    columns: dict[str, Float[Array, " P"]],
    *,
    groups: Int[Array, " P"],
    clusters: Int[Array, " P"],
) -> list[Effect]:
    """Coefficients of all columns, with a level for each group; errors robust by cluster.

    Levels are taken out first (Frisch, Waugh and Lovell): what is left of outcome and columns
    after their groups' means gives the same coefficients as indicators of every group would.
    """
    _, group = np.unique(groups, return_inverse=True)
    kept = {name: _within(column, group) for name, column in columns.items()}
    # a column that is constant within every group (no unknown word, say) has no coefficient
    kept = {name: column for name, column in kept.items() if np.abs(column).max(initial=0) > 1e-9}
    if not kept:
        raise DataError(
            f"nothing to estimate: {', '.join(columns)} do not vary within a group; more pairs "
            f"are needed"
        )
    y, x = _within(outcome.astype(np.float64), group), np.stack(list(kept.values()), axis=1)
    inverse = np.linalg.pinv(x.T @ x)
    found = inverse @ (x.T @ y)
    left = y - x @ found
    _, cluster = np.unique(clusters, return_inverse=True)
    count = int(cluster.max()) + 1
    scores = np.stack([np.bincount(cluster, column * left, minlength=count) for column in x.T])
    correction = count / max(count - 1, 1)
    errors = np.sqrt(np.diag(inverse @ (scores @ scores.T) @ inverse) * correction)
    return [
        Effect(name, float(b), float(b - NORMAL * e), float(b + NORMAL * e), len(y), count)
        for name, b, e in zip(kept, found, errors, strict=True)
    ]


def frequency_correlations(
    pairs: TreePairs, values: Float[Array, " P"], words: Words, *, furthest: int = 10
) -> list[dict[str, Any]]:
    """Rank correlation of DI with log frequency, in all and at each sequential distance.

    Words outside the vocabulary are left out: all of them are one word to the model.
    """
    from scipy.stats import spearmanr

    known = (words.unknown[pairs.left] + words.unknown[pairs.right]) == 0
    used = np.isfinite(values) & known & (pairs.classes < CLASSES.index("other"))
    rows = []
    for distance in (0, *range(1, furthest + 1)):
        here = used & (pairs.distance == distance) if distance else used
        if here.sum() < 3:
            continue
        for name, side in (("left", pairs.left), ("right", pairs.right)):
            found = spearmanr(values[here], words.frequency[side[here]]).statistic
            row = {"distance": distance, "word": name, "correlation": float(found)}
            rows.append(row | {"cases": int(here.sum())})
    return rows


def _within(column: Float[Array, " P"], group: Int[Array, " P"]) -> Float[Array, " P"]:
    """The column less its mean in each group; groups are numbered from 0."""
    means = np.bincount(group, column) / np.bincount(group)
    found: Float[Array, " P"] = column - means[group]
    return found
