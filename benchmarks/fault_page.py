"""docs/results/faults.md from what `benchmarks.faults` and `benchmarks.fuzz` found last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS
from espalier.files import write_text

PAGE = Path(__file__).parents[1] / "docs" / "results" / "faults.md"
HEAD = """# Faults

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
    text = HEAD + _table("faults")
    if (RESULTS / "fuzz.json").exists():
        text += FUZZ + _table("fuzz")
    write_text(PAGE, text + TAIL)


def _table(name: str) -> str:
    found = json.loads((RESULTS / f"{name}.json").read_text())
    where, rows = found["machine"], found["rows"]
    names = [key for key in rows[0] if name == "fuzz" or key != "wrong"]
    lines = [names, ["---"] * len(names), *([_shown(row[key]) for key in names] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    machine = (
        f"{where['cpu']}, {where['threads']} thread, torch {where['torch']}, shared with other"
    )
    return f"{machine} work (`benchmarks/results/{name}.json`):\n\n{table}\n"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
