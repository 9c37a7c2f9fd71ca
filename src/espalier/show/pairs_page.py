"""Pairs and parts as pages and as the snippets that notebooks show.

A colour is a translucent blue over whatever lies below, so that it suits light and dark alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from espalier.show.arcs import LONGEST_WORD, arcs_block, arcs_fragment
from espalier.show.pages import page, plain, row, style, table
from espalier.show.pairs_text import headline, parts_headline
from espalier.show.text import shorten

if TYPE_CHECKING:
    from espalier.decomposition import PairMatrix, Parts

FRAGMENT_WORDS = 60


def pairs_page(pairs: PairMatrix) -> str:
    """One self-contained HTML file: the sentence with its arcs, and every pair in a table."""
    count = len(pairs.words)
    picture = arcs_block(pairs, most=count) if count > 1 else ""
    return page(
        " ".join(pairs.words),
        picture + _pairs_table(pairs, count),
        styles=["pairs.css", "arcs.css"],
        scripts=["arcs.js"] if picture else [],
    )


def pairs_fragment(pairs: PairMatrix) -> str:
    """What a notebook shows."""
    picture = arcs_fragment(pairs, most=FRAGMENT_WORDS) if len(pairs.words) > 1 else ""
    return style("pairs.css", "arcs.css") + picture + _pairs_table(pairs, FRAGMENT_WORDS)


def parts_page(parts: Parts) -> str:
    """One self-contained HTML file."""
    return page(" ".join(parts.words), _parts_table(parts), styles=["pairs.css"])


def parts_fragment(parts: Parts) -> str:
    """What a notebook shows."""
    return style("pairs.css") + _parts_table(parts)


def _pairs_table(pairs: PairMatrix, most: int) -> str:
    words, values = pairs.words[:most], pairs.values[:most, :most]
    darkest = max(float(np.nanmax(values, initial=0.0)), 1e-9) if len(words) > 1 else 1.0
    within = range(len(words))
    rows = [
        row([_word(pairs, left), *(_cell(values, darkest, words, (left, r)) for r in within)])
        for left in within
    ]
    caption = headline(pairs)
    if len(pairs.words) > most:
        caption += f"; the first {most} of {len(pairs.words)} words"
    return _block(caption, ["", *words], rows)


def _cell(values: np.ndarray, darkest: float, words: Sequence[str], place: tuple[int, int]) -> str:
    left, right = place
    if left >= right:
        return "<td></td>"
    value = values[place]
    title = plain(f"{words[left]} {words[right]}: {value:.4f}")
    if np.isnan(value):
        return f'<td title="{title}">?</td>'
    pair = f'data-pair="{left} {right}"'
    return f'<td title="{title}" {pair} {_shade(value / darkest)}>{value:.2f}</td>'


def _parts_table(parts: Parts) -> str:
    rows = []
    for step in parts.to_frame().itertuples():
        share = step.relevant / (step.relevant + step.irrelevant or 1.0)
        relevant = f"<td {_shade(share)}>{step.relevant:.4f}</td>"
        cells = [_word(parts, step.step), relevant, f"{step.irrelevant:.4f}", f"{step.hidden:.4f}"]
        rows.append(row(cells, kind="focus" if step.in_focus else ""))
    caption = f"parts of the hidden state, {parts_headline(parts)}"
    return _block(caption, ["", "relevant", "irrelevant", "whole"], rows, kind="flat")


def _block(caption: str, head: Sequence[str], rows: Sequence[str], *, kind: str = "") -> str:
    shown = [shorten(name, LONGEST_WORD) for name in head]
    return f'<div class="espalier-pairs">{table(shown, rows, caption=caption, kind=kind)}</div>'


def _shade(share: float) -> str:
    return f'style="background: rgba(36, 116, 245, {0.85 * share:.3f})"'


def _word(found: PairMatrix | Parts, place: int) -> str:
    """The word, struck through where the model does not know it."""
    word = plain(found.words[place], LONGEST_WORD)
    return f'<s title="read as unknown">{word}</s>' if place in found.unknown_at else word
