"""Attention among a few dozen positions as two Triton kernels: a program for every head of a row.

All that a head sees of a row fits into one program: queries and keys are read once, attention
weights never leave it, and the backward pass recomputes them.

N positions ask and M are asked, WIDTH numbers to a head; ASKS and SEEN are powers of two that hold
them. `own` and `other` are how many numbers a position has in `asking` and `asked`, keys and values
the last of them. `of_member` to `of_asking` are how far biases lie apart, 0 where one is for all.

Where rows are RAGGED they lie end to end: `starts` and `lengths` say where each begins and how many
positions it has, up to N, which ask each other.
"""

import triton
import triton.language as tl

# A kernel is not recompiled for these: inference has many lengths.
SIZES = ["batch", "N", "M", "of_member", "of_row", "of_head", "of_asking"]


@triton.jit
def _placed(starts, lengths, row, N, M, RAGGED: tl.constexpr):
    """Where a row's positions begin, those that ask and those asked, and how many there are."""
    if RAGGED:
        first = tl.load(starts + row)
        first_asked, asks = first, tl.load(lengths + row)
        sees = asks
    else:
        first, first_asked, asks, sees = row * N, row * M, N, M
    return first, first_asked, asks, sees


@triton.jit
def _read(
    asking, asked, bias, first, first_asked, asks, sees, head, bias_step, heads, own, other, scale,
    ASKS: tl.constexpr, SEEN: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Queries, keys, values, and attention weights."""
    n, m, k = tl.arange(0, ASKS)[:, None], tl.arange(0, SEEN), tl.arange(0, WIDTH)[None, :]
    query = tl.load(asking + (first + n) * own + head * WIDTH + k, mask=n < asks, other=0.0)
    last = asked + (first_asked + m[:, None] + 1) * other + head * WIDTH + k
    key = tl.load(last - 2 * heads * WIDTH, mask=m[:, None] < sees, other=0.0)
    value = tl.load(last - heads * WIDTH, mask=m[:, None] < sees, other=0.0)
    there = m[None, :] < sees
    added = tl.load(bias + n * bias_step + m[None, :], mask=(n < asks) & there, other=0.0)
    logits = tl.dot(query, tl.trans(key), input_precision="ieee") * scale + added
    logits = tl.where(there, logits, float("-inf"))
    weights = tl.exp(logits - tl.max(logits, 1)[:, None])
    return query, key, value, weights / tl.sum(weights, 1)[:, None]


@triton.jit(do_not_specialize=SIZES)
def forward(
    carried, asking, asked, bias, starts, lengths, batch, heads, N, M, own, other, scale,
    of_member, of_row, of_head, of_asking,
    RAGGED: tl.constexpr, ASKS: tl.constexpr, SEEN: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """What each head carries to the positions that ask."""
    row, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    bias += (row // batch) * of_member + (row % batch) * of_row + head * of_head
    first, first_asked, asks, sees = _placed(starts, lengths, row, N, M, RAGGED)
    _, _, value, weights = _read(
        asking, asked, bias, first, first_asked, asks, sees, head, of_asking, heads, own, other,
        scale, ASKS, SEEN, WIDTH,
    )  # fmt: skip
    found = tl.dot(weights.to(value.dtype), value, input_precision="ieee")
    n, k = tl.arange(0, ASKS)[:, None], tl.arange(0, WIDTH)[None, :]
    at = carried + ((first + n) * heads + head) * WIDTH + k
    tl.store(at, found.to(carried.dtype.element_ty), mask=n < asks)


@triton.jit(do_not_specialize=SIZES)
def backward(
    gradient, to_asking, to_asked, to_bias, asking, asked, bias, starts, lengths,
    batch, heads, N, M, own, other, scale,
    of_member, of_row, of_head, of_asking,
    LEARNED: tl.constexpr, ADDED: tl.constexpr, RAGGED: tl.constexpr,
    ASKS: tl.constexpr, SEEN: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Gradients of what was read, from that of what was carried.

    Those of LEARNED biases are stored, or ADDED to what is there.
    """
    row, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    bias += (row // batch) * of_member + (row % batch) * of_row + head * of_head
    first, first_asked, asks, sees = _placed(starts, lengths, row, N, M, RAGGED)
    query, key, value, weights = _read(
        asking, asked, bias, first, first_asked, asks, sees, head, of_asking, heads, own, other,
        scale, ASKS, SEEN, WIDTH,
    )  # fmt: skip
    n, m, k = tl.arange(0, ASKS)[:, None], tl.arange(0, SEEN), tl.arange(0, WIDTH)[None, :]
    at = gradient + ((first + n) * heads + head) * WIDTH + k
    carried = tl.load(at, mask=n < asks, other=0.0)
    last = to_asked + (first_asked + m[:, None] + 1) * other + head * WIDTH + k
    there = m[:, None] < sees
    found = tl.dot(tl.trans(weights.to(value.dtype)), carried, input_precision="ieee")
    tl.store(last - heads * WIDTH, found.to(to_asked.dtype.element_ty), mask=there)
    found = tl.dot(carried, tl.trans(value), input_precision="ieee")
    logits = weights * (found - tl.sum(weights * found, 1)[:, None])
    if LEARNED:
        at = to_bias + (tl.program_id(0) * N + n) * M + m[None, :]
        own_biases = (n < asks) & (m[None, :] < sees)
        slope = logits
        if ADDED:
            slope += tl.load(at, mask=own_biases, other=0.0)
        tl.store(at, slope, mask=own_biases)
    logits = (logits * scale).to(query.dtype)
    found = tl.dot(logits, key, input_precision="ieee")
    at = to_asking + (first + n) * own + head * WIDTH + k
    tl.store(at, found.to(to_asking.dtype.element_ty), mask=n < asks)
    found = tl.dot(tl.trans(logits), query, input_precision="ieee")
    tl.store(last - 2 * heads * WIDTH, found.to(to_asked.dtype.element_ty), mask=there)
