import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import transformer
from espalier.nets.compiled.attention import Pattern, SelfAttention, softmax_with_sink
from espalier.nets.compiled.weights import HeadWeights, Sparse
from random_heads import WIDTH, heads


@given(
    seed=st.integers(0, 10**6),
    offsets=st.none() | st.lists(st.integers(-6, 6), min_size=1, max_size=12, unique=True),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    count=st.integers(1, 3),
    causal=st.booleans(),
)
def test_attention_equals_the_textbook(seed, offsets, lengths, count, causal) -> None:
    made = heads(seed, offsets, count)
    width = max(lengths)
    z = torch.randn(len(lengths), width, WIDTH, dtype=torch.float64)
    valid = torch.arange(width) < torch.tensor(lengths)[:, None]
    after = SelfAttention(made, causal=causal)(z, valid)
    for row, length in enumerate(lengths):
        alone = z[row, :length]
        expected = alone + sum(transformer.attend(h, alone, causal=causal) for h in made)
        torch.testing.assert_close(after[row, :length], expected)


def test_the_banded_path_equals_the_full_one(monkeypatch) -> None:
    made = heads(3, [-2, 0, 1], 2)
    z, valid = torch.randn(2, 7, WIDTH, dtype=torch.float64), torch.ones(2, 7, dtype=torch.bool)
    near = SelfAttention(made)
    monkeypatch.setattr("espalier.nets.compiled.attention.FEW_OFFSETS", 0)
    full = SelfAttention(made)
    assert near.patterns[0].is_near
    assert not full.patterns[0].is_near
    torch.testing.assert_close(near(z, valid), full(z, valid))


def test_heads_that_share_a_pattern_share_its_softmax() -> None:
    assert len(SelfAttention(heads(0, None, 2)).patterns) == 1
    assert len(SelfAttention(heads(0, None, 3)).patterns) == 2


def test_a_pattern_nobody_writes_is_settled_once_and_gives_the_same() -> None:
    made = heads(1, None, 2)
    read = torch.cat([made[0].query.columns, made[0].key.columns]).unique()
    z, valid = torch.randn(2, 4, WIDTH, dtype=torch.float64), torch.ones(2, 4, dtype=torch.bool)
    settled = SelfAttention(made, written=torch.tensor([], dtype=torch.long))
    known = settled.settle(z, valid)
    assert known[0] is not None
    torch.testing.assert_close(settled(z, valid, known), SelfAttention(made)(z, valid))
    assert SelfAttention(made, written=read[:1]).settle(z, valid) == [None]
    assert SelfAttention(made).settle(z, valid) == [None]


@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    settles=st.booleans(),
)
def test_one_query_stands_for_all_where_they_are_the_same(seed, lengths, settles) -> None:
    made = heads(seed, None, 2)
    asked = made[0].query.columns.unique()
    z = torch.randn(len(lengths), max(lengths), WIDTH, dtype=torch.float64)
    z[..., asked] = z[0, 0, asked]
    valid = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    nothing = torch.tensor([], dtype=torch.long)
    fast = SelfAttention(made, nothing if settles else None, constant=asked)
    assert fast.patterns[0].is_uniform == (len(asked) > 0)
    known = fast.settle(z, valid)
    torch.testing.assert_close(fast(z, valid, known)[valid], SelfAttention(made)(z, valid)[valid])
    assert not SelfAttention(made, constant=asked, causal=True).patterns[0].is_uniform
    assert not SelfAttention(heads(seed, [0, 1], 2), constant=asked).patterns[0].is_uniform


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(-50, 50))
def test_weights_and_the_sinks_share_sum_to_one(logits, sink) -> None:
    row = torch.tensor(logits, dtype=torch.float64)
    everything = torch.softmax(torch.cat([row, torch.tensor([sink], dtype=torch.float64)]), 0)
    torch.testing.assert_close(softmax_with_sink(row, sink), everything[:-1])


def test_nothing_to_attend_to_gives_all_weight_to_the_sink() -> None:
    weights = softmax_with_sink(torch.full((3,), -torch.inf), 1.0)
    assert weights.tolist() == [0, 0, 0]


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float32])
def test_the_stream_keeps_its_type(narrow: torch.dtype) -> None:
    matrix = Sparse.of((1, WIDTH), [(0, 0, 1.0)], narrow)
    head = HeadWeights(matrix, matrix, matrix, Sparse.of((WIDTH, 1), [(3, 0, 1.0)], narrow), 0.5)
    pattern = Pattern([head], None)
    z = torch.ones(1, 3, WIDTH, dtype=narrow)
    assert pattern(z, torch.ones(1, 3, dtype=torch.bool)).dtype == narrow
