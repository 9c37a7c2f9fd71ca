"""Pairs and parts as pages and as the snippets that notebooks show, with nothing from a network.

A colour is a translucent blue over whatever lies below, so that it suits light and dark alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from espalier.decomposition.arcs import ARC_STYLE, arcs_block, arcs_fragment, arcs_script
from espalier.decomposition.rendering import counted, cut, headline

if TYPE_CHECKING:
    from espalier.decomposition.pairs import PairMatrix
    from espalier.decomposition.parts import Parts

FRAGMENT_WORDS = 60

STYLE = """
.espalier-pairs { max-width: 100%; overflow-x: auto; font: .85em/1.5 system-ui, sans-serif; }
.espalier-pairs table { border-collapse: collapse; color: inherit; width: auto; }
.espalier-pairs caption { text-align: left; font-weight: 600; padding: .4em 0;
  white-space: nowrap; }
.espalier-pairs th, .espalier-pairs td { padding: .15em .45em; font-weight: normal;
  text-align: center; border: 0; color: inherit; }
.espalier-pairs th[scope=row] { text-align: right; white-space: nowrap; }
.espalier-pairs thead th { vertical-align: bottom; writing-mode: vertical-rl;
  transform: rotate(180deg); text-align: left; white-space: nowrap; }
.espalier-pairs td { font-variant-numeric: tabular-nums; }
.espalier-pairs .focus { font-weight: 700; }
.espalier-pairs .flat thead th { writing-mode: horizontal-tb; transform: none;
  text-align: center; }
"""


def pairs_page(pairs: PairMatrix) -> str:
    """One self-contained HTML file: the sentence with its arcs, and every pair in a table."""
    count = len(pairs.words)
    picture = arcs_block(pairs, most=count) if count > 1 else ""
    script = f"<script>{arcs_script()}</script>" if picture else ""
    return _page(" ".join(pairs.words), f"{picture}{_pairs_table(pairs, count)}{script}")


def pairs_fragment(pairs: PairMatrix) -> str:
    """What a notebook shows."""
    picture = arcs_fragment(pairs, most=FRAGMENT_WORDS) if len(pairs.words) > 1 else ""
    return f"<style>{STYLE}{ARC_STYLE}</style>{picture}{_pairs_table(pairs, FRAGMENT_WORDS)}"


def parts_page(parts: Parts) -> str:
    """One self-contained HTML file."""
    return _page(" ".join(parts.words), _parts_table(parts))


def parts_fragment(parts: Parts) -> str:
    """What a notebook shows."""
    return f"<style>{STYLE}</style>{_parts_table(parts)}"


def _pairs_table(pairs: PairMatrix, most: int) -> str:
    words = pairs.words[:most]
    values = pairs.values[:most, :most]
    darkest = max(float(np.nanmax(values, initial=0.0)), 1e-9) if len(words) > 1 else 1.0
    rows = [
        f'<tr><th scope="row">{_word(word)}</th>'
        + "".join(_cell(values[left, r], darkest, words, (left, r)) for r in range(len(words)))
        + "</tr>"
        for left, word in enumerate(words)
    ]
    caption = headline(pairs)
    if len(pairs.words) > most:
        caption += f"; the first {most} of {len(pairs.words)} words"
    return _table(caption, ["", *words], rows, kind="")


def _cell(value: float, darkest: float, words: Sequence[str], places: tuple[int, int]) -> str:
    left, right = places
    if left >= right:
        return "<td></td>"
    title = escape(f"{words[left]} {words[right]}: {value:.4f}", quote=True)
    if np.isnan(value):
        return f'<td title="{title}">?</td>'
    shade = f"rgba(36, 116, 245, {0.85 * value / darkest:.3f})"
    pair = f'data-pair="{left} {right}"'
    return f'<td title="{title}" {pair} style="background: {shade}">{value:.2f}</td>'


def _parts_table(parts: Parts) -> str:
    rows = []
    for row in parts.to_frame().itertuples():
        share = row.relevant / (row.relevant + row.irrelevant or 1.0)
        kind = ' class="focus"' if row.in_focus else ""
        rows.append(
            f'<tr{kind}><th scope="row">{_word(row.word)}</th>'
            f'<td style="background: rgba(36, 116, 245, {0.85 * share:.3f})">{row.relevant:.4f}'
            f"</td><td>{row.irrelevant:.4f}</td><td>{row.hidden:.4f}</td></tr>"
        )
    focus = " ".join(parts.words[place] for place in parts.focus)
    caption = f"parts of the hidden state, focus: {focus} (error {parts.error:.1e})"
    if parts.unknown:
        caption += f", {counted(parts.unknown, 'unknown word')}"
    return _table(caption, ["", "relevant", "irrelevant", "whole"], rows, kind="flat")


def _table(caption: str, head: Sequence[str], rows: Sequence[str], *, kind: str) -> str:
    columns = "".join(f'<th scope="col">{_word(name)}</th>' for name in head)
    return (
        f'<div class="espalier-pairs"><table class="{kind}"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{columns}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _word(word: str) -> str:
    return escape(cut(word, 24))


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(cut(title, 80))}</title>\n"
        "<style>body { margin: 2em; font-family: system-ui, sans-serif; }"
        f"{STYLE}{ARC_STYLE}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
