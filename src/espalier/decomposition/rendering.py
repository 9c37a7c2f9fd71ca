"""Pairs and parts as text: shades of a block, darker for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from espalier.decomposition.pairs import PairMatrix
    from espalier.decomposition.parts import Parts

LONGEST_WORD = 14
MOST_WORDS = 40  # a longer sentence shows its first ones
BAR = 24


def headline(pairs: PairMatrix) -> str:
    """What was measured, in one line."""
    count = len(pairs.words)
    notes = [f"{counted(count * (count - 1) // 2, 'pair')}, {pairs.space}"]
    if pairs.undefined:
        notes.append(f"{pairs.undefined} undefined")
    if pairs.unknown:
        notes.append(counted(pairs.unknown, "unknown word"))
    return f"{pairs.method} of every two words ({', '.join(notes)})"


def counted(number: int, noun: str) -> str:
    """So many of them."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def cut(word: str, most: int = LONGEST_WORD) -> str:
    """The word, or as much of it as there is room for; what cannot be seen is written out."""
    shown = word if word.isprintable() else repr(word)[1:-1]
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def pairs_text(pairs: PairMatrix) -> str:
    """A row a word, its partners across: DI in hundredths, two digits a pair."""
    above, below = frame_of(pairs)
    rows = [" ".join([label, *(shown for shown, _ in cells)]) for label, cells in rows_of(pairs)]
    return "\n".join([above, *rows, below])


def frame_of(pairs: PairMatrix) -> tuple[str, str]:
    """What stands above and below the rows."""
    count = min(len(pairs.words), MOST_WORDS)
    numbers = " ".join(f"{place % 100:2d}" for place in range(count))
    above = f"{headline(pairs)}\n\n{'':{_width(pairs) + 4}} {numbers}"
    more = len(pairs.words) - count
    below = f"... and {more} more words\n" if more else ""
    return above, f"{below}\nin hundredths; ** is 1 or more, ?? undefined"


def rows_of(pairs: PairMatrix) -> list[tuple[str, list[tuple[str, float]]]]:
    """For each word its label, and its cells as text and number."""
    count, width = min(len(pairs.words), MOST_WORDS), _width(pairs)
    rows = []
    for left in range(count):
        values = [float(pairs.values[left, right]) for right in range(count)]
        shown = [two_digits(value) if left < r else "  " for r, value in enumerate(values)]
        label = f"{cut(pairs.words[left]):>{width}}  {left:2d}"
        rows.append((label, list(zip(shown, values, strict=True))))
    return rows


def _width(pairs: PairMatrix) -> int:
    return max(len(cut(word)) for word in pairs.words[:MOST_WORDS])


def two_digits(value: float) -> str:
    """DI in hundredths."""
    if np.isnan(value):
        return "??"
    return "**" if value >= 0.995 else f"{round(value * 100):2d}"


def parts_text(parts: Parts) -> str:
    """A row a step: the word, and the sizes of its state's parts as bars."""
    frame = parts.to_frame()
    width = max(len(cut(word)) for word in parts.words)
    focus = " ".join(parts.words[place] for place in parts.focus)
    notes = f"error {parts.error:.1e}" + (f", {parts.unknown} unknown" if parts.unknown else "")
    lines = [f"focus: {focus}   ({notes})", "", f"{'':{width}}    relevant  irrelevant"]
    largest = max(float(frame["relevant"].max()), float(frame["irrelevant"].max())) or 1.0
    for row in frame.itertuples():
        mark = "*" if row.in_focus else " "
        bars = "█" * round(BAR * row.relevant / largest)
        lines.append(
            f"{cut(row.word):>{width}} {mark}  {row.relevant:8.4f}  {row.irrelevant:10.4f}  {bars}"
        )
    return "\n".join([*lines, "", "* in focus; bars show the relevant part"])
