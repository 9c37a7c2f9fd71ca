"""A Transformer's states in parts: every focus set through every layer, by the rules.

Causal networks have a short way to all pairs of tokens, as LSTMs do: with focus {l} the state at a
position before r is the same whether r is in focus or not. So {l} is carried for every l, and
{l, p} is computed at position p alone, with the keys and values of {l} before it. Parts then have
a first axis of 2: [0, l, p] is {l} at p, [1, l, p] is {l, p} at p.

Axes: F focus sets, N positions, h heads, k width of a head.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.divided import Divided, activate, linear, norm, product, settle
from espalier.decomposition.rules import Frozen, Linearised, RelevantOnly, Rules
from espalier.networks import (
    Activation,
    Attention,
    FeedForward,
    HeadPart,
    Linear,
    Norm,
    Transformer,
    plain,
)
from espalier.networks import Sublayer as SublayerData


def through_transformer(
    body: Transformer, x: Divided, rules: Rules, *, pairs: bool = False
) -> list[Divided]:
    """The parts after each layer, those that enter the first one before them."""
    found = [x]
    for layer in body.layers:
        for sublayer in layer:
            x = _through(x, sublayer, rules, pairs)
        found.append(x)
    if body.final is not None:
        found[-1] = norm(x, body.final, rules)
    return found


def through_head(head: tuple[HeadPart, ...], x: Divided, rules: Rules) -> Divided:
    """The parts of the logits; the last bias belongs to none of them."""
    for part in head[:-1]:
        match part:
            case Linear():
                x = linear(x, part, rules)
            case Norm():
                x = norm(x, part, rules)
            case Activation(name):
                x = activate(x, name, rules)
    last = head[-1]
    assert isinstance(last, Linear)
    return x.mapped(last.weight)


def _through(x: Divided, sublayer: SublayerData, rules: Rules, pairs: bool) -> Divided:
    seen = x if sublayer.before is None else norm(x, sublayer.before, rules)
    match sublayer.body:
        case FeedForward() as mlp:
            added = _feed_forward(seen, mlp, rules)
        case heads:
            added = reduce(Divided.each, (_attend(seen, one, rules, pairs) for one in heads))
    after = settle(_align(x, added).each(_align(added, x)), rules)
    return after if sublayer.after is None else settle(norm(after, sublayer.after, rules), rules)


def _align(x: Divided, other: Divided) -> Divided:
    """The same with a bias part of zeros where the other one has a bias part."""
    if x.bias is None and other.bias is not None:
        return Divided(x.whole, x.relevant, x.irrelevant, torch.zeros_like(x.whole))
    return x


def _feed_forward(x: Divided, mlp: FeedForward, rules: Rules) -> Divided:
    features = x
    for part in mlp.expansion:
        features = activate(linear(features, part, rules), mlp.activation, rules)
    if mlp.expansion:
        x = _align(x, features).each(features, function="beside")
    inner = settle(linear(x, mlp.inner, rules), rules)
    if mlp.gate is None:
        hidden = activate(inner, mlp.activation, rules)
    else:
        gate = activate(linear(x, mlp.gate, rules), mlp.activation, rules)
        hidden = product(_align(inner, gate), _align(gate, inner), rules)
    return settle(linear(hidden, mlp.outer, rules), rules)


def _attend(x: Divided, attention: Attention, rules: Rules, pairs: bool) -> Divided:
    """What attention adds to the stream, in parts."""
    query, key, value = (
        _heads(linear(x, part, rules), attention, number)
        for number, part in enumerate((attention.query, attention.key, attention.value))
    )
    pattern = plain.pattern(query.whole, key.whole, attention)
    match rules.attention:
        case Frozen():
            relevant = _mix(pattern, value.relevant, pairs)
        case RelevantOnly():
            scores = _scores(query.relevant, key.relevant, pairs) * attention.scale
            relevant = _mix(plain.softmax(scores, attention), value.relevant, pairs)
        case Linearised():
            moved = query.relevant @ key.whole.mT + _scores(query.whole, key.relevant, pairs)
            change = pattern * moved * attention.scale
            change = change - pattern * change.sum(dim=-1, keepdim=True)
            relevant = _mix(pattern, value.relevant, pairs) + change @ value.whole
    carried = Divided(pattern @ value.whole, relevant)
    if value.bias is not None:
        carried = replace(carried, bias=pattern @ value.bias)
    if value.irrelevant is not None:
        frozen = isinstance(rules.attention, Frozen)
        rest = pattern @ value.irrelevant if frozen else carried.rest
        carried = replace(carried, irrelevant=rest)
    joined = settle(carried.done(plain.join), rules)
    return settle(linear(joined, attention.output, rules), rules)


def _heads(x: Divided, attention: Attention, number: int) -> Divided:
    """Heads apart in every part; queries and keys turned, which is linear."""
    apart = x.done(lambda part: plain.split(part, attention, number))
    return apart if number == 2 else apart.done(lambda part: plain.turned(part, attention))


def _mix(
    pattern: Float[Tensor, "*P N N"], value: Float[Tensor, "*F N k"], pairs: bool
) -> Float[Tensor, "*F N k"]:
    """pattern @ value; of pairs every position sees {l} before it and {l, p} at itself."""
    if not pairs:
        return pattern @ value
    alone, both = value
    if pattern.ndim == value.ndim:
        first, second = pattern @ alone
        own = pattern[1].diagonal(dim1=-2, dim2=-1)
    else:
        first = second = pattern @ alone
        own = pattern.diagonal(dim1=-2, dim2=-1)
    return torch.stack([first, second + own.unsqueeze(-1) * (both - alone)])


def _scores(query: Tensor, key: Float[Tensor, "*F N k"], pairs: bool) -> Float[Tensor, "*F N N"]:
    """query @ key; of pairs the keys are {l}'s but a position's own, which is {l, p}'s."""
    if not pairs:
        return query @ key.mT
    alone, both = key
    first: Tensor = query @ alone.mT
    if first.ndim < key.ndim:
        first = first.expand(2, *first.shape)
    asked = query[1] if query.ndim == key.ndim else query
    found = first.clone()
    found[1].diagonal(dim1=-2, dim2=-1).copy_((asked * both).sum(dim=-1))
    return found
