"""Halting by attention: a head that finds the beginning where every position has halted."""

from __future__ import annotations

from espalier.compiler.heads import default_sharpness
from espalier.compiler.plain.heads import Attention, attend, far_below, silence
from espalier.compiler.plain.places import Places

# Between amounts near one half the halting head decides as much more sharply.
SHARPER = 2.0**6


def attentions(places: Places, *, first: bool) -> list[Attention]:
    """The attention of a layer's first blocks; those of the others carry nothing.

    The first layer of a run does not check whether it has halted. Others do so next to their heads,
    whose resets undo what they carried after the halt; or before them, where that is not exact.
    """
    found = attend(places)
    before = [] if places.exact or places.done is None else [silence(places)]
    if len(places.head_names) > len(places.weights.heads) and not first:
        _write_halting(places, [*before, found][0])
    return [*before, found]


def _write_halting(places: Places, found: Attention) -> None:
    """Any position that has not halted wins over the beginning, which carries the 1 of `done`."""
    place, match = len(places.weights.heads), default_sharpness(places.dtype)
    assert places.done is not None
    if not places.exact:
        match *= SHARPER
    found.query_bias[place, 0] = 1
    found.key_bias[place, 0] = match
    found.key[place, 0] = -match * places.halted
    found.key[place, 0, places.bos] = -match / 2
    found.key[place, 0, places.pad] = -match - far_below(places)
    found.value[place, 0, places.bos] = 1
    found.output[place, 0, places.done] = 1
