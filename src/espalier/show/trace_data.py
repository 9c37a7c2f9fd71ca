"""A trace as the JSON that its page holds: every value, column and rule text once.

A page must stay light. Where a trace is too long, layers are left out of its middle, and where too
much changes, the rules of some changes are; the data say both.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from espalier.interpreter import as_bucket
from espalier.language import Program, Rule
from espalier.show.pages import LONGEST_TEXT
from espalier.show.programs import listed_rules
from espalier.show.text import shorten
from espalier.show.trace_text import changed, title, token_names

if TYPE_CHECKING:
    from espalier.interpreter import Assignment, Trace
    from espalier.language import Value

# What a page holds: cells of columns, changes whose rule is looked up, characters of rules.
STORED_CELLS = 1_600_000
LOOKUPS = 400_000
RULE_CHARACTERS = 1_500_000

UNKNOWN = -1


def trace_data(trace: Trace) -> dict[str, Any]:
    """Everything that the page draws.

    A step's columns are numbers into `columns`, whose entries are numbers into `values` (and
    `shown`). Its `wrote` gives, for each variable, the rules of its changed positions in order.
    """
    program, writers = trace.program, _Writers(trace.program)
    columns = _Columns(program)
    steps: dict[int, dict[str, Any]] = {}
    held = 0
    # From both ends inwards, so that what is left out is the middle.
    for layer in sorted(range(trace.layers + 1), key=lambda k: min(k, trace.layers - k)):
        if columns.cells > STORED_CELLS and held > 1:
            break
        for place in range(max(0, 2 * layer - 1), 2 * layer + 1):
            steps[place] = _step(trace, place, columns, writers)
        held += 1
    names = list(program.specs)
    return {
        "tokens": token_names(trace),
        "names": names,
        "output": names.index(program.output_name),
        "heads": {names.index(name): _head(program, name) for name in program.heads},
        "causal": program.causal,
        "halt": program.halt and [names.index(program.halt.variable), program.halt.value],
        "values": columns.values(),
        "shown": columns.shown(),
        "columns": columns.columns,
        "rules": [text for text, _ in writers.texts],
        "reads": [list(map(names.index, reads)) for _, reads in writers.texts],
        "steps": [steps[place] for place in sorted(steps)],
        "interventions": len(trace.interventions),
        "omitted": trace.layers + 1 - held,
        "unexplained": writers.full,
    }


def _head(program: Program, name: str) -> dict[str, Any]:
    """A head as text, and what is needed to find the positions that it selected."""
    head, names = program.heads[name], list(program.specs)
    offsets = head.relative_positions
    return {
        "text": shorten(str(head), LONGEST_TEXT),
        "query": None if head.query is None else names.index(head.query),
        "key": None if head.key is None else names.index(head.key),
        "value": names.index(head.value),
        "offsets": None if offsets is None else sorted(offsets),
    }


def _step(trace: Trace, place: int, columns: _Columns, writers: _Writers) -> dict[str, Any]:
    """One sub-layer: its columns, those before it, and the rule that wrote each changed cell."""
    moment, previous = trace.moments[place], trace.moments[place - 1] if place else None
    specs = trace.program.specs

    @cache
    def seen(position: int) -> Assignment:
        return trace.state(moment.layer, position, "attention")

    wrote: dict[int, list[int]] = {}
    for variable, name in enumerate(specs):
        if moment.sublayer == "mlp" and name not in trace.program.heads and not writers.full:
            places = [p for p in range(len(trace.tokens)) if changed(moment, previous, name, p)]
            if places:
                wrote[variable] = [writers.number(name, seen(position)) for position in places]
    return {
        "title": title(moment),
        "place": place,
        "now": [columns.column(name, moment.columns[name]) for name in specs],
        "before": previous and [columns.column(name, previous.columns[name]) for name in specs],
        "wrote": wrote,
    }


class _Columns:
    """Values and columns, each stored once and known by its number."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._values: dict[tuple[str, Value | None], int] = {}
        self._columns: dict[tuple[str, tuple[Value | None, ...]], int] = {}
        self.columns: list[list[int]] = []
        self.cells = 0

    def column(self, name: str, cells: Sequence[Value | None]) -> int:
        # Each variable on its own: 1 of one may be written differently from 1 of another.
        number = self._columns.setdefault((name, tuple(cells)), len(self.columns))
        if number == len(self.columns):
            codes = (self._values.setdefault((name, x), len(self._values)) for x in cells)
            self.columns.append(list(codes))
            self.cells += len(cells)
        return number

    def values(self) -> list[Any]:
        """Every value as JSON holds it: null, a number, a list of elements."""
        return [sorted(x) if isinstance(x, frozenset) else x for _, x in self._values]

    def shown(self) -> list[str]:
        """Every value as the program's author writes it."""
        return [shorten(self._program.write(name, x), LONGEST_TEXT) for name, x in self._values]


class _Writers:
    """Which rule wrote a cell: `Trace.rule` for many cells, until the page is full.

    A variable's rules are grouped by the variables they read; one look-up per group finds the rule.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._groups: dict[str, dict[tuple[str, ...], dict[tuple[Value, ...], Rule]]]
        self._groups = defaultdict(lambda: defaultdict(dict))
        self._listed = listed_rules(program)
        for rule in (rule for rule in self._listed or () if not rule.is_reset):
            names = tuple(atom.variable for atom in rule.antecedent)
            for values in itertools.product(*(atom.values for atom in rule.antecedent)):
                self._groups[rule.output][names][values] = rule
        self.texts: dict[tuple[str, tuple[str, ...]], int] = {}  # with the variables read
        self._lookups, self._room = LOOKUPS, RULE_CHARACTERS

    @property
    def full(self) -> bool:
        return self._listed is None or self._lookups <= 0 or self._room <= 0

    def number(self, variable: str, seen: Assignment) -> int:
        """The number of the rule that writes `variable` where the MLP saw `seen`."""
        if self.full:
            return UNKNOWN
        self._lookups -= 1
        for names, rules in self._groups[variable].items():
            rule = rules.get(tuple(self._bucket(name, seen[name]) for name in names))
            if rule is not None:
                text = shorten(self._program.write_rule(rule), LONGEST_TEXT)
                self._room -= 0 if (text, names) in self.texts else len(text)
                return self.texts.setdefault((text, names), len(self.texts))
        return UNKNOWN

    def _bucket(self, name: str, value: Value | None) -> Any:
        return None if value is None else as_bucket(self._program, name, value)
