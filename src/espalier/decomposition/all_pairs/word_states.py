"""All pairs of words, one step a pair.

With focus {l} the state after word r - 1 is the same for every r > l, so that the relevant state of
every word alone is carried through the sentence. At step r each meets that step's word: what {l, r}
contributes beyond the sum of {l} and {r} is computed as such, from products that have it as a
factor (`gates`), and never as a difference of states, in which rounding would drown it.

In a layer above the first the interaction of the layer below enters as well: {l, r} hands up the
sum of what {l} and {r} do, and that. The past is the same for {l} and {l, r} in every layer. So
only {l} goes from step to step; what is added is computed for several steps at once.

Axes: K steps, l words so far, S sentences, H units, gates i f g in 3H.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.gates import PreparedLayer, Step
from espalier.decomposition.dependence import ratio

# Relevant parts are at most 3/2; the squares of small ones are to be numbers still.
ENLARGED = 2.0**40
# Steps that are taken together at most: what is asked of torch for each such window takes as long
# as a word or two, and rows of no use grow with its square.
STEPS = 13
# Columns of a triangular matrix that are taken together.
COLUMNS = 112

Hidden = Float[Tensor, "K l S H"]


class WordStates:
    """The relevant hidden state and cell of every word alone, by layer.

    `shape` says how many words at most, of how many sentences, and how many rows may be taken
    together: a row for each step, word and sentence.
    """

    def __init__(
        self,
        layers: Sequence[PreparedLayer],
        shape: tuple[int, int, int],
        *,
        decoders: Sequence[Float[Tensor, "H R"] | None],
    ) -> None:
        words, self._sentences, rows = shape
        self._rows = min(rows, STEPS * words * self._sentences)
        self._layers, self._decoders, self._count = layers, decoders, 0
        like, units = layers[0].from_hidden, layers[0].from_hidden.shape[0]
        # (layer, hidden or cell, word, sentence, unit)
        self._states = like.new_empty(len(layers), 2, words, self._sentences, units)
        self._gates = like.new_empty(10, self._rows * 3 * units)
        self._cells = like.new_empty(11, self._rows * units)

    def together(self, most: int, *, carry: bool) -> int:
        """How many steps are to be taken together: few rows are slower than rows of no use."""
        fits = (n for n in range(STEPS, 1, -1) if self._held(n, carry) <= self._rows)
        windows = -(-most // next(fits, 1))
        return -(-most // windows)

    def _held(self, steps: int, carry: bool) -> int:
        return steps * (self._count + (steps - 1) * carry) * self._sentences

    def advance(self, now: Sequence[Step], *, carry: bool) -> list[Float[Tensor, "K l S"]]:
        """DI of every word so far with that of each of some steps, in the space of each decoder.

        `now` holds the steps of the sentences that have them, for each layer. With `carry` the
        words of these steps are carried on as well: step k has k words more before it.
        """
        steps, _, going, _ = now[0].own_cell.shape
        before = self._count + (steps - 1) * carry
        at_once = max(1, self._rows // (steps * self._sentences))
        if carry:  # a word is not looked at before its own step
            for states, layer in zip(self._states, now, strict=True):
                states[0, self._count : self._count + steps, :going] = layer.own_hidden[:, 0]
                states[1, self._count : self._count + steps, :going] = layer.own_cell[:, 0]
        parts = [
            self._some(now, slice(first, min(first + at_once, before)), carry)
            for first in range(0, before, at_once)
        ]
        self._count += steps * carry
        empty = [now[0].own_cell.new_empty(steps, 0, going) for _ in self._decoders]
        return [torch.cat(found, dim=1) for found in zip(*parts, strict=True)] or empty

    def _some(self, now: Sequence[Step], words: slice, carry: bool) -> list[Float[Tensor, "K l S"]]:
        """DI of some of the words with those of all steps; their states are moved on."""
        below: tuple[Hidden, Hidden] | None = None
        for number, layer in enumerate(now):
            below = self._through(number, layer, words, below, carry)
            if number + 1 < len(now):
                below = below[0].clone(), below[1].clone()
        assert below is not None
        joint = below[0].add_(now[-1].own_hidden).add_(below[1]).mul_(ENLARGED)
        apart = below[1].mul_(ENLARGED)
        return [
            ratio(lengths(apart, decoder), lengths(joint, decoder)) for decoder in self._decoders
        ]

    def _through(
        self,
        number: int,
        layer: Step,
        words: slice,
        below: tuple[Hidden, Hidden] | None,
        carry: bool,
    ) -> tuple[Hidden, Hidden]:
        """What {l} contributes to one layer's hidden state, and what {l, r} adds, at every step.

        With J for what {l, r} contributes to a gate beyond {l} and {r}, and K to the cell:

            c_l' = i_l (g_l + g_b) + i_b g_l + (f_l + f_b) c_l
            K    = i_l g_r + i_r g_l + J_i (g_l + g_r + g_b + J_g) + (i_l + i_r + i_b) J_g
                   + (f_r + J_f) c_l
        """
        weights = self._layers[number]
        steps, _, going, units = layer.own_cell.shape
        shape = (steps, words.stop - words.start, going)
        gates, (a, extra) = _views(self._gates, (*shape, 3 * units))
        cells, (old, new, interaction) = _views(self._cells, (*shape, units))
        if below is not None:
            _product(below[0], weights.input_to_gates, a)
            _product(below[1], weights.input_to_gates, extra)
        i_b, f_b, g_b = weights.bias_parts.chunk(3)
        for step in range(steps):
            here = slice(words.start, min(words.stop, self._count + step * carry))
            if size := here.stop - here.start:
                hidden, cell = self._states[number, :, here, :going]
                entering = a[step, :size]
                _product(hidden, weights.hidden_to_gates, entering, add=below is not None)
                old[step, :size] = cell
                own = gates[:4, step, :size].unbind(0)
                i, f, g = layer.gates.alone(step, entering, own).chunk(3, dim=-1)
                cell.mul_(f + f_b).addcmul_(i, g).addcmul_(i, g_b).addcmul_(g, i_b)
                new[step, :size] = cell
                own = cells[:4, step, :size].unbind(0)
                hidden.copy_(layer.cell.alone(step, cell, own))
        (i, f, g), (i_r, f_r, g_r), (i_rb, _, g_rb) = (
            part.chunk(3, dim=-1) for part in (gates[1], layer.gates.own, layer.own_gates)
        )
        both = layer.gates.together(a, None if below is None else extra, gates)
        i_both, f_both, g_both = both.chunk(3, dim=-1)
        torch.mul(f_both.add_(f_r), old, out=interaction).addcmul_(i, g_r).addcmul_(g, i_r)
        interaction.addcmul_(i.add_(i_rb), g_both)
        interaction.addcmul_(i_both, g_both.add_(g).add_(g_rb))
        return cells[1], layer.cell.together(new, interaction, cells)


def _views(spare: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The first eight rows of numbers in a shape, and the others."""
    found = spare[:, : prod(shape)].unflatten(1, shape)
    return found[:8], found[8:].unbind(0)


def _product(vectors: Tensor, weights: Tensor, out: Tensor, *, add: bool = False) -> None:
    """The product of each vector with the weights, written or added into `out`."""
    flat, into = vectors.reshape(-1, len(weights)), out.view(-1, weights.shape[1])
    if add:
        into.addmm_(flat, weights)
    else:
        torch.mm(flat, weights, out=into)


def triangle(decoder: Float[Tensor, "V H"]) -> Float[Tensor, "H R"]:
    """A lower triangular matrix that makes vectors as long as the decoder does, up to a factor.

    With decoder = Q R, ||decoder x|| = ||R x||: no vector of the vocabulary's size is made.
    """
    root: Tensor = torch.linalg.qr(decoder, mode="r").R
    tiny = torch.finfo(root.dtype).tiny
    return (root / root.abs().max().clamp_min(tiny)).T.contiguous()


def lengths(
    vectors: Float[Tensor, "*R H"], decoder: Float[Tensor, "H R"] | None
) -> Float[Tensor, "*R"]:
    """The length of each vector, or of its product with a triangular matrix.

    In blocks of columns, each of which leaves out the rows above it: two fifths of the arithmetic.
    """
    if decoder is None:
        found: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
        return found
    squares = vectors.new_zeros(vectors.shape[:-1])
    for start in range(0, len(decoder), COLUMNS):
        block = decoder[start:, start : start + COLUMNS]
        squares += (vectors[..., start:] @ block).square_().sum(dim=-1)
    return squares.sqrt_()
