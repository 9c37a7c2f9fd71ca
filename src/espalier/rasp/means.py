"""Means: which there can be, when there is but one, and how sums of them become one mean."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from espalier.errors import ProgramError
from espalier.rasp.expressions import REQUIRED, Aggregate, Encoding, Expression, Map
from espalier.rasp.facts import ByIndex, ByToken, Facts, Part, as_fraction

MOST_MEANS = 20_000
SPACING = 2.0**-15  # of the largest number: 256 roundings of float32

Weights = dict[Expression, Fraction]


@functools.lru_cache(maxsize=64)
def possible_means(
    values: tuple[Any, ...], longest: int, most: int = MOST_MEANS
) -> tuple[Fraction, ...]:
    """Every mean of up to `longest` of the values, in order."""
    numbers = {as_fraction(value) for value in values}
    scale = math.lcm(*(number.denominator for number in numbers))
    whole = [int(number * scale) for number in numbers]
    sums, found = {0}, set[tuple[int, int]]()
    for count in range(1, longest + 1):
        sums = {total + number for total in sums for number in whole}
        for total in sums:
            shared = math.gcd(total, count * scale)
            found.add((total // shared, count * scale // shared))
        if len(found) > most:
            raise ProgramError(
                f"the mean of up to {longest} of {len(numbers)} numbers may be one of more than "
                f"{most:,}; map the values to fewer numbers, or give a smaller longest"
            )
    return tuple(sorted((Fraction(*pair) for pair in found), key=float))


def well_spaced(means: Iterable[Fraction]) -> bool:
    """Whether float32 distinguishes neighbouring means, next to the largest of them."""
    numbers = sorted(map(float, means))
    largest = max(map(abs, numbers), default=0.0)
    return all(high - low > SPACING * largest for low, high in itertools.pairwise(numbers))


def surely_agree(part: Part, values: Expression, facts: Facts) -> bool:
    """Whether all positions that any query can select must hold the same value."""
    keys, carried = facts[part.keys].origin, facts[values].origin
    if len(facts[values].values) == 1:
        return True
    if isinstance(keys, ByIndex) and len(set(keys.table)) == len(keys.table):
        return all(len(selected) <= 1 for selected in part.table.values())
    if part.keys is values:
        return all(len(selected) <= 1 for selected in part.table.values())
    match keys, carried:
        case (ByToken(of_key), ByToken(of_value)) | (ByIndex(of_key), ByIndex(of_value)):
            return all(
                len({v for k, v in zip(of_key, of_value, strict=True) if k in set(selected)}) <= 1
                for selected in part.table.values()
            )
    return False


def as_one_mean(node: Map, facts: Facts) -> Aggregate | None:
    """The one mean that a sum of multiples of means over the same selection is, if it is one."""
    weights, constant = _linear_form(node)
    leaves = list(weights)
    means = [leaf for leaf in leaves if facts[leaf].means is not None]
    if len(leaves) < 2 or len(means) < len(leaves):
        return None
    aggregates = [facts[leaf].form for leaf in leaves]
    first = facts[leaves[0]].parts[0]
    if not all(facts[leaf].parts[0].same_as(first) for leaf in leaves):
        return None
    if any(None in facts[a.values].values for a in aggregates if isinstance(a, Aggregate)):
        return None

    def combined(*numbers: Any) -> Fraction:
        pairs = zip(weights.values(), numbers, strict=True)
        return constant + sum((w * as_fraction(x) for w, x in pairs), Fraction(0))

    given = [a.default for a in aggregates if isinstance(a, Aggregate)]
    default = _joint_default(given, combined)
    if default is _MIXED:
        return None
    carried = tuple(a.values for a in aggregates if isinstance(a, Aggregate))
    selector = aggregates[0].selector  # type: ignore[union-attr]
    return Aggregate(selector, Map(combined, carried), default, encoding=Encoding.NUMERICAL)


_MIXED = object()


def _joint_default(given: list[Any], combined: Callable[..., Fraction]) -> Any:
    if any(default is REQUIRED for default in given):
        return REQUIRED if all(default is REQUIRED for default in given) else _MIXED
    if any(default is None for default in given):
        return None
    exact = all(isinstance(default, int | Fraction) for default in given)
    return combined(*given) if exact else _MIXED


def _linear_form(node: Map) -> tuple[Weights, Fraction]:
    """The weights of the expressions that a linear map sums in the end, and the constant."""
    weights: Weights = {}
    constant, zero = Fraction(0), Fraction(0)
    stack: list[tuple[Expression, Fraction]] = [(node, Fraction(1))]
    while stack:
        part, scale = stack.pop()
        if not isinstance(part, Map) or not part.linear:
            weights[part] = weights.get(part, zero) + scale
            continue
        count = len(part.operands)
        at_zero: Any = part.function(*[zero] * count)
        constant += scale * at_zero
        for place in reversed(range(count)):
            unit = [Fraction(int(place == other)) for other in range(count)]
            at_unit: Any = part.function(*unit)
            stack.append((part.operands[place], scale * (at_unit - at_zero)))
    return weights, constant
