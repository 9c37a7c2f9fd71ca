"""docs/experiments.md's "What small says" from committed rows: `python -m docs.pages small_claims`.

Reads docs/results/data/composition/small, where the rows of `espalier reproduce NAME --scale small`
are put with their manifests; draws docs/images/interdependence-small.png.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, write_picture
from espalier.experiments import find
from espalier.files import write_text

CLAIMS, PICTURE = "scaffold-claims", "bottom-up-figure-10"


def small_claims(docs: Path = DOCS) -> list[str]:
    """Fill the section; return the names of the blocks filled."""
    data = docs / "results/data/composition/small"
    rows = {name: pd.read_parquet(data / f"{name}.parquet") for name in (CLAIMS, PICTURE)}
    manifest = json.loads((data / "manifests.json").read_text(encoding="utf-8"))[CLAIMS]
    (docs / "images").mkdir(exist_ok=True)
    write_picture(docs / "images/interdependence-small.png", find(PICTURE).draw(rows[PICTURE]))
    table = find(CLAIMS).tabulate(rows[CLAIMS]).drop(columns="holds if")
    blocks = {"small-run": described(manifest), "small-claims": markdown(table)}
    page = docs / "experiments.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def described(manifest: dict) -> str:
    """How the rows came about, in a sentence."""
    seeds, device = manifest["seeds"], manifest["device"].replace("cpu", "CPU")
    where = f"{device}, {manifest['threads']} thread, torch {manifest['versions']['torch']}"
    return (
        f"`espalier reproduce {CLAIMS} --scale small`, seeds {seeds[0]} to {seeds[-1]}, {where}:\n"
        f"{manifest['seconds']:,.0f} s of training and measures, beside other work."
    )
