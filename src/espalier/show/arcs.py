"""A sentence as a picture: its strongest pairs as arcs above the words, dependencies below.

Plain SVG that a notebook shows as it is; numbers are in the tooltips. `arcs.js` lets the reader of
a page choose how many arcs there are and follow a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from espalier.show.pages import plain
from espalier.show.text import shorten

if TYPE_CHECKING:
    from espalier.data import Parsed
    from espalier.decomposition import PairMatrix

MOST_ARCS = 400  # that a page holds; the strongest
ABOVE, BELOW = 15.0, 17.0  # how much higher an arc is for each word that it spans
HIGHEST = 190.0
FULL = 0.75  # a Bezier curve comes so near to its control points
LETTER, ROOM = 8.4, 22.0  # width of a letter, and of the space around a word
LONGEST_WORD = 24


def strongest(values: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Pairs of words by falling value, undefined ones left out."""
    left, right = np.triu_indices(len(values), 1)
    flat = values[left, right]
    order = np.argsort(-np.where(np.isnan(flat), -np.inf, flat), kind="stable")
    kept = [number for number in order[:most] if not np.isnan(flat[number])]
    return [(int(left[number]), int(right[number])) for number in kept]


def arcs(pairs: PairMatrix, *, most: int, shown: int, held: int = MOST_ARCS) -> str:
    """The picture of the first `most` words; of the `held` arcs only `shown` are visible."""
    words, values = pairs.words[:most], pairs.values[:most, :most]
    places = _places(words)
    chosen = strongest(values, held)
    top = max((_height(left, right, ABOVE) for left, right in chosen), default=0.0) + 10
    line = top + 22  # the words' baseline
    largest = max(float(np.nanmax(values, initial=0.0)), 1e-9)
    drawn = []
    for rank, (left, right) in enumerate(chosen):
        value, ends = float(values[left, right]), (places[left] + 3, places[right] - 3)
        title = f"{words[left]} {words[right]}: {value:.4f}"
        look = _look(value / largest, hidden=rank >= shown)
        named = f'class="pair" data-left="{left}" data-right="{right}" data-rank="{rank}"'
        curve = _curve(ends, top, top - _height(left, right, ABOVE) / FULL)
        drawn.append(f'<path {named} d="{curve}" {look}><title>{escape(title)}</title></path>')
    texts = [
        f'<text class="word{" unknown" if place in pairs.unknown_at else ""}" '
        f'data-word="{place}" x="{places[place]:.1f}" y="{line - 5:.1f}">'
        f"{plain(word, LONGEST_WORD)}</text>"
        for place, word in enumerate(words)
    ]
    below: list[str] = []
    height = line + 6
    if pairs.parse is not None:
        below, height = _dependencies(pairs.parse, places, line)
    width = places[-1] + _width(words[-1]) / 2 + 4
    body = "".join([*drawn, *texts, *below])
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="strongest pairs of words">{body}</svg>'
    )


def arcs_fragment(pairs: PairMatrix, *, most: int) -> str:
    """The picture with as many arcs as a tree would have; no script."""
    count = min(len(pairs.words), most) - 1
    return f'<div class="espalier-arcs">{arcs(pairs, most=most, shown=count, held=count)}</div>'


def arcs_block(pairs: PairMatrix, *, most: int) -> str:
    """The picture with its control, for a page that ends with arcs.js."""
    count = min(len(pairs.words), most)
    held = len(strongest(pairs.values[:most, :most], MOST_ARCS))
    chosen = min(count - 1, held)
    return (
        '<div class="espalier-arcs"><div class="control">'
        f'<label>strongest pairs <input type="range" min="0" max="{held}" value="{chosen}"></label>'
        f"<span>{chosen}</span><output></output></div>"
        f"{arcs(pairs, most=most, shown=chosen)}</div>"
    )


def _width(word: str) -> float:
    return max(34.0, LETTER * len(shorten(word, LONGEST_WORD)) + ROOM)


def _places(words: Sequence[str]) -> list[float]:
    """The middle of each word."""
    edges = np.cumsum([0.0, *map(_width, words)])
    return [float(middle) for middle in (edges[:-1] + edges[1:]) / 2]


def _height(left: int, right: int, rise: float) -> float:
    return min(HIGHEST, 8 + rise * (right - left))


def _curve(ends: tuple[float, float], base: float, control: float) -> str:
    start, end = ends
    return (
        f"M{start:.1f},{base:.1f}C{start:.1f},{control:.1f} {end:.1f},{control:.1f} "
        f"{end:.1f},{base:.1f}"
    )


def _look(share: float, *, hidden: bool) -> str:
    """The stronger, the thicker and darker."""
    style = ' style="display: none"' if hidden else ""
    width, opacity = 0.8 + 4.5 * share, 0.25 + 0.65 * share
    return f'stroke-width="{width:.2f}" stroke-opacity="{opacity:.2f}"{style}'


def _dependencies(parse: Parsed, places: Sequence[float], line: float) -> tuple[list[str], float]:
    """Arcs below the words from head to dependent, with their relations; and how far they reach."""
    found, deepest, base = [], 0.0, line + 18
    for place in range(len(places)):
        tag = escape(parse.tags[place])
        found.append(f'<text class="tag" x="{places[place]:.1f}" y="{line + 9:.1f}">{tag}</text>')
        head = parse.heads[place]
        if not 0 <= head < len(places):
            continue
        reach = _height(min(place, head), max(place, head), BELOW)
        deepest = max(deepest, reach)
        side = 5 if head < place else -5
        start, end = places[head] + side, places[place] - side / 2
        curve = _curve((start, end), base, base + reach / FULL)
        title = escape(f"{parse.words[head]} → {parse.words[place]}: {parse.relations[place]}")
        found.append(
            f'<path class="edge" data-left="{min(place, head)}" data-right="{max(place, head)}" '
            f'd="{curve}"><title>{title}</title></path>'
            f'<path class="tip" d="M{end:.1f},{base - 3:.1f}l-3.5,7h7z"/>'
            f'<text class="relation" x="{(start + end) / 2:.1f}" y="{base + reach + 11:.1f}">'
            f"{escape(parse.relations[place])}</text>"
        )
    return found, base + deepest + 18
