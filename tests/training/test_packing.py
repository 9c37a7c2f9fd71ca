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
def test_no_two_rows_would_fit_into_one(widths):
    packing = Packing.of(widths)
    used = packing.filled.sum(1).tolist()
    free = [row for row, parts in enumerate(packing.parts) if BESIDE - 1 not in parts]
    lonely = [row for row in free if len(set(packing.parts[row].tolist())) <= 2]
    width = packing.parts.shape[1]
    for one in free:
        for other in lonely:
            assert one >= other or used[one] + used[other] > width
    assert width == max(widths)
