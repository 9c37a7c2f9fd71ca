"""The learning page's small scale: rows of `espalier reproduce NAME --scale small`.

They are in docs/results/data/learning/small, one file an experiment, with their manifests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.filling import markdown, write_picture
from espalier import experiments
from espalier.experiments import KINDS, PROGRAMS

PICTURES = {
    "alta-figure-4": "small-figure-4",
    "alta-figure-5": "small-figure-5",
    "alta-table-6": "small-table-6",
    "alta-readable": "small-readable",
}
RUNS = (*PICTURES, "alta-table-3", "alta-table-3-biases")
VERSIONS = {"minimal": "minimal", "traces": "trained on traces"}
SPREAD, ZERO = "with T5's spread", "at 0"
MOST = 7  # ones of the longest training strings


def small_blocks(data: Path, pictures: Path) -> dict[str, str]:
    """The section's tables by the names of their places; draws its figures."""
    rows = {name: pd.read_parquet(data / "small" / f"{name}.parquet") for name in RUNS}
    manifests = json.loads((data / "small" / "manifests.json").read_text(encoding="utf-8"))
    for name, picture in PICTURES.items():
        write_picture(pictures / f"{picture}.png", experiments.find(name).draw(rows[name]))
    return {
        "small-runs": markdown(described(manifests)),
        "small-table-2": markdown(on_traces(rows["alta-figure-4"])),
        "small-table-3": markdown(end_to_end(rows["alta-table-3"])),
        "small-biases": markdown(by_ones(rows["alta-table-3"], rows["alta-table-3-biases"])),
        "small-table-6": markdown(translators(rows["alta-table-6"])),
        "small-readable": markdown(readable(rows["alta-readable"])),
    }


def described(manifests: dict[str, dict]) -> pd.DataFrame:
    """What each experiment took, in which processes."""
    return pd.DataFrame(
        {
            "experiment": name.replace("-biases", ", biases from 0"),
            "seconds": round(one["seconds"]),
            "seeds": len(one["seeds"]),
            "device": one["device"],
            "torch": one["versions"]["torch"],
        }
        for name, one in manifests.items()
    )


def slices(table: pd.DataFrame) -> list[str]:
    return [name for name in table if name.startswith(("length ", "ones ")) and "±" not in name]


def shares(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    return table[names].map("{:.3f}".format)


def on_traces(rows: pd.DataFrame) -> pd.DataFrame:
    """Minimal versions and what was trained on traces, by program."""
    table = experiments.find("alta-figure-4").tabulate(rows)
    table = table[table["version"].isin(VERSIONS)]
    order = [(program, version) for program in PROGRAMS for version in VERSIONS]
    table = table.set_index(["program", "version"]).loc[order].reset_index()
    about = table[["program", "version"]].replace({"program": PROGRAMS, "version": VERSIONS})
    return about.join(shares(table, slices(table)))


def end_to_end(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 3's Transformers, in its order."""
    table = experiments.find("alta-table-3").tabulate(rows)
    ordered = table.sort_values(["positions", "layers", "sharing"], ascending=[False, True, True])
    ordered = ordered.reset_index(drop=True)
    about = ordered[KINDS].rename(columns={"sharing": "shared"})
    return about.join(shares(ordered, slices(ordered)))


def by_ones(spread: pd.DataFrame, zero: pd.DataFrame) -> pd.DataFrame:
    """Longer strings by number of ones, for both beginnings of the biases; relative positions."""
    found = []
    for title, rows in ((SPREAD, spread), (ZERO, zero)):
        own = rows[rows["positions"] == "relative"]
        short = own[own["length"] <= MOST].groupby([*KINDS, "seed"])[["right", "strings"]].sum()
        whole = int((short["right"] == short["strings"]).sum())
        long = own[own["length"] > MOST]
        sums = long.groupby(long["ones"].clip(upper=MOST + 1))[["right", "strings"]].sum()
        line = {"biases begin": title, "all right up to 7 bits": f"{whole} of {len(short)} models"}
        for ones, share in (sums["right"] / sums["strings"]).items():
            name = f"ones > {MOST}" if ones > MOST else "1 one" if ones == 1 else f"{ones} ones"
            line[name] = f"{share:.2f}"
        found.append(line)
    return pd.DataFrame(found)


def translators(rows: pd.DataFrame) -> pd.DataFrame:
    """Test commands answered rightly, and with END given, by number of layers."""
    table = experiments.find("alta-table-6").tabulate(rows)
    cells = [f"{row.mean:.3f} ({row.end_given:.3f})" for row in table.itertuples()]
    layers = [f"{n} layer" if n == 1 else f"{n} layers" for n in table["layers"]]
    wide = table.assign(cell=cells, column=layers).rename(columns={"sharing": "shared"})
    wide = wide.pivot(index=["shared", "positions"], columns="column", values="cell")
    return wide.sort_index(ascending=False).reset_index().rename_axis(columns=None)


def readable(rows: pd.DataFrame) -> pd.DataFrame:
    """Transformers trained on readable traces."""
    table = experiments.find("alta-readable").tabulate(rows)
    table = table.set_index("program").loc[list(PROGRAMS)].reset_index()
    return table[["program"]].replace(PROGRAMS).join(shares(table, slices(table)))
