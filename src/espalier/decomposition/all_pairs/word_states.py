"""All pairs of words, one step a pair.

With focus {l} the state after word r - 1 is the same for every r > l, so that the relevant state of
every word alone is carried through the sentence. At step r each meets that step's word: what {l, r}
contributes beyond the sum of {l} and {r} is computed as such, from products that have it as a
factor (`gates`), and never as a difference of states, in which rounding would drown it.

In a layer above the first the interaction of the layer below enters as well: {l, r} hands up the
sum of what {l} and {r} do, and that. The past is the same for {l} and {l, r} in every layer.

Axes: l words so far, S sentences, H units, gates i f g in 3H.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.gates import PreparedLayer, Step
from espalier.decomposition.dependence import ratio

# Relevant parts are at most 3/2; the squares of small ones are to be numbers still.
ENLARGED = 2.0**40
# Columns of a triangular matrix that are taken together.
COLUMNS = 112

Hidden = Float[Tensor, "l S H"]


class WordStates:
    """The relevant hidden state and cell of every word alone, by layer.

    `shape` says how many words at most, of how many sentences, and how many words at a time.
    """

    def __init__(
        self,
        layers: Sequence[PreparedLayer],
        shape: tuple[int, int, int],
        *,
        decoders: Sequence[Float[Tensor, "H R"] | None],
    ) -> None:
        words, sentences, self._at_once = shape
        self._layers, self._decoders, self._count = layers, decoders, 0
        like, numbers = layers[0].from_hidden, sentences * self._at_once * layers[0].bias.numel()
        # (layer, hidden or cell, word, sentence, unit)
        self._states = like.new_empty(len(layers), 2, words, sentences, like.shape[0])
        self._gates, self._cells = (like.new_empty(8, numbers // n) for n in (1, 4))
        self._sums = like.new_empty(2, numbers)

    def step(self, now: Sequence[Step], *, carry: bool) -> list[Float[Tensor, "l S"]]:
        """DI of every word so far with this step's, in the space of each decoder.

        `now` holds this step of the sentences that have it, for each layer. With `carry` this
        step's word is carried on as well.
        """
        found = [
            self._some(now, slice(first, min(first + self._at_once, self._count)))
            for first in range(0, self._count, self._at_once)
        ]
        if carry:
            for states, step in zip(self._states, now, strict=True):
                going = len(step.own_cell)
                states[0, self._count, :going] = step.own_hidden
                states[1, self._count, :going] = step.own_cell
            self._count += 1
        empty = [now[0].own_cell.new_empty(0, len(now[0].own_cell)) for _ in self._decoders]
        return [torch.cat(parts) for parts in zip(*found, strict=True)] or empty

    def _some(self, now: Sequence[Step], words: slice) -> list[Float[Tensor, "l S"]]:
        """DI of some of the words with this step's; their states are moved on."""
        below: tuple[Hidden, Hidden] | None = None
        for number, step in enumerate(now):
            hidden, cell = self._states[number, :, words, : len(step.own_cell)]
            alone, together = self._through(number, step, (hidden, cell), below)
            hidden.copy_(alone)
            below = (alone, together) if number + 1 == len(now) else (alone, together.clone())
        assert below is not None
        joint = below[0].add_(now[-1].own_hidden).add_(below[1]).mul_(ENLARGED)
        apart = below[1].mul_(ENLARGED)
        return [
            ratio(lengths(apart, decoder), lengths(joint, decoder)) for decoder in self._decoders
        ]

    def _through(
        self,
        number: int,
        step: Step,
        state: tuple[Hidden, Hidden],
        below: tuple[Hidden, Hidden] | None,
    ) -> tuple[Hidden, Hidden]:
        """What {l} contributes to one layer's hidden state, and what {l, r} adds.

        The cell in `state` is moved on.

        With J for what {l, r} contributes to a gate beyond {l} and {r}, and K to the cell:

            c_l' = i_l (g_l + g_b) + i_b g_l + (f_l + f_b) c_l
            K    = i_l g_r + i_r g_l + J_i (g_l + g_r + g_b + J_g) + (i_l + i_r + i_b) J_g
                   + (f_r + J_f) c_l
        """
        layer, (hidden, cell) = self._layers[number], state
        a, extra = _product(hidden, layer.hidden_to_gates, self._sums[0]), None
        if below is not None:
            a += below[0] @ layer.input_to_gates
            extra = _product(below[1], layer.input_to_gates, self._sums[1])
        (i, f, g), (i_both, f_both, g_both) = (
            part.chunk(3, dim=-1) for part in step.gates.parts(a, extra, self._gates)
        )
        i_b, f_b, g_b = layer.bias_parts.chunk(3)
        i_r, f_r, g_r = step.gates.own.chunk(3, dim=-1)
        i_rb, _, g_rb = step.own_gates.chunk(3, dim=-1)  # with the biases
        together = self._sums[0, : cell.numel()].view_as(cell)
        torch.mul(f_both.add_(f_r), cell, out=together).addcmul_(i, g_r).addcmul_(g, i_r)
        cell.mul_(f.add_(f_b)).addcmul_(i, g).addcmul_(i, g_b).addcmul_(g, i_b)
        together.addcmul_(i.add_(i_rb), g_both)
        together.addcmul_(i_both, g_both.add_(g).add_(g_rb))
        return step.cell.parts(cell, together, self._cells)


def _product(
    vectors: Float[Tensor, "l S D"], weights: Float[Tensor, "D W"], out: Tensor
) -> Float[Tensor, "l S W"]:
    """The product of each vector with the weights, written into `out`."""
    words, sentences, width = vectors.shape
    found = out[: words * sentences * weights.shape[1]].view(-1, weights.shape[1])
    torch.mm(vectors.reshape(-1, width), weights, out=found)
    return found.view(words, sentences, -1)


def triangle(decoder: Float[Tensor, "V H"]) -> Float[Tensor, "H R"]:
    """A lower triangular matrix that makes vectors as long as the decoder does, up to a factor.

    With decoder = Q R, ||decoder x|| = ||R x||: no vector of the vocabulary's size is made.
    """
    root: Tensor = torch.linalg.qr(decoder, mode="r").R
    tiny = torch.finfo(root.dtype).tiny
    return (root / root.abs().max().clamp_min(tiny)).T.contiguous()


def lengths(
    vectors: Float[Tensor, "l S H"], decoder: Float[Tensor, "H R"] | None
) -> Float[Tensor, "l S"]:
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
