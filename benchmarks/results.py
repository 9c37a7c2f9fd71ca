"""Pages of docs/results from committed rows: tables filled in, figures drawn.

    python -m benchmarks.results composition
    python -m benchmarks.results syntax            see syntax_page.py
    python -m benchmarks.results learning          see learning_page.py

reads docs/results/data/composition, where the files that `benchmarks/reproduce.py` wrote are put as
they are, and fills what stands between `<!-- begin NAME -->` and `<!-- end NAME -->` in
docs/results/composition.md. Everything else in the page is left alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.unpack import markdown
from espalier import experiments
from espalier.data import ScaffoldConfig
from espalier.experiments import scaffold_claims
from espalier.files import write_figure, write_frame, write_text

DOCS = Path(__file__).parent.parent / "docs"
DOMAINS = {"in_domain": "scaffolds of training", "out_of_domain": "random scaffolds"}
NUMBERS = (7, 8, 9, 10, 11, 12)


def composition(docs: Path = DOCS) -> list[str]:
    """Fill docs/results/composition.md; return the names of the blocks filled."""
    data, pictures = docs / "results/data/composition", docs / "images/composition"
    pictures.mkdir(parents=True, exist_ok=True)
    rows = {number: read_rows(data, f"bottom-up-figure-{number}") for number in NUMBERS}
    manifests = read_manifests(data)
    corpus = manifests["bottom-up-figure-8"]["config"]["models"]["corpus"]
    claims = scaffold_claims.decide(rows, chance=1 / ScaffoldConfig(**corpus).vocabulary_size)
    drawn = {f"bottom-up-figure-{number}": rows[number] for number in NUMBERS}
    drawn |= {"interdependence-figure-6": rows[10], "scaffold-claims": claims}
    blocks = {"run": describe(manifests), "scaffold-claims": markdown(decided(claims))}
    blocks |= {f"bottom-up-figure-{n}": markdown(TABLES[n](rows[n])) for n in NUMBERS}
    logits = named("interdependence-figure-6", rows[10])
    blocks["interdependence-figure-6"] = markdown(by_domain(logits))
    for name, some in drawn.items():
        write_figure(pictures / f"{name}.png", experiments.load(name).draw(some))
        summary = experiments.names()[name]
        blocks[name] = f"![{summary}](../images/composition/{name}.png)\n\n{blocks[name]}"
    page = docs / "results/composition.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def fill(page: str, blocks: dict[str, str]) -> str:
    """The page with every block between its marks; a block without marks is refused."""
    for name, text in blocks.items():
        marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        page, found = marks.subn(lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page)
        if found != 1:
            sys.exit(f"the page has {found} places for {name!r}; one is needed")
    return page


def read_rows(data: Path, name: str) -> pd.DataFrame:
    """A figure's rows; lines as they were carried here are turned into Parquet."""
    lines, parquet = data / f"{name}.jsonl", data / f"{name}.parquet"
    if lines.exists():
        write_frame(parquet, pd.read_json(lines, lines=True))
        lines.unlink()
    return pd.read_parquet(parquet)


def join_rows(data: Path, name: str, keys: list[str]) -> pd.DataFrame:
    """All rows there are; lines carried here take the place of rows with the same keys."""
    lines, parquet = data / f"{name}.jsonl", data / f"{name}.parquet"
    if lines.exists():
        rows = pd.read_json(lines, lines=True)
        if parquet.exists():
            before = pd.read_parquet(parquet)
            again = before.set_index(keys).index.isin(rows.set_index(keys).index)
            rows = pd.concat([before[~again], rows])
        write_frame(parquet, rows.sort_values(keys, kind="stable"))
        lines.unlink()
    return pd.read_parquet(parquet)


def read_manifests(data: Path) -> dict[str, dict]:
    """What every figure's run says about itself, whichever call of the script it was part of."""
    found: dict[str, dict] = {}
    for file in sorted(data.glob("manifests-*.json")):
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def describe(manifests: dict[str, dict]) -> str:
    """Device, versions and times, a line a figure."""
    lines = []
    for name, one in sorted(manifests.items()):
        if name != "ensembles":
            versions = f"torch {one['versions']['torch']}, espalier {one['versions']['espalier']}"
            lines.append(
                f"| {name} | {one['device']} | {versions} | {one['scale']} | {one['seconds']:g} | "
                f"{one['data']['sha256'][:12]} |"
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
    return experiments.load(name).tabulate(rows)


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


def main() -> None:
    from benchmarks.learning_page import learning  # which fill their pages by what is above
    from benchmarks.syntax_page import syntax

    pages = {"composition": composition, "learning": learning, "syntax": syntax}
    chosen = sys.argv[1:] or list(pages)
    for name in chosen:
        if name not in pages:
            sys.exit(f"there is no page {name!r}; known: {', '.join(pages)}")
        print(f"{name}: {', '.join(pages[name]())}")


if __name__ == "__main__":
    main()
