"""Sequences in rows: all there, apart from each other, and read as if alone."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.training.packing import BESIDE, Packing


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_every_place_of_every_sequence_is_somewhere_once(widths):
    packing = Packing.of(widths)
    seen = {}
    for row, parts in enumerate(packing.parts.tolist()):
        assert sorted(parts) == parts, "a sequence lies in one piece, and what is empty behind it"
        for cell, part in enumerate(parts):
            if part < packing.beside:
                one, place = int(packing.sequences[row, cell]), int(packing.places[row, cell])
                assert packing.slots[row, part] == one
                assert (one, place) not in seen
                seen[one, place] = row, cell
    assert set(seen) == {(n, place) for n, width in enumerate(widths) for place in range(width)}
    for (one, place), (row, cell) in seen.items():
        assert place == 0 or seen[one, place - 1] == (row, cell - 1)
    assert packing.beside <= BESIDE
    assert torch.equal(packing.filled, packing.parts < packing.beside)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_rows_are_few_and_none_is_empty(widths):
    """What finds no place meets rows that are half full, or have all they may: a bound of three."""
    packing = Packing.of(widths)
    rows, width = packing.parts.shape
    assert width == max(widths)
    assert packing.filled.any(1).all()
    fewest = max(-(-len(widths) // BESIDE), -(-sum(widths) // width))
    assert fewest <= rows <= 3 * fewest


def test_scans_batches_are_nearly_full():
    """Widths of a batch of 64 from SCAN's four splits, where 1,078 cells hold 962."""
    longest = [49, 33, 33, 31, 31, 29, 29, 28, 28, 27, 27, 26, 26, 21, 18, 17]
    middle = [16] * 4 + [15] * 4 + [14] + [13] * 7 + [12] * 3 + [11] * 6 + [10] * 5
    packing = Packing.of([*longest, *middle, *[9] * 5, *[8] * 4, 7, 7, 6, 6, 6, 5, 5, 5, 4])
    assert packing.parts.shape == (22, 49)
    assert packing.slots.shape == (22, 3)
