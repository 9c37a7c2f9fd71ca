"""Pairs and parts as text: numbers in hundredths, and bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from espalier.show.text import count, shorten

if TYPE_CHECKING:
    from espalier.decomposition import Dependence, PairMatrix, Parts, WordSets

LONGEST_WORD = 14
MOST_WORDS = 40  # a longer sentence shows its first ones
BAR = 24


def headline(pairs: PairMatrix) -> str:
    """What was measured, in one line."""
    words = len(pairs.words)
    notes = [f"{count(words * (words - 1) // 2, 'pair')}, {pairs.space}"]
    if pairs.undefined:
        notes.append(f"{pairs.undefined} undefined")
    if pairs.unknown:
        notes.append(unknown_words(pairs))
    return f"{pairs.method} of every two words ({', '.join(notes)})"


def unknown_words(found: PairMatrix | Parts | Dependence | WordSets) -> str:
    """How many words the model did not know, and which."""
    return f"{count(found.unknown, 'unknown word')}: {shorten(', '.join(found.unknown_words), 60)}"


def parts_headline(parts: Parts) -> str:
    """The focus, how exact the parts are, and how many words the model did not know."""
    focus = " ".join(parts.words[place] for place in parts.focus)
    unknown = f", {unknown_words(parts)}" if parts.unknown else ""
    return f"focus: {focus} (error {parts.error:.1e}{unknown})"


def pairs_text(pairs: PairMatrix) -> str:
    """One row per word, its partners across: DI in hundredths, two digits per pair."""
    return coloured_pairs(pairs).plain


def coloured_pairs(pairs: PairMatrix) -> Text:
    """The text for a terminal, with blue below the numbers that deepens with them."""
    words = min(len(pairs.words), MOST_WORDS)
    width = max(len(_short(word)) for word in pairs.words[:words])
    largest = float(np.nanmax(pairs.values, initial=0.0)) or 1.0
    numbers = " ".join(f"{place % 100:2d}" for place in range(words))
    text = Text(f"{headline(pairs)}\n\n{'':{width + 4}} {numbers}\n")
    for left in range(words):
        text.append(f"{_short(pairs.words[left]):>{width}}  {left:2d}")
        for right, value in enumerate(pairs.values[left, :words].tolist()):
            shade = "" if np.isnan(value) else _shade(value / largest)
            text.append(" ").append(two_digits(value) if left < right else "  ", style=shade)
        text.append("\n")
    if len(pairs.words) > words:
        text.append(f"... and {len(pairs.words) - words} more words\n")
    return text.append("\nin hundredths; ** is 1 or more, ?? undefined")


def _shade(share: float) -> str:
    """From white to a deep blue, with ink that can be read on it."""
    red, green, blue = (round(255 + share * (deep - 255)) for deep in (31, 98, 208))
    return f"{'white' if share > 0.55 else 'black'} on rgb({red},{green},{blue})"


def _short(word: str) -> str:
    return shorten(word, LONGEST_WORD)


def two_digits(value: float) -> str:
    """DI in hundredths."""
    if np.isnan(value):
        return "??"
    return "**" if value >= 0.995 else f"{round(value * 100):2d}"


def parts_text(parts: Parts) -> str:
    """One row per step: the word, and the sizes of its state's parts as bars."""
    frame = parts.to_frame()
    width = max(len(_short(word)) for word in parts.words)
    lines = [parts_headline(parts), "", f"{'':{width}}    relevant  irrelevant"]
    largest = max(float(frame["relevant"].max()), float(frame["irrelevant"].max())) or 1.0
    for row in frame.itertuples():
        mark = "*" if row.in_focus else " "
        bars = "█" * round(BAR * row.relevant / largest)
        sizes = f"{row.relevant:8.4f}  {row.irrelevant:10.4f}"
        lines.append(f"{_short(row.word):>{width}} {mark}  {sizes}  {bars}")
    return "\n".join([*lines, "", "* in focus; bars show the relevant part"])
