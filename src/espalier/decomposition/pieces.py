"""DI of every two words of a sentence whose words may be several tokens of the network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.attribution import Interaction
from espalier.decomposition.dependence import ratio
from espalier.decomposition.network_parts import batches, divide
from espalier.decomposition.on_networks import ROUNDED, Asked, pairs_on, shorter
from espalier.decomposition.rules import Rules, read_rules
from espalier.errors import ConfigError
from espalier.networks import Network, Tokens

Pieces = Sequence[Sequence[int]]
Matrix = Float[np.ndarray, "W W"]


def word_pairs(
    net: Network, sentences: Sequence[tuple[Tokens, Pieces]], *, asked: Asked
) -> list[Matrix]:
    """At [l, r], l < r: DI of two words as sets of tokens, read at the last token of r.

    A sentence comes with the places of each word's tokens; a word that has none has no DI. Words of
    one token go the short way, the others by the definition, one pass per pair of words.

    >>> import espalier as es
    >>> around = dict(embedding=torch.nn.Embedding(9, 4), decoder=torch.nn.Linear(4, 9))
    >>> net = es.network(torch.nn.GRU(4, 4), **around)
    >>> word_pairs(net, [(net.read([1, 2, 3]), [(0, 1), (2,)])], asked=Asked())[0].shape
    (2, 2)
    """
    every = pairs_on(net, [tokens for tokens, _ in sentences], asked=asked)
    found = []
    for (tokens, pieces), pairs in zip(sentences, every, strict=True):
        values = np.full((len(pieces), len(pieces)), np.nan)
        single = [number for number, own in enumerate(pieces) if len(own) == 1]
        at = [pieces[number][0] for number in single]
        values[np.ix_(single, single)] = pairs.values[np.ix_(at, at)]
        if any(len(own) > 1 for own in pieces):
            _fill(values, net, (tokens, pieces), asked)
        found.append(values)
    return found


def _fill(values: Matrix, net: Network, sentence: tuple[Tokens, Pieces], asked: Asked) -> None:
    """Pairs in which a word has several tokens, by the definition."""
    tokens, pieces = sentence
    if isinstance(asked.method, Interaction):
        raise ConfigError(
            f"{type(asked.method).__name__} is of single tokens, but in {' '.join(tokens.words)!r} "
            f"a word is several; leave out method="
        )
    count = len(pieces)
    pairs = [
        (left, right)
        for left in range(count)
        for right in range(left + 1, count)
        if pieces[left] and pieces[right] and len(pieces[left]) + len(pieces[right]) > 2
    ]
    rules = read_rules(asked.method, asked.allocation)  # type: ignore[arg-type]
    found = _by_definition(net, sentence, pairs, (rules, asked))
    if net.dtype != torch.float64 and bool((found < ROUNDED).any()):
        found = _by_definition(net.double(), sentence, pairs, (rules, asked))
    for (left, right), value in zip(pairs, found.tolist(), strict=True):
        values[left, right] = value


def _by_definition(
    net: Network,
    sentence: tuple[Tokens, Pieces],
    pairs: Sequence[tuple[int, int]],
    how: tuple[Rules, Asked],
) -> Float[Tensor, " P"]:
    (tokens, pieces), (rules, asked) = sentence, how
    net = shorter(net) if asked.logits else net
    inputs = net.inputs(tokens)
    ends = torch.tensor([max(own, default=0) for own in pieces], device=net.device)
    masks = torch.stack([_mask(own, len(tokens)) for own in pieces]).to(net.device)
    left, right = torch.tensor(pairs, device=net.device).T

    def relevant(sets: Bool[Tensor, "F N"], at: Tensor | None) -> Tensor:
        found = []
        for some in batches(net, len(sets), len(tokens)):
            states = divide(
                net, inputs, sets[some], rules=rules, layer=asked.layer, logits=asked.logits,
                carry=False,
            ).relevant  # fmt: skip
            rows = torch.arange(len(states), device=net.device)
            found.append(states[:, ends] if at is None else states[rows, at[some]])
        return torch.cat(found)

    alone = relevant(masks, None)
    joint = relevant(masks[left] | masks[right], ends[right])
    apart = joint - alone[left, right] - alone[right, right]
    return ratio(apart.norm(dim=-1), joint.norm(dim=-1)).double().cpu()


def _mask(places: Sequence[int], count: int) -> Bool[Tensor, " N"]:
    mask = torch.zeros(count, dtype=torch.bool)
    mask[list(places)] = True
    return mask
