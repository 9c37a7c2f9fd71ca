"""The learning page's section on SCAN's split by length: variants of training, ways of counting."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.pages.filling import join_rows, markdown
from docs.pages.runs import steps_of
from espalier import experiments
from espalier.experiments.intervals import summarise
from espalier.experiments.length_models import STEPS
from espalier.experiments.length_split import BEAMS, BEST, TRAINING, shares
from espalier.files import write_figure
from espalier.training import check_seeds

PAPER = (0.06, 0.11)  # Table 6, split by length, 2 and 6 layers
VARIANTS = sorted(STEPS, key=lambda name: name != "reference")
COMMAND = "`espalier reproduce alta-length-split --scale paper`"
AT_PAPER_SCALE = {  # what is said before each table
    "length-runs": "",
    "length-ways": "{greedy:,} test commands, {beams:,} by beams, after each one's last step:",
    "length-steps": "Greedy decoding on the way:",
    "length-within": "By whether an answer has no more symbols than training's longest:",
    "length-actions": "By number of actions:",
}


def length_blocks(rows: pd.DataFrame, manifests: dict[str, dict]) -> dict[str, pd.DataFrame]:
    """The section's tables by the names of their places."""
    return {
        "length-runs": length_runs(manifests),
        "length-ways": length_ways(rows),
        "length-steps": length_steps(rows),
        "length-within": length_within(rows),
        "length-actions": length_actions(rows),
    }


def at_small_scale(manifest: dict) -> bool:
    """Whether a variant's split is made from the grammar, not SCAN's file."""
    return manifest["config"]["splits"][0].partition("+")[0] != "length"


def length_at_paper_scale(data: Path, manifests: dict[str, dict], pictures: Path) -> str:
    """The same tables and figure of the paper's scale; what is missing is named."""
    if not any(data.glob("alta-length-split-paper.*")):
        return f"Not trained yet: {COMMAND}."
    rows = join_rows(data, "alta-length-split-paper", ["variant"])
    parts = []
    for name, table in length_blocks(rows, manifests).items():
        said = AT_PAPER_SCALE[name].format(greedy=asked(rows, "greedy"), beams=asked(rows, BEAMS))
        parts += [said, markdown(table)] if len(table) else []
    figure = experiments.find("alta-length-split").draw(rows)
    write_figure(pictures / "alta-length-split-paper.png", figure)
    said = "accuracy over training in four ways of counting at the paper's scale, a line a variant"
    parts.append(f"![{said}](../images/learning/alta-length-split-paper.png)")
    missing = [name for name in VARIANTS if name not in set(rows["variant"])]
    if missing:
        parts.append(f"Not trained yet ({COMMAND}): {', '.join(missing)}.")
    return "\n\n".join(part for part in parts if part)


def asked(rows: pd.DataFrame, way: str) -> int:
    """How many test commands were counted in a way."""
    own = rows[rows["way"] == way].groupby(["variant", "seed", "step"])["commands"].sum()
    return int(own.max()) if len(own) else 0


def length_runs(manifests: dict[str, dict]) -> pd.DataFrame:
    """What was trained, where, and for how long."""
    found = {}
    for one in manifests.values():
        config, recipe = one["config"], one["config"]["recipe"]
        found[config["name"]] = {
            "variant": config["name"],
            "split": config["splits"][0],
            "seeds": len(check_seeds(config["seeds"])),
            "steps": steps_of(one),
            "batch": recipe["batch"],
            "optimiser": recipe["optimiser"],
            "products": recipe["precision"],
            "device": one["device"],
            "torch": one["versions"]["torch"],
            "seconds": round(one["seconds"]),
        }
    return pd.DataFrame([found[name] for name in VARIANTS if name in found])


def length_ways(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a way of counting, a column a variant; in bold what the paper's numbers could be."""
    table = experiments.find("alta-length-split").tabulate(rows)
    steps = table.groupby("variant")["step"].first()
    cells = table.set_index(["way", "variant"])
    ways = [way for way in dict.fromkeys(rows["way"]) if way not in (TRAINING, BEAMS)]
    ways = [ways[0], BEST, *ways[1:], BEAMS, TRAINING]
    found = []
    for way in ways:
        line: dict[str, object] = {"counted": way}
        for name in VARIANTS:
            if name in steps:
                cell = cells.loc[(way, name)] if (way, name) in cells.index else None
                line[f"{name}, {steps[name]:,}"] = "-" if cell is None else _cell(cell)
        found.append(line)
    return pd.DataFrame(found)


def length_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Greedy decoding after every measure."""
    every = shares(rows)
    table = summarise(every[every["way"] == "greedy"], "accuracy", by=["variant", "step"])
    cells = table.set_index(["variant", "step"])
    steps = sorted(table["step"].unique())
    return pd.DataFrame(
        {"variant": name}
        | {
            f"{n:,}": _cell(cells.loc[(name, n)]) if (name, n) in cells.index else "-"
            for n in steps
        }
        for name in VARIANTS
        if name in set(table["variant"])
    )


def length_within(rows: pd.DataFrame) -> pd.DataFrame:
    """Answers with no more symbols than training's longest, and others, after the last step."""
    last = rows[rows["step"] == rows.groupby("variant")["step"].transform("max")]
    found = []
    for name in VARIANTS:
        own = last[(last["variant"] == name) & (last["way"] == "greedy")]
        if own.empty:
            continue
        sizes = own.groupby("within")["commands"].sum()
        table = summarise(shares(own, "within"), "accuracy", by=["within"]).set_index("within")
        line = {"variant": name, "of the test": f"{sizes.get(1, 0) / sizes.sum():.1%}"}
        for value, title in ((1, "right, no longer"), (0, "right, longer")):
            line[title] = _cell(table.loc[value], bold=False) if value in table.index else "-"
        found.append(line)
    return pd.DataFrame(found)


def length_actions(rows: pd.DataFrame) -> pd.DataFrame:
    """Greedy decoding after the last step, by number of actions."""
    last = rows[rows["step"] == rows.groupby("variant")["step"].transform("max")]
    greedy = last[last["way"] == "greedy"]
    sums = greedy.groupby(["variant", "actions"])[["right", "commands"]].sum()
    means = (sums["right"] / sums["commands"]).unstack("variant")
    table = pd.DataFrame({"actions": means.index, "commands": _commands(greedy)})
    for name in VARIANTS:
        if name in means:
            table[name] = [f"{share:.1%}" for share in means[name]]
    return table


def _commands(greedy: pd.DataFrame) -> list[int]:
    one = greedy.groupby(["variant", "seed", "actions"])["commands"].sum()
    return one.groupby("actions").max().tolist()


def _cell(found: pd.Series, *, bold: bool = True) -> str:
    text = f"{found['mean']:.1%} ± {found['high'] - found['mean']:.1%}"
    inside = PAPER[0] - 0.005 <= found["mean"] < PAPER[1] + 0.005
    return f"**{text}**" if bold and inside else text
