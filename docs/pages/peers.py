"""docs/results/peers.md from benchmarks/results/peer-*.json: `python -m docs.pages peers`.

The rows are what `python -m benchmarks.peers` wrote.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown
from espalier.files import write_text

SIZES = ["parameters Tracr", "parameters here", "parameters textbook"]
SAME = "same symbols"  # with the reason where a program is refused
FIRST = 100  # Tracr's default exactness
STEPS = ["build s", "compile s", "interpret ms", "run ms"]
LARGE = 10_000  # rules from which a program's building and compiling take more than a moment


def peers(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data = docs.parent / "benchmarks" / "results"
    tracr, alta = (read(data / f"peer-{name}.json") for name in ("tracr", "alta"))
    usual = tracr["exactness Tracr"] == FIRST
    own = tracr[usual].drop(columns=["symbols = weights", "exactness Tracr", *SIZES])
    blocks = {
        "tracr": markdown(shown(own)),
        "tracr-steeper": markdown(shown(steeper(tracr))),
        "tracr-parameters": markdown(shown(parameters(tracr[usual]))),
        "alta": markdown(shown(alta.assign(**{SAME: alta[SAME].str.split(":").str[0]}))),
        "alta-ratios": ratios(alta),
    }
    page = docs / "results" / "peers.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def read(path: Path) -> pd.DataFrame:
    """A benchmark's rows, each number as it was written: counts stay whole."""
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"], dtype=object)


def steeper(rows: pd.DataFrame) -> pd.DataFrame:
    """What Tracr answers rightly of long inputs, a column for each exactness."""
    rows = rows[rows["longest"] == rows["longest"].max()]
    wide = rows.pivot(index="program", columns="exactness Tracr", values="Tracr right")
    order = rows["program"].drop_duplicates()
    wide = wide.loc[order].rename(columns="`mlp_exactness={:,}`".format)
    return wide.reset_index().rename_axis(columns=None)


def parameters(rows: pd.DataFrame) -> pd.DataFrame:
    """The sizes alone, named as the page names them."""
    names = dict(zip(SIZES, ("Tracr", "here", "here, textbook"), strict=True))
    return rows[["program", "longest", *SIZES]].rename(columns=names)


def ratios(rows: pd.DataFrame) -> str:
    """How many times as long one package takes as the other, over the programs that both run."""
    both = rows[rows["weights = symbols here"] != "-"].set_index("rules")
    theirs = both[[f"{step} theirs" for step in STEPS]].set_axis(STEPS, axis=1)
    here = both[[f"{step} here" for step in STEPS]].set_axis(STEPS, axis=1)
    slower = (theirs / here).where(theirs > 0).astype(float)
    large = (1 / slower[slower.index >= LARGE]).agg(["min", "max"])
    times = slower.agg(["min", "max"])
    read, run = _between(times["interpret ms"]), _between(times["run ms"])
    build, compile_ = _between(large["build s"]), _between(large["compile s"])
    return f"""\
- Both interpreters give the same outputs wherever both run. Ours is {read} times as fast per input
  in these batches.
- **ALTA's package builds and compiles faster**: of {LARGE:,} rules and more it builds {build} and
  compiles {compile_} times as fast. It checks nothing; conflicting rules are refused here.
- Its weights are dense and in numpy, and take {run} times as long to run."""


def _between(times: pd.Series) -> str:
    """The least and the greatest of some ratios, to two figures."""
    least, most = (f"{float(f'{one:.2g}'):g}" for one in (times["min"], times["max"]))
    return f"{least} to {most}"


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Every cell as it is read: seconds and milliseconds by three figures at most."""
    return rows.map(cell)


def cell(value: object) -> str:
    """Whole numbers with their thousands; others by their size."""
    if isinstance(value, float):
        return f"{value:.3f}" if value < 1 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
