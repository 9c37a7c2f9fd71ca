"""`decompose` and `interdependence`: of an LSTM language model, or of any network.

LSTM language models have faster code of their own, which also takes an initial state; all else goes
through `on_networks`. A list of sentences is a batch and gives a list.

Both functions are public and have more than six parameters, by keyword: which words (`focus`, or
`a`, `b` and `at`), where (`layer`, `space`), and how (`method`, `allocation`). Internally the last
two groups are passed as one value, `on_networks.Asked`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, overload

from espalier.decomposition.all_pairs import AllPairs
from espalier.decomposition.allocations import (
    Allocation,
    AllocationName,
    Papers,
    read_allocation,
)
from espalier.decomposition.baselines import InputHessian, interaction_baseline
from espalier.decomposition.baselines import Method as LSTMMethod
from espalier.decomposition.decompose import decompose_many
from espalier.decomposition.dependence import Dependence, by_definition, check_space, depend
from espalier.decomposition.inputs import Sentences, Words, check_model, read_batch, read_sentence
from espalier.decomposition.methods import Method, read_method
from espalier.decomposition.on_networks import Asked, decompose_on, depend_on, pairs_on
from espalier.decomposition.pairs import PairMatrix, Pairs
from espalier.decomposition.parts import Parts, Space
from espalier.errors import DataError, is_one_of
from espalier.nets.language import AnyModel
from espalier.nets.lstm import LanguageModel, LSTMState
from espalier.networks import Network, network

MOST_PLACES = 10_000_000  # or sets of them, one a sentence
Model = AnyModel | Network
Focus = Iterable[int | str | tuple[int, int]] | str


@overload  # a list of words is one sentence, which a type cannot tell from a list of sentences
def decompose(  # type: ignore[overload-overlap]
    model: Model,
    tokens: Words,
    *,
    focus: Focus,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = ...,
    state: LSTMState | None = None,
) -> Parts: ...


@overload
def decompose(
    model: Model,
    tokens: Sentences,
    *,
    focus: Sequence[Focus] | Focus,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = ...,
    state: LSTMState | None = None,
) -> list[Parts]: ...


def decompose(
    model: Model,
    tokens: Words | Sentences,
    *,
    focus: Sequence[Focus] | Focus,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = "papers",
    state: LSTMState | None = None,
) -> Parts | list[Parts]:
    """What the words in `focus` contribute to the state after each word, and the rest.

    `focus` names places, words or spans of characters; `layer` counts from 0, what enters the
    network; in `space="logits"` the parts are those of the logits. `method` are the rules of a
    Transformer (`Rules`, "cd-t", "decompx") or another attribution, by its type (`Occlusion()`) or
    its name ("occlusion"); `allocation` is the rule for gates. A list of sentences, with a focus
    for each or one for all, gives a list. `state` is an initial state for an LSTM, as
    `model(tokens)` returns it.

    >>> import espalier as es
    >>> parts = es.decompose(es.english_model(), ["the", "city", "of", "London"], focus=["city"])
    >>> parts.focus, parts.relevant.shape, bool(parts.error < 1e-5)
    ((1,), torch.Size([4, 300]), True)
    """
    batch, sets = read_batch(tokens), _sets(focus)
    asked = Asked(layer, space, read_method(method), allocation)
    plain = method is None and is_one_of(space, ["hidden"]) and _is_last(layer)
    if isinstance(model, LanguageModel) and plain:
        given: list[Any] = [tokens] if batch is None else batch
        own = [focus] if batch is None else _for_each(sets, len(given))
        found = decompose_many(model, given, focus=own, allocation=allocation, state=state)
        return found if batch is not None else found[0]
    if state is not None:
        raise DataError("an initial state is for an LSTM's hidden states; leave out state=")
    net = network(model)
    if batch is None:
        return decompose_on(net, net.read(tokens), focus, asked=asked)
    each = zip(batch, _for_each(sets, len(batch)), strict=True)
    return [decompose_on(net, net.read(one), own, asked=asked) for one, own in each]


def _sets(focus: Any) -> Any:
    if not isinstance(focus, Iterable) or getattr(focus, "ndim", 1) == 0:
        raise DataError(f"focus is {focus!r}; name words, or their places, as in focus=[0, 2]")
    if isinstance(focus, str | range):  # places of one set, which are read one by one
        return focus
    found = list(islice(focus, MOST_PLACES + 1))
    if len(found) > MOST_PLACES:
        raise DataError(f"focus names over {MOST_PLACES:,} words; name those of the sentence")
    return found


def _is_last(layer: object) -> bool:
    return isinstance(layer, int) and layer == -1


def _for_each(focus: Any, count: int) -> list[Any]:
    """A focus for each sentence: those given, or the one given for all."""
    several = not isinstance(focus, str | range) and [
        isinstance(one, list | tuple | set | frozenset | range) for one in focus
    ]
    if several and all(several):
        if len(focus) != count:
            raise DataError(f"{count} sentences, but {len(focus)} focus sets; give one for each")
        return list(focus)
    return [focus] * count


@overload  # a list of words is one sentence, which a type cannot tell from a list of sentences
def interdependence(  # type: ignore[overload-overlap]
    model: LanguageModel,
    tokens: Words,
    *,
    a: None = None,
    b: None = None,
    at: None = None,
    space: Space = "hidden",
    allocation: Allocation | AllocationName = ...,
) -> Pairs: ...


@overload
def interdependence(  # type: ignore[overload-overlap]
    model: Model,
    tokens: Words,
    *,
    a: Focus,
    b: Focus,
    at: int | None = None,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = ...,
) -> Dependence: ...


@overload
def interdependence(  # type: ignore[overload-overlap]
    model: Model,
    tokens: Words,
    *,
    a: None = None,
    b: None = None,
    at: None = None,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = ...,
) -> PairMatrix: ...


@overload
def interdependence(
    model: Model,
    tokens: Sentences,
    *,
    a: Focus | None = None,
    b: Focus | None = None,
    at: int | None = None,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = ...,
) -> list[Any]: ...


def interdependence(
    model: Model,
    tokens: Words | Sentences,
    *,
    a: Focus | None = None,
    b: Focus | None = None,
    at: int | None = None,
    layer: int = -1,
    space: Space = "hidden",
    method: Method = None,
    allocation: Allocation | AllocationName = "papers",
) -> PairMatrix | Dependence | list[Any]:
    """DI of two disjoint sets of words `a` and `b`, or without them of every two words.

    It is read after step `at`, by default the last word of both sets, from the hidden state or,
    as in the earlier paper, from the logits; `layer` and `method` are those of `decompose`, or
    another measure of interaction. A list of sentences, or a treebank, gives a list.

    >>> import espalier as es
    >>> es.interdependence(es.english_model(), ["the", "city", "of", "London"]).values.shape
    (4, 4)
    """
    batch = read_batch(tokens)
    asked = Asked(layer, space, read_method(method), allocation)
    given: list[Any] = [tokens] if batch is None else batch
    _check_sets(a, b, at)
    if isinstance(model, Network) and a is None and not _has_own_way(model, asked):
        found: list[Any] = pairs_on(model, [model.read(one) for one in given], asked=asked)
    else:
        found = [_of_one(model, one, (a, b, at), asked) for one in given]
    return found if batch is not None else found[0]


def _has_own_way(net: Network, asked: Asked) -> bool:
    """Whether the request is one for which LSTM language models have code of their own."""
    own = asked.method is None or isinstance(asked.method, InputHessian)
    return net.lstm is not None and _is_last(asked.layer) and own


def _check_sets(a: Any, b: Any, at: Any) -> None:
    asked = {"a": a, "b": b, "at": at}
    missing = " and ".join(name for name in "ab" if asked[name] is None)
    given = " and ".join(name for name, value in asked.items() if value is not None)
    if given and missing:
        raise DataError(
            f"{given} without {missing}: give two sets of words, a= and b=, or neither for every "
            f"two words"
        )


def _of_one(model: Model, tokens: Any, sets: tuple[Any, Any, Any], asked: Asked) -> Any:
    """DI of two sets of one sentence's words, or of every two of its words."""
    a, b, at = sets
    if isinstance(model, LanguageModel) and _is_last(asked.layer):
        own: Any = asked.method
        if own is None and a is not None:
            space, allocation = asked.space, asked.allocation
            return depend(model, tokens, a=a, b=b, at=at, space=space, allocation=allocation)
        if own is None:
            return _pairs(model, tokens, space=asked.space, allocation=asked.allocation)
        if isinstance(own, LSTMMethod) and a is None and getattr(own, "order", 2) == 2:
            return interaction_baseline(model, tokens, method=own, space=asked.space)
    net = network(model)
    read = net.read(tokens)
    if a is not None:
        return depend_on(net, read, (a, b), at=at, asked=asked)
    if net.lstm is not None and _has_own_way(net, asked):
        pairs = _of_one(net.lstm, read.ids, sets, asked)
        return pairs.reading(read.words, read.unknown_at)
    return pairs_on(net, [read], asked=asked)[0]


def _pairs(model: LanguageModel, tokens: Words, *, space: Space, allocation: Any) -> Pairs:
    model, space = check_model(model), check_space(space)
    sentence = read_sentence(model, tokens)
    allocation = read_allocation(allocation)
    match allocation:
        case Papers():  # one step per pair and the plain pass
            passes = 1 + (len(sentence) - 1) / 2
            values = AllPairs(model, spaces=[space]).of([sentence.ids])[0][0].numpy()
        case _:
            passes = 3 * len(sentence) * (len(sentence) - 1) / 2
            values = by_definition(model, sentence.ids, space=space, allocation=allocation)
    return Pairs(
        words=sentence.words,
        ids=sentence.ids,
        values=values,
        space=space,
        unknown_at=sentence.unknown_at,
        method="interdependence",
        passes=passes,
        model=model,
        allocation=allocation,
    )
