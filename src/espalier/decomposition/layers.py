"""DI of every two tokens of a sentence at every layer of a network, and in its logits, at once."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.decomposition.dependence import ratio
from espalier.decomposition.divided import Divided
from espalier.decomposition.network_parts import batches, pair_parts
from espalier.decomposition.rules import Rules
from espalier.decomposition.transformer_parts import through_transformer
from espalier.networks import Linear, Network, Transformer

ROUNDED = 1e-3  # a smaller DI is rounding in single precision


@torch.no_grad()
def layer_pairs(
    net: Network, ids: Int[Tensor, " N"], *, rules: Rules | None = None
) -> tuple[Float[Tensor, "L N N"], Float[Tensor, "N N"]]:
    """DI at [l, r] of tokens l < r, read at r: of the states after each layer, and of the logits.

    The network's head is one linear layer. Small values are computed in double precision.

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4, architecture="gru", layers=2)
    >>> hidden, logits = layer_pairs(es.network(model), torch.tensor([1, 2, 3]))
    >>> hidden.shape, logits.shape
    (torch.Size([2, 3, 3]), torch.Size([3, 3]))
    """
    hidden, logits = _pairs(net, ids, rules or Rules())
    upper = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
    if net.dtype == torch.float32 and bool((hidden[:, upper] < ROUNDED).any()):
        hidden, logits = _pairs(net.double(), ids, rules or Rules())
    return hidden.float(), logits.float()


def _pairs(net: Network, ids: Tensor, rules: Rules) -> tuple[Tensor, Tensor]:
    inputs = net.embed(ids[None])[0].detach().to(net.dtype)
    found = _by_layer(net, inputs, rules)
    last = net.head[-1]
    assert isinstance(last, Linear)
    assert len(net.head) == 1
    # With W = Q R, || W x || = || R x ||: as long, and shorter to compute.
    root = torch.linalg.qr(last.weight, mode="r").R
    shown = [part @ root.T for part in found[-1]]
    hidden = torch.stack([_values(*pair) for pair in found])
    return hidden, _values(shown[0], shown[1])


def _by_layer(net: Network, inputs: Tensor, rules: Rules) -> list[tuple[Tensor, Tensor]]:
    """For each layer what {l, r} contributes at r, and what {l} does."""
    body, count = net.body, len(inputs)
    if not (net.causal and isinstance(body, Transformer)):
        numbers = range(1, net.layers + 1)
        return [pair_parts(net, inputs, rules=rules, layer=number) for number in numbers]
    ones = torch.eye(count, dtype=inputs.dtype)
    found: list[list[Tensor]] = [[] for _ in body.layers]
    for some in batches(net, count, 2 * count):
        alone = ones[some].unsqueeze(-1) * inputs
        both = torch.stack([alone, inputs.expand_as(alone)])
        layers = through_transformer(body, Divided(inputs, both), rules, pairs=True)[1:]
        for kept, layer in zip(found, layers, strict=True):
            kept.append(layer.relevant)
    return [(both, alone) for alone, both in (torch.cat(kept, dim=1) for kept in found)]


def _values(joint: Tensor, alone: Tensor) -> Float[Tensor, "N N"]:
    own = alone.diagonal(dim1=0, dim2=1).T
    values: Tensor = ratio((joint - alone - own).norm(dim=-1), joint.norm(dim=-1))
    return values
