"""docs/results/realism.md from benchmarks/results/realism.json: `python -m docs.pages realism`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown
from espalier.files import write_text

DIALS = ("sharpness", "ramp", "rotation", "width", "distractors", "noise")


def realism(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data = docs.parent / "benchmarks" / "results" / "realism.json"
    found = json.loads(data.read_text(encoding="utf-8"))
    rows = pd.DataFrame(found["rows"])
    where = found["machine"]
    blocks = {
        "machine": f"{where['cpu']} that other jobs used at the same time, {where['threads']} "
        f"thread, torch {where['torch']}, Python {where['python']}; "
        f"{rows['seconds'].sum():,.0f} s of `es.margins` in all.",
        "ranges": markdown(ranges(rows)),
        "gradients": markdown(gradients(rows)),
        "culprits": markdown(culprits(rows)),
    }
    page = docs / "results" / "realism.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """The last right setting of each dial, a row a program."""
    table = []
    for name, mine in rows.groupby("program", sort=False):
        by = mine.set_index("dial")
        row = {"program": name, "meanings": f"{by.loc['clean', 'meanings']:.0f}"}
        for dial in DIALS:
            row[dial] = _end(by.loc[dial]) if dial in by.index else "no heads"
        table.append(row)
    return pd.DataFrame(table)


def gradients(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of pairs with a gradient at the end of each range, and with one of some size."""
    table = []
    for name, mine in rows.groupby("program", sort=False):
        by = mine.set_index("dial")
        row = {"program": name, "pairs": f"{by.loc['clean', 'pairs']:.0f}"}
        for dial in ("clean", *DIALS):
            row[dial] = "-"
            if dial in by.index and not pd.isna(by.loc[dial, "nonzero"]):
                shares = (100 * by.loc[dial, key] for key in ("nonzero", "useful"))
                row[dial] = " / ".join(f"{share:.0f}" for share in shares)
        table.append(row)
    return pd.DataFrame(table)


def culprits(rows: pd.DataFrame) -> pd.DataFrame:
    """What differs first at the first wrong setting."""
    wrong = rows[rows["wrong"].notna() & (rows["gives way"] != "")]
    shown = wrong["gives way"].map(lambda text: text if len(text) < 120 else text[:117] + "...")
    return pd.DataFrame(
        {
            "program": wrong["program"],
            "dial": wrong["dial"],
            "wrong at": wrong["wrong"].map(lambda value: f"{value:.3g}"),
            "what differs first": shown.str.replace("|", "\\|"),
        }
    )


def _end(row: pd.Series) -> str:
    """The last right setting as the dial's own words have it."""
    if pd.isna(row["right"]):
        return "none"
    if row.name == "rotation":
        return f"{row['right']:.0f} of 3"
    sign = "≤" if row.name in ("ramp", "distractors", "noise") else "≥"
    return f"{sign} {row['right']:.2g}" if row["right"] < 10 else f"{sign} {row['right']:.0f}"
