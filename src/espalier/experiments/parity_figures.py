"""ALTA's parity experiments: MLPs trained on traces, and Transformers trained end to end.

Figure 4: what a program's minimal version does, its MLP does when trained on traces. Figure 5:
Transformers trained end to end behave like Sum + Modulo trained on traces. Figures 9 to 11 and
Table 3 show all of those Transformers. `alta-readable` is what C.1 leaves to future work: nothing
is compiled, and all weights are learnt from traces that need only be linearly readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.fitted_models import end_to_end_until_fitted, traced_until_fitted
from espalier.experiments.parity_answers import (
    both_ways,
    compiled_cells,
    read_cells,
    shares_by,
    slices,
    slices_by_end,
    traced_cells,
    transformer_cells,
)
from espalier.experiments.parity_models import (
    Learners,
    Read,
    Traced,
    end_to_end,
    label_of,
    readable,
    traced,
    with_until,
)
from espalier.training import ParityRun

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

PROGRAMS = {
    "sequential-relative": "Sequential (Relative)",
    "sequential-absolute": "Sequential (Absolute)",
    "sum-modulo": "Sum + Modulo",
}
SHARING = {"no": "end to end", "yes": "end to end, shared weights"}
SUPERVISIONS = {
    "sequential-relative": "Sequential\n(Relative)",
    "sequential-absolute": "Sequential\n(Absolute)",
    "sum-modulo": "Sum +\nModulo",
    "end to end": "end to end\n(own)",
    "end to end, shared weights": "end to end\n(shared)",
}
KINDS = ["layers", "sharing", "positions"]
ACCURACY = (-0.02, 1.05)
Looks = Mapping[Any, tuple[str, ...]]  # colour, dash, marker and name by value
BLACK, BLUE, RED = ("#1b1f27", "-", "o"), ("#1f62d0", "--", "s"), ("#d02f2f", ":", "^")
BY_LENGTH_AND_ONES: dict[str, Any] = {  # the two axes of `both_ways`
    "x": "x",
    "across": "axis",
    "titles": "by {}",
    "x_labels": {"length": "length in bits", "number of ones": "number of ones"},
}


def on_traces(scale: Scale) -> Learners:
    """The programs, with what is trained on their traces."""
    return Learners(traced(scale))


def on_traces_five_seeds(scale: Scale) -> Learners:
    """The same, and five seeds of those that have one."""
    return Learners((*traced(scale), *traced_until_fitted(scale)))


def readable_programs(scale: Scale) -> Learners:
    """The programs, and the Transformers that go through their traces."""
    return Learners(readable(scale))


def transformers(scale: Scale) -> Learners:
    """The Transformers of Table 3."""
    return Learners(end_to_end(scale))


def transformers_five_seeds(scale: Scale) -> Learners:
    """The same, and five seeds of each until they are fitted."""
    return Learners((*end_to_end(scale), *end_to_end_until_fitted(scale)))


def both_ways_taught(scale: Scale) -> Learners:
    """What is trained on traces, and the shallower Transformers with relative positions."""
    relative = [run for run in end_to_end(scale) if run.shape.positions == "relative"]
    fewest = min(run.shape.layers for run in relative)
    return Learners((*traced(scale), *(run for run in relative if run.shape.layers == fewest)))


# Rows: answers by kind of model, seed, length and number of ones.


def rows_of(config: Learners, cache: RunCache) -> list[Row]:
    """Rows of every learner."""
    return cache.gather(cells_of, config.learners, label_of)


def cells_of(learner: Traced | Read | ParityRun, cache: RunCache) -> list[Row]:
    """Rows of one learner, trained."""
    match learner:
        case Traced():
            return traced_cells(learner, cache)
        case Read():
            return read_cells(learner, cache)
        case ParityRun():
            return transformer_cells(learner, cache)


def all_versions(config: Learners, cache: RunCache) -> list[Row]:
    """The same, the compiled programs, and their minimal versions for the training strings."""
    return cache.gather(versions_of, config.learners, label_of)


def versions_of(one: Traced, cache: RunCache) -> list[Row]:
    """Rows of one program: compiled, minimal and trained."""
    compiled = compiled_cells(one)
    return compiled + [
        {name: row[name] for name in compiled[0]} for row in traced_cells(one, cache)
    ]


def both_supervisions(config: Learners, cache: RunCache) -> list[Row]:
    """Rows of both kinds of supervision, with the same columns."""
    rows = rows_of(config, cache)
    traces = [row for row in rows if "program" in row]
    return beside(traces, [row for row in rows if "program" not in row])


def beside(traces: Iterable[Row], examples: Iterable[Row]) -> list[Row]:
    """Rows of Table 2 and of Table 3's shallower Transformers, by `supervision`."""
    names = ("supervision", "seed", "trained_to", "length", "ones", "strings", "right", "odd")
    rows = [row | {"supervision": row["program"]} for row in traces]
    rows += [row | {"supervision": SHARING[str(row["sharing"])]} for row in examples]
    return [{name: row[name] for name in names} for row in rows]


# Tables and pictures.


def draw_curves(table: pandas.DataFrame, looks: Looks, **facets: Any) -> Figure:
    """Shares as curves, one for each value of `line` that has a look."""
    from espalier.show.figures import Facets, Look, draw_bands

    styles = {value: Look(*look) for value, look in looks.items()}
    return draw_bands(table, Facets(looks=styles, **({"limits": ACCURACY} | facets)))


def draw_versions(rows: pandas.DataFrame) -> Figure:
    """One row per program; accuracy by length and by number of ones."""
    looks = {
        "original": ("#8a8f99", "-", "o", "compiled"),
        "minimal": (*BLUE, "minimal version"),
        "traces": (*RED, "trained on traces"),
    }
    return draw_curves(
        both_ways(rows, ["program", "version"]),
        looks,
        line="version",
        down="program",
        sides={name: f"accuracy\n{title}" for name, title in PROGRAMS.items()},
        **BY_LENGTH_AND_ONES,
    )


def draw_programs(rows: pandas.DataFrame) -> Figure:
    """All programs, by length and by number of ones; a row of panels for what ended training."""
    styles = zip(PROGRAMS.items(), (BLACK, BLUE, RED), strict=True)
    return draw_curves(
        both_ways(with_until(rows), ["program", "until"]),
        {name: (*style, title) for (name, title), style in styles},
        line="program",
        down="until",
        sides={"the last step": "accuracy", "fitted": "accuracy\nuntil fitted, five seeds"},
        **BY_LENGTH_AND_ONES,
    )


def tabulate_supervisions(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares of right answers by supervision; lengths of training differ at the small scale."""
    import pandas as pd

    tables = [slices(some, ["supervision"]) for _, some in rows.groupby("trained_to")]
    for table in tables:
        table.columns = ["supervision", "short", "long", "many ones"]
    return pd.concat(tables, ignore_index=True)


def draw_supervisions(rows: pandas.DataFrame) -> Figure:
    """By length and by number of ones; one row per kind of supervision, since most curves swing."""
    table = both_ways(rows, ["supervision"])
    ends = table["supervision"].isin(SHARING.values())
    return draw_curves(
        table.assign(**{"from": ends.map({True: "examples", False: "traces"})}),
        {
            "traces": ("#d02f2f", "-", "^", "MLP trained on traces"),
            "examples": (*BLACK, "Transformer trained end to end"),
        },
        line="from",
        down="supervision",
        sides=SUPERVISIONS,
        limits=(-0.05, 1.08),
        height=1.15,
        **BY_LENGTH_AND_ONES | {"titles": "accuracy by {}"},
    )


def draw_transformers(rows: pandas.DataFrame) -> Figure:
    """By length and ones; a row of panels for each kind of positions and what ended training."""
    rows = with_until(rows)
    plural = rows["layers"].eq(1).map({True: " layer", False: " layers"})
    depths = rows["layers"].astype(str) + plural
    named = rows.assign(model=depths + rows["sharing"].map({"yes": ", shared", "no": ""}))
    fitted = rows["until"].map({"the last step": "", "fitted": ", until fitted"})
    named["panels"] = rows["positions"] + fitted
    models = named.sort_values(["layers", "sharing"])["model"].unique()
    styles = (BLACK, BLUE, RED, ("#2f8f4e", "-.", "D"))
    return draw_curves(
        both_ways(named, ["model", "panels"]),
        dict(zip(models, styles, strict=False)),
        line="model",
        down="panels",
        sides={
            f"{kind}{fitted}": f"accuracy\n{kind}{fitted}"
            for fitted in ("", ", until fitted")
            for kind in ("relative", "absolute")
        },
        **BY_LENGTH_AND_ONES,
    )


def by_length(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Shares by kind of Transformer and length."""
    return shares_by(rows, [*KINDS, "length"])


def draw_by_length(rows: pandas.DataFrame) -> Figure:
    """Relative positions next to absolute ones, one row per depth."""
    depths = sorted(rows["layers"].unique())
    return draw_curves(
        by_length(rows),
        {"yes": (*BLACK, "shared weights"), "no": ("#d02f2f", "--", "s", "own weights")},
        x="length",
        line="sharing",
        across="positions",
        down="layers",
        x_label="length in bits",
        titles="{} positions",
        sides={layers: f"accuracy\n{layers} layers" for layers in depths},
    )


def by_ones(rows: pandas.DataFrame, *, of: str) -> pandas.DataFrame:
    """Shares of `of` by number of ones, relative positions."""
    relative = rows[rows["positions"] == "relative"]
    return shares_by(relative, ["layers", "sharing", "ones"], of=of)


def draw_by_ones(rows: pandas.DataFrame, *, of: str, side: str) -> Figure:
    """A panel a Transformer, and a seed: curves that swing between 0 and 1 cannot share one."""
    relative = rows[rows["positions"] == "relative"]
    names = {"no": "own weights", "yes": "shared weights"}
    sides = {kind: f"{side}\n{names[kind]}" for kind in names}
    across, down, titles, table = "layers", "sharing", "{} layers", by_ones(rows, of=of)
    if relative["seed"].nunique() > 1:
        models = relative["layers"].astype(str) + " layers,\n" + relative["sharing"].map(names)
        ordered = models[relative.sort_values(["layers", "sharing"]).index].unique()
        sides = {model: f"{side}\n{model}" for model in ordered}
        across, down, titles = "panel", "model", "seed {}"
        apart = relative.assign(panel=relative["seed"], model=models)
        table = shares_by(apart, ["model", "panel", "ones"], of=of)
    return draw_curves(
        table.assign(positions="relative"),
        {"relative": (*BLACK, "_only")},
        x="ones",
        line="positions",
        across=across,
        down=down,
        x_label="number of ones (relative positions)",
        titles=titles,
        sides=sides,
    )


EXPERIMENTS = {
    "alta-figure-4": Experiment(
        "parity by length and ones: programs, minimal versions, trained on traces",
        on_traces,
        all_versions,
        partial(slices, by=["program", "version"]),
        draw_versions,
    ),
    "alta-figure-5": Experiment(
        "parity by length and ones: trained on traces and end to end",
        both_ways_taught,
        both_supervisions,
        tabulate_supervisions,
        draw_supervisions,
    ),
    "alta-readable": Experiment(
        "parity, all weights trained on traces that need only be linearly readable",
        readable_programs,
        rows_of,
        partial(slices, by=["program"]),
        draw_programs,
    ),
    "alta-table-2": Experiment(
        "parity beyond training's lengths, MLPs trained on traces",
        on_traces_five_seeds,
        rows_of,
        partial(slices_by_end, by=["program"]),
        draw_programs,
    ),
    "alta-table-3": Experiment(
        "parity beyond training's lengths, Transformers trained end to end",
        transformers_five_seeds,
        rows_of,
        partial(slices_by_end, by=KINDS),
        draw_transformers,
    ),
    "alta-figure-9": Experiment(
        "parity by length, trained end to end",
        transformers,
        rows_of,
        by_length,
        draw_by_length,
    ),
    "alta-figure-10": Experiment(
        "parity by number of ones, trained end to end, relative positions",
        transformers,
        rows_of,
        partial(by_ones, of="right"),
        partial(draw_by_ones, of="right", side="accuracy"),
        drawn=("relative positions",),
    ),
    "alta-figure-11": Experiment(
        "average prediction by number of ones, trained end to end",
        transformers,
        rows_of,
        partial(by_ones, of="odd"),
        partial(draw_by_ones, of="odd", side="share answering 1"),
        drawn=("relative positions",),
    ),
}
