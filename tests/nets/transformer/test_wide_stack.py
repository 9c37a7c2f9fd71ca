"""Wide layers as kernels: what they compute, when they are used, and inputs end to end."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.nets.transformer import (
    Sizes,
    TransformerShape,
    ends,
    layer_stack,
    model,
    sublayers,
    trained_end_to_end,
    wide_stack,
)
from espalier.nets.transformer.end_to_end import EndToEnd
from nets.transformer.interpreting import interpret, needs_triton

SHAPE = TransformerShape(3, 2)  # the paper's on parity
SIZES = Sizes(members=5, inputs=64, longest=21, cells=1_088)
CUDA = torch.device("cuda")


@needs_triton
def test_kernels_do_what_layers_do_one_by_one():
    interpret("interpreted_wide.py")


@pytest.fixture
def on_a_device(monkeypatch):
    """A CUDA device that need not be there."""
    monkeypatch.setattr(wide_stack, "has_kernels", lambda capability: True)
    monkeypatch.setattr(layer_stack, "_copies_blocks", lambda device: True)


@pytest.mark.parametrize(
    ("changed", "sizes"),
    [
        ({}, {}),
        ({"layers": 40, "shared": True, "positions": "absolute"}, {"longest": 64}),
        ({"width": 128, "head_width": 64}, {}),
        ({"head_width": 16}, {"cells": 1}),
    ],
)
@pytest.mark.usefixtures("on_a_device")
def test_kernels_train_wide_encoders(changed, sizes):
    sizes = SIZES._replace(**sizes)
    assert trained_end_to_end(replace(SHAPE, **changed), sizes, torch.bfloat16, CUDA)


@pytest.mark.parametrize(
    ("why", "changed", "sizes"),
    [
        ("a narrow stream", {"width": 64, "head_width": 64}, {}),
        ("an odd head", {"head_width": 24}, {}),
        ("many positions", {}, {"longest": 65}),
        ("many numbers of an MLP", {"hidden": 1 << 20}, {}),
        ("many numbers of a stream", {"width": 1 << 20}, {}),
        ("many heads", {"heads": 1 << 14}, {}),
        ("many cells", {}, {"cells": 1 << 20}),
        ("many biases", {"heads": 64, "head_width": 16}, {"longest": 64, "inputs": 2_048}),
    ],
)
@pytest.mark.usefixtures("on_a_device")
def test_and_no_others(why, changed, sizes):
    shape, sizes = replace(SHAPE, **changed), SIZES._replace(**sizes)
    assert not trained_end_to_end(shape, sizes, torch.bfloat16, CUDA), why


@pytest.mark.usefixtures("on_a_device")
def test_nor_elsewhere_in_other_types_or_where_they_are_switched_off(monkeypatch):
    assert not trained_end_to_end(SHAPE, SIZES, torch.bfloat16, torch.device("cpu"))
    assert not trained_end_to_end(SHAPE, SIZES, torch.float32, CUDA)
    monkeypatch.setattr(wide_stack, "has_kernels", lambda capability: False)
    assert not trained_end_to_end(SHAPE, SIZES, torch.bfloat16, CUDA)
    monkeypatch.setattr(wide_stack, "has_kernels", lambda capability: True)
    monkeypatch.setattr(sublayers, "ATTENTION", "torch")
    assert not trained_end_to_end(SHAPE, SIZES, torch.bfloat16, CUDA)
    monkeypatch.setattr(sublayers, "ATTENTION", "kernels")
    monkeypatch.setattr(model, "LAYERS", "one by one")
    assert not trained_end_to_end(SHAPE, SIZES, torch.bfloat16, CUDA)


def test_reading_goes_input_by_input(monkeypatch):
    monkeypatch.setattr(ends, "trained_end_to_end", lambda *asked: pytest.fail("no gradients here"))
    weights = model.random_transformers(replace(SHAPE, width=8, hidden=8, layers=1), [0])
    tokens, lengths = torch.tensor([[[2, 1, 0], [2, 0, 0]]]), torch.tensor([[2, 1]])
    shape = replace(SHAPE, width=8, hidden=8, layers=1)
    with torch.no_grad():
        both = ends.encode_ends(weights, shape, tokens, lengths=lengths)
        first = ends.encode_ends(weights, shape, tokens[:, :1, :2], lengths=lengths[:, :1])
    torch.testing.assert_close(both[:, :1], first)


@given(
    st.integers(1, 3).flatmap(
        lambda inputs: st.lists(
            st.lists(st.integers(1, 5), min_size=inputs, max_size=inputs), min_size=1, max_size=3
        )
    ),
    st.integers(-6, 4),
)
def test_inputs_lie_end_to_end_and_are_cut_where_there_is_no_more_room(lengths, spare):
    lengths = torch.tensor(lengths)
    members, inputs = lengths.shape
    cells = max(1, int(lengths.sum(1).max()) + spare)
    tokens = torch.arange(1, members * inputs * 5 + 1).view(members, inputs, 5)
    found = EndToEnd.of(tokens, lengths, cells)
    for member in range(members):
        whole = [
            (int(token), place)
            for one, length in zip(tokens[member], lengths[member], strict=True)
            for place, token in enumerate(one[:length])
        ]
        filled = (whole + [(0, 0)] * cells)[:cells]
        laid = zip(found.tokens[member].tolist(), found.places[member].tolist(), strict=True)
        assert list(laid) == filled
    assert bool((found.starts + found.lengths <= cells).all())
    stream = torch.randn(members, cells, 2)
    if spare >= 0:
        assert found.lengths.tolist() == lengths.tolist()
        expected = [
            [stream[member, int(lengths[member, : one + 1].sum()) - 1] for one in range(inputs)]
            for member in range(members)
        ]
        expected = torch.stack([torch.stack(rows) for rows in expected])
        torch.testing.assert_close(found.last(stream), expected, rtol=0, atol=0)
    else:
        assert found.last(stream).shape == (members, inputs, 2)
