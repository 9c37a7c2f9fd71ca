"""docs/results/scaling.md and its figure, from what `benchmarks.scaling` measured."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

from espalier.files import write_figure, write_text

DOCS = Path(__file__).parents[1] / "docs"
STEEP, SLOW = 1.25, 0.02  # a slope above that bends; steps faster than so many seconds do not count
ACROSS = 3  # kinds of work beside each other
LOOKS = {  # colour, dash and marker of a step
    "build": ("#6b7280", "-.", "v"),
    "compile": ("#2f8f4e", "-", "D"),
    "interpret": ("#1b1f27", "-", "o"),
    "interpret, first": ("#1b1f27", ":", "o"),
    "run": ("#d02f2f", "--", "s"),
    "run, first": ("#d02f2f", ":", "s"),
    "scan": ("#1b1f27", "-", "o"),
    "pairs": ("#d02f2f", "--", "s"),
}
GROWS = {
    "rules": "rules",
    "positions": "tokens of one input",
    "positions, all seen": "tokens of one input",
    "layers": "layers",
    "batch": "inputs",
    "sentences": "sentences",
}
SHORT = ("rules", "positions", "layers", "batch", "sentences")
Rows = list[dict[str, Any]]
HEAD = """# Cost as work grows

{short}

```
python -m benchmarks.scaling
```

Every size of every kind of work is measured in a process of its own: processor seconds of each
step on one thread, the fastest of several where it is short, and the peak memory of the process
up to then (200 MB of it are Python and torch). *Slope* is that of log seconds over log size
since the previous size: 1 is linear, 2 quadratic. The *first* call builds tables that are cached.

| work | what grows | the rest |
|---|---|---|
| rules | rules over three variables | 100 inputs of 20 tokens, 4 layers |
| positions | tokens of one input | 20 layers of a head that looks at the token before |
| positions, all seen | tokens of one input | every position attends to all |
| layers | layers | one input of 20 tokens |
| batch | inputs | 20 tokens each, until they halt |
| sentences | lines of 2 to 6 words | `pairs` in parts of 400,000, an LSTM of 16 units |

![seconds and memory over size](../images/scaling.png)

"""
TAIL = """
## Where it bends

{bends}

Fixed on the way, found by a profile: the pairs of short sentences computed the upper triangle of a
matrix with numpy once per sentence, a third of the time (5.2 s of processor time for
20,000 sentences before, 3.5 s after); it is now computed once per length.

Memory of `sentences` is bounded by the size of a part, not by the text, which is read twice and
never held in memory. Nothing is extrapolated: sizes that are not in the table were not measured.
"""


def with_slopes(rows: Rows) -> Rows:
    """Each row with the slope of log seconds over log size since the size before."""
    before: dict[tuple[str, str], dict[str, Any]] = {}
    found = []
    for row in rows:
        last = before.get((row["work"], row["step"]))
        grown = None if last is None else math.log(row["size"] / last["size"])
        slope = "" if last is None else math.log(row["seconds"] / last["seconds"]) / grown
        found.append(row | {"slope": slope})
        before[row["work"], row["step"]] = row
    return found


def bends(rows: Rows) -> list[str]:
    """Where a slope is steep, and where it matters."""
    return [
        f"{row['work']}, {row['step']}: slope {row['slope']:.2f} up to {row['size']:,}"
        for row in rows
        if row["slope"] != "" and row["slope"] > STEEP and row["seconds"] > SLOW
    ]


def _in_short(rows: Rows) -> str:
    """What was asked, what came out, and how sure it is."""
    steep, most = len(bends(rows)), max(row["MB"] for row in rows)
    largest = {work: max(r["size"] for r in rows if r["work"] == work) for work in SHORT}
    sizes = ", ".join(f"{size:,} {GROWS[work]}" for work, size in largest.items())
    slopes = f"above {STEEP} in {steep}" if steep else f"at most {STEEP} in all"
    said = [
        "How do time and memory grow with rules, positions, layers, batches and sentences?",
        "Slopes of log time over log size (1 is linear) are",
        f"{slopes} steps of more than {SLOW} s, up to {sizes}.",
        f"Peak memory is {most:,.0f} MB. This is one run, with most sizes measured once.",
    ]
    return textwrap.fill(" ".join(said), 100)


def write_page(rows: Rows, machine: dict[str, Any]) -> None:
    """Write the page and the figure."""
    where = f"{machine['cpu']}, torch {machine['torch']}, one run"
    where += " (`benchmarks/results/scaling.json`). Most sizes are one\nprocess, not repeated, "
    where += "so slopes of steps under 0.02 s are noise"
    lines = ["| work | step | size | seconds | MB | slope |", "|---|---|---|---|---|---|"]
    for row in rows:
        slope = "" if row["slope"] == "" else f"{row['slope']:.2f}"
        cells = f"{row['size']:,} | {row['seconds']:.3g} | {row['MB']:,.0f} | {slope}"
        lines.append(f"| {row['work']} | {row['step']} | {cells} |")
    found = "".join(f"- {line}\n" for line in bends(rows)) or "none."
    steep = f"Slopes above {STEEP} of steps that take more than {SLOW} s:\n\n{found}"
    table = "\n".join(lines)
    head = HEAD.format(short=_in_short(rows))
    text = f"{head}{where}:\n\n{table}\n{TAIL.format(bends=steep.rstrip())}"
    write_text(DOCS / "results" / "scaling.md", text)
    write_figure(DOCS / "images" / "scaling.png", draw(rows))


def draw(rows: Rows) -> Any:
    """Seconds above memory for each kind of work, three kinds a row; a line a step."""
    from matplotlib.figure import Figure

    works = list(dict.fromkeys(row["work"] for row in rows))
    down = -(-len(works) // ACROSS)
    figure = Figure(figsize=(9.6, 4.4 * down), layout="constrained")
    panels = figure.subplots(2 * down, ACROSS, squeeze=False)
    for place, work in enumerate(works):
        over, column = divmod(place, ACROSS)
        own = [row for row in rows if row["work"] == work]
        _draw_work(panels[2 * over : 2 * over + 2, column], work, own)
    for panel in panels.flat:
        if not panel.lines:
            panel.set_axis_off()
    return figure


def _draw_work(pair: Any, work: str, rows: Rows) -> None:
    """Seconds and memory of one kind of work over its size."""
    for step in dict.fromkeys(row["step"] for row in rows):
        line = [row for row in rows if row["step"] == step]
        color, dash, marker = LOOKS[step]
        style = {"color": color, "ls": dash, "marker": marker, "ms": 4, "lw": 1.4, "label": step}
        for panel, of in zip(pair, ("seconds", "MB"), strict=True):
            panel.plot([row["size"] for row in line], [row[of] for row in line], **style)
    sizes = [row["size"] for row in rows]
    for panel, label in zip(pair, ("processor seconds", "MB at most"), strict=True):
        panel.set(xscale="log", ylabel=label, xlim=(min(sizes) / 1.4, max(sizes) * 1.4))
        panel.xaxis.set_minor_formatter("")
        panel.grid(alpha=0.25, lw=0.5)
        panel.tick_params(labelsize=9)
    seconds = [row["seconds"] for row in rows]
    many = len(pair[0].lines) > 3  # so many need two columns of a legend, and room above them
    room = 500 if many else 2
    pair[0].set(yscale="log", title=work, ylim=(min(seconds) / 2, max(seconds) * room))
    pair[0].yaxis.set_minor_formatter("")
    pair[1].set_ylim(0, 1.15 * max(row["MB"] for row in rows))
    pair[1].set_xlabel(GROWS[work])
    pair[0].legend(fontsize=8, frameon=False, loc="upper left", ncols=1 + many)
