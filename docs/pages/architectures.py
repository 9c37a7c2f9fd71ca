"""docs/results/architectures.md from committed rows: `python -m docs.pages architectures`.

Reads docs/results/data/architectures and, for the LSTM, docs/results/data/composition.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.composition import spread
from docs.pages.filling import DOCS, fill, markdown
from espalier.experiments.english_architectures import by_layer
from espalier.experiments.intervals import summarise
from espalier.files import write_figure, write_text
from espalier.show.figures import Facets, Look, draw_bands

NAMES = ("gru", "transformer")
LOOKS = {
    "lstm": Look("#1b1f27", "-", "o", "LSTM"),
    "gru": Look("#2b62c4", "--", "^", "GRU"),
    "transformer": Look("#b3261e", "-.", "s", "Transformer"),
}
DISTANCES = (1, 2, 3, 5, 10, 20)


def architectures(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data, pictures = docs / "results/data/architectures", docs / "images/architectures"
    pictures.mkdir(parents=True, exist_ok=True)
    facts = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    close, alone = (of_all(data, docs / "results/data/composition", n) for n in (7, 8))
    write_figure(pictures / "scaffolds.png", drawn(close))
    read = pd.read_parquet(data / "syntax.parquet")
    blocks = {
        "english": markdown(english(facts)),
        "close": markdown(at_last_epoch(close)),
        "alone": markdown(at_last_epoch(alone)),
        "layers": markdown(layers(read)),
        "distance": markdown(distances(read)),
    }
    page = docs / "results/architectures.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def of_all(data: Path, lstm: Path, number: int) -> pd.DataFrame:
    """A figure's rows after as many epochs as each had, and the LSTM's after five and all."""
    found = []
    for name in NAMES:
        rows = pd.read_parquet(data / f"bottom-up-figure-{number}-{name}.parquet")
        found.append(rows[rows["epoch"] == rows["epoch"].max()].assign(architecture=name))
    rows = pd.read_parquet(lstm / f"bottom-up-figure-{number}.parquet")
    shown = rows["epoch"].isin([5, rows["epoch"].max()])
    return pd.concat([*found, rows[shown].assign(architecture="lstm")])


def at_last_epoch(rows: pd.DataFrame) -> pd.DataFrame:
    """P(close) on scaffolds of training and random ones, with intervals over seeds."""
    by = ["architecture", "epoch", "length", "setting", "domain"]
    words = {"in_domain": "scaffolds of training", "out_of_domain": "random scaffolds"}
    table = summarise(rows, "probability", by=by).replace({"domain": words})
    return spread(table, by[:4], "domain")


def drawn(rows: pd.DataFrame):
    """P(close) by length: a column a setting, a row a test set; each at its last epoch."""
    last = rows[(rows["architecture"] != "lstm") | (rows["epoch"] == rows["epoch"].max())]
    table = summarise(last, "probability", by=["architecture", "length", "setting", "domain"])
    sides = {"in_domain": "P(close)\nscaffolds of training", "out_of_domain": "P(close)\nrandom"}
    return draw_bands(
        table,
        Facets(
            x="length",
            line="architecture",
            across="setting",
            down="domain",
            x_label="scaffold length k",
            titles="{} scaffolds",
            sides=sides,
            looks=LOOKS,
            limits=(-0.02, 1.02),
        ),
    )


def english(facts: dict) -> pd.DataFrame:
    """Perplexities, and what was trained for how long."""
    rows = []
    for name in NAMES:
        one = facts[name]
        network, recipe = one["english"]["network"], one["english"]["recipe"]
        rows.append(
            {
                "model": name,
                "layers x units": f"{network['layers']} x {network['hidden']}",
                "dropout": network["dropout"],
                "optimiser": f"{recipe['optimiser']}, {recipe['learning_rate']:g}",
                "epochs planned": recipe["epochs"],
                "steps taken": f"{one['steps']:,}",
                "validation": f"{one['valid_perplexity']:.1f}",
                "test": f"{one['test_perplexity']:.1f}",
            }
        )
    return pd.DataFrame(rows)


def layers(rows: pd.DataFrame) -> pd.DataFrame:
    """The effect of an edge on log DI and the probe's UUAS at every layer, with intervals."""
    found = []
    for name in NAMES:
        table = by_layer(rows[rows["architecture"] == name].assign(seed=0))
        cells = [f"{r.value:.3f} [{r.low:.3f}, {r.high:.3f}]" for r in table.itertuples()]
        table = table.assign(cell=cells, measured=table["measure"] + ", " + table["space"])
        wide = table.pivot(index="layer", columns="measured", values="cell").reset_index()
        found.append(wide.assign(model=name))
    table = pd.concat(found)
    return table[["model", *(column for column in table if column != "model")]]


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean DI of hidden states by sequential distance: a row a model and layer."""
    some = rows[(rows["table"] == "distance") & (rows["space"] == "hidden")]
    some = some[some["distance"].isin(DISTANCES)]
    some = some.assign(distance=some["distance"].astype(int).astype(str))
    wide = some.pivot(index=["architecture", "layer"], columns="distance", values="mean")
    wide = wide[[str(d) for d in DISTANCES if str(d) in wide]].round(3)
    return wide.reset_index().rename(columns={"architecture": "model"})
