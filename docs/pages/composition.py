"""docs/results/composition.md from committed rows: `python -m docs.pages composition`.

Reads docs/results/data/composition, where the rows and manifests of `espalier reproduce` are put.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, read_manifests, read_rows
from espalier import experiments
from espalier.data import ScaffoldConfig
from espalier.experiments import scaffold_claims
from espalier.experiments.further_claims import further_claims
from espalier.files import write_figure, write_text

DOMAINS = {"in_domain": "scaffolds of training", "out_of_domain": "random scaffolds"}
NUMBERS = (7, 8, 9, 10, 11, 12)


def composition(docs: Path = DOCS) -> list[str]:
    """Fill docs/results/composition.md; return the names of the blocks filled."""
    data, pictures = docs / "results/data/composition", docs / "images/composition"
    pictures.mkdir(parents=True, exist_ok=True)
    rows = {number: read_rows(data, f"bottom-up-figure-{number}") for number in NUMBERS}
    manifests = read_manifests(data)
    corpus = manifests["bottom-up-figure-8"]["config"]["models"]["corpus"]
    chance = 1 / ScaffoldConfig(**corpus).vocabulary_size
    claims = scaffold_claims.decide(rows, chance=chance)
    further = scaffold_claims.decide(rows, chance=chance, chosen=further_claims())
    drawn = {f"bottom-up-figure-{number}": rows[number] for number in NUMBERS}
    drawn |= {"interdependence-figure-6": rows[10], "scaffold-claims": claims}
    drawn["scaffold-claims-further"] = further
    blocks = {"run": describe(manifests), "scaffold-claims": markdown(decided(claims))}
    blocks["scaffold-claims-further"] = markdown(decided(further))
    blocks |= {f"bottom-up-figure-{n}": markdown(TABLES[n](rows[n])) for n in NUMBERS}
    logits = named("interdependence-figure-6", rows[10])
    blocks["interdependence-figure-6"] = markdown(by_domain(logits))
    for name, some in drawn.items():
        write_figure(pictures / f"{name}.png", experiments.find(name).draw(some))
        summary = experiments.names()[name]
        blocks[name] = f"![{summary}](../images/composition/{name}.png)\n\n{blocks[name]}"
    page = docs / "results/composition.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def describe(manifests: dict[str, dict]) -> str:
    """Device, versions and times, a line a figure."""
    lines = []
    for name, one in sorted(manifests.items()):
        if name != "ensembles":
            versions = f"torch {one['versions']['torch']}, espalier {one['versions']['espalier']}"
            lines.append(
                f"| {name} | {one['device']} | {versions} | {one['scale']} | "
                f"{one['seconds']:.0f} | {one['data']['sha256'][:12]} |"
            )
    head = "| rows | device | versions | scale | seconds | data |\n|---|---|---|---|---|---|\n"
    return head + "\n".join(lines)


def decided(claims: pd.DataFrame) -> pd.DataFrame:
    """Verdicts with what was measured, one row a claim."""
    table = scaffold_claims.tabulate(claims)
    quantities = claims.drop_duplicates("claim").set_index("claim")["quantity"]
    table.insert(3, "measured", table["claim"].map(quantities).str.replace("|", "\\|"))
    return table


def named(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    return experiments.find(name).tabulate(rows)


def by_domain(table: pd.DataFrame, index: Sequence[str] = ("length", "setting")) -> pd.DataFrame:
    return spread(table.replace({"domain": DOMAINS}), list(index), "domain")


def spread(table: pd.DataFrame, index: list[str], across: str) -> pd.DataFrame:
    """A row an index, a column a value of `across`, cells with their intervals."""
    cells = [f"{r.mean:.3g} [{r.low:.3g}, {r.high:.3g}]" for r in table.itertuples()]
    wide = table.assign(cell=cells).pivot(index=index, columns=across, values="cell")
    return wide.reset_index().rename_axis(columns=None)


def growing(rows: pd.DataFrame) -> pd.DataFrame:
    table = named("bottom-up-figure-9", rows).replace({"domain": DOMAINS})
    table = table.rename(columns={"in_focus": "i"})
    table["column"] = table["setting"] + ", " + table["domain"]
    return spread(table, ["i"], "column")


TABLES = {
    7: lambda rows: by_domain(named("bottom-up-figure-7", rows)),
    8: lambda rows: by_domain(named("bottom-up-figure-8", rows)),
    9: growing,
    10: lambda rows: by_domain(named("bottom-up-figure-10", rows)),
    11: lambda rows: spread(
        named("bottom-up-figure-11", rows).rename(columns={"length": "scaffold length"}),
        ["rules", "scaffold length"],
        "focus",
    ),
    12: lambda rows: spread(named("bottom-up-figure-12", rows), ["kind", "length"], "setting"),
}
