"""An expression becomes a program, every value written once, in a layer known beforehand.

All heads of a universal layer run in every layer, so a variable `step` counts layers, and a rule
that reads a head names the step at which that head means something. Code 0 of every variable is
blank: not written yet, or the BOS before each input. Written means blank no more, so
no rule needs to know an old value.

select      A predicate of key and query becomes a set variable: the keys that a query selects.
width       One head averages "is BOS" over BOS and what is selected: 1 / (width + 1).
default     The same head with two buckets says whether anything is selected at all.
mean        A head averages numbers, with a bucket for each mean that some reader distinguishes.
None        A head that carries "is None" says that no selected value is, or that all are.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from espalier.errors import ProgramError
from espalier.language import (
    Atom,
    Head,
    Rule,
    TextFormat,
    Value,
    Variable,
    check_range,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    var,
)
from espalier.rasp.analysis import analyse
from espalier.rasp.buckets import Bucketed, group
from espalier.rasp.expressions import REQUIRED, Aggregate, Expression, Map, Width, as_tokens
from espalier.rasp.facts import Computed, Fact, Part, Reach, apply
from espalier.rasp.names import Names
from espalier.rasp.translated import Translation
from espalier.rasp.views import Views

NOTHING, SOMETHING = 1.0, 0.5

# Under which conditions (the values that each variable may have) an expression has a value.
Conditions = dict[str, tuple[Value, ...]]
Way = tuple[Conditions, Any]


def translate(
    expression: Expression,
    *,
    vocabulary: Iterable[Hashable],
    longest: int,
    causal: bool = False,
) -> Translation:
    """The program that computes `expression` on up to `longest` tokens of `vocabulary`.

    With `causal` a position selects from those up to itself alone.
    """
    if not isinstance(expression, Expression):
        raise ProgramError(f"translate needs an expression; found {expression!r}")
    longest = check_range("longest", longest)
    words = tuple(as_tokens(vocabulary, "the vocabulary"))
    if not words or len(set(words)) != len(words):
        raise ProgramError(f"the vocabulary needs different tokens; found {words!r}")
    return _Translator(expression, words, longest, causal).translated()


def _text(words: tuple[Any, ...], values: tuple[Any, ...]) -> TextFormat | None:
    """How inputs and outputs are written, if all words are then different."""
    symbols = tuple(map(str, words))
    if len({*symbols}) < len(symbols) or any(set(s) & set(" ,[]") or not s for s in symbols):
        return None
    return TextFormat(
        symbols=symbols,
        answers=("", *map(str, values)),
        unit="either",
        before=(len(words),),
        skip=1,
        join=" ",
        errors={0: "no value: an aggregate selected nothing, or positions with different values"},
    )


class _Translator:
    def __init__(
        self, expression: Expression, words: tuple[Any, ...], longest: int, causal: bool
    ) -> None:
        self.expression, self.words = expression, words
        self.longest, self.causal = longest, causal
        facts = analyse(expression, words, longest, causal=causal)
        self.readers = _readers(expression, facts)
        self.facts = {node: fact for node, fact in facts.items() if node in self.readers}
        self.layers = max(1, facts[expression].layer)
        self.names = Names(self.facts)
        self.views = Views(self.facts, self.names)
        self.heads: dict[Head, str] = {}
        self.ways: dict[Expression, list[Way]] = {}

    def translated(self) -> Translation:
        """Heads first: they say which views of which expressions are needed."""
        output = self.views.code(self.expression)
        for node, fact in self.facts.items():
            self.ways[node] = list(self._ways(node, fact))
        words = [*map(str, self.words), "BOS"]
        program = program_spec(
            self._variables(),
            {name: head for head, name in self.heads.items()},
            rules=list(self._rules()),
            output_name=output.name,
            input_range=len(words),
            position_range=self.longest + 1,
            halt_spec=halt_spec("step", self.layers),
            vocabulary=words if len(set(words)) == len(words) else None,
            causal=self.causal,
            text=_text(self.words, self.facts[self.expression].values),
            value_names=self.views.value_names(),
        )
        values = self.facts[self.expression].values
        return Translation(program, self.layers, self.words, values, self.longest)

    def _ways(self, node: Expression, fact: Fact) -> Iterator[Way]:
        """How a computed expression comes by its values, in its own layer."""
        match fact.form:
            case Map() as form if isinstance(fact.origin, Computed):
                operands = list(dict.fromkeys(form.operands))
                for chosen in itertools.product(*(self._read(o, fact.layer) for o in operands)):
                    conditions = _all_of(conditions for conditions, _ in chosen)
                    if conditions is not None:
                        given = {o: value for o, (_, value) in zip(operands, chosen, strict=True)}
                        yield conditions, apply(form, given)
            case Width() if fact.is_head:
                shares = [(Fraction(1, width + 1), width) for width in range(self.longest + 1)]
                grouped = self._grouped(node, shares)
                name = self._bos_share(self.names.of(node, "share"), fact.parts[0], grouped.buckets)
                for buckets, width in grouped.groups:
                    yield {name: buckets}, width
            case Width():
                yield from self._summed(node, fact.parts)
            case Aggregate() as form:
                yield from self._aggregated(node, form, fact)

    def _read(self, node: Expression, layer: int) -> list[Way]:
        """How rules of `layer` see an expression: as it is computed, or through its variable."""
        if self.facts[node].layer == layer:
            return self.ways[node]
        code = self.views.code(node)
        return [({code.name: (code.form(value),)}, value) for value in self.facts[node].values]

    def _grouped(self, node: Expression, numbers: list[tuple[Fraction, Any]]) -> Bucketed:
        """Buckets for numbers, as coarse as the expressions that read them allow."""
        return group(numbers, lambda value: self._seen(node, value))

    def _seen(self, node: Expression, value: Any) -> list[Any]:
        """The results of the last of the maps that read a value in its layer."""
        found, stack = [], [(node, value)]
        while stack:
            reader, value = stack.pop()
            further = self.readers[reader]
            if further is None:
                found.append(value)
            for other in further or ():
                form = self.facts[other].form
                assert isinstance(form, Map)
                stack.append((other, apply(form, {form.operands[0]: value})))
        return found

    def _summed(self, node: Expression, parts: tuple[Part, ...]) -> Iterator[Way]:
        """A width in two parts: the sum of both, or the first less the second."""
        shares = [1 / (width + 1) for width in reversed(range(self.longest + 1))]
        first, second = sorted(parts, key=lambda part: -part.sign)
        one = self._bos_share(self.names.of(node, "share"), first, shares)
        other = self._bos_share(self.names.of(node, "share_2"), second, shares)
        for many, few in itertools.product(range(self.longest + 1), repeat=2):
            width = many + second.sign * few
            if 0 <= width <= self.longest:
                yield {one: (1 / (many + 1),), other: (1 / (few + 1),)}, width

    def _aggregated(self, node: Expression, form: Aggregate, fact: Fact) -> Iterator[Way]:
        """What the head reports, or the default where the selection is empty."""
        part, conditions = fact.parts[0], Conditions()
        if form.default is not REQUIRED:
            guard = self._bos_share(self.names.of(node, "some"), part, [SOMETHING, NOTHING])
            yield {guard: (NOTHING,)}, form.default
            conditions = {guard: (SOMETHING,)}
        if fact.means is None:
            code = self.views.code(form.values)
            name = self._head(self.names.of(node, "head"), part, code.name, None)
            for value in self.facts[form.values].values:
                yield {**conditions, name: (code.form(value),)}, value
            return
        if None in self.facts[form.values].values:
            missing = self.views.missing(form.values)
            all_none = self._head(self.names.of(node, "none"), part, missing.name, None)
            yield {**conditions, all_none: (missing.form(None),)}, None
            conditions = {**conditions, all_none: (missing.form(0),)}
        grouped = self._grouped(node, list(fact.means.items()))
        spec, number = numerical_var(grouped.buckets), self.views.number(form.values)
        name = self._head(self.names.of(node, "head"), part, number.name, spec)
        for buckets, value in grouped.groups:
            yield {**conditions, name: buckets}, value

    def _bos_share(self, name: str, part: Part, buckets: list[float]) -> str:
        """The head that averages "is BOS" over BOS and what is selected."""
        return self._head(name, part, "is_bos", numerical_var(buckets))

    def _head(self, name: str, part: Part, value: str, spec: Variable | None) -> str:
        query = self.views.selected(part, with_bos=value == "is_bos")
        key = self.views.code(part.keys)
        offsets = {
            Reach.ALL: None,
            Reach.UP_TO: range(-self.longest, 1),
            Reach.BEFORE: range(-self.longest, 0),
        }
        head = qkv(query.name, key.name, value, offsets[part.reach], output_spec=spec)
        return self.heads.setdefault(head, name)

    def _variables(self) -> dict[str, Variable]:
        bos, layers = len(self.words), self.layers
        return {
            # BOS is done from the start, so no rule ever holds there.
            "step": var(layers + 1, input_init_fn=lambda token: layers if token == bos else 0),
            "is_bos": numerical_var((0, 1), input_init_fn=lambda token: float(token == bos)),
            **self.views.variables(),
        }

    def _rules(self) -> Iterator[Rule]:
        for step in range(self.layers):
            yield Rule({}, "step", step, step + 1)
        for node, ways in self.ways.items():
            now = Atom("step", (self.facts[node].layer - 1,))
            for conditions, value in ways:
                atoms = [now, *(Atom(name, allowed) for name, allowed in conditions.items())]
                for view in self.views.of(node):
                    new = view.form(value)
                    if new != view.blank:
                        yield Rule(atoms, view.name, view.blank, new)


def _all_of(several: Iterable[Conditions]) -> Conditions | None:
    """The conditions together; None if they exclude each other, over a head that they share."""
    together: Conditions = {}
    for conditions in several:
        for name, allowed in conditions.items():
            known = together.get(name, allowed)
            together[name] = tuple(value for value in allowed if value in known)
    return together if all(together.values()) else None


def _readers(
    expression: Expression, facts: dict[Expression, Fact]
) -> dict[Expression, list[Expression] | None]:
    """What is needed, and the maps of it alone that read it; None where each value counts."""
    readers: dict[Expression, list[Expression] | None] = {expression: None}
    for node in reversed(facts):
        fact = facts[node]
        if node not in readers or not isinstance(fact.origin, Computed):
            continue
        match fact.form:
            case Map(operands=operands) if len(set(operands)) == 1:
                earlier = readers.setdefault(operands[0], [])
                if earlier is not None:
                    earlier.append(node)
            case Map(operands=operands):
                readers.update(dict.fromkeys(operands))
            case Width() | Aggregate() as form:
                for part in fact.parts:
                    readers.update({part.keys: None, part.queries: None})
                if isinstance(form, Aggregate):
                    readers[form.values] = None
    return readers
