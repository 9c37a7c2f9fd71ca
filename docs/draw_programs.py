"""Draw a small trace of every program that has a page.

python docs/draw_programs.py        writes docs/images/programs/*.png
"""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

import espalier as es
from espalier import zoo
from espalier.files import atomic_path
from espalier.show.figures import draw_trace

FOLDER = Path(__file__).parent / "images" / "programs"
DPI = 110
COLOURS = 32

# Settings that make a legible figure, the input, and the layers shown (all where None).
FIGURES = {
    "addition": ({}, "8+5", (1, 2, 3)),
    "dyck": ({"kinds": 2, "depth": 2}, "([])", (1, 2, 3, 4)),
    "histogram": ({"letters": 3, "longest": 4}, "abca", None),
    "induction": ({"letters": 3, "longest": 4}, "abab", (2, 3)),
    "modular": ({"modulus": 5}, "3+4*2", (1, 5, 6)),
    "most-frequent": ({"letters": 3, "longest": 4}, "abcb", (3, 4)),
    "parity-sequential-absolute": ({"positions": 4}, "1101", None),
    "parity-sequential-relative": ({}, "1101", None),
    "parity-sum-modulo": ({"buckets": 6}, "1101", None),
    "reverse": ({"letters": 3, "longest": 4}, "abc", None),
    "scan": ({"outputs": 2}, "jump twice", (3, 11)),
    "sort": ({"values": 3, "longest": 3}, "2 0 2", None),
    "subleq": ({"lowest": -4, "highest": 5, "memory": 5}, "3 4 -1 5 2", (2, 3)),
}


def drawn(name: str) -> Figure:
    """A program's figure."""
    settings, text, layers = FIGURES[name]
    entry = zoo.load(name, **settings)
    trace = es.interpret(entry.program, entry.encode(text), max_layers=entry.max_layers)
    return draw_trace(trace, layers=layers)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        buffer = io.BytesIO()
        drawn(name).savefig(buffer, format="png", dpi=DPI)
        # A palette makes the files a quarter as large; text and a few flat colours lose nothing.
        with Image.open(buffer) as image, atomic_path(FOLDER / f"{name}.png") as path:
            image.convert("RGB").quantize(COLOURS).save(path, format="png", optimize=True)


if __name__ == "__main__":
    main()
