"""A model's weights as products use them, and what its words bring into the first layer.

Axes: D input width, H units, gates i f g in 3H, and o in 4H; N steps, S sentences, V words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.nets.lstm import LanguageModel, LSTMLayer


@dataclass(frozen=True)
class PreparedLayer:
    """A layer's weights as products use them; those of the gates i f g as tanh takes them."""

    from_input: Float[Tensor, "D four_H"]
    from_hidden: Float[Tensor, "H four_H"]
    bias: Float[Tensor, " four_H"]
    input_to_gates: Float[Tensor, "_ three_H"]
    hidden_to_gates: Float[Tensor, "H three_H"]
    gate_bias: Float[Tensor, " three_H"]  # C
    bias_parts: Float[Tensor, " three_H"]  # i_b f_b g_b
    forget_bias: Float[Tensor, " three_H"]  # 0 f_b 0
    bias_product: Float[Tensor, " H"]  # i_b g_b

    @classmethod
    def of(cls, layer: LSTMLayer, *, first: bool) -> PreparedLayer:
        """Computed once per model; the first layer has no layer below."""
        width = 3 * layer.from_hidden.shape[-1]
        scale = halved(layer.bias, width)
        from_input, from_hidden = layer.from_input.T, layer.from_hidden.T
        above = from_input[:0] if first else from_input
        gate_bias = layer.bias[:width] * scale
        bias_parts = torch.tanh(gate_bias) * scale + (1 - scale)
        forget_bias = torch.zeros_like(bias_parts)
        i_b, f_b, g_b = bias_parts.chunk(3)
        forget_bias.chunk(3)[1].copy_(f_b)
        return cls(
            from_input=from_input,
            from_hidden=from_hidden,
            bias=layer.bias,
            input_to_gates=_scaled(above[:, :width], scale),
            hidden_to_gates=_scaled(from_hidden[:, :width], scale),
            gate_bias=gate_bias,
            bias_parts=bias_parts,
            forget_bias=forget_bias,
            bias_product=i_b * g_b,
        )


def halved(like: Tensor, width: int) -> Float[Tensor, " three_H"]:
    """What enters gates i f g is scaled by: 1/2 for i and f, 1 for g."""
    scale = like.new_full((width,), 0.5)
    scale[width // 3 * 2 :] = 1
    return scale


def _scaled(weights: Float[Tensor, "D W"], scale: Float[Tensor, " W"]) -> Tensor:
    """Columns scaled, and rows in memory one after the other: faster where vectors are few."""
    return torch.mul(weights, scale, out=weights.new_empty(weights.shape))


class WordInputs:
    """Input weights times input, once for each word that occurs, however often it does."""

    def __init__(self, model: LanguageModel, first: PreparedLayer) -> None:
        self._embedding, self._weights = model.encoder.weight, first.from_input
        self._all: Float[Tensor, "V four_H"] | None = None

    @torch.no_grad()
    def tabulate(self, memory: int) -> None:
        """Cache those of the whole vocabulary, if they fit into so many bytes."""
        size = len(self._embedding) * self._weights.shape[1] * self._embedding.element_size()
        if self._all is None and size <= memory:
            self._all = self._embedding @ self._weights

    def of(self, tokens: Int[Tensor, "N S"]) -> Float[Tensor, "N S four_H"]:
        """What each word brings into the first layer's gates."""
        tokens = tokens.to(self._embedding.device)
        if self._all is not None:
            return self._all[tokens]
        kinds, places = torch.unique(tokens, return_inverse=True)
        return (self._embedding[kinds] @ self._weights)[places]
