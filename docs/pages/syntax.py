"""docs/results/syntax.md from committed rows: `python -m docs.pages syntax`.

Reads docs/results/data/syntax: trainings.parquet, every checkpoint of five models of English, with
their curves and manifests; branching.parquet, the rows of `espalier reproduce syntax-branching
--scale paper`; claims-small.parquet, those of `syntax-claims --scale small`, every number of each
model; and earlier.parquet, one earlier training and the package's model at their last step. Draws
docs/images/syntax.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, write_picture
from espalier import experiments
from espalier.experiments import both_measures, label_probe
from espalier.experiments.intervals import over_models, over_seeds
from espalier.files import write_text
from espalier.syntax import TREE

DRAWN = {
    "bottom-up-figure-3": "distance",
    "bottom-up-figure-4": "stratum",
    "interdependence-figure-9": "stratum",
    "syntax-effect": "effect",
}
EARLIER = "earlier"


def syntax(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data, pictures = docs / "results/data/syntax", docs / "images/syntax"
    pictures.mkdir(parents=True, exist_ok=True)
    rows = pd.read_parquet(data / "trainings.parquet")
    curves = pd.read_parquet(data / "trainings-curves.parquet")
    models = rows[rows["seed"] >= 0]
    last = models[models["epoch"] == models["epoch"].max()]
    for name, table in DRAWN.items():
        figure = experiments.find(name).draw(table_of(last, table))
        write_picture(pictures / f"{name}.png", figure)
    curve, probe = pd.DataFrame(both_measures(models.to_dict("records"))), probe_rows(rows)
    orders = pd.read_parquet(data / "branching.parquet")
    small = pd.read_parquet(data / "claims-small.parquet")
    claims = pd.concat([rows[rows["seed"] < 0], last])
    drawn = {"syntax-over-training": curve, "syntax-probe": probe, "syntax-branching": orders}
    drawn |= {"syntax-claims": claims, "syntax-claims-small": small}
    for name, some in drawn.items():
        figure = experiments.find(name.removesuffix("-small")).draw(some)
        write_picture(pictures / f"{name}.png", figure)
    earlier = pd.read_parquet(data / "earlier.parquet")
    decided = experiments.find("syntax-claims").tabulate
    blocks = {
        "run": described(data, curves),
        "distance": markdown(by_distance(last)),
        "slopes": markdown(slopes(last, "hidden")),
        "slopes-logits": markdown(slopes(last, "logits")),
        "effect": markdown(effects(last)),
        "effect-by-distance": markdown(effects_by_distance(last)),
        "frequency": markdown(frequencies(last)),
        "over-training": markdown(moments(curve, curves)),
        "probe": markdown(probe_table(probe)),
        "packaged": markdown(packaged(last, earlier)),
        "branching": markdown(branching(orders)),
        "claims": markdown(decided(claims)),
        "each": markdown(each(last, earlier, curves, data)),
        "claims-small": markdown(decided(small)),
        "claims-small-by-distance": markdown(effects_by_distance(small)),
    }
    page = docs / "results/syntax.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def table_of(rows: pd.DataFrame, table: str) -> pd.DataFrame:
    """The rows of one table, with its own columns alone."""
    own = rows[rows["table"] == table].drop(columns="table").dropna(axis="columns", how="all")
    whole = [name for name in own if own[name].dtype == float and (own[name] % 1 == 0).all()]
    counted = [name for name in whole if name in ("distance", "tree", "cases", "edges", "pairs")]
    return own.astype(dict.fromkeys(counted, int)).reset_index(drop=True)


def probe_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Before training, after it, and without a model."""
    ends = rows["epoch"].isin([-1.0, 0.0, rows["epoch"].max()])
    labelled = pd.DataFrame(label_probe(rows[ends].to_dict("records")))
    return labelled.dropna(axis="columns", how="all")


def described(data: Path, curves: pd.DataFrame) -> str:
    """What was trained, on what, and how well it predicts."""
    manifests = json.loads((data / "trainings.json").read_text(encoding="utf-8"))
    one, seeds = manifests["seed-0"], len(manifests)
    network, recipe = one["config"]["network"], one["config"]["recipe"]
    last = curves[curves["epoch"] == curves["epoch"].max()]["valid_perplexity"]
    facts = json.loads((data / "earlier.json").read_text(encoding="utf-8"))
    own, best = facts["english"]["network"], facts["english"]["best"]
    return "\n".join(
        [
            f"- the papers' model: {network['hidden']} units, {one['data']['words']:,} words, "
            f"tied, dropout {network['dropout']}, {recipe['epochs']} epochs, "
            f"seeds 0 to {seeds - 1}; "
            f"validation perplexity {last.min():.1f} to {last.max():.1f}; one ensemble, "
            f"{one['seconds']:.0f} s of {one['device'].removeprefix('NVIDIA ')}, "
            f"torch {one['versions']['torch']}",
            f"- the package's model: {own['hidden']} units, {facts['english']['words']:,} words, "
            f"tied, {best['member'].replace('-', ' ')}, {best['epoch']:g} epochs, one seed; "
            f"validation perplexity {best['valid_perplexity']:.1f}, test "
            f"{best['test_perplexity']:.1f}",
            f"- {facts['pairs']:,} pairs of {facts['sentences']:,} sentences",
        ]
    )


def interval(row: pd.Series, value: str = "estimate", digits: int = 3) -> str:
    return f"{row[value]:.{digits}f} [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"


def by_distance(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "distance")
    some = some[some["distance"].isin([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40])]
    means = over_models(some, ["space", "distance"], "mean", also=["cases"])
    means = means.assign(cell=means.apply(interval, axis=1, value="mean"))
    wide = means.pivot(index="distance", columns="space", values="cell").reset_index()
    cases = some.drop_duplicates("distance").set_index("distance")["cases"]
    return wide.assign(cases=wide["distance"].map(lambda d: f"{cases[d]:,}"))


def slopes(rows: pd.DataFrame, space: str) -> pd.DataFrame:
    """Of every line of Figure 4 (of logits: the earlier paper's 9): per edge, relative to its mean.

    Weighted by cases; means over models.
    """
    found = []
    some = table_of(rows, "stratum")
    keys = ["distance", "class", "seed"]
    for (distance, kind, seed), line in some[some["space"] == space].groupby(keys):
        weight, tree = line["cases"], line["tree"] - np.average(line["tree"], weights=line["cases"])
        middle = np.average(line["mean"], weights=weight)
        slope = (weight * tree * line["mean"]).sum() / (weight * tree**2).sum() / middle
        found.append({"distance": distance, "class": kind, "seed": seed, "slope": 100 * slope})
    cells = pd.DataFrame(found).groupby(keys[:2])["slope"].agg(lambda own: half(own, 1, "%", "+"))
    return cells.unstack()[["open", "mixed", "closed"]].reset_index().rename_axis(columns=None)


def half(values: pd.Series, digits: int, unit: str = "", sign: str = "") -> str:
    """A mean over models with half of its t interval."""
    found = over_seeds(values.tolist())
    room = found.high - found.mean
    return f"{found.mean:{sign}.{digits}f}{unit} ± {room:.{digits}f}{unit}"


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "effect")
    whole = over_models(some[some["distance"] == 0], ["name", "outcome", "space"], "estimate")
    whole = whole.assign(cell=whole.apply(interval, axis=1, digits=4))
    whole = whole.assign(column=whole["outcome"] + ", " + whole["space"])
    wide = whole.pivot(index="name", columns="column", values="cell")
    order = sorted(wide.index, key=lambda name: (not name.startswith(TREE), name))
    return wide.loc[order].reset_index().rename(columns={"name": "coefficient"})


def effects_by_distance(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "effect")
    some = some[(some["distance"] > 0) & (some["outcome"] == "log DI")]
    some = some[some["name"].str.startswith(TREE)]
    means = over_models(some, ["distance", "space", "name"], "estimate")
    means = means.assign(
        cell=means.apply(interval, axis=1),
        column=means["space"] + means["name"].str.removeprefix(TREE),
    )
    wide = means.pivot(index="distance", columns="column", values="cell").reset_index()
    pairs = some.drop_duplicates("distance").set_index("distance")["pairs"]
    return wide.assign(pairs=wide["distance"].map(lambda d: f"{pairs[d]:,}"))


def frequencies(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "frequency")
    some = some.assign(column=some["space"] + ", " + some["word"] + " word")
    cells = some.groupby(["distance", "column"])["correlation"].agg(lambda own: half(own, 3))
    wide = cells.unstack().reset_index().rename_axis(columns=None)
    return wide.assign(distance=["all" if d == 0 else f"{d}" for d in wide["distance"]])


def moments(curve: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    means = over_models(curve[curve["space"] == "hidden"], ["measure", "epoch"], "value")
    means = means.assign(cell=means.apply(interval, axis=1, value="value"))
    wide = means.pivot(index="epoch", columns="measure", values="cell").reset_index()
    measured = curves.groupby(curves["epoch"].round(6))["valid_perplexity"].mean()
    perplexity = [f"{measured.get(round(e, 6), np.nan):.0f}" for e in wide["epoch"]]
    named = {"effect": "effect of an edge on log DI", "probe": "UUAS, no crossings"}
    wide = wide.assign(epoch=[f"{e:.3g}" for e in wide["epoch"]]).rename(columns=named)
    wide.insert(1, "validation perplexity", perplexity)
    return wide.replace("nan", "-")


def probe_table(rows: pd.DataFrame) -> pd.DataFrame:
    table = experiments.find("syntax-probe").tabulate(rows)
    table = table.assign(UUAS=table.apply(interval, axis=1, value="uuas"))
    return table[["model", "weights", "space", "shape", "UUAS"]]


def branching(rows: pd.DataFrame) -> pd.DataFrame:
    table = experiments.find("syntax-branching").tabulate(rows)
    table = table.assign(cell=table.apply(interval, axis=1, value="value"))
    wide = table.pivot(index=["order", "epoch"], columns="measure", values="cell").reset_index()
    named = {"effect": "effect of an edge on log DI", "probe": "UUAS, no crossings"}
    return wide.assign(epoch=[f"{e:g}" for e in wide["epoch"]]).rename(columns=named)


def one_number(rows: pd.DataFrame, quantity: str) -> pd.Series:
    """A quantity of every model after training, hidden states, by seed."""
    some = rows[rows["space"] == "hidden"]
    if quantity == "UUAS, no crossings":
        some = some[(some["weights"] == "DI") & (some["shape"] == "noncrossing")]
        return some.set_index("seed")["uuas"]
    at, held = QUANTITIES[quantity]
    some = some[(some["outcome"] == "log DI") & (some["name"] == held)]
    return some[some["distance"] == at].set_index("seed")["estimate"]


NOT_HELD = f"{TREE}, frequency not held"
QUANTITIES = {
    "effect of an edge, all pairs": (0, TREE),
    "effect of an edge, neighbours": (1, TREE),
    "effect of an edge, neighbours, frequency not held": (1, NOT_HELD),
    "effect of an edge, four words apart": (4, TREE),
    "UUAS, no crossings": (0, ""),
}


def each(
    rows: pd.DataFrame, earlier: pd.DataFrame, curves: pd.DataFrame, data: Path
) -> pd.DataFrame:
    """Every training by itself, where a further one would lie, and the earlier one."""
    before = earlier[earlier["model"] == "wikitext"].assign(seed=EARLIER)
    found = []
    for quantity in QUANTITIES:
        own, old = one_number(rows, quantity).sort_index(), one_number(before, quantity).item()
        mean, room = further(own)
        cells = {f"seed {seed}": f"{value:.3f}" for seed, value in own.items()}
        about = {"a further one": f"{mean - room:.3f} to {mean + room:.3f}", EARLIER: f"{old:.3f}"}
        found.append({"quantity": quantity} | cells | about)
    last = curves[curves["epoch"] == curves["epoch"].max()].set_index("seed")["valid_perplexity"]
    mean, room = further(last)
    cells = {f"seed {seed}": f"{value:.1f}" for seed, value in last.items()}
    old = json.loads((data / "earlier.json").read_text(encoding="utf-8"))["wikitext"]["best"]
    about = {"a further one": f"{mean - room:.1f} to {mean + room:.1f}"}
    about[EARLIER] = f"{old['valid_perplexity']:.1f}"
    return pd.DataFrame([*found, {"quantity": "validation perplexity"} | cells | about])


def further(values: pd.Series) -> tuple[float, float]:
    """Where one more training lies with 95%: the middle, and how far from it."""
    found = over_seeds(values.tolist())
    return found.mean, (found.high - found.mean) * np.sqrt(found.seeds + 1)


def packaged(last: pd.DataFrame, earlier: pd.DataFrame) -> pd.DataFrame:
    """The small model beside the papers', at the end of training, hidden states."""
    own = earlier[earlier["model"] == "english"].assign(seed=0)
    models = {"the papers', five trainings": last, "the package's, one": own}
    found = []
    for name, rows in models.items():
        effect = table_of(rows[rows["space"] == "hidden"], "effect")
        effect = effect[(effect["distance"] == 0) & (effect["outcome"] == "log DI")]
        effect = over_models(effect[effect["name"] == TREE], ["name"], "estimate").iloc[0]
        probe = table_of(rows[rows["space"] == "hidden"], "probe")
        trees = probe[(probe["weights"] == "DI") & (probe["shape"] == "noncrossing")]
        tree = over_models(trees, ["weights"], "uuas").iloc[0]
        row = {"model": name, "effect of an edge on log DI": interval(effect)}
        found.append(row | {"UUAS, no crossings": interval(tree, "uuas")})
    return pd.DataFrame(found)
