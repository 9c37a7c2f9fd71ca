"""The learning page's five seeds until they are fitted: Tables 2, 3 and 6 beside single seeds.

What was trained is shown; what was not is named, with the command that trains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from docs.pages.filling import join_rows, markdown
from docs.pages.parity import SLICES, TABLE_2, TABLE_3
from docs.pages.scan import DEPTHS, MODEL, TABLE_6
from docs.pages.scan import KINDS as SPLITS
from espalier import experiments
from espalier.experiments import PROGRAMS
from espalier.experiments.fitted_models import (
    SHARE,
    end_to_end_until_fitted,
    traced_until_fitted,
    translators_until_fitted,
)
from espalier.files import write_figure
from espalier.training import ParityRun, ScanRun, check_seeds
from espalier.training.configs import STOP_MEASURES

NAMES = ["layers", "shared", "positions"]
Manifests = dict[str, dict]


def seeds_blocks(
    data: Path, manifests: Manifests, *, singles: dict[str, pd.DataFrame], pictures: Path
) -> dict[str, str]:
    """A block a table; `singles` are the rows of single seeds by the table's name."""
    found = {}
    for name, single in singles.items():
        keys = ["program"] if name == "alta-table-2" else MODEL
        if not any(data.glob(f"{name}-seeds.*")):
            found[f"{name}-seeds"] = f"Not trained yet: {command(name)}."
            continue
        rows = join_rows(data, f"{name}-seeds", keys)
        match name:
            case "alta-table-2":
                parts = table_2_seeds(rows, single, manifests)
            case "alta-table-3":
                parts = table_3_seeds(rows, single, manifests)
            case _:
                parts = table_6_seeds(rows, single, manifests)
                parts.append(drawn(rows, single, pictures))
        found[f"{name}-seeds"] = "\n\n".join(part for part in parts if part)
    return found


def command(name: str) -> str:
    return f'`espalier reproduce {name} --scale paper --only "until fitted"`'


def table_2_seeds(rows: pd.DataFrame, single: pd.DataFrame, manifests: Manifests) -> list[str]:
    """The programs by slices, what was trained, and what was not."""
    taught = single[single["version"] == "traces"]
    kinds = [one.program for one in traced_until_fitted("paper")]
    found = by_slices("alta-table-2", rows, taught, by=["program"])
    lines = [
        {"program": PROGRAMS[kind]} | slices_of(found, kind, TABLE_2[kind])
        for kind in kinds
        if kind in found["five"].index
    ]
    missing = [PROGRAMS[kind] for kind in kinds if kind not in found["five"].index]
    runs = {
        (PROGRAMS[kind],): one
        for name, one in manifests.items()
        for kind in kinds
        if one["kind"] == "traces" and name.startswith(f"traces-{kind}-")
    }
    return [*tables(lines, runs, ["program"]), listed(missing, "alta-table-2")]


def table_3_seeds(rows: pd.DataFrame, single: pd.DataFrame, manifests: Manifests) -> list[str]:
    """The Transformers by slices, what was trained, and what was not."""
    kinds = [kind_of(run) for run in end_to_end_until_fitted("paper")]
    found = by_slices("alta-table-3", rows, single, by=MODEL)
    lines = [
        dict(zip(NAMES, kind, strict=True)) | slices_of(found, kind, TABLE_3[kind])
        for kind in kinds
        if kind in found["five"].index
    ]
    missing = [words_for(kind) for kind in kinds if kind not in found["five"].index]
    runs = by_kind(manifests, "parity")
    return [*tables(lines, runs, NAMES), listed(missing, "alta-table-3")]


def by_slices(
    name: str, rows: pd.DataFrame, single: pd.DataFrame, *, by: list[str]
) -> dict[str, pd.DataFrame]:
    """What the experiment says of five seeds and of one."""
    tabulate = experiments.find(name).tabulate
    key = by[0] if len(by) == 1 else by
    return {"five": tabulate(rows).set_index(key), "one": tabulate(single).set_index(key)}


def slices_of(
    found: dict[str, pd.DataFrame], kind: str | tuple, printed: Sequence[str]
) -> dict[str, object]:
    """A line: the paper's share, the single seed's and the five seeds' for every slice."""
    five, line = found["five"].loc[kind], dict[str, object]()
    for name, paper in zip(SLICES, printed, strict=True):
        one = found["one"][name].get(kind)
        line[f"{name}, paper"] = paper
        line[f"{name}, one seed"] = share_of(one)
        line[f"{name}, five seeds"] = f"{five[name]:.1%} ± {five[f'{name} ±']:.1%}"
    return line | {"steps": f"{five['step']:,}"}


def table_6_seeds(rows: pd.DataFrame, single: pd.DataFrame, manifests: Manifests) -> list[str]:
    """Table 6's depths by split and kind, counts of cells, what was trained, and what was not."""
    five = summary(rows)
    runs = [kind_of(run) for run in translators_until_fitted("paper")]
    trained = set(rows[MODEL].itertuples(index=False, name=None))
    depths = [n for n in DEPTHS if n in set(rows["layers"])]
    one, ends, lines = summary(single)["mean"], ended(rows), []
    for kind, printed in TABLE_6.items():
        line: dict[str, object] = dict(zip(["split", *NAMES[1:]], kind, strict=True))
        paper = dict(zip(DEPTHS, printed, strict=False))
        for n in depths:
            here = (n, *kind[1:]) in trained
            alone, cell = one.get((*kind, n)), five.loc[(*kind, n)] if here else None
            line[f"{n}, paper"] = f"{paper[n]}%"
            line[f"{n}, one seed"] = share_of(alone)
            line[f"{n}, five seeds"] = "-" if cell is None else within(cell)
            line[f"{n}, told END"] = "-" if cell is None else share_of(cell["told_end"])
            line[f"{n}, steps"] = ends.get((n, *kind[1:]), "-")
        if any((n, *kind[1:]) in trained for n in depths):
            lines.append(line)
    parts = tables(lines, by_kind(manifests, "scan"), NAMES)
    missing = [words_for(kind) for kind in runs if kind not in trained]
    return [parts[0], counted(five, one), *parts[1:], listed(missing, "alta-table-6")]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Means and intervals at the end of training, by split, sharing, positions and layers."""
    return experiments.find("alta-table-6").tabulate(rows).set_index([*SPLITS, "layers"])


def share_of(share: float | None) -> str:
    return "-" if share is None or pd.isna(share) else f"{share:.1%}"


def within(cell: pd.Series) -> str:
    return f"{cell['mean']:.1%} ± {cell['high'] - cell['mean']:.1%}"


def ended(rows: pd.DataFrame) -> dict[tuple, str]:
    """The steps after which each Transformer's training ended, and if it was not fitted then."""
    found = {}
    for kind, own in rows.groupby(MODEL):
        least = own.groupby("step")["train_accuracy"].min().sort_index()
        fitted = len(least) >= STOP_MEASURES and (least.iloc[-STOP_MEASURES:] >= SHARE).all()
        found[kind] = f"{own['step'].max():,}" + ("" if fitted else ", not fitted")
    return found


def counted(five: pd.DataFrame, one: pd.Series) -> str:
    """How many intervals hold the single seed's share, and how many the paper's as printed."""
    own = papers = alone = 0
    for (*kind, depth), cell in five.iterrows():
        printed = TABLE_6[tuple(kind)][DEPTHS.index(depth)] / 100
        papers += cell["low"] < printed + 0.005 and cell["high"] >= printed - 0.005
        if (share := one.get((*kind, depth))) is not None:
            alone, own = alone + 1, own + (cell["low"] <= share <= cell["high"])
    return (
        f"The interval holds the single seed's share in {own} of {alone} cells, and one that "
        f"rounds to the paper's in {papers} of {len(five)}."
    )


def tables(lines: list[dict[str, object]], runs: dict[tuple, dict], names: list[str]) -> list[str]:
    """The lines, and below them what was trained, where, and for how long."""
    found = [markdown(pd.DataFrame(lines))]
    told = [dict(zip(names, kind, strict=True)) | ran(one) for kind, one in runs.items()]
    return [*found, markdown(pd.DataFrame(told))] if told else found


def ran(manifest: dict) -> dict[str, object]:
    recipe = recipe_of(manifest)
    steps = manifest.get("reached")
    return {
        "seeds": len(check_seeds(manifest["config"]["seeds"])),
        "steps": "-" if steps is None else f"{steps:,}",
        "at most": f"{recipe['steps']:,}",
        "batch": recipe["batch"],
        "products": recipe["precision"],
        "device": manifest["device"],
        "torch": manifest["versions"]["torch"],
        "status": manifest["status"],
        "seconds": round(manifest["seconds"]),
    }


def by_kind(manifests: Manifests, kind: str) -> dict[tuple, dict]:
    """Runs of Transformers by layers, sharing and positions, in order."""
    found = {}
    for one in manifests.values():
        if one["kind"] == kind:
            shape = one["config"]["shape"]
            sharing = "yes" if shape["shared"] else "no"
            found[shape["layers"], sharing, shape["positions"]] = one
    return {
        key: found[key]
        for key in sorted(found, key=lambda k: (k[0], k[1] == "no", k[2] != "relative"))
    }


def recipe_of(manifest: dict) -> dict:
    config = manifest["config"]
    return config["settings"]["recipe"] if "settings" in config else config["recipe"]


def until_fitted(manifest: dict) -> bool:
    """Whether a run ends once it is fitted."""
    return recipe_of(manifest).get("stop_share") is not None


def kind_of(run: ParityRun | ScanRun) -> tuple[int, str, str]:
    return run.shape.layers, "yes" if run.shape.shared else "no", run.shape.positions


def words_for(kind: tuple[int, str, str]) -> str:
    layers, shared, positions = kind
    return (
        f"{layers} layers, {'shared' if shared == 'yes' else 'own'} weights, {positions} positions"
    )


def listed(missing: Iterable[str], name: str) -> str:
    """What was not trained, as a list below the command that trains it."""
    lines = [f"- {one}" for one in missing]
    return "\n".join([f"Not trained yet ({command(name)}):", "", *lines]) if lines else ""


def drawn(rows: pd.DataFrame, single: pd.DataFrame, pictures: Path) -> str:
    """Five seeds with their intervals, single seeds and the paper's; the picture's line."""
    write_figure(pictures / "alta-table-6-seeds.png", draw_seeds(summary(rows), summary(single)))
    said = "Test accuracy of five seeds with t intervals, of one seed and in the paper, by split"
    return f"![{said}](../images/learning/alta-table-6-seeds.png)"


def draw_seeds(five: pd.DataFrame, one: pd.DataFrame) -> Figure:
    """A panel a split, a line a kind of Transformer."""
    kinds = [kind_of(run) for run in translators_until_fitted("paper")]
    kinds = sorted(kinds, key=lambda kind: kinds.index((kinds[0][0], *kind[1:])))
    splits = sorted(five.index.get_level_values("split").unique())
    figure = Figure(figsize=(3 * len(splits) + 1, 3.6), layout="constrained")
    panels = figure.subplots(1, len(splits), sharex=True, sharey=True, squeeze=False)[0]
    for panel, split in zip(panels, splits, strict=True):
        for place, (layers, *kind) in enumerate(kinds):
            printed = TABLE_6[split, *kind][DEPTHS.index(layers)] / 100
            panel.plot(printed, place, "D", color="#8a8f98", mfc="white", label="paper")
            if (split, *kind, layers) in one.index:
                alone = one.loc[(split, *kind, layers), "mean"]
                panel.plot(alone, place, "o", color="#d02f2f", mfc="none", ms=8, label="one seed")
            if (split, *kind, layers) in five.index:
                cell = five.loc[(split, *kind, layers)]
                style = {"color": "#1f6fb4", "capsize": 3, "label": "five seeds until fitted"}
                panel.errorbar(
                    cell["mean"], place, xerr=cell["high"] - cell["mean"], fmt="o", **style
                )
        panel.set(title=split, xlabel="test accuracy")
        panel.grid(alpha=0.3)
    panels[0].set_yticks(range(len(kinds)), [words_for(kind) for kind in kinds], fontsize=8)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named, loc="outside upper center", ncols=3, frameon=False)
    return figure
