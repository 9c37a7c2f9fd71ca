"""docs/results/architectures.md from committed rows: `python -m docs.pages architectures`.

Reads docs/results/data/architectures and, for the LSTM, docs/results/data/composition.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.composition import spread
from docs.pages.filling import DOCS, fill, markdown
from espalier.experiments.architectures import tabulate
from espalier.experiments.english_architectures import by_layer
from espalier.experiments.intervals import summarise
from espalier.experiments.scaffold_claims import FIGURES, decide
from espalier.experiments.scaffold_figures import on_random_scaffolds
from espalier.files import write_figure, write_text
from espalier.show.figures import Facets, Look, draw_bands

NAMES = ("lstm", "gru", "transformer")
READ = {  # whose pairs of English-EWT are shown, and how
    "gru": "GRU",
    "transformer": "Transformer, dropout 0.3",
    "transformer-0.5": "Transformer, dropout 0.5",
    "package-lstm": "LSTM of the package",
    "package-transformer": "Transformer of the package",
}
EPOCHS = (5, 50)
CHANCE = 1 / 1_002  # one of the plain tokens and two symbols
LOOKS = {
    "lstm": Look("#1b1f27", "-", "o", "LSTM"),
    "gru": Look("#1f62d0", "--", "^", "GRU"),
    "transformer": Look("#d02f2f", "-.", "s", "Transformer"),
}
DISTANCES = (1, 2, 3, 5, 10, 20)


def architectures(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data, pictures = docs / "results/data/architectures", docs / "images/architectures"
    pictures.mkdir(parents=True, exist_ok=True)
    facts = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    rows = {n: of_all(docs / "results/data", n) for n in FIGURES}
    write_figure(pictures / "scaffolds.png", drawn(rows[7]))
    read = pd.read_parquet(data / "syntax.parquet")
    blocks = {
        "english": markdown(english(facts)),
        "claims": markdown(claims(rows)),
        "close": markdown(at_epochs(rows[7])),
        "alone": markdown(at_epochs(rows[8])),
        "frequency": markdown(frequency(data)),
        "layers": markdown(layers(read)),
        "distance": markdown(distances(read)),
    }
    page = docs / "results/architectures.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def of_all(data: Path, number: int) -> pd.DataFrame:
    """A figure's rows for all three."""
    places = {name: data / f"architectures/bottom-up-figure-{number}-{name}" for name in NAMES}
    places["lstm"] = data / f"composition/bottom-up-figure-{number}"
    read = [
        pd.read_parquet(f"{place}.parquet").assign(architecture=name)
        for name, place in places.items()
    ]
    return pd.concat(read)


def claims(rows: dict[int, pd.DataFrame]) -> pd.DataFrame:
    """Every claim with its verdict for each architecture."""
    found = []
    for name in NAMES:
        own = {n: some[some["architecture"] == name] for n, some in rows.items()}
        found.append(decide(own, chance=CHANCE).assign(architecture=name))
    table = tabulate(pd.concat(found))
    order = {name: place for place, name in enumerate(NAMES)}
    return table.sort_values(
        ["claim", "architecture"], key=lambda column: column.replace(order), kind="stable"
    )


def at_epochs(rows: pd.DataFrame) -> pd.DataFrame:
    """P(close) on scaffolds of training and random ones, with intervals over seeds."""
    by = ["architecture", "epoch", "length", "setting", "domain"]
    words = {"in_domain": "scaffolds of training", "out_of_domain": "random scaffolds"}
    shown = rows[rows["epoch"].isin(EPOCHS)]
    table = summarise(shown, "probability", by=by).replace({"domain": words})
    return spread(table, by[:4], "domain")


def frequency(data: Path) -> pd.DataFrame:
    """P(close | focus) by number of rules, on random scaffolds."""
    found = []
    for name in NAMES[1:]:
        table = on_random_scaffolds(pd.read_parquet(data / f"bottom-up-figure-11-{name}.parquet"))
        cells = [f"{r.mean:.3g} [{r.low:.3g}, {r.high:.3g}]" for r in table.itertuples()]
        keys = ["rules", "focus"]
        wide = table.assign(cell=cells).pivot(index=keys, columns="length", values="cell")
        wide = wide.rename(columns=lambda k: f"k = {k}").reset_index()
        wide.insert(0, "architecture", name)
        found.append(wide)
    return pd.concat(found)


def drawn(rows: pd.DataFrame):
    """P(close) over epochs: a column a length, a row a setting and test set."""
    words = {"in_domain": "scaffolds of training", "out_of_domain": "random scaffolds"}
    panel = rows["setting"] + ", " + rows["domain"]
    table = summarise(
        rows.assign(panel=panel), "probability", by=["architecture", "length", "panel", "epoch"]
    )
    sides = {
        f"{setting}, {domain}": f"P(close), {setting}\n{word}"
        for setting in ("familiar", "unfamiliar")
        for domain, word in words.items()
    }
    return draw_bands(
        table,
        Facets(
            x="epoch",
            line="architecture",
            across="length",
            down="panel",
            x_label="epoch",
            titles="scaffold length {}",
            sides=sides,
            looks=LOOKS,
            limits=(-0.02, 1.02),
        ),
    )


def english(facts: dict) -> pd.DataFrame:
    """Perplexities, and what was trained for how long."""
    rows = []
    for one in facts["english"]:
        network, recipe = one["config"]["network"], one["config"]["recipe"]
        rows.append(
            {
                "model": one["architecture"],
                "words": f"{one['words']:,}",
                "layers x units": f"{network['layers']} x {network['hidden']}",
                "dropout": network["dropout"],
                "optimiser": f"{recipe['optimiser']}, {recipe['learning_rate']:g}",
                "shifted, outputs dropped": "yes" if recipe.get("shifted") else "no",
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
    for name, words in READ.items():
        own = rows[rows["architecture"] == name]
        table = by_layer(own.assign(seed=0))
        cells = [f"{r.value:.3f} [{r.low:.3f}, {r.high:.3f}]" for r in table.itertuples()]
        table = table.assign(cell=cells, measured=table["measure"] + ", " + table["space"])
        wide = table.pivot(index="layer", columns="measured", values="cell").reset_index()
        found.append(wide.assign(model=words, sentences=f"{own['read'].iloc[0]:,}"))
    table = pd.concat(found)
    first = ["model", "sentences"]
    return table[[*first, *(column for column in table if column not in first)]]


def distances(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean DI of hidden states by sequential distance: a row a model and layer."""
    some = rows[(rows["table"] == "distance") & (rows["space"] == "hidden")]
    some = some[some["distance"].isin(DISTANCES)]
    some = some.assign(
        distance=some["distance"].astype(int).astype(str), model=some["architecture"].map(READ)
    )
    wide = some.pivot(index=["model", "layer"], columns="distance", values="mean")
    return wide[[str(d) for d in DISTANCES if str(d) in wide]].round(3).reset_index()
