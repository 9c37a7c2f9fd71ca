"""All pairs of words, one step a pair.

With focus {l} the state after word r - 1 is the same for every r > l, so that the relevant state of
every word alone is carried through the sentence. At step r each is continued twice from the same
product V h: as {l}, which goes on, and as {l, r}, which is compared and dropped. That holds in
every layer: what {l} and {l, r} hand up differs at step r alone, and the layers above have the same
past for both.

Axes: l words so far, S sentences, H units, gates i f g in 3H. A first axis of 2 is {l} and {l, r}.
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


class WordStates:
    """The relevant hidden state and cell of every word alone, by layer."""

    def __init__(
        self,
        layers: Sequence[PreparedLayer],
        *,
        sentences: int,
        decoders: Sequence[Float[Tensor, "H H"] | None],
    ) -> None:
        self._layers, self._decoders = layers, decoders
        like = layers[0].from_hidden
        none = like.new_zeros(0, sentences, like.shape[0])
        self._hidden, self._cell = [none for _ in layers], [none for _ in layers]
        only_forget = like.new_tensor([0.0, 1.0, 0.0]).repeat_interleave(like.shape[0])
        self._onto = [
            torch.stack([layer.bias_parts * only_forget, layer.bias_parts])[:, None, None]
            for layer in layers
        ]

    def step(self, now: Sequence[Step], *, carry: bool) -> list[Float[Tensor, "l S"]]:
        """DI of every word so far with this step's, in the space of each decoder.

        `now` holds this step of the sentences that have it, for each layer; those that ended are
        dropped. With `carry` this step's word is carried on as well.
        """
        both: Tensor | None = None
        for number, step in enumerate(now):
            both, cell = self._through(number, step, both)
            new = (step.own_hidden, step.own_cell) if carry else ()
            self._hidden[number] = torch.cat([both[0], *(x[None] for x in new[:1])])
            self._cell[number] = torch.cat([cell[0], *(x[None] for x in new[1:])])
        assert both is not None
        interaction = (both[1] - both[0]).sub_(now[-1].own_hidden).mul_(ENLARGED)
        joint = both[1] * ENLARGED
        return [
            ratio(lengths(interaction, decoder), lengths(joint, decoder))
            for decoder in self._decoders
        ]

    def _through(
        self, number: int, step: Step, below: Float[Tensor, "2 l S D"] | None
    ) -> tuple[Float[Tensor, "2 l S H"], Float[Tensor, "2 l S H"]]:
        """Hidden states and cells of both continuations in one layer.

        c_r' = i_r (g_r + g_b) + i_b g_r + (f_r + f_b) c_r + [r in focus] i_b g_b
        """
        layer, going = self._layers[number], len(step.own)
        hidden, cell = (some[number][:, :going] for some in (self._hidden, self._cell))
        a = hidden.new_empty(2, *hidden.shape[:2], len(layer.halved))
        torch.mm(hidden.flatten(0, 1), layer.hidden_to_gates, out=a[0].flatten(0, 1))
        if below is None:
            torch.add(a[0], step.own, out=a[1])
        else:
            a[1] = a[0]
            a += below @ layer.input_to_gates
        # i_r, f_r + f_b, g_r as {l}; i_r + i_b, f_r + f_b, g_r + g_b as {l, r}
        i, f, g = step.gate_contributions(layer, a, onto=self._onto[number]).chunk(3, dim=-1)
        i_b, _, g_b = layer.bias_parts.chunk(3)
        cells = (f * cell).addcmul_(i, g)
        cells[0].addcmul_(i[0], g_b).addcmul_(g[0], i_b)
        return step.hidden_contributions(cells), cells


def triangle(decoder: Float[Tensor, "V H"]) -> Float[Tensor, "H H"]:
    """A lower triangular matrix that makes vectors as long as the decoder does, up to a factor.

    With decoder = Q R, ||decoder x|| = ||R x||: no vector of the vocabulary's size is made.
    """
    root: Tensor = torch.linalg.qr(decoder, mode="r").R
    tiny = torch.finfo(root.dtype).tiny
    return (root / root.abs().max().clamp_min(tiny)).T.contiguous()


def lengths(
    vectors: Float[Tensor, "l S H"], decoder: Float[Tensor, "H H"] | None
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
