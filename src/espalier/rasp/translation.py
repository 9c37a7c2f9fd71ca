"""An expression becomes a program, every value written once, in a layer known beforehand.

All heads of a universal layer run in every layer, so a variable `step` counts layers, and a rule
that reads a head names the step at which that head means something. Code 0 of every variable is
blank: not written yet, or the BOS that stands before each input. Written means blank no more, so
no rule needs to know an old value.

select      A predicate of key and query becomes a set variable: the keys that a query selects.
width       One head averages "is BOS" over BOS and what is selected: 1 / (width + 1).
default     The same head with two buckets tells whether anything is selected at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from espalier.errors import ProgramError, UndefinedError
from espalier.language import (
    Head,
    Program,
    Rule,
    Value,
    Variable,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    var,
)
from espalier.language.validation import check_range
from espalier.language.variables import as_integer, as_items
from espalier.rasp.analysis import (
    ByIndex,
    ByToken,
    Computed,
    analyse,
    apply,
    possible_means,
    selected,
)
from espalier.rasp.expressions import (
    REQUIRED,
    Aggregate,
    Expression,
    Map,
    Mean,
    Selector,
    Width,
    as_tokens,
)
from espalier.rasp.names import Names

NOTHING, SOMETHING = 1.0, 0.5

# Conditions under which an expression has a value.
Way = tuple[dict[str, Value], Any]


@dataclass(frozen=True)
class Translation:
    """A program for an expression, and how its input and output are written."""

    program: Program
    layers: int
    vocabulary: tuple[Any, ...]
    values: tuple[Any, ...]
    longest: int

    def encode(self, sequence: Iterable[Hashable]) -> list[int]:
        """Token ids, BOS first."""
        words = as_tokens(sequence, "the input")
        if not 0 < len(words) <= self.longest:
            raise ProgramError(
                f"the input has {len(words)} tokens; this program takes 1 to {self.longest}"
            )
        codes = {word: code for code, word in enumerate(self.vocabulary)}
        for place, word in enumerate(words):
            if word not in codes:
                shown = ", ".join(map(repr, self.vocabulary[:20]))
                raise ProgramError(
                    f"position {place} holds {word!r}, not of the vocabulary: {shown}"
                )
        return [len(codes), *(codes[word] for word in words)]

    def decode(self, outputs: Iterable[int]) -> list[Any]:
        """The value at each position after BOS."""
        found = as_items(outputs, "the outputs")
        codes = [as_integer(code, f"output {place}") for place, code in enumerate(found)][1:]
        for place, code in enumerate(codes):
            if not 0 <= code <= len(self.values):
                raise ProgramError(
                    f"output {place + 1} is {code}; codes of this program's values are 1 to "
                    f"{len(self.values)}, after one output for BOS"
                )
        if not codes:
            raise ProgramError(f"there is no output after BOS in {found!r}; decode a whole run")
        if 0 in codes:
            raise UndefinedError(
                f"position {codes.index(0)} has no value: an aggregate selected nothing, or "
                "positions with different values; give it a default or a sharper selector"
            )
        return [self.values[code - 1] for code in codes]


def translate(
    expression: Expression, *, vocabulary: Iterable[Hashable], longest: int
) -> Translation:
    """The program that computes `expression` on up to `longest` tokens of `vocabulary`."""
    if not isinstance(expression, Expression):
        raise ProgramError(f"translate needs an expression; found {expression!r}")
    longest = check_range("longest", longest)
    words = tuple(as_tokens(vocabulary, "the vocabulary"))
    if not words or len(set(words)) != len(words):
        raise ProgramError(f"the vocabulary needs different tokens; found {words!r}")
    return _Translator(expression, words, longest).translated()


@dataclass(frozen=True)
class _View:
    """One variable that holds an expression's value in some form."""

    name: str
    blank: Value
    form: Callable[[Any], Value]
    declare: Callable[..., Variable]


class _Translator:
    def __init__(self, expression: Expression, words: tuple[Any, ...], longest: int) -> None:
        self.expression, self.words, self.longest = expression, words, longest
        self.facts = analyse(expression, words, longest)
        self.layers = max(1, self.facts[expression].layer)
        self.names = Names(self.facts)
        self.views: dict[Expression, dict[object, _View]] = {node: {} for node in self.facts}
        self.heads: dict[str, Head] = {}
        self.ways: dict[Expression, list[Way]] = {}

    def translated(self) -> Translation:
        """Heads first: they say which views of which expressions are needed."""
        output = self._code(self.expression)
        for node in self.facts:
            self.ways[node] = list(self._ways(node))
        words = [*map(str, self.words), "BOS"]
        program = program_spec(
            self._variables(),
            self.heads,
            rules=list(self._rules()),
            output_name=output.name,
            input_range=len(words),
            position_range=self.longest + 1,
            halt_spec=halt_spec("step", self.layers),
            vocabulary=words if len(set(words)) == len(words) else None,
        )
        values = self.facts[self.expression].values
        return Translation(program, self.layers, self.words, values, self.longest)

    def _ways(self, node: Expression) -> Iterator[Way]:
        """How a computed expression comes by its values, in its own layer."""
        match node:
            case Map() if isinstance(self.facts[node].origin, Computed):
                operands = list(dict.fromkeys(node.operands))
                layer = self.facts[node].layer
                for chosen in itertools.product(*(self._read(o, layer) for o in operands)):
                    conditions = {k: v for atoms, _ in chosen for k, v in atoms.items()}
                    given = {o: value for o, (_, value) in zip(operands, chosen, strict=True)}
                    yield conditions, apply(node, given)
            case Width():
                for width in range(self.longest + 1):
                    yield {self._share(node): 1 / (width + 1)}, width
            case Aggregate(values=carried):
                yield from self._guarded(node, carried, self._code(carried), None)
            case Mean(values=carried):
                means = possible_means(self.facts[carried].values, self.longest)
                spec = numerical_var(_at_least_two(map(float, means)))
                yield from self._guarded(node, carried, self._number(carried), spec)

    def _read(self, node: Expression, layer: int) -> list[Way]:
        """How rules of `layer` see an expression: as it comes about, or through its variable."""
        if self.facts[node].layer == layer:
            return self.ways[node]
        code = self._code(node)
        return [({code.name: code.form(value)}, value) for value in self.facts[node].values]

    def _share(self, node: Width) -> str:
        shares = [1 / (width + 1) for width in reversed(range(self.longest + 1))]
        return self._averaged_bos(self.names.of(node, "share"), node.selector, shares)

    def _averaged_bos(self, name: str, selector: Selector, buckets: list[float]) -> str:
        query = self._selected(selector, with_bos=True)
        key = self._code(selector.keys)
        self.heads[name] = qkv(query.name, key.name, "is_bos", output_spec=numerical_var(buckets))
        return name

    def _guarded(
        self, node: Aggregate | Mean, carried: Expression, value: _View, spec: Variable | None
    ) -> Iterator[Way]:
        """What the head reports, or the default where the selection is empty."""
        name, conditions = self.names.of(node, "head"), {}
        query, key = self._selected(node.selector, with_bos=False), self._code(node.selector.keys)
        self.heads[name] = qkv(query.name, key.name, value.name, output_spec=spec)
        if node.default is not REQUIRED:
            guard = self.names.of(node, "some")
            self._averaged_bos(guard, node.selector, [SOMETHING, NOTHING])
            yield {guard: NOTHING}, node.default
            conditions = {guard: SOMETHING}
        if isinstance(node, Aggregate):
            for held in self.facts[carried].values:
                yield {**conditions, name: value.form(held)}, held
        else:
            for mean in possible_means(self.facts[carried].values, self.longest):
                yield {**conditions, name: float(mean)}, mean

    def _code(self, node: Expression) -> _View:
        values = self.facts[node].values
        codes = {value: 1 + place for place, value in enumerate(values)}
        view = _View(self.names.of(node), 0, codes.__getitem__, partial(var, len(values) + 1))
        return self.views[node].setdefault("code", view)

    def _number(self, node: Expression) -> _View:
        buckets = _at_least_two([0.0, *map(float, self.facts[node].values)])
        name = self.names.of(node, "number")
        view = _View(name, 0.0, float, partial(numerical_var, buckets))
        return self.views[node].setdefault("number", view)

    def _selected(self, selector: Selector, *, with_bos: bool) -> _View:
        """The codes of the keys that a query selects, as a form of the query's expression."""
        node, identity = selector.queries, (selector, with_bos)
        if identity not in self.views[node]:
            code = self._code(selector.keys).form
            always = frozenset([0] if with_bos else [])
            sets = {
                query: always.union(int(code(key)) for key in keys)  # type: ignore[arg-type]
                for query, keys in selected(selector, self.facts).items()
            }
            declared = dict.fromkeys([frozenset[int](), *sets.values()])
            size = len(self.facts[selector.keys].values) + 1
            earlier = sum(isinstance(other, tuple) for other in self.views[node])
            name = self.names.of(node, f"selects_{earlier + 1}" if earlier else "selects")
            view = _View(name, frozenset(), sets.__getitem__, partial(set_var, declared, size))
            self.views[node][identity] = view
        return self.views[node][identity]

    def _variables(self) -> dict[str, Variable]:
        bos, layers = len(self.words), self.layers
        variables: dict[str, Variable] = {
            # BOS is done from the start, so no rule ever holds there.
            "step": var(layers + 1, input_init_fn=lambda token: layers if token == bos else 0),
            "is_bos": numerical_var((0, 1), input_init_fn=lambda token: float(token == bos)),
        }
        for node, views in self.views.items():
            for view in views.values():
                variables[view.name] = self._declare(node, view)
        return variables

    def _declare(self, node: Expression, view: _View) -> Variable:
        match self.facts[node].origin:
            case ByToken(table):
                held = [*map(view.form, table), view.blank]
                return view.declare(input_init_fn=held.__getitem__)
            case ByIndex(table):
                held = [view.blank, *map(view.form, table)]
                return view.declare(position_init_fn=held.__getitem__)
            case Computed():
                return view.declare(default=view.blank)

    def _rules(self) -> Iterator[Rule]:
        for step in range(self.layers):
            yield Rule({}, "step", step, step + 1)
        for node, ways in self.ways.items():
            step = self.facts[node].layer - 1
            for conditions, value in ways:
                for view in self.views[node].values():
                    new = view.form(value)
                    if new != view.blank:
                        yield Rule({"step": step, **conditions}, view.name, view.blank, new)


def _at_least_two(values: Iterable[float]) -> list[float]:
    buckets = sorted(set(values))
    return buckets if len(buckets) > 1 else [*buckets, buckets[0] + 1]
