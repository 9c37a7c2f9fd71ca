"""ALTA, Table 6 and Figure 18: SCAN's splits by number of layers, trained end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.fitted_models import translators_until_fitted
from espalier.experiments.intervals import summarise
from espalier.experiments.parity_models import Learners, label_of, name_of, translators, with_until
from espalier.runs import RunFolder
from espalier.training import ScanRun, train

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_MODEL = ["split", "sharing", "positions", "layers", "until"]


def every_kind(scale: Scale) -> Learners:
    """The Transformers of Table 6."""
    return Learners((*translators(scale), *translators_until_fitted(scale)))


def shared_relative(scale: Scale) -> Learners:
    """Those with shared weights and relative positions."""
    runs = [run for run in translators(scale) if run.shape.shared]
    return Learners(tuple(run for run in runs if run.shape.positions == "relative"))


def measure(config: Learners, cache: RunCache) -> list[Row]:
    """One row per kind of Transformer, split, seed and measure during training."""
    return cache.gather(translator_rows, config.learners, label_of)


def translator_rows(run: ScanRun, cache: RunCache) -> list[Row]:
    """The measures of one run, with its depth, sharing and positions."""
    device, out = str(cache.device), cache.path / name_of(run)
    train(run, out, device=device, progress=cache.progress)
    found = RunFolder(out).measured()
    labels: Row = {
        "layers": run.shape.layers,
        "sharing": "yes" if run.shape.shared else "no",
        "positions": run.shape.positions,
        "until": run.recipe.until,
    }
    kept = ("split", "seed", "step", "train_loss", "train_accuracy", "accuracy", "end_given")
    # A run that was begun by an earlier version has rows without the last, or with None.
    return [
        labels | {name: row[name] for name in kept if row.get(name) is not None} for row in found
    ]


def at_the_end(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of every Transformer's own last step."""
    rows = with_until(rows)
    return rows[rows["step"] == rows.groupby(_MODEL)["step"].transform("max")]


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Test accuracy at the end of training; depths that were not trained have no row.

    `training` is of training's commands, `end_given` of the test's if END comes when it should;
    `step` is the last.
    """
    last = at_the_end(rows)
    others = [name for name in ("train_accuracy", "end_given", "step") if name in last]
    means = last.groupby(_MODEL)[others].mean().rename(columns={"train_accuracy": "training"})
    means["step"] = means["step"].astype(int)
    return summarise(last, "accuracy", by=_MODEL).join(means, on=_MODEL)


def _title(split: str) -> str:
    """`MCD1` for mcd1, and of the splits made here what upto:5,7 says."""
    if not split.startswith("upto:"):
        return split.upper() if split.startswith("mcd") else split
    trained, tested = split.removeprefix("upto:").split(",")
    return f"up to {trained} actions,\ntested on up to {tested}"


def draw_depths(rows: pandas.DataFrame) -> Figure:
    """Test accuracy at the end: one panel per split, a row for each kind of positions."""
    from espalier.show.figures import Facets, Look, draw_bands

    table = summarise(at_the_end(rows), "accuracy", by=_MODEL)
    line = table["sharing"].where(table["until"] != "fitted", table["sharing"] + ", fitted")
    table = table.assign(line=line)
    facets = Facets(
        x="layers",
        line="line",
        across="split",
        down="positions",
        x_label="encoder layers, and as many decoder layers",
        titles={split: _title(split) for split in table["split"]},
        sides={kind: f"test accuracy\n{kind} positions" for kind in ("relative", "absolute")},
        looks={
            "yes": Look("#1b1f27", "-", "o", "shared weights"),
            "no": Look("#d02f2f", "--", "s", "own weights"),
            "yes, fitted": Look("#1f62d0", "-.", "^", "shared weights, until fitted"),
            "no, fitted": Look("#c77d1e", ":", "D", "own weights, until fitted"),
        },
        limits=(-0.02, max(0.25, 1.05 * float(table["high"].max()))),
    )
    figure = draw_bands(table, facets)
    for panel in figure.axes:  # depths double
        panel.set_xscale("log", base=2)
        panel.set_xticks(sorted(table["layers"].unique()), labels=None, minor=False)
        panel.xaxis.set_major_formatter("{x:.0f}")
    return figure


EXPERIMENTS = {
    "alta-table-6": Experiment(
        "SCAN's splits by number of layers, trained end to end",
        every_kind,
        measure,
        tabulate,
        draw_depths,
    ),
    "alta-figure-18": Experiment(
        "SCAN's splits by number of layers, shared weights, relative positions",
        shared_relative,
        measure,
        tabulate,
        draw_depths,
    ),
}
