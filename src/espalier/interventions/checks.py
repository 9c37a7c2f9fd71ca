"""Interventions checked against a program and its inputs, and laid out as a plan.

Refused is what names nothing, what lies outside the inputs or the layers, and what can never fire:
an edge that the head's relative positions or the causal mask exclude, a rule that can never hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from espalier.errors import ProgramError, is_one_of, nearest
from espalier.interventions.kinds import (
    Copy,
    Cut,
    Intervention,
    Interventions,
    KnockOut,
    Mean,
    Set,
    Sublayer,
)
from espalier.interventions.plan import Over, Plan
from espalier.interventions.values import average, check_variable, code_of
from espalier.language import Numerical, Program, Value, as_integer, as_items, rules_that_may_hold

KINDS = (Set, Copy, Mean, Cut, KnockOut)


def make_plan(
    program: Program,
    interventions: Interventions,
    lengths: Sequence[int],
    *,
    max_layers: int | None = None,
    checked: bool = True,
) -> Plan:
    """What to do where in a batch of inputs of these lengths; ProgramError names the culprit.

    Unless `checked`, what is not reached or can never fire is no error: it has no effect.

    >>> import espalier as es
    >>> program = es.zoo.load("parity-sequential-relative").program
    >>> plan = make_plan(program, [Set("parity", layer=1, position=2, value=0)], [4, 3])
    >>> plan.last, plan.owners
    (1, [(0, 0), (1, 0)])
    """
    plan = Plan(program, as_lists(interventions, len(lengths)))
    for number, (some, length) in enumerate(zip(plan.lists, lengths, strict=True)):
        for place, one in enumerate(some):
            layout = _Layout(plan, number, length, max_layers, checked)
            try:
                layout.add(one)
            except ProgramError as error:
                raise ProgramError(f"input {number}: {one}: {error}") from None
            plan.owners.append((number, place))
    if checked and plan.knocked:
        _refuse_never_holding(plan)
    return plan


def as_lists(given: object, count: int) -> list[tuple[Intervention, ...]]:
    """One tuple for each input."""
    items = as_items(given, "interventions")
    if all(isinstance(item, KINDS) for item in items):
        return [tuple(items)] * count  # type: ignore[arg-type]
    nested = [item for item in items if isinstance(item, list | tuple)]
    inner = [one for some in nested for one in some]
    known = ", ".join(kind.__name__ for kind in KINDS)
    for one in [*inner, *(item for item in items if not isinstance(item, list | tuple))]:
        if not isinstance(one, KINDS):
            raise ProgramError(
                f"{one!r} is no intervention; give a list of {known}, or one such list for each "
                "input"
            )
    if len(nested) < len(items):
        raise ProgramError(
            "interventions holds lists and single interventions; give one list for all inputs, or "
            "one list for each of them"
        )
    if len(nested) != count:
        raise ProgramError(
            f"interventions has {len(nested)} lists for {count} inputs; give one list for each, or "
            "one list for all of them that holds no lists"
        )
    return [tuple(some) for some in nested]


class _Layout:
    """Adds the interventions of one input to a plan."""

    def __init__(
        self, plan: Plan, number: int, length: int, max_layers: int | None, checked: bool
    ) -> None:
        self.plan, self.program, self.number = plan, plan.program, number
        self.length, self.max_layers, self.checked = length, max_layers, checked
        self.owner = len(plan.owners)

    def add(self, one: Intervention) -> None:
        match one:
            case Set(variable, layer=layer, position=position, value=value, sublayer=sublayer):
                place = self._place(variable, layer, position, sublayer)
                self._write(place, variable, value)
            case Copy(variable, layer=layer, position=position, sublayer=sublayer):
                place = self._place(variable, layer, position, sublayer)
                self._write(place, variable, _copied(one))
            case Mean(variable, layer=layer, position=position, sublayer=sublayer):
                self._mean(one, self._place(variable, layer, position, sublayer))
            case Cut():
                self._cut(one)
            case KnockOut():
                self._knock_out(one)

    def _place(
        self, variable: object, layer: object, position: object, sublayer: object
    ) -> tuple[int, Sublayer, int]:
        name = check_variable(self.program, variable)
        if getattr(sublayer, "ndim", 0) or sublayer not in ("attention", "mlp"):
            raise ProgramError(f"the sublayer is 'attention' or 'mlp'; found {sublayer!r}")
        lowest = 0 if sublayer == "mlp" else 1
        if name in self.program.heads and sublayer == "mlp":
            raise ProgramError(
                f"{name!r} is the output of a head, which is null after the MLP; give "
                "sublayer='attention'"
            )
        return self._layer(layer, lowest), sublayer, self._position(position)

    def _layer(self, layer: object, lowest: int = 1) -> int:
        number = as_integer(layer, "the layer")
        if number < lowest:
            raise ProgramError(
                f"layer {number} has no such place; layers count from 1, and layer 0 is the start, "
                "which has only sublayer='mlp'"
            )
        if self.checked and self.max_layers is not None and number > self.max_layers:
            raise ProgramError(f"layer {number} is not reached with max_layers={self.max_layers}")
        self.plan.layers.append(number)
        return number

    def _layer_or_all(self, layer: object) -> int | None:
        if layer is not None:
            return self._layer(layer)
        self._layer(1)
        return None

    def _position(self, position: object, what: str = "position") -> int:
        number = as_integer(position, f"the {what}")
        if self.checked and not 0 <= number < self.length:
            raise ProgramError(
                f"{what} {number} is outside the input, which has 0..{self.length - 1}"
            )
        return number

    def _write(self, place: tuple[int, Sublayer, int], name: str, value: Value | None) -> None:
        layer, sublayer, position = place
        row = (self.owner, self.number, position, code_of(self.program, name, value))
        self.plan.writes[layer, sublayer][name].append(row)

    def _mean(self, one: Mean, place: tuple[int, Sublayer, int]) -> None:
        over = as_items(one.over, "over, runs or positions,")
        if not over:
            raise ProgramError("it is a mean over nothing; give runs or positions in over")
        if all(hasattr(source, "cache") for source in over):
            values = [_looked_up(source, one.variable, *place) for source in over]
            self._write(place, one.variable, average(self.program, one.variable, values))
            return
        if one.variable in self.program.heads and isinstance(
            self.program.specs[one.variable], Numerical
        ):
            raise ProgramError(
                f"{one.variable!r} holds means already, which are rounded, and a mean of them over "
                "positions would not be exact; give runs in over"
            )
        positions = tuple(self._position(position, "position") for position in over)
        layer, sublayer, position = place
        if max(position, *positions) >= self.length:
            return
        mean = Over(self.owner, self.number, one.variable, position, positions)
        self.plan.means[layer, sublayer].append(mean)

    def _cut(self, one: Cut) -> None:
        self._head(one.head)
        layer = self._layer_or_all(one.layer)
        queries, keys = (
            range(self.length) if place is None else [self._position(place, what)]
            for place, what in ((one.query, "query"), (one.key, "key"))
        )
        edges = [(q, k) for q in queries for k in keys if self._in_reach(one.head, q, k)]
        if self.checked and not edges:
            raise ProgramError(
                f"there is no such edge: the head ({self.program.heads[one.head]})"
                f"{', which looks to the left only,' * self.program.causal} reaches no such key "
                "from there, so it can never fire"
            )
        if one.key is None:
            edges = [(query, -1) for query in dict.fromkeys(query for query, _ in edges)]
        rows = [(self.owner, self.number, query, key) for query, key in edges]
        self.plan.cuts[layer, one.head].extend(rows)

    def _in_reach(self, name: str, query: int, key: int) -> bool:
        allowed = self.program.heads[name].relative_positions
        ahead = self.program.causal and key > query
        return not ahead and (allowed is None or key - query in allowed)

    def _head(self, name: object) -> str:
        if not isinstance(name, str) or name not in self.program.heads:
            raise ProgramError(f"there is no head {name!r}; {nearest(name, self.program.heads)}")
        return name

    def _knock_out(self, one: KnockOut) -> None:
        given = [what for what in (one.rule, one.head, one.unit) if what is not None]
        if len(given) != 1:
            raise ProgramError("give one of rule, head and unit")
        where = range(self.length) if one.position is None else [self._position(one.position)]
        layer = self._layer_or_all(one.layer)
        if one.head is not None:
            name = self._head(one.head)
            null = code_of(self.program, name, None)
            rows = [(self.owner, self.number, position, null) for position in where]
            self.plan.writes[layer, "attention"][name].extend(rows)
            return
        rule = self._rule(one)
        knocked = [(self.owner, self.number, position, rule) for position in where]
        self.plan.knocked[layer].extend(knocked)

    def _rule(self, one: KnockOut) -> int:
        rules = self.program.rules
        if one.unit is not None:
            known = self.program.derived(_labels)
            if not is_one_of(one.unit, known):
                raise ProgramError(f"there is no unit {one.unit!r}; {nearest(one.unit, known)}")
            found = known[one.unit]
            if len(found) > 1:
                raise ProgramError(f"rules {found} have that label; give one of them as rule=")
            number = found[0]
        else:
            number = as_integer(one.rule, "the rule")
        if not 0 <= number < len(rules):
            raise ProgramError(f"there is no rule {number}; rules are numbered 0..{len(rules) - 1}")
        if rules[number].is_reset:
            head = rules[number].output
            raise ProgramError(
                f"rule {number} resets the output of head {head!r}, which the next layer adds to: "
                f"without it the sum would mean nothing; knock out the head with head={head!r}"
            )
        return number


def _labels(program: Program) -> dict[str, list[int]]:
    """The rules by their units' labels."""
    found: dict[str, list[int]] = {}
    for number, rule in enumerate(program.rules):
        found.setdefault(str(rule), []).append(number)
    return found


def _copied(one: Copy) -> Value | None:
    return _looked_up(
        one.source,
        one.variable,
        one.layer if one.source_layer is None else one.source_layer,
        one.sublayer if one.source_sublayer is None else one.source_sublayer,
        one.position if one.source_position is None else one.source_position,
    )


def _looked_up(
    source: object, variable: str, layer: int, sublayer: Sublayer, position: int
) -> Value | None:
    """What a variable was in another run."""
    cache = getattr(source, "cache", None)
    if cache is None:
        raise ProgramError(
            f"a {type(source).__name__} without what it went through cannot be a source; take it "
            "from es.interpret, or from model.run(..., cache=True)"
        )
    values = cache.variable(variable, sublayer)
    rows, columns = values.shape
    if not (sublayer == "attention") <= layer < rows or not 0 <= position < columns:
        raise ProgramError(
            f"the source has no layer {layer} after {sublayer!r} at position {position}: its last "
            f"layer is {rows - 1}, its last position {columns - 1}"
        )
    found: Value | None = values[layer, position]
    return found


def _refuse_never_holding(plan: Plan) -> None:
    """Raise for a rule to be knocked out that no run could ever have fire."""
    program = plan.program
    written = {
        (name, program.specs[name].values[int(row[3])])
        for variables in plan.writes.values()
        for name, rows in variables.items()
        if not isinstance(program.specs[name], Numerical)
        for row in rows
        if row[3] >= 0
    }
    may_hold = frozenset(rules_that_may_hold(program, written))
    for owner, number, _, rule in _all(plan.knocked.values()):
        if rule not in may_hold:
            _, place = plan.owners[owner]
            raise ProgramError(
                f"input {number}: {plan.lists[number][place]} can never fire: no run meets all "
                f"values that rule {rule} asks for, [{program.rules[rule]}]"
            )


def _all(lists: Iterable[list[tuple[int, int, int, int]]]) -> Iterable[tuple[int, int, int, int]]:
    return (row for rows in lists for row in rows)
