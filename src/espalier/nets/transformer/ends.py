"""What an encoder makes of whole inputs: its stream at their last positions.

E members, B inputs, N positions of the longest, D residual.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.nets.transformer import model, sublayers
from espalier.nets.transformer.biases import relative_bias
from espalier.nets.transformer.embedding import embed, refuse_longer
from espalier.nets.transformer.end_to_end import EndToEnd
from espalier.nets.transformer.layer_stack import is_narrow
from espalier.nets.transformer.model import TransformerShape, Weights, encode
from espalier.nets.transformer.sublayers import norm, through
from espalier.nets.transformer.wide_stack import EncoderWeights, Sizes, is_wide, run_wide


def encode_ends(
    weights: Weights,
    shape: TransformerShape,
    tokens: Int[Tensor, "E B N"],
    *,
    lengths: Int[Tensor, "E B"],
    cells: int | None = None,
) -> Float[Tensor, "E B D"]:
    """What the encoder made of every input, at its last position.

    Where `trained_end_to_end`, inputs are, in that many cells for each member: as many as any
    member's inputs have positions, or more.
    """
    dtype = weights["embedding"].dtype
    members, inputs, longest = tokens.shape
    sizes = Sizes(members, inputs, longest, cells or inputs * longest)
    if torch.is_grad_enabled() and trained_end_to_end(shape, sizes, dtype, tokens.device):
        return _trained(weights, shape, tokens, lengths, sizes)
    stream = encode(weights, shape, tokens, lengths=lengths).stream
    last = (lengths - 1)[..., None, None].expand(-1, -1, 1, stream.shape[-1])
    return stream.gather(2, last).squeeze(2)


def trained_end_to_end(
    shape: TransformerShape, sizes: Sizes, dtype: torch.dtype, device: torch.device
) -> bool:
    """Whether such encoders are trained on inputs end to end, by kernels for wide ones."""
    if model.one_by_one() or sublayers.ATTENTION != "kernels":
        return False
    return not is_narrow(shape, dtype, device) and is_wide(shape, sizes, dtype, device)


def _trained(
    weights: Weights,
    shape: TransformerShape,
    tokens: Int[Tensor, "E B N"],
    lengths: Int[Tensor, "E B"],
    sizes: Sizes,
) -> Float[Tensor, "E B D"]:
    rows = EndToEnd.of(tokens, lengths, sizes.cells)
    z = through(embed, weights["embedding"], rows.tokens.unsqueeze(1)).squeeze(1)
    relative = None
    if shape.positions == "absolute":
        refuse_longer(tokens, shape.longest)
        z = z + through(embed, weights["position"], rows.places.unsqueeze(1)).squeeze(1)
    else:
        relative = through(relative_bias, weights["encoder.relative"], sizes.longest, True)[:, 0]
    z = run_wide(
        z,
        EncoderWeights.of(weights),
        rows,
        layers=shape.layers,
        heads=shape.heads,
        longest=sizes.longest,
        relative=relative,
    )
    last = rows.last(z).unsqueeze(2)
    return through(norm, last, weights["encoder.final_scale"]).squeeze(2)
