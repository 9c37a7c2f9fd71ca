"""What is known of an expression before it runs: its possible values, and when it is ready.

An expression of the tokens alone, or of the indices alone, is a table: it is part of the embedding
and ready before the first layer. Anything else is written in one layer, the same at all positions.
A head reads what was ready before its layer, and rules may read the head in that same layer.

An aggregate of numbers is a mean, unless all that a query can select must agree. A sum of multiples
of means over the same selection is one mean, of the sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from espalier.errors import ProgramError
from espalier.rasp.expressions import (
    REQUIRED,
    Aggregate,
    Encoding,
    Expression,
    Indices,
    Map,
    Tokens,
    Width,
    as_one_select,
    in_order,
)
from espalier.rasp.facts import (
    ByIndex,
    ByToken,
    Computed,
    Fact,
    Facts,
    Part,
    apply,
    as_fraction,
    is_number,
)
from espalier.rasp.means import as_one_mean, possible_means, surely_agree, well_spaced
from espalier.rasp.selection import by_reach, whole
from espalier.rasp.selectors import Selector

# More combinations than this are not tabulated.
MOST = 100_000
# Truth values, signs and the like are averaged whatever it takes. Of more values, which are often
# carried one at a time, there may be this many means, unless they are said to be numerical.
FEW_VALUES = 3
FEW_MEANS = 4096


def analyse(
    expression: Expression, vocabulary: Sequence[Any], longest: int, *, causal: bool = False
) -> Facts:
    """The facts of an expression and of all that it is made of, parts before wholes."""
    return _Analysis(vocabulary, longest, causal).of(expression)


class _Analysis:
    def __init__(self, vocabulary: Sequence[Any], longest: int, causal: bool) -> None:
        self.vocabulary, self.longest, self.causal = tuple(vocabulary), longest, causal
        self.facts: Facts = {}

    def of(self, expression: Expression) -> Facts:
        """The facts so far, with those of the expression."""
        for node in in_order(expression):
            if node not in self.facts:
                self.facts[node] = self._fact(node)
        return self.facts

    def _fact(self, node: Expression) -> Fact:
        match node:
            case Tokens():
                return Fact(self.vocabulary, 0, ByToken(self.vocabulary), node)
            case Indices():
                places = tuple(range(self.longest))
                return Fact(places, 0, ByIndex(places), node)
            case Map():
                return self._map(node)
            case Width(selector=selector):
                parts = self._parts(selector, most=2)
                return Fact(
                    tuple(range(self.longest + 1)), self._layer(parts), Computed(), node, parts
                )
            case Aggregate():
                return self._aggregate(node)

    def _map(self, node: Map) -> Fact:
        operands = list(dict.fromkeys(node.operands))
        origins = [self.facts[operand].origin for operand in operands]
        for kind in (ByToken, ByIndex):
            if all(isinstance(origin, kind) for origin in origins):
                rows = zip(*(origin.table for origin in origins), strict=True)  # type: ignore[union-attr]
                table = tuple(apply(node, dict(zip(operands, row, strict=True))) for row in rows)
                return Fact(_different(table), 0, kind(table), node)
        sizes = [len(self.facts[operand].values) for operand in operands]
        mean = self._one_mean(node) if node.linear else None
        if mean is not None:
            fact = self.facts[mean]
            cheap = fact.layer <= self._layer_of_map(operands) and well_spaced(fact.means or ())
            if cheap or math.prod(sizes) > MOST:
                return Fact(fact.values, fact.layer, Computed(), Map(lambda value: value, (mean,)))
        if math.prod(sizes) > MOST:
            raise ProgramError(
                f"{node.label or 'an elementwise expression'} combines "
                f"{' x '.join(map(str, sizes))} values, more than {MOST:,}; give a smaller "
                "vocabulary or longest, or combine in steps; write sums of means as x - y, not as "
                "a function: over one selection they are one mean"
            )
        combinations = itertools.product(*(self.facts[operand].values for operand in operands))
        found = (apply(node, dict(zip(operands, row, strict=True))) for row in combinations)
        return Fact(_different(found), self._layer_of_map(operands), Computed(), node)

    def _one_mean(self, node: Map) -> Aggregate | None:
        """The one mean that a sum of means is, if it has few enough values."""
        mean = as_one_mean(node, self.facts)
        try:
            return mean if mean is None or self.of(mean) else None
        except ProgramError:
            return None

    def _layer_of_map(self, operands: list[Expression]) -> int:
        """In the layer of its last operands if rules can see these there, else in the next.

        They see heads; and a function of one map alone is written by the rules of that map.
        """
        facts = [self.facts[operand] for operand in operands]
        last = max(fact.layer for fact in facts)
        seen = all(fact.is_head for fact in facts if fact.layer == last)
        return last if len(operands) == 1 or seen else last + 1

    def _parts(self, selector: Selector, *, most: int) -> tuple[Part, ...]:
        parts = by_reach(selector, self.facts, self.longest, causal=self.causal)
        if parts and len(parts) <= most:
            return parts
        select = as_one_select(selector)
        self.of(select.keys)
        self.of(select.queries)
        return (whole(select, self.facts),)

    def _layer(self, parts: Iterable[Part], *others: Expression) -> int:
        """The layer of a head that reads these."""
        read = [node for part in parts for node in (part.keys, part.queries)]
        return 1 + max(self.facts[node].layer for node in (*read, *others))

    def _aggregate(self, node: Aggregate) -> Fact:
        parts = self._parts(node.selector, most=1)
        values = self.facts[node.values].values
        means = self._means(node, parts[0])
        layer = self._layer(parts, node.values)
        defaults = () if node.default is REQUIRED else (node.default,)
        if means is None:
            possible = _different((*values, *defaults))
            return Fact(possible, layer, Computed(), node, parts)
        # A mean that is one of the values is shown as that value is.
        own = {as_fraction(v): v for v in values if v is not None and node.kind is None}
        shown = {mean: own.get(mean, mean) for mean in means}
        missing = (None,) if None in values else ()
        possible = _different((*shown.values(), *missing, *defaults))
        return Fact(possible, layer, Computed(), node, parts, shown)

    def _means(self, node: Aggregate, part: Part) -> tuple[Any, ...] | None:
        """The possible means, or None where the aggregate carries the value that all share."""
        known = tuple(value for value in self.facts[node.values].values if value is not None)
        match node.kind:
            case Encoding.CATEGORICAL:
                return None
            case Encoding.NUMERICAL:
                return possible_means(known, self.longest)
        if not all(map(is_number, known)) or surely_agree(part, node.values, self.facts):
            return None
        if len(known) <= FEW_VALUES:
            return possible_means(known, self.longest)
        try:
            return possible_means(known, self.longest, most=FEW_MEANS)
        except ProgramError:
            return None  # selected values that differ are then refused during the run


def _different(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
