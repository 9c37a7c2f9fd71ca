"""`interdependence`: of two sets of words, or of every two words of a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from espalier.decomposition.all_pairs import AllPairs
from espalier.decomposition.allocations import (
    Allocation,
    AllocationName,
    Papers,
    read_allocation,
)
from espalier.decomposition.dependence import (
    Dependence,
    Space,
    by_definition,
    check_space,
    depend,
)
from espalier.decomposition.inputs import (
    Sentences,
    Words,
    check_model,
    read_batch,
    read_sentence,
)
from espalier.decomposition.pairs import Pairs
from espalier.errors import DataError
from espalier.nets.lstm import LanguageModel


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
def interdependence(
    model: LanguageModel,
    tokens: Words,
    *,
    a: Iterable[int],
    b: Iterable[int],
    at: int | None = None,
    space: Space = "hidden",
    allocation: Allocation | AllocationName = ...,
) -> Dependence: ...


@overload
def interdependence(
    model: LanguageModel,
    tokens: Sentences,
    *,
    a: None = None,
    b: None = None,
    at: None = None,
    space: Space = "hidden",
    allocation: Allocation | AllocationName = ...,
) -> list[Pairs]: ...


def interdependence(
    model: LanguageModel,
    tokens: Words | Sentences,
    *,
    a: Iterable[int] | None = None,
    b: Iterable[int] | None = None,
    at: int | None = None,
    space: Space = "hidden",
    allocation: Allocation | AllocationName = "papers",
) -> Pairs | Dependence | list[Pairs] | list[Dependence]:
    """DI of two disjoint sets of words `a` and `b`, or without them of every two words.

    It is read after step `at`, by default the last word of both sets, from the hidden state or,
    as in the earlier paper, from the logits. A list of sentences, or a treebank, gives a list.

    >>> import espalier as es
    >>> es.interdependence(es.english_model(), ["the", "city", "of", "London"]).values.shape
    (4, 4)
    """
    batch = read_batch(tokens)
    if batch is not None:
        asked: dict[str, Any] = {"a": a, "b": b, "at": at, "space": space, "allocation": allocation}
        return [interdependence(model, sentence, **asked) for sentence in batch]
    one: Any = tokens
    return _of_one(model, one, (a, b, at), space=space, allocation=allocation)


def _of_one(
    model: LanguageModel,
    tokens: Words,
    sets: tuple[Iterable[int] | None, Iterable[int] | None, int | None],
    *,
    space: Space,
    allocation: Allocation | AllocationName,
) -> Pairs | Dependence:
    """DI of two sets of one sentence's words, or of every two of its words."""
    a, b, at = sets
    if a is not None and b is not None:
        return depend(model, tokens, a=a, b=b, at=at, space=space, allocation=allocation)
    if a is not None or b is not None or at is not None:
        asked = {"a": a, "b": b, "at": at}
        given = " and ".join(name for name, value in asked.items() if value is not None)
        missing = " and ".join(name for name in "ab" if asked[name] is None)
        raise DataError(
            f"{given} without {missing}: give two sets of words, a= and b=, or neither for every "
            f"two words"
        )
    model, space = check_model(model), check_space(space)
    sentence = read_sentence(model, tokens)
    allocation = read_allocation(allocation)
    match allocation:
        case Papers():  # a step a pair beside the plain pass
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
