"""docs/results/faults.md from what `benchmarks.faults` and `benchmarks.fuzz` found last."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS
from espalier.files import write_text

Rows = list[dict[str, Any]]
PAGE = Path(__file__).parents[1] / "docs" / "results" / "faults.md"
HEAD = """# Faults

{short}

## Runs that are killed, and worse

```
python -m benchmarks.faults
```

Every kind of run at smoke scale, saving after every few steps. Killed runs were killed by
SIGKILL, half of them at a random moment and half when they touched a random one of their files
(seed 0), and were then given again. What is there in the end is compared with a run that nothing
happened to: rows, tensors, metadata, manifests and pictures, bit for bit on a CPU. Those that
were refused ended with one line that says what is wrong, and went on once it was mended; the
others did not come to notice. A full disk is one on which files cannot grow beyond a random size;
a clock jumps by a year to and fro at every look; a manifest is cut short, not UTF-8, a list, of
another kind or setting, with `seconds` as text or `data` null.

"""
FUZZ = """
## Files and command lines that were changed at random

```
python -m benchmarks.fuzz
```

Good files with bytes flipped, lost, doubled, moved or in place of them what parsers stumble over;
command lines with words changed. Case number N of a format is always the same (`--only toml:17`
shows it). Wrong is a traceback of another library, more than 5 s of computing or 1 GB of memory;
that a command line asks for a training which takes longer is not. `tests/test_fuzz.py` tries the
first cases each time.

"""
TAIL = """
What cannot be tried here: a machine that loses power (files are written under a temporary name
and renamed, rows are synchronised to the disk; whether a disk keeps what it said it kept is its
own affair), and network file systems without locks, but for a test that takes the system's away.
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
    told = [
        "Does a run survive being killed, a full disk, a second process, an edited manifest; and",
        "are damaged files and command lines refused with a clear word?",
        f"{kinds} kinds of run met {met:,} faults; {'all' if same == met else f'{same:,}'} were",
        "equal in the end to a run that met none.",
    ]
    if fuzz:
        tried, wrong = (sum(row[name] for row in fuzz) for name in ("tried", "wrong"))
        told.append(f"Of {tried:,} changed files and command lines {wrong or 'none'} ended in")
        told.append("another library's traceback, a hang or too much memory.")
    told.append("Faults and changes are drawn at random, once, on one machine.")
    return textwrap.fill(" ".join(told), 100)


def _table(name: str, found: dict[str, Any]) -> str:
    where, rows = found["machine"], found["rows"]
    names = [key for key in rows[0] if name == "fuzz" or key != "wrong"]
    lines = [names, ["---"] * len(names), *([_shown(row[key]) for key in names] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    machine = (
        f"{where['cpu']}, threads: {where['threads']}, torch {where['torch']}, shared with other"
    )
    return f"{machine} work (`benchmarks/results/{name}.json`):\n\n{table}\n"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
