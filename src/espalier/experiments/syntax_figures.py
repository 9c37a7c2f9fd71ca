"""Does interdependence follow syntax? The LSTM papers' figures on English, and more.

Figures 3 and 4 by distance in the sentence and in the tree; the effect of an edge of the tree in
one number, and whether frequency explains it; when it appears in training; the trees that DI alone
suggests; and made-up languages, mirror images of each other, that branch to the left or the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.intervals import over_models
from espalier.experiments.language_checkpoints import Checkpoints, syntax_rows, table_of
from espalier.experiments.languages import Language, english, english_in_training, made_up
from espalier.syntax import TREE

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MEASURES = {"effect": "effect of an edge on log DI", "probe": "UUAS, no crossings"}


@dataclass(frozen=True)
class OneLanguage:
    """The language, as its models have it."""

    language: Language

    @classmethod
    def at(cls, scale: Scale) -> OneLanguage:
        """The preset of a scale."""
        return cls(english(scale))

    @classmethod
    def in_training(cls, scale: Scale) -> OneLanguage:
        """The same with checkpoints of its training."""
        return cls(english_in_training(scale))


@dataclass(frozen=True)
class BothOrders:
    """Two languages of the same trees, one the mirror image of the other."""

    left: Language
    right: Language

    @classmethod
    def at(cls, scale: Scale) -> BothOrders:
        """The preset of a scale."""
        return cls(made_up("left", scale), made_up("right", scale))


def by_sequential_distance(config: OneLanguage, cache: RunCache) -> list[Row]:
    """One row per model, space and sequential distance r - l: mean, low, high and cases."""
    return table_of(cache.rows(syntax_rows, Checkpoints(config.language)), "distance")


def by_tree_distance(config: OneLanguage, cache: RunCache) -> list[Row]:
    """One row per model, space, sequential distance, class of words and tree distance.

    A mean is given where there are 100 cases at least.
    """
    return table_of(cache.rows(syntax_rows, Checkpoints(config.language)), "stratum")


def effect_of_an_edge(config: OneLanguage, cache: RunCache) -> list[Row]:
    """Effects, then rank correlations with frequency, in the columns of effects.

    `distance` 0 stands for all sequential distances together.
    """
    rows = cache.rows(syntax_rows, Checkpoints(config.language))
    effects, found = table_of(rows, "effect"), []
    sentences = max(row["sentences"] for row in effects)
    for row in table_of(rows, "frequency"):
        value = row["correlation"]
        effect = {"outcome": "rank correlation", "name": f"frequency, {row['word']}"}
        effect |= {"estimate": value, "low": value, "high": value}
        effect |= {"pairs": row["cases"], "sentences": sentences}
        labels = {name: row[name] for name in ("seed", "epoch", "space", "distance")}
        found.append(labels | effect)
    return effects + found


def over_training(config: OneLanguage, cache: RunCache) -> list[Row]:
    """One row per model, checkpoint, space and measure: value, low and high."""
    return both_measures(cache.rows(syntax_rows, Checkpoints(config.language, "all")))


def both_measures(rows: list[Row]) -> list[Row]:
    """The effect of an edge and the probe's UUAS, from the summary of every checkpoint."""
    kinds = {
        "effect": [
            row | {"value": row["estimate"]}
            for row in table_of(rows, "effect")
            if (row["distance"], row["outcome"], row["name"]) == (0, "log DI", TREE)
        ],
        "probe": [
            row | {"value": row["uuas"]}
            for row in table_of(rows, "probe")
            if (row["weights"], row["shape"]) == ("DI", "noncrossing")
        ],
    }
    columns = ("seed", "epoch", "space", "value", "low", "high")
    return [
        {name: row[name] for name in columns} | {"measure": measure}
        for measure, some in kinds.items()
        for row in some
    ]


def probe_trees(config: OneLanguage, cache: RunCache) -> list[Row]:
    """One row per tree: whose it is, in which space and shape, its UUAS, low, high and edges."""
    return label_probe(cache.rows(syntax_rows, Checkpoints(config.language, "ends")))


def label_probe(rows: list[Row]) -> list[Row]:
    """The probe's rows with `model`: none, untrained or trained."""
    probe = table_of(rows, "probe")
    names = {-1.0: "none", max(row["epoch"] for row in probe): "trained"}
    return [row | {"model": names.get(float(row["epoch"]), "untrained")} for row in probe]


def by_branching(config: BothOrders, cache: RunCache) -> list[Row]:
    """One row per order, model, checkpoint, space and measure: value, low and high."""
    return [
        row | {"order": order}
        for order, language in (("left", config.left), ("right", config.right))
        for row in both_measures(cache.rows(syntax_rows, Checkpoints(language, "all")))
    ]


# Tables: for one model its own intervals, for several t intervals over models.


def nearby(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Distances 1 to 10."""
    near = rows[rows["distance"] <= 10].sort_values(["space", "distance"])
    return over_models(near, ["space", "distance"], "mean", also=["cases"])


def ends_of_lines(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The nearest and the furthest tree distance of each line, hidden states."""
    keys = ["distance", "class", "tree"]
    some = rows[rows["space"] == "hidden"].sort_values(keys)
    lines = over_models(some, keys, "mean", also=["cases"]).groupby(keys[:2], as_index=False)
    found: pandas.DataFrame = lines.agg(
        nearest=("tree", "first"),
        mean_nearest=("mean", "first"),
        furthest=("tree", "last"),
        mean_furthest=("mean", "last"),
        cases=("cases", "sum"),
    )
    return found


def effects_in_all(rows: pandas.DataFrame) -> pandas.DataFrame:
    """All sequential distances together."""
    whole = rows[rows["distance"] == 0]
    return over_models(whole, ["space", "outcome", "name"], "estimate", also=["pairs"])


def every_checkpoint(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Both measures, hidden states."""
    some = rows[rows["space"] == "hidden"].sort_values(["measure", "epoch"])
    return over_models(some, ["measure", "epoch"], "value")


def best_first(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Trees by their UUAS."""
    keys = ["model", "space", "weights", "shape"]
    means = over_models(rows.sort_values(keys), keys, "uuas", also=["edges"])
    return means.sort_values("uuas", ascending=False, kind="stable")


def before_and_after(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Before training and after it, hidden states."""
    keys = ["order", "measure", "epoch"]
    ends = rows["epoch"].isin([rows["epoch"].min(), rows["epoch"].max()])
    return over_models(rows[ends & (rows["space"] == "hidden")].sort_values(keys), keys, "value")


# Pictures.


def draw_distance(rows: pandas.DataFrame) -> Figure:
    """Both spaces in one panel."""
    from espalier.show.figures import draw_distances

    return draw_distances(over_models(rows, ["space", "distance"], "mean"))


def draw_tree_distance(rows: pandas.DataFrame, *, space: str, title: str) -> Figure:
    """One panel per sequential distance, one line per class."""
    from espalier.show.figures import draw_strata

    some = rows[rows["space"] == space]
    return draw_strata(over_models(some, ["distance", "class", "tree"], "mean"), title)


def draw_effect(rows: pandas.DataFrame) -> Figure:
    """The effect on log DI at each sequential distance, and in all; frequency held, and not."""
    from espalier.show.figures import draw_effects

    some = rows[(rows["outcome"] == "log DI") & rows["name"].str.startswith(TREE)]
    keys = ["space", "held", "distance"]
    return draw_effects(over_models(some.assign(held=some["name"] == TREE), keys, "estimate"))


def draw_measures(rows: pandas.DataFrame) -> Figure:
    """One panel per measure, over epochs."""
    from espalier.show.figures import draw_over_training

    return draw_over_training(over_models(rows, ["measure", "space", "epoch"], "value"), MEASURES)


def draw_branching(rows: pandas.DataFrame) -> Figure:
    """One panel per measure, one line per order; hidden states."""
    some = rows[rows["space"] == "hidden"].drop(columns="space")
    return draw_measures(some.rename(columns={"order": "space"}))


def draw_trees(rows: pandas.DataFrame) -> Figure:
    """Bars with intervals."""
    from espalier.show.figures import draw_probe

    return draw_probe(best_first(rows))


_HIDDEN = partial(draw_tree_distance, space="hidden", title="DI, hidden states")
_LOGITS = partial(draw_tree_distance, space="logits", title="DI, logits")
_OF_TREES = partial(Experiment, needs=("scipy",))
EXPERIMENTS = {
    "bottom-up-figure-3": _OF_TREES(
        "interdependence by sequential distance, English",
        OneLanguage.at,
        by_sequential_distance,
        nearby,
        draw_distance,
    ),
    "bottom-up-figure-4": _OF_TREES(
        "interdependence by distance in the tree, by class, English",
        OneLanguage.at,
        by_tree_distance,
        ends_of_lines,
        _HIDDEN,
    ),
    "interdependence-figure-8": _OF_TREES(
        "the earlier paper's sequential distance",
        OneLanguage.at,
        by_sequential_distance,
        nearby,
        draw_distance,
    ),
    "interdependence-figure-9": _OF_TREES(
        "the earlier paper's distance in the tree, logits",
        OneLanguage.at,
        by_tree_distance,
        ends_of_lines,
        _LOGITS,
    ),
    "syntax-effect": _OF_TREES(
        "what an edge of the tree does to interdependence, and frequency",
        OneLanguage.at,
        effect_of_an_edge,
        effects_in_all,
        draw_effect,
    ),
    "syntax-over-training": _OF_TREES(
        "when syntax appears",
        OneLanguage.in_training,
        over_training,
        every_checkpoint,
        draw_measures,
    ),
    "syntax-probe": _OF_TREES(
        "trees grown from interdependence alone, beside baselines",
        OneLanguage.at,
        probe_trees,
        best_first,
        draw_trees,
    ),
    "syntax-branching": _OF_TREES(
        "made-up languages that branch to the left or to the right",
        BothOrders.at,
        by_branching,
        before_and_after,
        draw_branching,
    ),
}
