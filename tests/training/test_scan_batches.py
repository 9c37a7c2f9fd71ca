"""Sequences in rows: all there, apart from each other, and read as if alone."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.nets.transformer import CELLS
from espalier.training.scan_batches import BESIDE, Packing


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_every_place_of_every_sequence_is_somewhere_once(widths):
    check_all_are_there_once(Packing.of(widths), widths, most=BESIDE)


def check_all_are_there_once(packing, widths, *, most):
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
    assert packing.beside <= most
    assert torch.equal(packing.filled, packing.parts < packing.beside)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_rows_are_few_and_none_is_empty(widths):
    """With one row fewer, something would find no place in the emptiest of those that are free."""
    packing = Packing.of(widths)
    rows, width = packing.parts.shape
    assert width == max(widths)
    assert packing.filled.any(1).all()
    assert fits(widths, rows)
    assert not fits(widths, rows - 1)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_rows_are_filled_as_said(widths):
    """The longest first, each into the emptiest row that has a place; by looking at all of them."""
    packing = Packing.of(widths)
    rows = [[] for _ in packing.slots]
    for one in sorted(range(len(widths)), key=lambda n: -widths[n]):
        free = [row for row in rows if len(row) < BESIDE]
        min(free, key=lambda row: sum(widths[n] for n in row)).append(one)
    found = zip(packing.slots.tolist(), rows, strict=True)
    assert [slots[: len(row)] for slots, row in found] == rows


@given(st.lists(st.integers(1, CELLS), min_size=1, max_size=40), st.integers(1, CELLS))
def test_blocks_hold_every_sequence_once_and_their_inputs(widths, words):
    packing = Packing.in_blocks(widths, words)
    check_all_are_there_once(packing, widths, most=CELLS // words)
    rows, size = packing.parts.shape
    assert size == CELLS
    assert packing.beside * words <= CELLS
    assert packing.filled.any(1).all()
    assert fits(widths, rows, size=CELLS, most=CELLS // words)
    assert not fits(widths, rows - 1, size=CELLS, most=CELLS // words)


@given(st.lists(st.integers(1, 80), min_size=1, max_size=40), st.integers(1, 80))
def test_what_is_too_long_for_blocks_is_laid_out_as_ever(widths, words):
    packing, plain = Packing.in_blocks(widths, words), Packing.of(widths)
    if max(*widths, words) <= CELLS:
        assert packing.parts.shape[1] == CELLS
        return
    for name in ("slots", "parts", "sequences", "places"):
        assert torch.equal(getattr(packing, name), getattr(plain, name))


def test_large_batches_are_laid_out_too():
    widths = [5 + 7 * n % 45 for n in range(4_000)]
    packing = Packing.of(widths)
    assert int(packing.filled.sum()) == sum(widths)
    assert not fits(widths, len(packing.slots) - 1)


def fits(widths, count, *, size=None, most=BESIDE):
    used, held = [0] * count, [0] * count
    for one in sorted(widths, reverse=True):
        free = sorted((used[row], row) for row in range(count) if held[row] < most)
        if not free or free[0][0] + one > (max(widths) if size is None else size):
            return False
        used[free[0][1]] += one
        held[free[0][1]] += 1
    return True


def test_scans_batches_are_nearly_full():
    """Widths of a batch of 64 from SCAN's four splits, where 1,078 cells hold 962."""
    longest = [49, 33, 33, 31, 31, 29, 29, 28, 28, 27, 27, 26, 26, 21, 18, 17]
    middle = [16] * 4 + [15] * 4 + [14] + [13] * 7 + [12] * 3 + [11] * 6 + [10] * 5
    packing = Packing.of([*longest, *middle, *[9] * 5, *[8] * 4, 7, 7, 6, 6, 6, 5, 5, 5, 4])
    assert packing.parts.shape == (22, 49)
    assert packing.slots.shape == (22, 3)
