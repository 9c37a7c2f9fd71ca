"""Sub-layers of narrow Transformers as four Triton kernels: two forward and two back.

A program has a row of CELLS positions, whose stream of WIDTH dimensions stays on the chip within a
sub-layer, and a group of the sub-layer's parts: heads, or as many of an MLP's dimensions as the
stream has. What a group adds to the stream is left to the next kernel to put together. Heads are
given as circuits (Elhage et al. 2021): `qk` says how strongly one position attends to another, `ov`
what it then adds to it, both WIDTH x WIDTH, so that keys and values are the stream itself.

The backward pass recomputes attention. Gradients of matrices are products over all positions; they
are left to the caller, with their factors.

Matrices and biases are tensor descriptors, with members, own layers, parts and rows in their first
axis, one after the other; `place` is that of a member's layer. `whole` is the size of one stream;
`of_member` and `of_row` are how many biases there are for each, 0 where they are for all; those
that are LEARNED differ by head.
"""

import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-6)  # as in `norm`
# A kernel is not recompiled for these.
SIZES = ["rows", "layer", "own_layers", "of_member", "of_row"]


@triton.jit
def _cells(CELLS: tl.constexpr, WIDTH: tl.constexpr):
    """Where a row's numbers lie from its first."""
    return tl.arange(0, CELLS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]


@triton.jit
def _gathered(stream, added, at, whole, ADDED: tl.constexpr):
    """What was there, and what the groups of the sub-layer before added to it."""
    found = tl.load(stream + at)
    for group in tl.static_range(ADDED):
        found += tl.load(added + group * whole + at).to(tl.float32)
    return found


@triton.jit
def _normed(z, WIDTH: tl.constexpr):
    """The stream at a root mean square of 1, and what it was divided by."""
    inverse = tl.rsqrt(tl.sum(z * z, 1) / WIDTH + EPSILON)[:, None]
    return z * inverse, inverse


@triton.jit
def _entered(
    stream_out, read_out, stream, added, scale, at, whole, group,
    ADDED: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """What a sub-layer's matrices read of a row; the first group stores it, and the stream."""
    z = _gathered(stream, added, at, whole, ADDED)
    scales = tl.load(scale + tl.arange(0, WIDTH)).to(tl.float32)[None, :]
    x = (_normed(z, WIDTH)[0] * scales).to(scale.dtype.element_ty)
    if group == 0:
        tl.store(stream_out + at, z)
        tl.store(read_out + at, x)
    return x


@triton.jit
def _given_back(
    gradient_out, given_out, gradient, added, at, whole, group, ADDED: tl.constexpr
):  # fmt: skip
    """A row's gradient as matrices see it; the first group stores it."""
    onward = _gathered(gradient, added, at, whole, ADDED)
    given = onward.to(given_out.dtype.element_ty)
    if group == 0:
        tl.store(gradient_out + at, onward)
        tl.store(given_out + at, given)
    return given


@triton.jit
def _through_norm(
    parts_out, scale_out, gradient, stream, scale, at, whole, row, group, WIDTH: tl.constexpr
):  # fmt: skip
    """Leave gradients of the stream and the norm's scale, from that of what matrices read.

    What was normed is computed again: kept through a loop over parts, it would take registers.
    """
    normed, inverse = _normed(tl.load(stream + at), WIDTH)
    k = tl.arange(0, WIDTH)
    place = scale_out + (group * tl.num_programs(0) + row) * WIDTH
    tl.store(place + k, tl.sum(gradient * normed, 0))
    slope = gradient * tl.load(scale + k).to(tl.float32)[None, :]
    found = inverse * (slope - normed * (tl.sum(slope * normed, 1) / WIDTH)[:, None])
    tl.store(parts_out + group * whole + at, found.to(scale.dtype.element_ty))


@triton.jit
def _attention(query, keys, bias, logit_scale):
    """Attention weights of a head."""
    logits = tl.dot(query, keys.T) * logit_scale + bias.to(tl.float32)
    weights = tl.exp(logits - tl.max(logits, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def bend(x):
    """The tanh formula's GeLU, and its derivative."""
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tanh = 1 - 2 / (tl.exp(2 * inner) + 1)
    slope = 0.5 * x * (1 - tanh * tanh) * 0.7978845608028654 * (1 + 0.134145 * x * x)
    return 0.5 * x * (1 + tanh), 0.5 * (1 + tanh) + slope


@triton.jit(do_not_specialize=SIZES)
def attend(
    parts_out, stream_out, read_out, stream, added, asked, scale, qk, ov, biases,
    rows, layer, own_layers, whole, of_member, of_row, logit_scale,
    ADDED: tl.constexpr, ACROSS: tl.constexpr, LEARNED: tl.constexpr,
    HEADS: tl.constexpr, EACH: tl.constexpr, CELLS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """What a group of EACH heads adds to a row."""
    row, group = tl.program_id(0), tl.program_id(1)
    number: tl.constexpr = scale.dtype.element_ty
    member = row // rows
    place = member * own_layers + layer
    at = row * CELLS * WIDTH + _cells(CELLS, WIDTH)
    scale += place * WIDTH
    x = _entered(
        stream_out, read_out, stream, added, scale, at, whole, group, ADDED, WIDTH
    )  # fmt: skip
    keys = asked.load([row * CELLS, 0]) if ACROSS else x
    first_bias = (member * of_member + (row % rows) * of_row) * CELLS
    if not LEARNED:  # one for all heads
        bias = biases.load([first_bias, 0])
    first = group * EACH
    found = tl.zeros([CELLS, WIDTH], tl.float32)
    for head in tl.range(first, first + EACH):
        matrix = (place * HEADS + head) * WIDTH
        query = tl.dot(x, qk.load([matrix, 0])).to(number)
        if LEARNED:
            bias = biases.load([first_bias + head * CELLS, 0])
        weights = _attention(query, keys, bias, logit_scale)
        carried = tl.dot(weights.to(number), keys).to(number)
        found = tl.dot(carried, ov.load([matrix, 0]), found)
    tl.store(parts_out + group * whole + at, found.to(number))


@triton.jit(do_not_specialize=SIZES[:3])
def feed_forward(
    parts_out, stream_out, read_out, stream, added, scale, inner, outer,
    rows, layer, own_layers, whole,
    ADDED: tl.constexpr, BLOCKS: tl.constexpr, EACH: tl.constexpr,
    CELLS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """What a group of EACH blocks of an MLP's dimensions adds to a row."""
    row, group = tl.program_id(0), tl.program_id(1)
    number: tl.constexpr = scale.dtype.element_ty
    place = (row // rows) * own_layers + layer
    at = row * CELLS * WIDTH + _cells(CELLS, WIDTH)
    scale += place * WIDTH
    x = _entered(
        stream_out, read_out, stream, added, scale, at, whole, group, ADDED, WIDTH
    )  # fmt: skip
    first = group * EACH
    found = tl.zeros([CELLS, WIDTH], tl.float32)
    for block in tl.range(first, first + EACH):
        hidden = bend(tl.dot(x, inner.load([place * WIDTH, block * WIDTH])))[0]
        matrix = (place * BLOCKS + block) * WIDTH
        found = tl.dot(hidden.to(number), outer.load([matrix, 0]), found)
    tl.store(parts_out + group * whole + at, found.to(number))


@triton.jit(do_not_specialize=SIZES)
def attend_back(
    parts_out, gradient_out, given_out, scale_out, asked_out,
    carried_out, query_out, biases_out,
    gradient, added, stream, read, asked, scale, qk, ov, biases,
    rows, layer, own_layers, whole, of_member, of_row, logit_scale,
    ADDED: tl.constexpr, ACROSS: tl.constexpr, LEARNED: tl.constexpr,
    HEADS: tl.constexpr, EACH: tl.constexpr, CELLS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """What a group of EACH heads adds to a row's gradient, and factors of the matrices'."""
    row, group = tl.program_id(0), tl.program_id(1)
    number: tl.constexpr = scale.dtype.element_ty
    member = row // rows
    place = member * own_layers + layer
    at = row * CELLS * WIDTH + _cells(CELLS, WIDTH)
    x = read.load([row * CELLS, 0])
    given = _given_back(gradient_out, given_out, gradient, added, at, whole, group, ADDED)
    keys = asked.load([row * CELLS, 0]) if ACROSS else x
    first_bias = (member * of_member + (row % rows) * of_row) * CELLS
    if not LEARNED:  # one for all heads
        bias = biases.load([first_bias, 0])
    first = group * EACH
    to_read = tl.zeros([CELLS, WIDTH], tl.float32)
    to_keys = tl.zeros([CELLS, WIDTH], tl.float32)
    for head in tl.range(first, first + EACH):
        matrix = (place * HEADS + head) * WIDTH
        query = tl.dot(x, qk.load([matrix, 0])).to(number)
        if LEARNED:
            bias = biases.load([first_bias + head * CELLS, 0])
        weights = _attention(query, keys, bias, logit_scale)
        rounded = weights.to(number)
        carried_out.store([row * CELLS, head * WIDTH], tl.dot(rounded, keys).to(number))
        to_carried = tl.dot(given, ov.load([matrix, 0]).T).to(number)
        slope = tl.dot(to_carried, keys.T)
        slope = weights * (slope - tl.sum(weights * slope, 1)[:, None])
        if LEARNED:
            biases_out.store([(row * HEADS + head) * CELLS, 0], slope.to(number))
        logits = (slope * logit_scale).to(number)
        to_query = tl.dot(logits, keys).to(number)
        query_out.store([row * CELLS, head * WIDTH], to_query)
        if ACROSS:
            to_keys = tl.dot(rounded.T, to_carried, to_keys)
            to_keys = tl.dot(logits.T, query, to_keys)
        else:
            to_read = tl.dot(rounded.T, to_carried, to_read)
            to_read = tl.dot(logits.T, query, to_read)
        # Read again, not kept meanwhile: two programs share a processor's memory then.
        to_read = tl.dot(to_query, qk.load([matrix, 0]).T, to_read)
    if ACROSS:
        tl.store(asked_out + group * whole + at, to_keys.to(number))
    scale += place * WIDTH
    _through_norm(
        parts_out, scale_out, to_read, stream, scale, at, whole, row, group, WIDTH
    )  # fmt: skip


@triton.jit(do_not_specialize=SIZES[:3])
def feed_forward_back(
    parts_out, gradient_out, given_out, scale_out, hidden_out, inner_out,
    gradient, added, stream, read, scale, inner, outer,
    rows, layer, own_layers, whole,
    ADDED: tl.constexpr, BLOCKS: tl.constexpr, EACH: tl.constexpr,
    CELLS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """What a group of EACH blocks adds to a row's gradient, and factors of the matrices'."""
    row, group = tl.program_id(0), tl.program_id(1)
    number: tl.constexpr = scale.dtype.element_ty
    place = (row // rows) * own_layers + layer
    at = row * CELLS * WIDTH + _cells(CELLS, WIDTH)
    x = read.load([row * CELLS, 0])
    given = _given_back(gradient_out, given_out, gradient, added, at, whole, group, ADDED)
    first = group * EACH
    to_read = tl.zeros([CELLS, WIDTH], tl.float32)
    for block in tl.range(first, first + EACH):
        below = inner.load([place * WIDTH, block * WIDTH])
        hidden, slope = bend(tl.dot(x, below))
        hidden_out.store([row * CELLS, block * WIDTH], hidden.to(number))
        above = outer.load([(place * BLOCKS + block) * WIDTH, 0])
        to_inner = (tl.dot(given, above.T) * slope).to(number)
        inner_out.store([row * CELLS, block * WIDTH], to_inner)
        to_read = tl.dot(to_inner, below.T, to_read)
    scale += place * WIDTH
    _through_norm(
        parts_out, scale_out, to_read, stream, scale, at, whole, row, group, WIDTH
    )  # fmt: skip
