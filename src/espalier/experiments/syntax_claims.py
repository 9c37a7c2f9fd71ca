"""Statements on interdependence and syntax, decided over several trainings of one model.

A training is the unit, whereas intervals of a single model are over sentences. Written before any
seed but 0 was trained, whose numbers were known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.intervals import over_seeds, verdict_on
from espalier.experiments.language_checkpoints import Checkpoints, syntax_rows
from espalier.experiments.languages import Language, english_in_training
from espalier.syntax import TREE

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

FURTHEST = 10
SEEDS: dict[Scale, int] = {"smoke": 2, "small": 5, "paper": 5}


@dataclass(frozen=True)
class Statement:
    """One number of every model, and the side of a bound on which it should lie."""

    claim: str
    statement: str
    quantity: str
    value: Callable[[pandas.DataFrame], float]  # of the rows of one model and space
    side: str = "below"


@dataclass(frozen=True)
class Seeds:
    """A language read by several models that differ in their seed alone."""

    language: Language

    @classmethod
    def at(cls, scale: Scale) -> Seeds:
        """The preset of a scale."""
        return cls(replace(english_in_training(scale), seeds=SEEDS[scale]))


def statements() -> tuple[Statement, ...]:
    """The papers' on distance in the sentence and in the tree, and the probe's."""
    return (
        Statement(
            "S1",
            "DI is higher the closer two words stand",
            f"largest change of mean DI from one distance to the next, 1 to {FURTHEST}",
            _largest_change,
        ),
        Statement(
            "S2",
            "an edge more in the tree goes with less DI",
            "effect on log DI; class, distance and frequency held",
            lambda rows: _effect(rows, TREE).get(0, nan),
        ),
        Statement(
            "S3",
            "and does so at every distance from four words on",
            f"largest effect on log DI at distances 4 to {FURTHEST}",
            lambda rows: max((e for d, e in _effect(rows, TREE).items() if d >= 4), default=nan),
        ),
        Statement(
            "S4",
            "for neighbours it goes with more, as long as frequency is not held",
            "effect on log DI at distance 1, frequency not held",
            lambda rows: _effect(rows, f"{TREE}, frequency not held").get(1, nan),
            side="above",
        ),
        Statement(
            "S5",
            "trees grown from DI have fewer of the treebank's edges than linking neighbours",
            "UUAS without crossings - UUAS of neighbours",
            _beyond_neighbours,
        ),
    )


def decide(rows: pandas.DataFrame) -> list[Row]:
    """One row per statement and space: mean over seeds, t interval, and whether it holds.

    A made-up language may lack what a statement is about; then it has no row.
    """
    models, free = rows[rows["seed"] >= 0], rows[rows["seed"] < 0]
    found: list[Row] = []
    for one in statements():
        for space, some in models.groupby("space", sort=True):
            values = [one.value(_with(own, free)) for _, own in some.groupby("seed")]
            if any(map(isnan, values)):
                continue
            interval = over_seeds(values)
            holds = interval.high < 0 if one.side == "below" else interval.low > 0
            words = {"claim": one.claim, "statement": one.statement, "quantity": one.quantity}
            about = {"space": space, "side": one.side, "bound": 0.0, "holds": holds}
            found.append(words | about | vars(interval))
    return found


def measure(config: Seeds, cache: RunCache) -> list[Row]:
    """The rows of `syntax_rows` for every model after training."""
    return cache.rows(syntax_rows, Checkpoints(config.language))


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """One row per statement, one column per space."""
    decided = _decided(rows)
    cells = [f"{r.mean:.3g} [{r.low:.3g}, {r.high:.3g}]" for r in decided.itertuples()]
    keys = ["claim", "statement", "quantity", "holds if"]
    decided = decided.assign(**{"holds if": decided["side"] + " 0"})
    wide = decided.assign(cell=cells).pivot(index=keys, columns="space", values="cell")
    verdicts = {key: verdict_on(some) for key, some in decided.groupby(keys)}
    return wide.assign(verdict=[verdicts[key] for key in wide.index]).reset_index()


def draw(rows: pandas.DataFrame) -> Figure:
    """One panel per statement."""
    from espalier.show.figures import draw_verdicts

    decided = _decided(rows)
    return draw_verdicts(
        decided.assign(length=decided["space"]), x_label="hidden states, or logits"
    )


def _decided(rows: pandas.DataFrame) -> pandas.DataFrame:
    import pandas as pd

    return pd.DataFrame(decide(rows))


def _with(own: pandas.DataFrame, free: pandas.DataFrame) -> pandas.DataFrame:
    import pandas as pd

    return pd.concat([own, free])


def _largest_change(rows: pandas.DataFrame) -> float:
    some = rows[(rows["table"] == "distance") & (rows["distance"] <= FURTHEST)]
    return float(some.sort_values("distance")["mean"].diff().max())


def _effect(rows: pandas.DataFrame, name: str) -> dict[int, float]:
    """By distance, 0 for all."""
    some = rows[(rows["table"] == "effect") & (rows["outcome"] == "log DI")]
    some = some[some["name"] == name]
    return dict(zip(some["distance"].astype(int), some["estimate"].astype(float), strict=True))


def _beyond_neighbours(rows: pandas.DataFrame) -> float:
    trees = rows[rows["table"] == "probe"]
    own = trees[(trees["weights"] == "DI") & (trees["shape"] == "noncrossing")]
    return float(own["uuas"].iloc[0] - trees[trees["weights"] == "neighbours"]["uuas"].iloc[0])


EXPERIMENTS = {
    "syntax-claims": Experiment(
        "what is said of interdependence and syntax, over several trainings",
        Seeds.at,
        measure,
        tabulate,
        draw,
        needs=("scipy",),
    )
}
