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
from espalier.show.text import count, shorten

if TYPE_CHECKING:
    from espalier.decomposition import PairMatrix, Parts

FRAGMENT_WORDS = 60
EXPLAINED = {
    "interdependence": "DI of two words is how much of what they contribute together, read at the "
    "later one, is not the sum of what each contributes alone: 0 where they only add up."
}
OF_PARTS = (
    "After each word the state is the sum of a relevant part, what the words in focus contribute, "
    "and the rest. A part is a vector; the numbers are norms, which do not add up."
)


def pairs_page(pairs: PairMatrix) -> str:
    """One self-contained HTML file: the sentence with its arcs, and every pair in a table."""
    size = len(pairs.words)
    picture = arcs_block(pairs, most=size) if size > 1 else ""
    return page(
        " ".join(pairs.words),
        _heading(pairs, EXPLAINED.get(pairs.method, "")) + picture + _pairs_table(pairs, size),
        styles=["pairs.css", "arcs.css"],
        scripts=["arcs.js"] if picture else [],
    )


def pairs_fragment(pairs: PairMatrix) -> str:
    """What a notebook shows."""
    picture = arcs_fragment(pairs, most=FRAGMENT_WORDS) if len(pairs.words) > 1 else ""
    return style("pairs.css", "arcs.css") + picture + _pairs_table(pairs, FRAGMENT_WORDS)


def parts_page(parts: Parts) -> str:
    """One self-contained HTML file."""
    body = _heading(parts, OF_PARTS) + _parts_table(parts)
    return page(" ".join(parts.words), body, styles=["pairs.css"])


def parts_fragment(parts: Parts) -> str:
    """What a notebook shows."""
    return style("pairs.css") + _parts_table(parts)


def _heading(found: PairMatrix | Parts, explained: str) -> str:
    """The sentence, unknown words struck through; the model; what the numbers are."""
    words = " ".join(_word(found, place) for place in range(len(found.words)))
    notes = [model_name(found), explained]
    return f"<h1>{words}</h1>" + "".join(f"<p>{plain(note)}</p>" for note in notes if note)


def model_name(found: PairMatrix | Parts) -> str:
    """What kind of model, and how large; nothing where the result does not know."""
    model = getattr(found, "net", getattr(found, "model", None))
    if model is None:
        return ""
    shape = getattr(model, "shape", None)
    if shape is not None:
        size = f"{count(shape.layers, 'layer')} of {shape.hidden} units"
        return f"LSTM language model, {size}, {count(shape.vocabulary_size, 'word')}"
    size = f"{count(model.layers, 'layer')} of width {model.width}"
    return f"{model.name}, {size}, {count(model.vocabulary_size, 'token')}"


def _legend(darkest: float, what: str) -> str:
    """What the colours mean."""
    return (
        f'<p class="legend">{what}: 0 <span class="scale"></span> {darkest:.2f}; '
        f"? where undefined, <s>struck through</s> where the model does not know the word</p>"
    )


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
    name = "DI" if pairs.method in EXPLAINED else pairs.method
    return _block(caption, ["", *words], rows, legend=_legend(darkest, plain(name)))


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
    where = "the logits" if parts.space == "logits" else "the hidden state"
    caption = f"norms of the parts of {where}, {parts_headline(parts)}"
    head = ["", "relevant, norm", "irrelevant, norm", "whole, norm"]
    legend = _legend(1.0, "relevant norm over the sum of both")
    return _block(caption, head, rows, kind="flat", legend=legend)


def _block(
    caption: str, head: Sequence[str], rows: Sequence[str], *, kind: str = "", legend: str
) -> str:
    shown = [shorten(name, LONGEST_WORD) for name in head]
    return (
        f'<div class="espalier-pairs"><p class="caption">{plain(caption)}</p>{legend}'
        f'<div class="scroll">{table(shown, rows, kind=kind)}</div></div>'
    )


def _shade(share: float) -> str:
    return f'style="background: rgba(36, 116, 245, {0.85 * share:.3f})"'


def _word(found: PairMatrix | Parts, place: int) -> str:
    """The word, struck through where the model does not know it."""
    word = plain(found.words[place], LONGEST_WORD)
    return f'<s title="read as unknown">{word}</s>' if place in found.unknown_at else word
