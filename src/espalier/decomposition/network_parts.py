"""The parts of any network's states, for focus sets of sentences of one length; and all pairs.

Focus sets and sentences are taken together, as many as fit: memory does not grow with their number.
Axes: S sentences, F focus sets, N positions, D width, O width of what is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.divided import Divided
from espalier.decomposition.recurrent_parts import recurrent_pairs, through_recurrent
from espalier.decomposition.room import check_room
from espalier.decomposition.rules import Rules
from espalier.decomposition.transformer_parts import through_head, through_transformer
from espalier.networks import FeedForward, GRULayer, Network, Recurrent, Transformer, plain

# Numbers that the widest parts computed together may have, all of them: 128 MiB in float32. A CUDA
# device is kept busy by as many times that.
AT_ONCE, ON_CUDA = 1 << 25, 16


@torch.no_grad()
def divide(
    net: Network,
    inputs: Float[Tensor, "*S N D"],
    focus: Bool[Tensor, "F N"],
    *,
    rules: Rules,
    layer: int = -1,
    logits: bool = False,
    carry: bool = True,
) -> Divided:
    """The parts of a layer's states, or of the logits, for every focus set (S F N O).

    With `carry` the irrelevant part is computed separately, so that the sum can be checked; else it
    is the rest.
    """
    here = focus.unsqueeze(-1).to(inputs)
    every = inputs.unsqueeze(-3) if inputs.ndim > 2 else inputs
    match net.body:
        case Transformer() as body:
            rest = every * (1 - here) if carry else None
            entering = Divided(every, every * here, rest)
            found = through_transformer(body, entering, rules)[layer]
        case Recurrent() as body:
            both, rows = _rows(torch.stack([every * here, every * (1 - here)]), here)
            parts = through_recurrent(body, both, rows, rules.gates)[layer]
            parts = parts.unflatten(1, (*inputs.shape[:-2], len(focus)))
            found = Divided(_whole(net, inputs, layer), parts[0], parts[1])
    return through_head(net.head, found, rules) if logits else found


def _whole(net: Network, inputs: Float[Tensor, "*S N D"], layer: int) -> Tensor:
    """The states themselves, with an axis for focus sets where there is one for sentences."""
    if inputs.ndim == 2:
        return plain.run(net, inputs[None])[layer][0]
    return plain.run(net, inputs)[layer].unsqueeze(1)


def _rows(parts: Float[Tensor, "2 *S F N D"], here: Float[Tensor, "F N 1"]) -> tuple[Tensor, ...]:
    """Sentences and focus sets as rows, and where each is in focus."""
    rows = parts.flatten(1, -3)
    return rows, here.repeat(rows.shape[1] // len(here), 1, 1)


def _widest(net: Network) -> int:
    """The most numbers that a position has in a layer."""
    match net.body:
        case Transformer(layers):
            bodies = [sublayer.body for layer in layers for sublayer in layer]
            sizes = [len(one.inner.weight) for one in bodies if isinstance(one, FeedForward)]
            return max([net.width, *sizes])
        case Recurrent(layers):
            every = [one for directions in layers for one in directions]
            cells = [one if isinstance(one, GRULayer) else one.layer for one in every]
            return max(2 * len(one.from_hidden) for one in cells)


def batches(net: Network, sets: int, positions: int) -> Iterator[slice]:
    """Focus sets to take together, or sentences that have so many positions each."""
    most = AT_ONCE * (ON_CUDA if net.device.type == "cuda" else 1)
    size = max(1, most // (4 * _widest(net) * positions))
    return (slice(start, start + size) for start in range(0, sets, size))


def has_short_way(net: Network) -> bool:
    """Whether {l, r} is {l} wherever r reads from, so that all pairs take N² positions."""
    return net.causal or (isinstance(net.body, Recurrent) and net.layers == 1)


def sentence_batches(net: Network, sentences: int, length: int) -> Iterator[slice]:
    """Sentences of one length whose pairs are taken together."""
    short, states = has_short_way(net), 2 * length * length * net.width
    check_room(length, states if short else states + length**3 // 8)  # bytes: words by pairs
    sets = 2 * length if short else length * (length + 1) // 2
    return batches(net, sentences, sets * length)


@torch.no_grad()
def pair_parts(
    net: Network,
    inputs: Float[Tensor, "S N D"],
    *,
    rules: Rules,
    layer: int = -1,
    logits: bool = False,
) -> tuple[Float[Tensor, "S N N O"], Float[Tensor, "S N N O"]]:
    """At [l, r], l <= r: what {l, r} contributes to the state at r, and what {l} does."""
    count = inputs.shape[1]
    ones = torch.eye(count, dtype=torch.bool, device=inputs.device)
    if has_short_way(net):
        found = []
        for some in batches(net, count, 2 * len(inputs) * count):
            parts = _short_way(net, inputs, ones[some].unsqueeze(-1).to(inputs), rules)[layer]
            found.append((through_head(net.head, parts, rules) if logits else parts).relevant)
        alone, both = torch.cat(found, dim=2)
        return both, alone
    left, right = torch.triu_indices(count, count, 1, device=inputs.device)
    sets = torch.cat([ones, ones[left] | ones[right]])
    read = torch.cat([torch.arange(count, device=inputs.device), right])
    singles, pairs = [], []
    for some in batches(net, len(sets), len(inputs) * count):
        states = divide(
            net, inputs, sets[some], rules=rules, layer=layer, logits=logits, carry=False
        ).relevant
        singles.append(states[:, : max(0, count - some.start)])
        pairs.append(states[:, torch.arange(states.shape[1], device=states.device), read[some]])
    alone = torch.cat(singles, dim=1)
    both = alone.clone()
    both[:, left, right] = torch.cat(pairs, dim=1)[:, count:]
    return both, alone


@torch.no_grad()
def pairs_by_layer(
    net: Network, inputs: Float[Tensor, "S N D"], *, rules: Rules
) -> list[tuple[Tensor, Tensor]]:
    """`pair_parts` after every layer, from what enters the first; in one go where that is short."""
    count, found = inputs.shape[1], []
    if not has_short_way(net):
        layers = range(net.layers + 1)
        return [pair_parts(net, inputs, rules=rules, layer=number) for number in layers]
    ones = torch.eye(count, device=inputs.device, dtype=inputs.dtype)
    for some in batches(net, count, 2 * len(inputs) * count):
        parts = _short_way(net, inputs, ones[some].unsqueeze(-1), rules)
        found.append([one.relevant for one in parts])
    joined = (torch.cat(layer, dim=2) for layer in zip(*found, strict=True))
    return [(both, alone) for alone, both in joined]


def _short_way(
    net: Network, inputs: Tensor, here: Float[Tensor, "F N 1"], rules: Rules
) -> list[Divided]:
    """{l} at every position, and {l, p} at p alone, after each layer: (2, S, F, N, D)."""
    every = inputs.unsqueeze(1)
    alone = every * here
    both = every.expand_as(alone)  # {l, p} at p: the token at p is in focus
    match net.body:
        case Transformer() as body:
            entering = Divided(every, torch.stack([alone, both]))
            return through_transformer(body, entering, rules, pairs=True)
        case Recurrent() as body:
            single, rows = _rows(torch.stack([alone, every - alone]), here)
            double = torch.stack([both, torch.zeros_like(both)]).flatten(1, 2)
            layers = recurrent_pairs(body, (single, double), rows, rules.gates)
            wholes, sizes = plain.run(net, inputs), (len(inputs), len(here))
            found = [torch.stack(parts).unflatten(2, sizes) for parts in layers]
            return [
                Divided(whole.unsqueeze(1), parts[:, 0], parts[:, 1])
                for whole, parts in zip(wholes, found, strict=True)
            ]
