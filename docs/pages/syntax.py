"""docs/results/syntax.md from committed rows: `python -m docs.pages syntax`.

Reads docs/results/data/syntax, with what one run left there
(syntax.parquet, training.parquet, manifest.json), and branching.parquet, the rows of `espalier
reproduce syntax-branching --scale paper`, and claims.parquet, those of `syntax-claims --scale
small`, every number of each model; draws docs/images/syntax.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, write_picture
from espalier import experiments
from espalier.experiments import both_measures, label_probe
from espalier.experiments.intervals import over_seeds
from espalier.files import write_text
from espalier.syntax import TREE

DRAWN = {
    "bottom-up-figure-3": "distance",
    "bottom-up-figure-4": "stratum",
    "interdependence-figure-9": "stratum",
    "syntax-effect": "effect",
}


def syntax(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data, pictures = docs / "results/data/syntax", docs / "images/syntax"
    pictures.mkdir(parents=True, exist_ok=True)
    facts = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    rows = timed_rows(pd.read_parquet(data / "syntax.parquet"), facts)
    paper = rows[rows["model"].isin(["wikitext", "none"])]
    last = paper[paper["epoch"] == paper["epoch"].max()]
    for name, table in DRAWN.items():
        figure = experiments.find(name).draw(table_of(last, table))
        write_picture(pictures / f"{name}.png", figure)
    curve, probe = pd.DataFrame(both_measures(paper.to_dict("records"))), probe_rows(paper)
    orders = pd.read_parquet(data / "branching.parquet")
    claims = pd.read_parquet(data / "claims.parquet")
    drawn = {"syntax-over-training": curve, "syntax-probe": probe, "syntax-branching": orders}
    drawn["syntax-claims"] = claims
    for name, some in drawn.items():
        write_picture(pictures / f"{name}.png", experiments.find(name).draw(some))
    blocks = {
        "run": described(facts),
        "distance": markdown(by_distance(last)),
        "slopes": markdown(slopes(last, "hidden")),
        "slopes-logits": markdown(slopes(last, "logits")),
        "effect": markdown(effects(last)),
        "effect-by-distance": markdown(effects_by_distance(last)),
        "frequency": markdown(frequencies(last)),
        "over-training": markdown(moments(curve, pd.read_parquet(data / "training.parquet"))),
        "probe": markdown(probe_table(probe)),
        "packaged": markdown(packaged(rows)),
        "branching": markdown(branching(orders)),
        "claims": markdown(experiments.find("syntax-claims").tabulate(claims)),
        "claims-by-distance": markdown(effects_over_seeds(claims)),
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


def timed_rows(rows: pd.DataFrame, facts: dict) -> pd.DataFrame:
    """The rows with `seed`, and with `epoch` for those that were kept within one."""
    best = facts["wikitext"]["best"]
    per_epoch = best["step"] / best["epoch"]
    epoch = rows["epoch"].fillna(rows["step"] / per_epoch).fillna(-1.0)
    seed = np.where(rows["model"] == "none", -1, 0)
    return rows.assign(epoch=epoch, seed=seed).drop(columns=["step", "di_seconds"])


def probe_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Before training, after it, and without a model."""
    ends = rows["epoch"].isin([-1.0, 0.0, rows["epoch"].max()])
    labelled = pd.DataFrame(label_probe(rows[ends].to_dict("records")))
    return labelled.dropna(axis="columns", how="all")


def described(facts: dict) -> str:
    lines = []
    for name, what in (("wikitext", "the papers' model"), ("english", "the package's model")):
        one = facts[name]
        best, network = one["best"], one["network"]
        lines.append(
            f"- {what}: {network['hidden']} units, {one['words']:,} words, tied, "
            f"{best['member'].replace('-', ' ')}, {best['epoch']:g} epochs; validation perplexity "
            f"{best['valid_perplexity']:.1f}, test {best['test_perplexity']:.1f}"
        )
    there = facts["against_cpu"]
    lines.append(
        f"- {facts['pairs']:,} pairs of {facts['sentences']:,} sentences; one {facts['device']}, "
        f"torch {facts['torch']}; against the same values computed on a CPU, the largest "
        f"difference is {there['hidden']:.0e} (hidden states) and {there['logits']:.0e} (logits)"
    )
    return "\n".join(lines)


def interval(row: pd.Series, value: str = "estimate", digits: int = 3) -> str:
    return f"{row[value]:.{digits}f} [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"


def by_distance(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "distance")
    some = some[some["distance"].isin([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40])]
    some = some.assign(cell=some.apply(interval, axis=1, value="mean"))
    wide = some.pivot(index="distance", columns="space", values="cell").reset_index()
    cases = some.drop_duplicates("distance").set_index("distance")["cases"]
    return wide.assign(cases=wide["distance"].map(lambda d: f"{cases[d]:,}"))


def slopes(rows: pd.DataFrame, space: str) -> pd.DataFrame:
    """Of every line of Figure 4 (of logits: the earlier paper's 9): per edge, relative to its mean.

    Weighted by cases.
    """
    found = []
    some = table_of(rows, "stratum")
    for (distance, kind), line in some[some["space"] == space].groupby(["distance", "class"]):
        weight, tree = line["cases"], line["tree"] - np.average(line["tree"], weights=line["cases"])
        middle = np.average(line["mean"], weights=weight)
        slope = (weight * tree * line["mean"]).sum() / (weight * tree**2).sum() / middle
        found.append({"distance": distance, "class": kind, "slope": f"{100 * slope:+.1f}%"})
    wide = pd.DataFrame(found).pivot(index="distance", columns="class", values="slope")
    return wide[["open", "mixed", "closed"]].reset_index()


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "effect")
    whole = some[some["distance"] == 0]
    whole = whole.assign(cell=whole.apply(interval, axis=1, digits=4))
    whole = whole.assign(column=whole["outcome"] + ", " + whole["space"])
    wide = whole.pivot(index="name", columns="column", values="cell")
    order = sorted(wide.index, key=lambda name: (not name.startswith(TREE), name))
    return wide.loc[order].reset_index().rename(columns={"name": "coefficient"})


def effects_by_distance(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "effect")
    some = some[(some["distance"] > 0) & (some["outcome"] == "log DI")]
    some = some.assign(
        cell=some.apply(interval, axis=1),
        column=some["space"] + some["name"].str.removeprefix(TREE),
    )
    wide = some.pivot(index="distance", columns="column", values="cell").reset_index()
    pairs = some.drop_duplicates("distance").set_index("distance")["pairs"]
    return wide.assign(pairs=wide["distance"].map(lambda d: f"{pairs[d]:,}"))


def effects_over_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """The same over trainings: means of several models, with t intervals over seeds."""
    some = rows[(rows["table"] == "effect") & (rows["outcome"] == "log DI")]
    some = some[(some["distance"] > 0) & some["name"].str.startswith(TREE)]
    some = some.assign(column=some["space"] + some["name"].str.removeprefix(TREE))
    keys = ["distance", "column"]
    means = some.groupby(keys)["estimate"].agg(lambda own: over_seeds(own.tolist()))
    cells = means.map(lambda found: f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]")
    wide = cells.unstack().reset_index()
    return wide.astype({"distance": int}).rename_axis(columns=None)


def frequencies(rows: pd.DataFrame) -> pd.DataFrame:
    some = table_of(rows, "frequency")
    some = some.assign(column=some["space"] + ", " + some["word"] + " word")
    wide = some.pivot(index="distance", columns="column", values="correlation").round(3)
    wide = wide.reset_index()
    return wide.assign(distance=["all" if d == 0 else f"{d}" for d in wide["distance"]])


def moments(curve: pd.DataFrame, training: pd.DataFrame) -> pd.DataFrame:
    some = curve[curve["space"] == "hidden"]
    some = some.assign(cell=some.apply(interval, axis=1, value="value"))
    wide = some.pivot(index="epoch", columns="measure", values="cell").reset_index()
    own = training[training["model"] == "wikitext"]
    measured = own.set_index(own["epoch"].round(6))["valid_perplexity"]
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


def packaged(rows: pd.DataFrame) -> pd.DataFrame:
    """The small model beside the papers', at the end of training, hidden states."""
    found = []
    for model in ("wikitext", "english"):
        own = rows[rows["model"] == model]
        own = own[(own["epoch"] == own["epoch"].max()) & (own["space"] == "hidden")]
        effect = table_of(own, "effect")
        whole = effect[(effect["distance"] == 0) & (effect["outcome"] == "log DI")]
        one = whole[whole["name"] == "tree distance"].iloc[0]
        probe = table_of(own, "probe")
        tree = probe[(probe["weights"] == "DI") & (probe["shape"] == "noncrossing")].iloc[0]
        named = {"wikitext": "the papers'", "english": "the package's"}[model]
        row = {"model": named, "effect of an edge on log DI": interval(one)}
        found.append(row | {"UUAS, no crossings": interval(tree, "uuas")})
    return pd.DataFrame(found)
