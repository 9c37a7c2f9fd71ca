"""The learning page's Transformers on SCAN: Table 6 and Figure 18, as far as they were trained."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.pages.runs import Manifests, by_kind, named, pace, recipe_of, seconds_of, steps_of
from espalier import experiments
from espalier.files import write_figure

DEPTHS = (2, 6, 16, 32, 64, 128, 256)
CLOSE_BY = (32, 128)  # their ticks have no numbers: these would touch
# Percentages of test commands answered rightly in the ALTA paper's Table 6, by depth.
TABLE_6 = {
    ("length", "yes", "relative"): (11, 10, 9, 7, 7, 7, 5),
    ("length", "yes", "absolute"): (8, 9, 7, 5, 5, 6, 4),
    ("length", "no", "relative"): (9, 9, 11, 10, 10),
    ("length", "no", "absolute"): (9, 6, 7, 6, 4),
    ("mcd1", "yes", "relative"): (5, 3, 2, 4, 3, 3, 2),
    ("mcd1", "yes", "absolute"): (4, 1, 3, 2, 2, 2, 1),
    ("mcd1", "no", "relative"): (4, 4, 3, 2, 2),
    ("mcd1", "no", "absolute"): (5, 2, 1, 1, 2),
    ("mcd2", "yes", "relative"): (9, 13, 9, 5, 4, 7, 3),
    ("mcd2", "yes", "absolute"): (5, 6, 2, 2, 2, 2, 2),
    ("mcd2", "no", "relative"): (13, 7, 4, 5, 4),
    ("mcd2", "no", "absolute"): (4, 4, 2, 2, 1),
    ("mcd3", "yes", "relative"): (12, 12, 6, 5, 7, 2, 3),
    ("mcd3", "yes", "absolute"): (3, 4, 3, 3, 3, 2, 2),
    ("mcd3", "no", "relative"): (8, 8, 7, 3, 2),
    ("mcd3", "no", "absolute"): (4, 5, 2, 3, 1),
}
KINDS = ["split", "sharing", "positions"]
MODEL = ["layers", "sharing", "positions"]
MARKS = "*†‡§¶"  # for fewer steps than others, the fewest first; then each two times, and so on


def table_6(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's numbers beside ours, for every depth of which there is one; a dash for none.

    What took fewer steps than others has the mark that `fewer_steps` gives their number.
    """
    table = experiments.find("alta-table-6").tabulate(rows).set_index([*KINDS, "layers"])
    steps = rows.groupby([*KINDS, "layers"])["step"].max()
    marks = fewer_steps(rows)
    trained = [depth for depth in DEPTHS if depth in set(rows["layers"])]
    found = []
    for kind, printed in TABLE_6.items():
        paper = dict(zip(DEPTHS, printed, strict=False))
        row: dict[str, object] = dict(zip(["split", "shared", "positions"], kind, strict=True))
        for depth in trained:
            row[f"{depth}, paper"] = f"{paper[depth]}%" if depth in paper else "-"
            for title, name in {"here": "mean", "END given": "end_given"}.items():
                here = table[name].get((*kind, depth)) if name in table else None
                none = here is None or pd.isna(here)
                mark = "" if none else marks.get(steps[(*kind, depth)], "")
                row[f"{depth}, {title}"] = "-" if none else f"{here:.1%}{mark}"
        found.append(row)
    return pd.DataFrame(found)


def fewer_steps(rows: pd.DataFrame) -> dict[int, str]:
    """The marks of numbers of steps that are not the most."""
    last = rows.groupby([*KINDS, "layers"])["step"].max()
    marks = (mark * times for times in itertools.count(1) for mark in MARKS)
    return dict(zip(sorted(set(last) - {last.max()}), marks, strict=False))


def steps_in_words(rows: pd.DataFrame) -> str:
    """What the table's marks mean."""
    most, marks = rows["step"].max(), fewer_steps(rows)
    if not marks:
        return f"All after {most:,} steps."
    found = [f"`{mark}`: after {count:,} steps" for count, mark in marks.items()]
    return f"{'; '.join(found)} in place of {most:,}."


def after_as_many(rows: pd.DataFrame) -> pd.DataFrame:
    """Figure 18's Transformers after the last step that all have, the paper's in brackets."""
    shares = figure_18(rows).groupby(["step", "split", "layers"])["accuracy"].mean().unstack()
    common = shares.dropna().index.get_level_values("step")
    if common.empty:
        return pd.DataFrame(columns=["split", "steps"])
    last, found = common.max(), []
    for split, own in shares.loc[last].iterrows():
        paper = dict(zip(DEPTHS, TABLE_6[split, "yes", "relative"], strict=True))
        cells = {f"{n} layers": f"{share:.1%} ({paper[n]}%)" for n, share in own.items()}
        found.append({"split": split, "steps": f"{last:,}"} | cells)
    return pd.DataFrame(found)


def figure_18(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["sharing"] == "yes") & (rows["positions"] == "relative")]


def twice(rows: pd.DataFrame, earlier: pd.DataFrame) -> pd.DataFrame:
    """Last shares of those that were trained two times: by code of then, and of now."""
    tables = {"then": earlier, "now": rows}
    found = []
    for kind, _ in earlier.groupby(MODEL, sort=False):
        for code, some in tables.items():
            own = some.set_index(MODEL).sort_index().loc[[kind]]
            shares = own[own["step"] == own["step"].max()].groupby("split")["accuracy"].mean()
            model = dict(zip(["layers", "shared", "positions"], kind, strict=True))
            found.append(model | {"code": code} | {s: f"{x:.1%}" for s, x in shares.items()})
    return pd.DataFrame(found)


def left_out(rows: pd.DataFrame) -> str:
    """The Transformers of Table 6 that were not trained, as a list."""
    trained = set(rows[MODEL].itertuples(index=False, name=None))
    lines = []
    for sharing, title in (("yes", "shared"), ("no", "own")):
        for positions in ("relative", "absolute"):
            depths = DEPTHS[: len(TABLE_6["length", sharing, positions])]
            missing = [str(n) for n in depths if (n, sharing, positions) not in trained]
            if missing:
                lines.append(
                    f"- {title} weights, {positions} positions: {', '.join(missing)} layers"
                )
    return "\n".join(lines)


def taught(manifests: Manifests) -> pd.DataFrame:
    """What was trained, where, and for how long; each has a member for every split."""
    return pd.DataFrame(
        named(kind)
        | {
            "steps": steps_of(one),
            "batch": recipe_of(one)["batch"],
            "products": recipe_of(one)["precision"],
            "device": one["device"],
            "torch": one["versions"]["torch"],
            "seconds": seconds_of(one),
            "steps/s": pace(one),
        }
        for kind, one in by_kind(manifests).items()
    )


def draw_scan(rows: pd.DataFrame, pictures: Path) -> None:
    """Table 6 as a figure, and Figure 18; neither of a single depth."""
    for name, some in {"alta-table-6": rows, "alta-figure-18": figure_18(rows)}.items():
        if some["layers"].nunique() > 1:
            figure = experiments.find(name).draw(some)
            put_the_papers_beside(figure, some)
            mark_fewer_steps(figure, some)
            write_figure(pictures / f"{name}.png", figure)


def put_the_papers_beside(figure: Figure, rows: pd.DataFrame) -> None:
    """Grey curves of the numbers that the paper has for every kind in the figure."""
    looks = {"yes": ("-", "o", "shared weights, paper"), "no": ("--", "s", "own weights, paper")}
    for panel, positions, split in panels(figure, rows):
        for sharing, (dash, marker, label) in looks.items():
            if sharing in set(rows["sharing"]):
                shares = [percent / 100 for percent in TABLE_6[split, sharing, positions]]
                style = {"color": "#8a8f98", "ls": dash, "marker": marker, "mfc": "white"}
                style |= {"lw": 1, "ms": 3.5, "zorder": 1, "label": label}
                panel.plot(DEPTHS[: len(shares)], shares, **style)
        panel.set_xticks(DEPTHS, ["" if n in CLOSE_BY else str(n) for n in DEPTHS])
    put_a_legend(figure)


def mark_fewer_steps(figure: Figure, rows: pd.DataFrame) -> None:
    """A ring around those that took fewer steps than others."""
    model = [*KINDS, "layers"]
    last = rows.groupby(model)["step"].transform("max") == rows["step"]
    means = rows[last].groupby([*model, "step"], as_index=False)["accuracy"].mean()
    few = means[means["step"] < means["step"].max()]
    if few.empty:
        return
    counts = " or ".join(f"{count:,}" for count in sorted(few["step"].unique()))
    style = {"marker": "o", "ls": "", "mfc": "none", "mec": "#22252b", "mew": 1, "ms": 10}
    style["label"] = f"after {counts} steps of {means['step'].max():,}"
    for panel, positions, split in panels(figure, rows):
        some = few[(few["positions"] == positions) & (few["split"] == split)]
        panel.plot(some["layers"], some["accuracy"], **style)
    put_a_legend(figure)


def panels(figure: Figure, rows: pd.DataFrame) -> Iterator[tuple[Axes, str, str]]:
    """The panels with their kind of positions and their split."""
    found = [kind for kind in ("relative", "absolute") if kind in set(rows["positions"])]
    grid = itertools.product(found, sorted(rows["split"].unique()))
    for panel, (positions, split) in zip(figure.axes, grid, strict=True):
        yield panel, positions, split


def put_a_legend(figure: Figure) -> None:
    """One for all panels, in place of what was there."""
    for legend in list(figure.legends):
        legend.remove()
    place = {"loc": "outside upper center", "ncols": 4, "fontsize": 9, "frameon": False}
    figure.legend(*figure.axes[0].get_legend_handles_labels(), **place)
