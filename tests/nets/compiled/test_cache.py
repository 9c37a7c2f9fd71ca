import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.nets.compiled.attention import SelfAttention
from espalier.nets.compiled.cache import Block, Fresh, Kept, carry, weigh
from random_heads import WIDTH, heads


def attend_in_parts(
    attention: SelfAttention, z: torch.Tensor, parts: list[list[int]], room: int
) -> torch.Tensor:
    """Every row of `z` cut into parts of these sizes, attended to with a cache."""
    kept = [Kept.empty(pattern, len(z), room) for pattern in attention.patterns]
    starts, after = torch.zeros(len(z), dtype=torch.long), z.clone()
    for counts in zip(*parts, strict=True):
        width = max(counts)
        fresh = Fresh.after(starts, torch.tensor(counts), width)
        block = torch.zeros(len(z), width, WIDTH, dtype=z.dtype)
        for row, (start, count) in enumerate(zip(starts.tolist(), counts, strict=True)):
            block[row, :count] = z[row, start : start + count]
        added = block.clone()
        for pattern, past in zip(attention.patterns, kept, strict=True):
            own = past.block(pattern, block)
            weights = weigh(pattern, block, own, fresh, past)
            pattern.output.add_to(added, carry(pattern, weights, own, fresh, past))
            past.store(own, fresh)
        for row, (start, count) in enumerate(zip(starts.tolist(), counts, strict=True)):
            after[row, start : start + count] = added[row, :count]
        starts = starts + torch.tensor(counts)
    return after


@given(
    seed=st.integers(0, 10**6),
    offsets=st.none() | st.lists(st.integers(-6, 6), min_size=1, max_size=12, unique=True),
    parts=st.lists(st.lists(st.integers(1, 4), min_size=3, max_size=3), min_size=1, max_size=3),
    count=st.integers(1, 3),
)
def test_attention_in_parts_equals_attention_at_once(seed, offsets, parts, count) -> None:
    attention = SelfAttention(heads(seed, offsets, count), causal=True)
    lengths = torch.tensor([sum(row) for row in parts])
    width = int(lengths.max())
    z = torch.randn(len(parts), width, WIDTH, dtype=torch.float64)
    valid = torch.arange(width) < lengths[:, None]
    found = attend_in_parts(attention, z, parts, room=width)
    torch.testing.assert_close(found[valid], attention(z, valid)[valid])


@pytest.mark.parametrize(("offsets", "width"), [([-2, 0], 2), ([0], 0), ([-65], 40), (None, 40)])
def test_a_cache_is_as_wide_as_heads_look_back(offsets, width) -> None:
    pattern = SelfAttention(heads(0, offsets, 1), causal=True).patterns[0]
    assert Kept.empty(pattern, 3, 40).key.shape[:2] == (3, width)


def test_a_ring_keeps_the_last_positions() -> None:
    pattern = SelfAttention(heads(0, [-3, -1], 1), causal=True).patterns[0]
    kept = Kept.empty(pattern, 1, 99)
    numbers, starts = itertools.count(), torch.tensor([0])
    for count in (1, 5, 2, 1):
        value = torch.tensor([next(numbers) for _ in range(count)], dtype=torch.float64)
        block = Block(value.repeat(1, 3, 1).transpose(1, 2), value.repeat(1, 2, 1).transpose(1, 2))
        kept.store(block, Fresh.after(starts, torch.tensor([count]), count))
        starts = starts + count
        last = range(int(starts) - min(3, int(starts)), int(starts))
        assert [int(kept.value[0, p % 3, 0]) for p in last] == list(last)


def test_more_room_keeps_what_was_there() -> None:
    pattern = SelfAttention(heads(0, None, 1), causal=True).patterns[0]
    kept = Kept.empty(pattern, 2, 3)
    kept.key.normal_()
    wider = kept.widened(8)
    assert wider.key.shape[1] == wider.value.shape[1] == 8
    assert torch.equal(wider.key[:, :3], kept.key)
    assert not wider.key[:, 3:].any()
