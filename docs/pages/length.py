"""The learning page's section on SCAN's split by length: variants of training, ways of counting."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd

from docs.pages.filling import interval, join_rows, markdown
from docs.pages.runs import Manifests, not_trained, recipe_of, seconds_of, steps_of
from espalier import experiments
from espalier.experiments import Scale
from espalier.experiments.intervals import summarise
from espalier.experiments.length_models import STEPS, length_variants
from espalier.experiments.length_split import BEAMS, BEST, TRAINING, shares
from espalier.files import write_figure
from espalier.training import check_seeds

PAPER = (0.06, 0.11)  # Table 6, split by length, 2 and 6 layers
VARIANTS = sorted(STEPS, key=lambda name: name != "reference")
COMMAND = "`espalier reproduce alta-length-split --scale {}`"
BESIDE = 3  # variants in one table beside the reference, so that none is wider than the page
AT_PAPER_SCALE = {  # what is said before each table
    "length-runs": "",
    "length-ways": "{greedy:,} test commands, {beams:,} by beams, after each one's last step:",
    "length-steps": "Greedy decoding on the way:",
    "length-within": "By whether an answer has no more symbols than training's longest:",
    "length-actions": "By number of actions:",
}


def length_blocks(rows: pd.DataFrame, manifests: Manifests, *, scale: Scale) -> dict[str, str]:
    """The section's texts by the names of their places; the first names what is missing, too."""
    runs = length_runs(manifests)
    parts = [markdown(runs) if len(runs) else "", *missing(rows, scale)]
    return {
        "length-runs": "\n\n".join(part for part in parts if part),
        "length-ways": "\n\n".join(map(markdown, length_ways(rows))),
        "length-steps": markdown(length_steps(rows)),
        "length-within": markdown(length_within(rows)),
        "length-actions": markdown(length_actions(rows)),
    }


def missing(rows: pd.DataFrame, scale: Scale) -> list[str]:
    """The variants that have no rows: those to be trained at this scale, and others."""
    wanted = {run.name for run in length_variants(scale)}
    none = [name for name in VARIANTS if name not in set(rows["variant"])]
    others = ", ".join(name for name in none if name not in wanted)
    return [
        not_trained(COMMAND.format(scale), [name for name in none if name in wanted]),
        f"No part of the {scale} scale: {others}." if others else "",
    ]


def at_small_scale(manifest: dict) -> bool:
    """Whether a variant's split is made from the grammar, not SCAN's file."""
    return manifest["config"]["splits"][0].partition("+")[0] != "length"


def length_at_paper_scale(data: Path, manifests: Manifests, pictures: Path) -> str:
    """The same texts and figure of the paper's scale."""
    if not any(data.glob("alta-length-split-paper.*")):
        return not_trained(COMMAND.format("paper"))
    rows = join_rows(data, "alta-length-split-paper", ["variant", "seed"])
    if any(data.glob("alta-length-split-paper-measures.*")):
        measures = join_rows(data, "alta-length-split-paper-measures", ["variant", "seed"])
        rows = with_measures(rows, measures)
    parts = []
    for name, text in length_blocks(rows, manifests, scale="paper").items():
        said = AT_PAPER_SCALE[name].format(greedy=asked(rows, "greedy"), beams=asked(rows, BEAMS))
        parts += [said, text] if text else []
    figure = experiments.find("alta-length-split").draw(rows)
    write_figure(pictures / "alta-length-split-paper.png", figure)
    said = "accuracy over training in four ways of counting at the paper's scale, a line a variant"
    parts.append(f"![{said}](../images/learning/alta-length-split-paper.png)")
    return "\n\n".join(part for part in parts if part)


def with_measures(rows: pd.DataFrame, measures: pd.DataFrame) -> pd.DataFrame:
    """What training measured itself where nothing else was counted: in two ways, not by length."""
    counted = set(zip(rows["variant"], rows["step"], strict=True))
    at = zip(measures["variant"], measures["step"], strict=True)
    more = measures[[one not in counted and one[0] in set(rows["variant"]) for one in at]]
    commands = asked(rows, "greedy")
    parts = [
        more[["variant", "seed", "step"]].assign(
            way=way, actions=0, within=0, right=more[share] * commands, commands=commands
        )
        for way, share in (("greedy", "accuracy"), ("END given", "end_given"))
    ]
    return pd.concat([rows, *parts], ignore_index=True)


def asked(rows: pd.DataFrame, way: str) -> int:
    """How many test commands were counted in a way."""
    own = rows[rows["way"] == way].groupby(["variant", "seed", "step"])["commands"].sum()
    return int(own.max()) if len(own) else 0


def length_runs(manifests: Manifests) -> pd.DataFrame:
    """What was trained, where, and for how long."""
    return pd.DataFrame(
        {
            "variant": one["config"]["name"],
            "split": one["config"]["splits"][0],
            "seeds": len(check_seeds(one["config"]["seeds"])),
            "steps": steps_taken(one),
            "batch": recipe_of(one)["batch"],
            "optimiser": recipe_of(one)["optimiser"],
            "products": recipe_of(one)["precision"],
            "device": one["device"],
            "torch": one["versions"]["torch"],
            "seconds": seconds_of(one),
        }
        for one in kept_runs(manifests)
    )


def steps_taken(manifest: dict) -> str:
    """How far it went, and of how many where it was interrupted."""
    most = "" if manifest["status"] == "finished" else f" of {recipe_of(manifest)['steps']:,}"
    return f"{steps_of(manifest)}{most}"


def kept_runs(manifests: Manifests) -> list[dict]:
    """A variant may have several; not those whose seeds one with as many or more has, too."""
    found: list[tuple[str, set[int], dict]] = []
    runs = [(one, set(check_seeds(one["config"]["seeds"]))) for one in reversed(manifests.values())]
    for one, seeds in sorted(runs, key=lambda run: -len(run[1])):
        name = one["config"]["name"]
        if not any(name == other and seeds <= more for other, more, _ in found):
            found.append((name, seeds, one))
    ordered = sorted(found, key=lambda run: (VARIANTS.index(run[0]), min(run[1])))
    return [one for _, _, one in ordered]


def length_ways(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """A line a way of counting, a column a variant; in bold what the paper's numbers could be.

    Many variants make several tables, and the reference is in each.
    """
    cells = experiments.find("alta-length-split").tabulate(rows).set_index(["way", "variant"])
    ways = [way for way in dict.fromkeys(rows["way"]) if way not in ("greedy", TRAINING, BEAMS)]
    ways = ["greedy", BEST, *ways, BEAMS, TRAINING]
    found = []
    for names in side_by_side(rows):
        table = pd.DataFrame({"counted": ["steps", "seeds", *ways]})
        for name in names:
            own = rows[rows["variant"] == name]
            about = [f"{own['step'].max():,}", str(own["seed"].nunique())]
            places = [(way, name) for way in ways]
            said = [_cell(cells.loc[at]) if at in cells.index else "-" for at in places]
            table[name] = [*about, *said]
        found.append(table)
    return found


def side_by_side(rows: pd.DataFrame) -> list[list[str]]:
    """The variants of each table, as even in number as can be, beside the reference."""
    first, *others = VARIANTS
    others = [name for name in others if name in set(rows["variant"])]
    least = [first] if first in set(rows["variant"]) else []
    count = max(1, -(-len(others) // BESIDE))
    ends = [round(n * len(others) / count) for n in range(count + 1)]
    return [least + others[a:b] for a, b in itertools.pairwise(ends)]


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
            table[name] = ["-" if pd.isna(share) else f"{share:.1%}" for share in means[name]]
    return table


def _commands(greedy: pd.DataFrame) -> list[int]:
    one = greedy.groupby(["variant", "seed", "actions"])["commands"].sum()
    return one.groupby("actions").max().tolist()


def _cell(found: pd.Series, *, bold: bool = True) -> str:
    text = interval(found)
    inside = PAPER[0] - 0.005 <= found["mean"] < PAPER[1] + 0.005
    return f"**{text}**" if bold and inside else text
