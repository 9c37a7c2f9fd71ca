"""The learning page's several seeds until they are fitted: Tables 2, 3 and 6 beside single seeds.

What was trained is shown; what was not is named, with the command that trains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.pages.filling import interval, join_rows, markdown, within
from docs.pages.parity import SLICES, TABLE_2, TABLE_3, beyond
from docs.pages.runs import (
    NAMES,
    Kind,
    Manifests,
    by_kind,
    ended,
    kind_of,
    named,
    not_trained,
    of_kind,
    pace,
    recipe_of,
    seconds_of,
    steps_of,
)
from docs.pages.scan import DEPTHS, MODEL, TABLE_6
from docs.pages.scan import KINDS as SPLITS
from espalier import experiments
from espalier.experiments import PROGRAMS
from espalier.experiments.fitted_models import (
    end_to_end_until_fitted,
    traced_until_fitted,
    translators_until_fitted,
)
from espalier.files import write_figure
from espalier.training import check_seeds

EVERY = 10_000  # steps between shares that are shown
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def seeds_blocks(
    data: Path, manifests: Manifests, *, singles: dict[str, pd.DataFrame], pictures: Path
) -> dict[str, str]:
    """A block a table; `singles` are the rows of single seeds by the table's name."""
    found = {}
    for name, single in singles.items():
        keys = ["program"] if name == "alta-table-2" else MODEL
        if not any(data.glob(f"{name}-seeds.*")):
            found[f"{name}-seeds"] = not_trained(command(name))
            continue
        rows = join_rows(data, f"{name}-seeds", keys)
        match name:
            case "alta-table-2":
                parts = table_2_seeds(rows, single, manifests)
                parts.insert(-1, drawn_in_figure_4(rows, single, pictures))
            case "alta-table-3":
                parts = table_3_seeds(rows, single, manifests)
                parts[-1:-1] = drawn_by_length_and_ones(rows, pictures)
                found |= seed_by_seed(data, rows)
            case _:
                parts = table_6_seeds(rows, single, manifests)
                parts.append(drawn(rows, single, pictures))
        found[f"{name}-seeds"] = "\n\n".join(part for part in parts if part)
    return found


def command(name: str) -> str:
    return f'`espalier reproduce {name} --scale paper --only "until fitted"`'


def seeds_in_words(rows: pd.DataFrame, by: list[str]) -> str:
    """How many seeds there are of each, in words."""
    counts = sorted(set(rows.groupby(by)["seed"].nunique()))
    least, most = (WORDS[n] if n < len(WORDS) else str(n) for n in (counts[0], counts[-1]))
    if counts == [1]:
        return "one seed until fitted"  # beside the one that went to the last step
    return f"{most} seeds" if len(counts) == 1 else f"{least} to {most} seeds"


def table_2_seeds(rows: pd.DataFrame, single: pd.DataFrame, manifests: Manifests) -> list[str]:
    """The programs by slices, what was trained, and what was not."""
    taught = single[single["version"] == "traces"]
    programs = [one.program for one in traced_until_fitted("paper")]
    runs = {
        (PROGRAMS[program],): one
        for program in programs
        for name, one in of_kind(manifests, "traces").items()
        if name.startswith(f"traces-{program}-")
    }
    found, lines, missing = by_slices("alta-table-2", rows, taught, by=["program"]), [], []
    for program in programs:
        if program in found.index:
            run = runs.get((PROGRAMS[program],))
            slices = slices_of(
                found.loc[program], TABLE_2[program], seeds_in_words(rows, ["program"])
            )
            steps = {"steps": ended(int(found.loc[program, "step"]), run)}
            lines.append({"program": PROGRAMS[program]} | slices | steps)
        else:
            missing.append(PROGRAMS[program])
    return [*tables(lines, runs, ["program"]), not_trained(command("alta-table-2"), missing)]


def table_3_seeds(rows: pd.DataFrame, single: pd.DataFrame, manifests: Manifests) -> list[str]:
    """The Transformers by slices, what was trained, and what was not."""
    kinds = [kind_of(vars(run.shape)) for run in end_to_end_until_fitted("paper")]
    runs = by_kind(of_kind(manifests, "parity"))
    found, lines, missing = by_slices("alta-table-3", rows, single, by=MODEL), [], []
    for kind in kinds:
        if kind in found.index:
            slices = slices_of(found.loc[kind], TABLE_3[kind], seeds_in_words(rows, MODEL))
            steps = {"steps": ended(int(found.loc[kind, "step"]), runs.get(kind))}
            lines.append(named(kind) | slices | steps)
        else:
            missing.append(words_for(kind))
    return [*tables(lines, runs, NAMES), not_trained(command("alta-table-3"), missing)]


def by_slices(
    name: str, rows: pd.DataFrame, single: pd.DataFrame, *, by: list[str]
) -> pd.DataFrame:
    """What the experiment says of several seeds and, in columns of their own, of one."""
    tabulate = experiments.find(name).tabulate
    key = by[0] if len(by) == 1 else by
    one = tabulate(single).set_index(key)[SLICES].add_suffix(", one seed")
    return tabulate(rows).set_index(key).join(one)


def slices_of(found: pd.Series, printed: Sequence[str], seeds: str) -> dict[str, object]:
    """The cells of a line: the paper's share, the single seed's and the seeds' for every slice."""
    line: dict[str, object] = {}
    for name, paper in zip(SLICES, printed, strict=True):
        line[f"{name}, paper"] = paper
        line[f"{name}, one seed"] = share_of(found[f"{name}, one seed"])
        line[f"{name}, {seeds}"] = within(found[name], found[f"{name} ±"])
    return line


def table_6_seeds(rows: pd.DataFrame, single: pd.DataFrame, manifests: Manifests) -> list[str]:
    """Table 6's depths by split and kind, counts of cells, what was trained, and what was not."""
    several, one, lines = summary(rows), summary(single)["mean"], []
    runs = by_kind(of_kind(manifests, "scan"))
    ends = translators_ended(rows, runs)
    seeds = {n: seeds_in_words(own, MODEL) for n, own in rows.groupby("layers")}
    depths = [n for n in DEPTHS if n in seeds]
    for kind, printed in TABLE_6.items():
        line: dict[str, object] = dict(zip(["split", *NAMES[1:]], kind, strict=True))
        paper = dict(zip(DEPTHS, printed, strict=False))
        for n in depths:
            here = (n, *kind[1:]) in ends
            alone, cell = one.get((*kind, n)), several.loc[(*kind, n)] if here else None
            line[f"{n}, paper"] = f"{paper[n]}%" if n in paper else "-"
            line[f"{n}, one seed"] = share_of(alone)
            line[f"{n}, {seeds[n]}"] = "-" if cell is None else interval(cell)
            line[f"{n}, END given"] = "-" if cell is None else share_of(cell["end_given"])
            line[f"{n}, steps"] = ends.get((n, *kind[1:]), "-")
        if any((n, *kind[1:]) in ends for n in depths):
            lines.append(line)
    parts = tables(lines, runs, NAMES)
    found = {kind_of(vars(run.shape)): run for run in translators_until_fitted("paper")}
    lacking = [
        words_for(kind) + (", one seed" if len(check_seeds(run.seeds)) == 1 else "")
        for kind, run in found.items()
        if kind not in ends
    ]
    missing = not_trained(command("alta-table-6"), lacking)
    return [parts[0], counted(several, one), *parts[1:], missing]


def translators_ended(rows: pd.DataFrame, runs: dict[Kind, dict]) -> dict[Kind, str]:
    """How each Transformer's training ended; rows have every measure."""
    return {
        kind: ended(own["step"].max(), runs.get(kind), own.groupby("step")["train_accuracy"].min())
        for kind, own in rows.groupby(MODEL)
    }


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Means and intervals at the end of training, by split, sharing, positions and layers."""
    return experiments.find("alta-table-6").tabulate(rows).set_index([*SPLITS, "layers"])


def share_of(share: float | None) -> str:
    return "-" if share is None or pd.isna(share) else f"{share:.1%}"


def counted(several: pd.DataFrame, one: pd.Series) -> str:
    """How many intervals hold the single seed's share, and how many the paper's as printed.

    A single training strays further than the mean of n: by the root of n + 1 times as far.
    """
    several = several[several["seeds"] > 1]
    if several.empty:
        return ""
    own, papers, alone = [0, 0], [0, 0], 0
    for (*kind, depth), cell in several.iterrows():
        printed = TABLE_6[tuple(kind)][DEPTHS.index(depth)] / 100
        share = one.get((*kind, depth))
        alone += share is not None
        half = cell["high"] - cell["mean"]
        for place, wide in enumerate((half, half * (cell["seeds"] + 1) ** 0.5)):
            low, high = cell["mean"] - wide, cell["mean"] + wide
            papers[place] += low < printed + 0.005 and high >= printed - 0.005
            own[place] += share is not None and low <= share <= high
    return (
        f"The interval holds the single seed's share in {own[0]} of {alone} cells, and one that "
        f"rounds to the paper's in {papers[0]} of {len(several)}. Where 95% of further single "
        f"trainings would lie, which is wider by the root of seeds + 1, there are {own[1]} and "
        f"{papers[1]} of them."
    )


def tables(lines: list[dict[str, object]], runs: dict[tuple, dict], names: list[str]) -> list[str]:
    """The lines, and below them what was trained, where, and for how long."""
    found = [markdown(pd.DataFrame(lines))]
    told = [dict(zip(names, kind, strict=True)) | ran(one) for kind, one in runs.items()]
    return [*found, markdown(pd.DataFrame(told))] if told else found


def ran(manifest: dict) -> dict[str, object]:
    recipe = recipe_of(manifest)
    return {
        "seeds": len(check_seeds(manifest["config"]["seeds"])),
        "steps": steps_of(manifest),
        "at most": f"{recipe['steps']:,}",
        "batch": recipe["batch"],
        "products": recipe["precision"],
        "device": manifest["device"],
        "torch": manifest["versions"]["torch"],
        "status": manifest["status"],
        "seconds": seconds_of(manifest),
        "steps/s": pace(manifest),
    }


def words_for(kind: Kind) -> str:
    layers, shared, positions = kind
    return (
        f"{layers} layers, {'shared' if shared == 'yes' else 'own'} weights, {positions} positions"
    )


def drawn_in_figure_4(rows: pd.DataFrame, single: pd.DataFrame, pictures: Path) -> str:
    """Figure 4 with several seeds in place of one; the picture's line."""
    alone = (single["version"] == "traces") & single["program"].isin(rows["program"])
    every = pd.concat([single[~alone], rows])
    figure = experiments.find("alta-figure-4").draw(every)
    write_figure(pictures / "alta-figure-4-seeds.png", figure)
    seeds = seeds_in_words(rows, ["program"]).removesuffix(" until fitted")
    said = f"Figure 4 with {seeds} until fitted: accuracy by length and by number of ones"
    return f"![{said}](../images/learning/alta-figure-4-seeds.png)"


def seed_by_seed(data: Path, rows: pd.DataFrame) -> dict[str, str]:
    """What every seed with relative positions answers, and how all fitted training."""
    relative = rows[rows["positions"] == "relative"]
    parts = [beyond(own).assign(seed=seed) for seed, own in relative.groupby("seed")]
    table = pd.concat(parts, ignore_index=True).drop(columns="positions")
    table = table.sort_values(NAMES[:2], kind="stable")
    table.insert(2, "seed", table.pop("seed"))
    blocks = {"beyond-seeds": markdown(table)}
    if any(data.glob("alta-table-3-seeds-measures.*")):
        blocks["fitting-seeds"] = markdown(fitting_seeds(data))
    return blocks


def fitting_seeds(data: Path) -> pd.DataFrame:
    """Of the training strings, the least and the largest share of any seed by step."""
    measures = join_rows(data, "alta-table-3-seeds-measures", MODEL)
    some = measures[measures["step"] % EVERY == 0]
    found = []
    for kind, own in some.groupby(MODEL):
        shares = own.groupby("step")["train_accuracy"].agg(["min", "max"])
        found.append(
            named(kind)
            | {
                f"{step:,}": f"{one['min']:.1%} to {one['max']:.1%}"
                for step, one in shares.iterrows()
            }
        )
    return pd.DataFrame(found).fillna("-")


def drawn_by_length_and_ones(rows: pd.DataFrame, pictures: Path) -> list[str]:
    """Figures 9 to 11 with several seeds; the pictures' lines."""
    seeds, found = seeds_in_words(rows, MODEL).removesuffix(" until fitted"), []
    for number, shown in (
        (9, "accuracy by length, with t intervals"),
        (10, "accuracy by number of ones with relative positions, a panel for each seed"),
        (11, "share of strings answered with 1 by number of ones, a panel for each seed"),
    ):
        name = f"alta-figure-{number}"
        figure = experiments.find(name).draw(rows)
        write_figure(pictures / f"{name}-seeds.png", figure)
        found.append(
            f"![Figure {number} with {seeds}: {shown}](../images/learning/{name}-seeds.png)"
        )
    return found


def drawn(rows: pd.DataFrame, single: pd.DataFrame, pictures: Path) -> str:
    """Several seeds with their intervals, single seeds and the paper's; the picture's line."""
    rows = rows[rows.groupby(MODEL)["seed"].transform("nunique") > 1]
    if rows.empty:
        return ""
    seeds = seeds_in_words(rows, MODEL)
    figure = draw_seeds(summary(rows), summary(single), seeds)
    write_figure(pictures / "alta-table-6-seeds.png", figure)
    said = f"Test accuracy of {seeds} with t intervals, of one seed and in the paper, by split"
    return f"![{said}](../images/learning/alta-table-6-seeds.png)"


def draw_seeds(several: pd.DataFrame, one: pd.DataFrame, seeds: str) -> Figure:
    """A panel a split, a line a kind of Transformer."""
    depths = set(several.index.get_level_values("layers"))
    kinds = [kind_of(vars(run.shape)) for run in translators_until_fitted("paper")]
    kinds = [kind for kind in kinds if kind[0] in depths]
    kinds = sorted(kinds, key=lambda kind: kinds.index((kinds[0][0], *kind[1:])))
    splits = sorted(several.index.get_level_values("split").unique())
    down = -(-len(splits) // 2)  # four in a row would leave a page with tiny letters
    size = (8.0, (0.33 * len(kinds) + 0.5) * down + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, 2, sharex=True, sharey=True, squeeze=False).flatten()
    for panel in panels[len(splits) :]:
        panel.set_axis_off()
    for panel, split in zip(panels, splits, strict=False):
        told = f"{seeds.removesuffix(' until fitted')} until fitted"
        draw_split(panel, split, kinds, one, several, told)
    words = "test accuracy; weights shared or own, positions relative or absolute"
    figure.supxlabel(words, fontsize=9)
    short = [words_for(kind).replace(" weights", "").removesuffix(" positions") for kind in kinds]
    panels[0].set_yticks(range(len(kinds)), short)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named, loc="outside upper center", ncols=3, frameon=False)
    return figure


def draw_split(
    panel: Axes, split: str, kinds: list[Kind], one: pd.DataFrame, several: pd.DataFrame, told: str
) -> None:
    """The paper's share, the single seed's and the seeds' of every kind of Transformer."""
    for place, (layers, *kind) in enumerate(kinds):
        key, printed = (split, *kind, layers), TABLE_6[split, *kind][DEPTHS.index(layers)] / 100
        panel.plot(printed, place, "D", color="#8a8f98", mfc="white", label="paper")
        if key in one.index:
            alone = one.loc[key, "mean"]
            panel.plot(alone, place, "o", color="#d02f2f", mfc="none", ms=8, label="one seed")
        if key in several.index:
            mean, high = several.loc[key, ["mean", "high"]]
            style = {"fmt": "o", "color": "#1f62d0", "capsize": 3, "label": told}
            panel.errorbar(mean, place, xerr=high - mean, **style)
    panel.set_title(split.upper() if split.startswith("mcd") else split, fontsize=10)
    panel.tick_params(labelsize=9)
    panel.grid(alpha=0.3)
