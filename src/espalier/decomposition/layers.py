"""DI of every two tokens of sentences at every layer of a network, and in its logits, at once."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.decomposition.dependence import ratio, triangle
from espalier.decomposition.network_parts import pairs_by_layer, sentence_batches
from espalier.decomposition.on_networks import ROUNDED
from espalier.decomposition.rules import Rules
from espalier.networks import Linear, Network


@torch.no_grad()
def layer_pairs(
    net: Network, ids: Int[Tensor, "S N"], *, rules: Rules | None = None
) -> tuple[Float[Tensor, "L S N N"], Float[Tensor, "S N N"]]:
    """DI at [l, r] of tokens l < r, read at r: of the states after each layer, and of the logits.

    The network's head is one linear layer. Small values are computed in double precision.

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4, architecture="gru", layers=2)
    >>> hidden, logits = layer_pairs(es.network(model), torch.tensor([[1, 2, 3]]))
    >>> hidden.shape, logits.shape
    (torch.Size([2, 1, 3, 3]), torch.Size([1, 3, 3]))
    """
    rules, found = rules or Rules(), []
    upper = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
    for some in sentence_batches(net, len(ids), ids.shape[1]):
        every = _pairs(net, ids[some], rules)
        small = (every[:, :, upper] < ROUNDED).any(dim=2).any(dim=0)
        if net.dtype == torch.float32 and bool(small.any()):
            every[:, small] = _pairs(net.double(), ids[some][small], rules)
        found.append(every)
    every = torch.cat(found, dim=1)
    return every[:-1], every[-1]


def _pairs(net: Network, ids: Int[Tensor, "S N"], rules: Rules) -> Float[Tensor, "L_1 S N N"]:
    """Of every layer, then of the logits; on the CPU in single precision."""
    inputs = net.embed(ids).detach().to(dtype=net.dtype, device=net.device)
    layers = pairs_by_layer(net, inputs, rules=rules)[1:]
    last = net.head[-1]
    assert isinstance(last, Linear)
    assert len(net.head) == 1
    root = triangle(last.weight)
    shown = (layers[-1][0] @ root.T, layers[-1][1] @ root.T)
    return torch.stack([_values(*pair).float().cpu() for pair in (*layers, shown)])


def _values(joint: Tensor, alone: Tensor) -> Float[Tensor, "S N N"]:
    own = alone.diagonal(dim1=1, dim2=2).mT.unsqueeze(1)
    values: Tensor = ratio((joint - alone - own).norm(dim=-1), joint.norm(dim=-1))
    return values
