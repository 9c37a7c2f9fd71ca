"""The variables that hold an expression's value, each in a form that some head or rule reads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from espalier.language import Value, Variable, numerical_var, set_var, var
from espalier.rasp.expressions import Expression
from espalier.rasp.facts import ByIndex, ByToken, Computed, Facts, Part, as_fraction
from espalier.rasp.names import Names

# How code 0 is written: no value yet, or BOS.
BLANK = "·"


@dataclass(frozen=True)
class View:
    """One variable that holds an expression's value in some form."""

    name: str
    blank: Value
    form: Callable[[Any], Value]
    declare: Callable[..., Variable]
    values: tuple[str, ...] | None = None  # how they are written, the blank first


class Views:
    """The views that are needed, each made once."""

    def __init__(self, facts: Facts, names: Names) -> None:
        self.facts, self.names = facts, names
        self._made: dict[Expression, dict[Hashable, View]] = {node: {} for node in facts}

    def of(self, node: Expression) -> Iterable[View]:
        """All views of an expression."""
        return self._made[node].values()

    def code(self, node: Expression) -> View:
        """The place of the value among the possible ones, from 1."""
        if "code" not in self._made[node]:
            values = self.facts[node].values
            codes = {value: 1 + place for place, value in enumerate(values)}
            declare = partial(var, len(values) + 1)
            written = (BLANK, *(str(value) or repr(value) for value in values))
            name = self.names.of(node)
            self._made[node]["code"] = View(name, 0, codes.__getitem__, declare, written)
        return self._made[node]["code"]

    def number(self, node: Expression) -> View:
        """The number itself; 0 for None."""

        def form(value: Any) -> float:
            return 0.0 if value is None else float(as_fraction(value))

        buckets = sorted({0.0, *map(form, self.facts[node].values)})
        declare = partial(numerical_var, buckets if len(buckets) > 1 else [0.0, 1.0])
        view = View(self.names.of(node, "number"), 0.0, form, declare)
        return self._made[node].setdefault("number", view)

    def missing(self, node: Expression) -> View:
        """1 where there is a value, 2 where it is None."""
        name = self.names.of(node, "missing")
        written = (BLANK, "some", "None")
        is_none: Callable[[Any], Value] = lambda value: 2 if value is None else 1  # noqa: E731
        view = View(name, 0, is_none, partial(var, 3), written)
        return self._made[node].setdefault("missing", view)

    def selected(self, part: Part, *, with_bos: bool) -> View:
        """The codes of the keys that a query selects, as a form of the query's expression."""
        code, bos = self.code(part.keys).form, frozenset([0] if with_bos else [])
        sets = {
            query: bos.union(int(code(key)) for key in keys)  # type: ignore[arg-type]
            for query, keys in part.table.items()
        }
        made = self._made[part.queries]
        identity = (id(part.keys), tuple(sets.values()))
        if identity not in made:
            declared = dict.fromkeys([frozenset[int](), *sets.values()])
            size = len(self.facts[part.keys].values) + 1
            earlier = sum(isinstance(other, tuple) for other in made)
            stem = f"selects_{earlier + 1}" if earlier else "selects"
            name = self.names.of(part.queries, stem)
            declare = partial(set_var, declared, size)
            made[identity] = View(name, frozenset(), sets.__getitem__, declare)
        return made[identity]

    def value_names(self) -> dict[str, tuple[str, ...]]:
        """How the values of views are written, where they are not their own names."""
        made = (view for views in self._made.values() for view in views.values())
        return {view.name: view.values for view in made if view.values is not None}

    def variables(self) -> dict[str, Variable]:
        """The declarations of all views."""
        return {
            view.name: self._declare(node, view)
            for node, views in self._made.items()
            for view in views.values()
        }

    def _declare(self, node: Expression, view: View) -> Variable:
        match self.facts[node].origin:
            case ByToken(table):
                held = [*map(view.form, table), view.blank]
                return view.declare(input_init_fn=held.__getitem__)
            case ByIndex(table):
                held = [view.blank, *map(view.form, table)]
                return view.declare(position_init_fn=held.__getitem__)
            case Computed():
                return view.declare(default=view.blank)
