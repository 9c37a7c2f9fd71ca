"""docs/results/faults.md from the last results of `benchmarks.faults` and `benchmarks.fuzz`."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS
from espalier.files import write_text

Rows = list[dict[str, Any]]
TITLES = {"refused with a word": "refused with an error message"}
PAGE = Path(__file__).parents[1] / "docs" / "results" / "faults.md"
HEAD = """# Faults

{short}

## Runs that are killed, and worse

```
python -m benchmarks.faults
```

Every kind of run is tried at smoke scale, saving after every few steps. Killed runs were killed by
SIGKILL, half of them at a random moment and half when they accessed a random one of their files
(seed 0), and were then started again. The final files are compared with those of an undisturbed
run: rows, tensors, metadata, manifests and pictures, bit for bit on a CPU. Runs that were refused
ended with one line that says what is wrong, and resumed once it was repaired; the others were not
affected. On a full disk files cannot grow beyond a random size; a jumping clock moves by a year
back or forth at every reading; an edited manifest is cut short, not UTF-8, a list, of
another kind or setting, with `seconds` as text or `data` null.

"""
FUZZ = """
## Files and command lines that were changed at random

```
python -m benchmarks.fuzz
```

Valid files with bytes flipped, lost, doubled, moved or replaced by values that parsers often fail
on; command lines with words changed. Case number N of a format is always the same (`--only toml:17`
shows it). A traceback of another library, more than 5 s of computing or 1 GB of memory counts as
wrong; a command line that requests a longer training does not. `tests/test_fuzz.py` tries the
first cases each time.

"""
TAIL = """
What cannot be tested here: a machine that loses power (files are written under a temporary name
and renamed, rows are synchronised to the disk; whether the disk then stores them is beyond the
library's control), and network file systems without locks, except by a test that disables locks.
"""


def write_page() -> None:
    """Write the page, with the tables that are there."""
    faults, fuzz = (_found(name) for name in ("faults", "fuzz"))
    text = HEAD.format(short=_in_short(faults["rows"], fuzz["rows"])) + _table("faults", faults)
    if fuzz["rows"]:
        text += FUZZ + _table("fuzz", fuzz)
    write_text(PAGE, text + TAIL)


def _found(name: str) -> dict[str, Any]:
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else {"rows": []}


def _in_short(faults: Rows, fuzz: Rows) -> str:
    """What was asked, what came out, and how sure it is."""
    kinds, met = len({row["run"] for row in faults}), sum(row["tried"] for row in faults)
    same = sum(row["equal in the end"] for row in faults)
    said = [
        "Does a run survive being killed, a full disk, a second process, an edited manifest? And",
        "are damaged files and command lines refused with a clear error message?",
        f"{kinds} kinds of run had {met:,} faults; {'all' if same == met else f'{same:,}'} were",
        "in the end equal to a run without faults.",
    ]
    if fuzz:
        tried, wrong = (sum(row[name] for row in fuzz) for name in ("tried", "wrong"))
        said.append(f"Of {tried:,} changed files and command lines {wrong or 'none'} ended in")
        said.append("another library's traceback, a hang or too much memory.")
    said.append("Faults and changes were drawn at random, once, on one machine.")
    return textwrap.fill(" ".join(said), 100)


def _table(name: str, found: dict[str, Any]) -> str:
    where, rows = found["machine"], found["rows"]
    names = [key for key in rows[0] if name == "fuzz" or key != "wrong"]
    titles = [TITLES.get(name, name) for name in names]
    lines = [titles, ["---"] * len(names), *([_shown(row[key]) for key in names] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    machine = (
        f"{where['cpu']}, threads: {where['threads']}, torch {where['torch']}, shared with other"
    )
    return f"{machine} work (`benchmarks/results/{name}.json`):\n\n{table}\n"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
