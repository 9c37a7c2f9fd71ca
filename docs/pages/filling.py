"""What the pages share: rows and manifests that were carried here, tables, and places to fill."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from espalier.files import atomic_path, write_figure, write_frame

DOCS = Path(__file__).parent.parent
COLOURS = 256


def fill(page: str, blocks: dict[str, str]) -> str:
    """The page with every block between its marks; a block without marks is refused."""
    for name, text in blocks.items():
        marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        page, found = marks.subn(lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page)
        if found != 1:
            sys.exit(f"the page has {found} places for {name!r}; one is needed")
    return page


def write_picture(path: Path, figure: Figure) -> None:
    """A figure as a PNG of few colours, a third as large; curves, bands and text lose nothing."""
    write_figure(path, figure)
    with Image.open(path) as image, atomic_path(path) as temporary:
        told = PngInfo()
        told.add_text("Comment", image.info["Comment"])
        few = image.convert("RGB").quantize(COLOURS)
        few.save(temporary, format="png", optimize=True, dpi=image.info["dpi"], pnginfo=told)


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


def markdown(table: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    for row in table.itertuples(index=False):
        cells = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def within(share: float, half: float) -> str:
    """A share with half of its interval, if there is one."""
    return f"{share:.1%}" if pd.isna(half) else f"{share:.1%} ± {half:.1%}"


def interval(cell: pd.Series) -> str:
    """The same of a mean over seeds; a single one has no interval."""
    return within(cell["mean"], cell["high"] - cell["mean"] if cell["seeds"] > 1 else float("nan"))
