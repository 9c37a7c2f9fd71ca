"""Layers as kernels: what they compute, when they are used, and what surrounds them."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from espalier.errors import ModelError
from espalier.nets.transformer import encode, layer_launches, layer_stack, model
from espalier.nets.transformer.biases import NEVER
from espalier.nets.transformer.layer_launches import CELLS, groups_of
from espalier.nets.transformer.layer_stack import (
    apart,
    circuits,
    fits,
    is_narrow,
    side_by_side,
    sub_layers,
)
from espalier.nets.transformer.model import TransformerShape, random_transformers
from nets.transformer.interpreting import interpret, needs_triton

COMPILING = Path(__file__).with_name("compiled_layers.py")
SHAPE = TransformerShape(
    9, 9, width=128, hidden=512, heads=8, head_width=128, layers=2, decoder=True
)


@needs_triton
def test_kernels_do_what_layers_do_one_by_one():
    interpret("interpreted_layers.py")


@needs_triton
def test_kernels_compile_for_a_device_that_need_not_be_there(tmp_path):
    """In a process of its own: the other one interprets."""
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, str(COMPILING)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def narrow(monkeypatch):
    """Whether kernels take a stream on a CUDA device that need not be there."""
    monkeypatch.setattr(layer_stack, "_copies_blocks", lambda device: True)

    def taken(shape, *, rows=5, positions=64, dtype=torch.bfloat16, device="cuda"):
        stream = torch.empty(4, rows, positions, shape.width, device=device)
        return is_narrow(shape, dtype, stream.device) and fits(stream)

    with FakeTensorMode():
        yield taken


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"head_width": 192},
        {"width": 64, "head_width": 64, "hidden": 64},
        {"layers": 256, "shared": True, "positions": "absolute"},
    ],
)
def test_kernels_take_narrow_streams(narrow, sizes):
    assert narrow(replace(SHAPE, **sizes))
    assert narrow(replace(SHAPE, **sizes), positions=1)


@pytest.mark.parametrize(
    ("why", "sizes", "given"),
    [
        ("a stream that is wider", {"width": 256, "head_width": 256}, {}),
        ("a stream that is narrower", {"width": 32}, {}),
        ("a stream of another width", {"width": 96}, {}),
        ("heads that are narrower than the stream", {"head_width": 64}, {}),
        ("hidden dimensions that the stream's do not divide", {"hidden": 192}, {}),
        ("many positions", {}, {"positions": 65}),
        ("many rows", {}, {"rows": 1 << 16}),
        ("long numbers", {}, {"dtype": torch.float32}),
        ("other short numbers", {}, {"dtype": torch.float16}),
        ("a CPU", {}, {"device": "cpu"}),
    ],
)
def test_and_nothing_else(narrow, why, sizes, given):
    assert not narrow(replace(SHAPE, **sizes), **given), why


@pytest.mark.parametrize(
    ("triton", "descriptors", "capability", "copies"),
    [
        (True, True, (9, 0), True),
        (True, True, (8, 9), False),
        (True, False, (9, 0), False),
        (False, True, (9, 0), False),
    ],
)
def test_kernels_need_what_copies_blocks(monkeypatch, triton, descriptors, capability, copies):
    """Hopper's devices do, and Triton with descriptors of tensors."""
    monkeypatch.setattr(layer_stack, "has_triton", lambda: triton)
    monkeypatch.setattr(layer_stack, "find_spec", lambda name: descriptors or None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    layer_stack._copies_blocks.cache_clear()
    assert is_narrow(SHAPE, torch.bfloat16, torch.device("cuda")) is copies
    layer_stack._copies_blocks.cache_clear()


def test_a_misspelt_way_is_refused(monkeypatch):
    monkeypatch.setattr(model, "LAYERS", "kernel")
    weights, tokens = random_transformers(SHAPE, [0]), torch.zeros(1, 2, 3, dtype=torch.long)
    with pytest.raises(ModelError, match="'kernel'; use 'kernels' or 'one by one'"):
        encode(weights, SHAPE, tokens, lengths=torch.full((1, 2), 3))


@given(st.integers(1, 500), st.integers(1, 64))
def test_groups_divide_parts_and_are_as_few_as_fill_a_device(rows, parts):
    groups = groups_of(rows, parts)
    assert parts % groups == 0
    fewer = [count for count in range(1, groups) if parts % count == 0]
    assert all(rows * count < layer_launches.PROGRAMS for count in fewer)
    assert rows * groups >= layer_launches.PROGRAMS or groups == parts


@st.composite
def sequences(draw):
    """Streams of any sizes that fit into a row, and lengths."""
    members, count, size = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 9)),
        draw(st.integers(1, 64)),
    )
    lengths = st.lists(st.integers(0, size), min_size=count, max_size=count)
    told = torch.tensor([draw(lengths) for _ in range(members)])
    stream = torch.arange(members * count * size * 3.0).view(members, count, size, 3) + 1
    return stream, torch.arange(size) < told.unsqueeze(-1)


@given(sequences())
def test_sequences_side_by_side_come_apart_as_they_were(given):
    stream, valid = given
    rows, mask = side_by_side(stream, valid)
    members, count, cells, _ = rows.shape
    assert cells <= CELLS < cells + stream.shape[2], "no other would fit"
    assert (count - 1) * (cells // stream.shape[2]) < stream.shape[1], "no row is empty"
    assert mask.shape == (members, count, cells, cells)
    assert torch.equal(apart(rows, stream), stream)


@given(sequences())
def test_positions_see_those_of_their_own_sequence(given):
    """Looked up sequence by sequence, position by position."""
    stream, valid = given
    members, count, size, _ = stream.shape
    _, mask = side_by_side(stream, valid)
    wanted = torch.full_like(mask, NEVER)
    beside = mask.shape[2] // size
    for member in range(members):
        for one in range(count):
            row, first = one // beside, one % beside * size
            for seen in valid[member, one].nonzero().flatten().tolist():
                wanted[member, row, first : first + size, first + seen] = 0
    assert torch.equal(mask, wanted)


def test_circuits_are_products_head_by_head():
    shape = replace(SHAPE, width=6, heads=3, head_width=7)
    weights = random_transformers(shape, [0, 1])
    for kind in ("encoder.self", "decoder.self", "decoder.cross"):
        qk, ov = circuits(weights, kind, shape.heads)
        assert qk.shape == ov.shape == (2, 2, 3, 6, 6)
        for member, layer, head in torch.cartesian_prod(*map(torch.arange, qk.shape[:3])).tolist():
            own = slice(7 * head, 7 * head + 7)
            query, key, value, output = (
                weights[f"{kind}.{part}"][member, layer]
                for part in ("query", "key", "value", "output")
            )
            at = member, layer, head
            torch.testing.assert_close(qk[at], query[:, own] @ key[:, own].T)
            torch.testing.assert_close(ov[at], value[:, own] @ output[own])


def test_sub_layers_are_in_the_order_of_a_layer():
    weights = random_transformers(replace(SHAPE, shared=True), [0])
    assert list(sub_layers(weights, "encoder", 8)) == ["self", "mlp"]
    found = sub_layers(weights, "decoder", 8)
    assert list(found) == ["self", "cross", "mlp"]
    for kind, (scale, *_) in found.items():
        assert scale is weights[f"decoder.{kind}.scale"]
    assert found["mlp"][1:] == (weights["decoder.mlp.inner"], weights["decoder.mlp.outer"])
