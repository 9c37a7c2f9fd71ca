"""What surrounds the products of a wide Transformer's sub-layers, as four Triton kernels.

Each reads and writes the stream once: adding a sub-layer's output and the next one's norm are one
kernel, as are the norm's gradient, its sum with the stream's, and the latter's in the type of
products. A program has EACH cells at a time, CELLS of them in all in the backward pass; BLOCK is a
power of two that holds the stream's WIDTH dimensions.
"""

import triton
import triton.language as tl

from espalier.nets.transformer.layer_kernels import EPSILON, bend

# A kernel is not recompiled for these.
SIZES = ["cells", "of_member"]


@triton.jit
def _places(first, cells, EACH: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Where a member's cells lie from the first one on, and which of these there are."""
    cell, k = first + tl.arange(0, EACH)[:, None], tl.arange(0, BLOCK)[None, :]
    at = (tl.program_id(1) * cells + cell) * WIDTH + k
    return at, (cell < cells) & (k < WIDTH)


@triton.jit
def _scales(scale, of_member, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    found = tl.load(scale + tl.program_id(1) * of_member + k, mask=k < WIDTH, other=0.0)
    return found.to(tl.float32)[None, :]


@triton.jit(do_not_specialize=SIZES)
def enter(
    stream_out, read_out, stream, added, scale, cells, of_member,
    ADDED: tl.constexpr, EACH: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """What a sub-layer reads, and the stream with what the one before added."""
    at, there = _places(tl.program_id(0) * EACH, cells, EACH, WIDTH, BLOCK)
    z = tl.load(stream + at, mask=there, other=0.0)
    if ADDED:
        z += tl.load(added + at, mask=there, other=0.0).to(tl.float32)
        tl.store(stream_out + at, z, mask=there)
    inverse = tl.rsqrt(tl.sum(z * z, 1) / WIDTH + EPSILON)[:, None]
    found = z * inverse * _scales(scale, of_member, WIDTH, BLOCK)
    tl.store(read_out + at, found.to(read_out.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=SIZES)
def leave(
    gradient, given_out, scale_out, to_read, stream, scale, cells, of_member,
    CELLS: tl.constexpr, EACH: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add to the stream's gradient what comes through the norm; and leave the norm's own."""
    scales = _scales(scale, of_member, WIDTH, BLOCK)
    own = tl.zeros([EACH, BLOCK], tl.float32)
    start = tl.program_id(0) * CELLS
    for first in tl.range(start, start + CELLS, EACH):
        at, there = _places(first, cells, EACH, WIDTH, BLOCK)
        z = tl.load(stream + at, mask=there, other=0.0)
        slope = tl.load(to_read + at, mask=there, other=0.0).to(tl.float32)
        inverse = tl.rsqrt(tl.sum(z * z, 1) / WIDTH + EPSILON)[:, None]
        normed = z * inverse
        own += slope * normed
        slope *= scales
        found = inverse * (slope - normed * (tl.sum(slope * normed, 1) / WIDTH)[:, None])
        onward = found + tl.load(gradient + at, mask=there, other=0.0)
        tl.store(gradient + at, onward, mask=there)
        tl.store(given_out + at, onward.to(given_out.dtype.element_ty), mask=there)
    k = tl.arange(0, BLOCK)
    place = scale_out + (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)) * WIDTH
    tl.store(place + k, tl.sum(own, 0), mask=k < WIDTH)


@triton.jit
def gelu(out, entered, numbers, BLOCK: tl.constexpr):
    """GeLU by its tanh formula."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = bend(tl.load(entered + at, mask=at < numbers, other=0.0).to(tl.float32))[0]
    tl.store(out + at, found.to(out.dtype.element_ty), mask=at < numbers)


@triton.jit
def gelu_back(gradient, entered, numbers, BLOCK: tl.constexpr):
    """The gradient of what entered, in place of that of what came out."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slope = bend(tl.load(entered + at, mask=at < numbers, other=0.0).to(tl.float32))[1]
    found = slope * tl.load(gradient + at, mask=at < numbers, other=0.0).to(tl.float32)
    tl.store(gradient + at, found.to(gradient.dtype.element_ty), mask=at < numbers)
