"""How words mix in a Transformer, layer by layer: the share of each word at each position.

A mixing says what each position takes from each other in one sub-layer of attention, itself
included; rows sum to 1. What sub-layers without attention do stays at its position.

Axes: N positions, h heads, D width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.errors import ModelError
from espalier.networks import Attention, Network, Sublayer, Transformer, plain

Mixing = Callable[[Tensor, Sublayer, tuple[Attention, ...]], Float[Tensor, "N N"]]


def roll_out(net: Network, inputs: Float[Tensor, "N D"], mixing: Mixing) -> Float[Tensor, "N N"]:
    """The product of all mixings: at [p, w] the share of word w in the state at p."""
    if not isinstance(net.body, Transformer):
        raise ModelError(f"{net.name} has no attention to roll out; use another method")
    x = inputs[None]
    found = torch.eye(len(inputs), dtype=x.dtype, device=x.device)
    for layer in net.body.layers:
        for sublayer in layer:
            if isinstance(sublayer.body, tuple):
                found = mixing(x, sublayer, sublayer.body) @ found
            x = plain.through_sublayer(x, sublayer)
    return found


def mean_patterns(
    x: Float[Tensor, "1 N D"], sublayer: Sublayer, heads: tuple[Attention, ...]
) -> Tensor:
    """The mean of all heads' patterns and the residual (Abnar and Zuidema 2020)."""
    seen = x if sublayer.before is None else plain.normed(x, sublayer.before)
    patterns = [plain.pattern(*plain.project(seen, one)[:2], one)[0].mean(dim=0) for one in heads]
    mean = torch.stack(patterns).mean(dim=0)
    mixed = (mean + torch.eye(len(mean), dtype=mean.dtype, device=mean.device)) / 2
    return mixed / mixed.sum(dim=-1, keepdim=True)


def nearness(x: Float[Tensor, "1 N D"], sublayer: Sublayer, heads: tuple[Attention, ...]) -> Tensor:
    """max(0, |y|₁ - |y - T(w)|₁), normalised: how near T(w) comes to y (Ferrando et al. 2022).

    T(w) is what word w hands on, the residual included, y the sum of all with the biases; both
    after the norm that follows, if one does. Where no word comes near, a position keeps itself.
    """
    seen = x if sublayer.before is None else plain.normed(x, sublayer.before)
    one = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    handed = one.unsqueeze(-1) * x  # (N positions, N words, D)
    for attention in heads:
        query, key, value = plain.project(seen, attention)
        weights = attention.output.weight.unflatten(1, (attention.heads, -1))
        carried = torch.einsum("bhsv,dhv->hsd", value, weights)
        pattern = plain.pattern(query, key, attention)[0]
        handed = handed + torch.einsum("hps,hsd->psd", pattern, carried)
    biases = [attention.output.bias for attention in heads if attention.output.bias is not None]
    total = handed.sum(dim=1) + sum(biases)
    whole = total
    if sublayer.after is not None:
        norm = sublayer.after
        whole = plain.normed(total, norm)
        centred = total - total.mean(dim=-1, keepdim=True) if norm.centred else total
        deviation = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()
        if norm.centred:
            handed = handed - handed.mean(dim=-1, keepdim=True)
        scale = 1 / deviation if norm.weight is None else norm.weight / deviation
        handed = handed * scale.unsqueeze(1)
    apart = (handed - whole.unsqueeze(1)).abs().sum(dim=-1)
    near = (whole.abs().sum(dim=-1, keepdim=True) - apart).clamp_min(0)
    near = torch.where(near.sum(dim=-1, keepdim=True) > 0, near, one)
    return near / near.sum(dim=-1, keepdim=True)
