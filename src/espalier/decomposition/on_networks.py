"""`decompose` and `interdependence` for any network: checks of the request, and its results.

A rule says how parts go through a network (`rules`); another method than decomposition is chosen by
its type (`attribution`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.attribution import (
    Contribution,
    Interaction,
    Reader,
    contributions,
    interactions,
    shapley_sets,
)
from espalier.decomposition.baselines import InputHessian
from espalier.decomposition.dependence import Dependence, check_space, ratio, triangle
from espalier.decomposition.inputs import check_disjoint
from espalier.decomposition.network_parts import divide, pair_parts, sentence_batches
from espalier.decomposition.pairs import PairMatrix
from espalier.decomposition.parts import Parts, Space
from espalier.decomposition.room import check_room
from espalier.decomposition.rules import Rules, RulesName, read_rules
from espalier.decomposition.shapley import ShapleyInteraction, WordSets
from espalier.errors import ConfigError, DataError, as_whole, check_kind
from espalier.networks import Linear, Network, Tokens, Transformer, read_focus

_SHORTER: WeakKeyDictionary[Network, Network] = WeakKeyDictionary()
# A smaller DI is rounding in single precision, being a difference: it is computed in double.
ROUNDED = 1e-3

Method = Rules | RulesName | Contribution | Interaction | InputHessian | None


@dataclass(frozen=True)
class Asked:
    """Where in a network to look, and how."""

    layer: int = -1
    space: Space = "hidden"
    method: Method = None
    allocation: Any = "papers"

    def checked(self, net: Network) -> Asked:
        """The same, if the network has such a layer and the space can be read there."""
        check_space(self.space)
        check_kind("layer", self.layer, int, error=ConfigError)
        if not -net.layers - 1 <= self.layer <= net.layers:
            raise ConfigError(
                f"layer is {self.layer}; {net.name} has 0 (what enters it) to {net.layers}"
            )
        if self.space == "logits" and self.layer not in (-1, net.layers):
            raise ConfigError("logits are those of the last layer; leave out layer=")
        return self

    @property
    def logits(self) -> bool:
        """Whether logits are requested."""
        return self.space == "logits"


@dataclass(frozen=True, repr=False, eq=False)
class NetworkPairs(PairMatrix):
    """`values[l, r]` is DI of tokens l < r in any network, read at r.

    >>> import espalier as es
    >>> around = dict(embedding=torch.nn.Embedding(9, 4), decoder=torch.nn.Linear(4, 9))
    >>> pairs = es.interdependence(es.network(torch.nn.GRU(4, 4), **around), [1, 2, 3])
    >>> pairs.values.shape, bool(pairs.error < 1e-3)
    ((3, 3), True)
    """

    net: Network = field(kw_only=True)
    asked: Asked = field(kw_only=True)

    @cached_property
    def error(self) -> float:
        """The largest difference of a value from the definition's in double precision, relative."""
        tokens, net = Tokens(self.ids, self.words), self.net.double()
        worst = 0.0
        for left in range(len(tokens)):
            for right in range(left + 1, len(tokens)):
                wanted = depend_on(net, tokens, ([left], [right]), at=None, asked=self.asked)
                if wanted > 0:
                    worst = max(worst, abs(float(self.values[left, right]) / wanted - 1))
        return float(worst)

    def interaction(self, left: int, right: int) -> Dependence:
        """One pair with its vectors."""
        tokens = Tokens(self.ids, self.words, self.unknown_at)
        return depend_on(self.net, tokens, ([left], [right]), at=None, asked=self.asked)


def decompose_on(net: Network, tokens: Tokens, focus: Any, *, asked: Asked) -> Parts:
    """The parts of every token's state for one focus set."""
    asked = asked.checked(net)
    places = read_focus(tokens, focus)
    mask = _mask(tokens, places)
    relevant, irrelevant, bias, whole = _parts(net, tokens, mask, asked)
    return Parts(
        words=tokens.words,
        focus=places,
        relevant=relevant[0],
        irrelevant=irrelevant[0],
        hidden=whole,
        unknown_at=tokens.unknown_at,
        allocation=asked.method or asked.allocation,
        model=net,
        bias=bias,
        space=asked.space,
    )


def _mask(tokens: Tokens, places: tuple[int, ...]) -> Bool[Tensor, "1 N"]:
    mask = torch.zeros(1, len(tokens), dtype=torch.bool)  # moved where the network is, by `_parts`
    mask[0, list(places)] = True
    return mask


def _parts(
    net: Network, tokens: Tokens, focus: Bool[Tensor, "F N"], asked: Asked
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Relevant, irrelevant and bias parts, and the whole."""
    check_room(len(tokens), _least(net, focus))
    method, focus = asked.method, focus.to(net.device)
    if isinstance(method, Contribution):
        reader = Reader(net, tokens, layer=asked.layer, logits=asked.logits)
        relevant, whole = contributions(reader, focus, method)
        return relevant, whole - relevant, None, whole
    rules = _rules(asked, f"a {type(method).__name__} has no parts; use interdependence")
    found = divide(
        net, net.inputs(tokens), focus, rules=rules, layer=asked.layer, logits=asked.logits
    )
    return found.relevant, found.rest, found.bias, found.whole


def _least(net: Network, focus: Bool[Tensor, "F N"]) -> int:
    """Numbers that parts take at least: states, and of a Transformer what attends to what."""
    sets, count = focus.shape
    return sets * count * max(4 * net.width, count * isinstance(net.body, Transformer))


def _rules(asked: Asked, otherwise: str) -> Rules:
    if isinstance(asked.method, InputHessian):
        raise ConfigError(
            "the input Hessian is of every two words of an LSTM language model, at its last layer"
        )
    if isinstance(asked.method, Interaction | Contribution):
        raise ConfigError(otherwise)
    return read_rules(asked.method, asked.allocation)


def depend_on(
    net: Network, tokens: Tokens, sets: tuple[Any, Any], *, at: int | None, asked: Asked
) -> Dependence:
    """DI of two disjoint sets of tokens, read at `at`: by default the last of both."""
    asked = asked.checked(net)
    a, b = (read_focus(tokens, given, name) for given, name in zip(sets, "ab", strict=True))
    check_disjoint(a, b)
    place = max(a + b) if at is None else as_whole("at", at, least=0, error=DataError)
    if not 0 <= place < len(tokens):
        raise DataError(f"at is {at}; there are tokens 0..{len(tokens) - 1}")
    if net.causal and place < max(a + b):
        raise DataError(f"token {place} comes before {max(a + b)} is read; use at={max(a + b)}")
    masks = torch.cat([_mask(tokens, some) for some in (a, b, tuple(sorted(a + b)))])
    relevant = _parts(net, tokens, masks, asked)[0][:, place]
    joint, apart = relevant[2], relevant[2] - (relevant[0] + relevant[1])
    result = Dependence(ratio(apart.norm(), joint.norm()))
    result.words, result.a, result.b, result.at = tokens.words, a, b, place
    result.space, result.unknown_at = asked.space, tokens.unknown_at
    result.joint, result.interaction = joint, apart
    result.parts = tuple(decompose_on(net, tokens, s, asked=asked) for s in (a, b, a + b))  # type: ignore[assignment]
    return result


def _values(
    net: Network, sentences: Sequence[Tokens], rules: Rules, asked: Asked
) -> Float[np.ndarray, "S N N"]:
    """DI of every two tokens l < r of sentences of one length, NaN elsewhere."""
    net, count = shorter(net) if asked.logits else net, len(sentences[0])
    found = []
    for some in sentence_batches(net, len(sentences), count):
        inputs = net.inputs_of(sentences[some])
        joint, alone = pair_parts(net, inputs, rules=rules, layer=asked.layer, logits=asked.logits)
        own = alone.diagonal(dim1=1, dim2=2).mT.unsqueeze(1)
        values = ratio((joint - alone - own).norm(dim=-1), joint.norm(dim=-1))
        found.append(values.double().cpu().numpy())
    every = np.concatenate(found)
    every[:, *np.tril_indices(count)] = np.nan
    return every


def _precise(
    net: Network, sentences: Sequence[Tokens], rules: Rules, asked: Asked
) -> Float[np.ndarray, "S N N"]:
    """The same, in double precision where a number is too small for single."""
    values = _values(net, sentences, rules, asked)
    if net.dtype != torch.float64 and len(sentences[0]) > 1:
        small = np.flatnonzero((values < ROUNDED).any(axis=(1, 2))).tolist()
        if small:
            values[small] = _values(net.double(), [sentences[n] for n in small], rules, asked)
    return values


def shorter(net: Network) -> Network:
    """The same network with fewer logits, of equal length as vectors."""
    last = net.head[-1]
    assert isinstance(last, Linear)
    if net not in _SHORTER and last.weight.shape[0] > last.weight.shape[1]:
        _SHORTER[net] = replace(net, head=(*net.head[:-1], Linear(triangle(last.weight))))
    return _SHORTER.get(net, net)


def pairs_on(net: Network, sentences: Sequence[Tokens], *, asked: Asked) -> list[PairMatrix]:
    """Every two tokens of each sentence: DI by the rules, or another method's number."""
    asked = asked.checked(net)
    if isinstance(asked.method, Interaction):
        return [_measured(net, tokens, asked.method, asked) for tokens in sentences]
    additive = [one.__name__ for one in get_args(Contribution)]
    rules = _rules(asked, f"{', '.join(additive[1:])} add up over words: no two interact by them")
    if rules.additive and isinstance(net.body, Transformer):
        raise ConfigError(
            f"by {rules} parts add up over words: no two interact; change a rule, such as "
            f"activation=Difference()"
        )
    found: dict[int, PairMatrix] = {}
    for length in {len(tokens) for tokens in sentences}:
        places = [n for n, tokens in enumerate(sentences) if len(tokens) == length]
        every = _precise(net, [sentences[n] for n in places], rules, asked)
        for number, values in zip(places, every, strict=True):
            found[number] = _pairs(net, sentences[number], values, asked)
    return [found[number] for number in range(len(sentences))]


def _measured(net: Network, tokens: Tokens, method: Interaction, asked: Asked) -> Any:
    check_room(len(tokens), 6 * len(tokens) ** 2)
    reader = Reader(net, tokens, layer=asked.layer, logits=asked.logits)
    if isinstance(method, ShapleyInteraction) and method.order > 2:
        with torch.no_grad():
            sets = shapley_sets(reader, len(tokens), method)
        return WordSets(
            tokens.words, tokens.unknown_at, sets, method.order, asked.space, reader.runs
        )
    name, values = interactions(reader, tokens, method)
    return PairMatrix(
        tokens.words, tokens.ids, values, asked.space, tokens.unknown_at, name, reader.runs
    )


def _pairs(net: Network, tokens: Tokens, values: np.ndarray, asked: Asked) -> NetworkPairs:
    return NetworkPairs(
        tokens.words,
        tokens.ids,
        values,
        asked.space,
        tokens.unknown_at,
        "interdependence",
        float(len(tokens)),
        net=net,
        asked=asked,
    )
