"""From tokens and positions to the first stream.

E members, B sequences, N (and M) positions, V words, L positions at most, D residual.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from espalier.errors import ModelError
from espalier.nets.transformer.biases import one_hot
from espalier.nets.transformer.sublayers import Stream, product, through


def embed(table: Float[Tensor, "E V D"], tokens: Int[Tensor, "E B N"]) -> Stream:
    """Rows of each member's table, in float32 as the whole stream is.

    A product, not a look-up: with few words its derivative would be many additions to one place.
    """
    return product(one_hot(tokens, table.shape[1], table.dtype), table).float()


def decoder_positions(
    table: Float[Tensor, "E L D"], tokens: Int[Tensor, "E B M"], parts: Int[Tensor, "B M"] | None
) -> Float[Tensor, "E b M D"]:
    """Embeddings of tokens' places within their own parts."""
    refuse_longer(tokens, table.shape[1])
    if parts is None:
        return table[:, None, : tokens.shape[2]].float()
    before = (parts.unsqueeze(2) == parts.unsqueeze(1)).tril(-1).sum(-1)
    return through(embed, table, before.expand_as(tokens))


def refuse_longer(tokens: Int[Tensor, "E B N"], longest: int) -> None:
    """Raise if there are no embeddings for so many positions."""
    if tokens.shape[2] > longest:
        raise ModelError(
            f"the input has {tokens.shape[2]} positions; this model has embeddings for {longest}"
        )
