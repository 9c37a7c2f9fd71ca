"""The parts of any network's states, for focus sets of one sentence; and all its pairs.

Focus sets are taken together, as many as fit: what is held does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.divided import Divided
from espalier.decomposition.recurrent_parts import through_recurrent
from espalier.decomposition.rules import Rules
from espalier.decomposition.transformer_parts import through_head, through_transformer
from espalier.networks import FeedForward, Network, Recurrent, Transformer, plain

AT_ONCE = 1 << 25  # numbers that the widest parts computed together may have


@torch.no_grad()
def divide(
    net: Network,
    inputs: Float[Tensor, "N D"],
    focus: Bool[Tensor, "F N"],
    *,
    rules: Rules,
    layer: int = -1,
    logits: bool = False,
    carry: bool = True,
) -> Divided:
    """The parts of a layer's states, or of the logits, for every focus set.

    With `carry` the irrelevant part is computed by itself, so that an error of the sum is a
    finding; else it is what is left.
    """
    here = focus.unsqueeze(-1).to(inputs.dtype)
    match net.body:
        case Transformer() as body:
            relevant = inputs * here
            rest = inputs * (1 - here) if carry else None
            found = through_transformer(body, Divided(inputs, relevant, rest), rules)[layer]
        case Recurrent() as body:
            both = torch.stack([inputs * here, inputs * (1 - here)])
            parts = through_recurrent(body, both, here, rules.gates)[layer]
            whole = plain.run(net, inputs[None])[layer][0]
            found = Divided(whole, parts[0], parts[1])
    return through_head(net.head, found, rules) if logits else found


def _widest(net: Network) -> int:
    """The most numbers that a position has in a layer."""
    match net.body:
        case Transformer(layers):
            bodies = [sublayer.body for layer in layers for sublayer in layer]
            sizes = [len(one.inner.weight) for one in bodies if isinstance(one, FeedForward)]
            return max([net.width, *sizes])
        case Recurrent():
            return 8 * net.width


def batches(net: Network, sets: int, positions: int) -> Iterator[slice]:
    """Focus sets to take together."""
    size = max(1, AT_ONCE // (4 * _widest(net) * positions))
    return (slice(start, start + size) for start in range(0, sets, size))


@torch.no_grad()
def pair_parts(
    net: Network,
    inputs: Float[Tensor, "N D"],
    *,
    rules: Rules,
    layer: int = -1,
    logits: bool = False,
) -> tuple[Float[Tensor, "N N O"], Float[Tensor, "N N O"]]:
    """At [l, r]: what {l, r} contributes to the state at r, and what {l} does ([r, r]: {r})."""
    count = len(inputs)
    if net.causal and isinstance(net.body, Transformer):
        return _causal_pairs(net, inputs, rules=rules, layer=layer, logits=logits)
    ones = torch.eye(count, dtype=torch.bool)
    left, right = torch.triu_indices(count, count, 1)
    sets = torch.cat([ones, ones[left] | ones[right]])
    states = []
    for some in batches(net, len(sets), count):
        found = divide(
            net, inputs, sets[some], rules=rules, layer=layer, logits=logits, carry=False
        ).relevant
        wanted = torch.cat([torch.arange(count), right])[some]
        singles = found[: max(0, count - some.start)]
        states.append((singles, found[torch.arange(len(found)), wanted]))
    alone = torch.cat([one for one, _ in states])
    joint = alone.clone()
    joint[left, right] = torch.cat([both for _, both in states])[count:]
    return joint, alone


def _causal_pairs(
    net: Network, inputs: Tensor, *, rules: Rules, layer: int, logits: bool
) -> tuple[Tensor, Tensor]:
    """The short way: {l} at every position, and {l, p} at p alone."""
    count, body = len(inputs), net.body
    assert isinstance(body, Transformer)
    found = []
    ones = torch.eye(count, dtype=inputs.dtype, device=inputs.device)
    for some in batches(net, count, 2 * count):
        alone = ones[some].unsqueeze(-1) * inputs
        both = inputs.expand_as(alone)  # {l, p} at p: the token at p is in focus
        parts = through_transformer(
            body, Divided(inputs, torch.stack([alone, both])), rules, pairs=True
        )[layer]
        if logits:
            parts = through_head(net.head, parts, rules)
        found.append(parts.relevant)
    alone, both = torch.cat(found, dim=1)
    return both, alone
