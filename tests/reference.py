"""What a program means, by definition: one sequence, one position, one rule at a time.

Slow and obvious on purpose; numbers are fractions, so that a mean is exact. Fast machines are
tested against this. A state is a list with one assignment (variable -> value) a position; null is
None.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from espalier.language import (
    ByInput,
    ByPosition,
    Categorical,
    Constant,
    Head,
    Numerical,
    Program,
    Rule,
    SetValued,
    Variable,
)

Assignment = dict[str, object]
States = list[Assignment]


class UndefinedReadError(Exception):
    """Rules read undefined variables in `layer`, at these (position, variable) places."""

    def __init__(self, layer: int, places: set[tuple[int, str]]) -> None:
        super().__init__(f"layer {layer}: {sorted(places)}")
        self.layer, self.places = layer, places


class TwoRulesError(Exception):
    """Two rules of one output variable hold together."""


class EndlessError(Exception):
    """A state came back, so the program will never halt."""


@dataclass(frozen=True)
class ReferenceRun:
    """The answer, and the states: `updated[0]` is the first, `attended[k]` comes before the MLP."""

    outputs: list[int]
    layers: int
    halted: bool
    updated: list[States]
    attended: list[States]


def run_by_definition(
    program: Program, tokens: Sequence[int], *, max_layers: int | None = None, strict: bool = True
) -> ReferenceRun:
    states = [first_state(program, token, place) for place, token in enumerate(tokens)]
    updated, attended, halted = [states], [[]], False
    while not halted and len(updated) - 1 != max_layers:
        middle = attend(program, states)
        resting = [has_halted(program, here) and len(updated) > 1 for here in states]
        middle = [
            old if rests else new for rests, old, new in zip(resting, states, middle, strict=True)
        ]
        if strict:
            awake = {place for place, rests in enumerate(resting) if not rests}
            refuse_undefined_reads(program, middle, awake, layer=len(updated))
        states = [
            here if rests else apply_rules(program.rules, program.specs, here)
            for rests, here in zip(resting, middle, strict=True)
        ]
        if program.halt is not None:
            name, value = program.halt.variable, program.halt.value
            halted = all(here[name] == value for here in states)
        if max_layers is None and not halted and states in updated:
            raise EndlessError(f"the state after layer {len(updated)} came back")
        attended.append(middle)
        updated.append(states)
    outputs = [here[program.output_name] for here in states]
    return ReferenceRun(outputs, len(updated) - 1, halted, updated, attended)


def last_answer(
    program: Program, tokens: Sequence[int], *, max_layers: int | None, strict: bool = True
) -> tuple[int, int]:
    """The last position's output, and after how many layers it came to rest."""
    run = run_by_definition(program, tokens, max_layers=max_layers, strict=strict)
    rests = (n for n in range(1, run.layers) if has_halted(program, run.updated[n][-1]))
    return run.outputs[-1], next(rests, run.layers)


def has_halted(program: Program, here: Assignment) -> bool:
    """Whether a position of a causal program is done, and stays as it is."""
    halt = program.halt
    return program.causal and halt is not None and here[halt.variable] == halt.value


def first_state(program: Program, token: int, position: int) -> Assignment:
    """Every variable's first value; the outputs of heads are null."""
    state: Assignment = dict.fromkeys(program.heads)
    for name, initial in program.initial.items():
        match initial:
            case ByInput(table):
                value = table[token]
            case ByPosition(table):
                value = table[position]
            case Constant(value):
                pass
        state[name] = plain(program.variables[name], value)
    return state


def plain(spec: Variable, value: object) -> object:
    match spec:
        case Categorical():
            return int(value)
        case Numerical():
            return Fraction(value)
        case SetValued():
            return frozenset(value)


def attend(program: Program, states: States) -> States:
    """Every head reads the states as they were; none sees another's output."""
    middle = [dict(here) for here in states]
    for name, head in program.heads.items():
        for position in range(len(states)):
            visible = states[: position + 1] if program.causal else states
            values = selected_values(head, visible, position)
            middle[position][name] = aggregate(program.specs[name], values)
    return middle


def selected_values(head: Head, states: States, position: int) -> list[object]:
    chosen = []
    for other, there in enumerate(states):
        allowed = head.relative_positions
        if allowed is not None and other - position not in allowed:
            continue
        if head.query is None or matches(states[position][head.query], there[head.key]):
            chosen.append(there[head.value])
    return chosen


def matches(query: object, key: object) -> bool:
    if query is None or key is None:
        return False
    return key in query if isinstance(query, frozenset) else key == query


def aggregate(spec: Variable, values: list[object]) -> object:
    if not values or None in values:
        return None
    if isinstance(spec, Numerical):
        return sum(values, Fraction(0)) / len(values)
    return values[0] if all(value == values[0] for value in values) else None


def seen_by_rules(specs: Mapping[str, Variable], state: Mapping[str, object]) -> Assignment:
    """Reals as the nearest bucket, ties to the lower one; everything else as it is."""
    return {
        name: nearest_bucket(specs[name], value)
        if isinstance(specs[name], Numerical) and value is not None
        else value
        for name, value in state.items()
    }


def nearest_bucket(spec: Numerical, number: Fraction) -> float:
    return min(spec.values, key=lambda value: (abs(Fraction(value) - number), value))


def holds(rule: Rule, seen: Mapping[str, object]) -> bool:
    """Whether every condition holds; null satisfies none."""
    return all(seen[atom.variable] in atom.values for atom in rule.antecedent)


def undefined_reads(rule: Rule, seen: Mapping[str, object]) -> set[str]:
    """The null variables of a rule whose other conditions all hold; resets read nothing."""
    null = {a.variable for a in rule.antecedent if seen[a.variable] is None}
    rest = [a for a in rule.antecedent if a.variable not in null]
    if rule.new is None or not all(seen[a.variable] in a.values for a in rest):
        return set()
    return null


def refuse_undefined_reads(program: Program, middle: States, awake: set[int], layer: int) -> None:
    places = {
        (position, name)
        for position, here in enumerate(middle)
        if position in awake
        for rule in program.rules
        for name in undefined_reads(rule, seen_by_rules(program.specs, here))
    }
    if places:
        raise UndefinedReadError(layer, places)


def apply_rules(
    rules: Iterable[Rule], specs: Mapping[str, Variable], state: Mapping[str, object]
) -> Assignment:
    """The next assignment: what a rule writes where one holds, the old value elsewhere."""
    seen, after, written = seen_by_rules(specs, state), dict(state), set()
    for rule in rules:
        if holds(rule, seen):
            if rule.output in written:
                raise TwoRulesError(f"{rule.output}: {rule}")
            written.add(rule.output)
            after[rule.output] = None if rule.new is None else plain(specs[rule.output], rule.new)
    return after


def apply_function(
    function: Callable[[Assignment], object], assignment: Mapping[str, object]
) -> Assignment:
    """The assignment after the function has changed a copy of it."""
    after = dict(assignment)
    function(after)
    return after


def assignments(
    specs: Mapping[str, Variable], *, nullable: Iterable[str] = ()
) -> Iterator[Assignment]:
    """Every assignment of values; those of `nullable` may be null too."""
    nullable = set(nullable)
    choices = [
        [*spec.values, None] if name in nullable else list(spec.values)
        for name, spec in specs.items()
    ]
    return (dict(zip(specs, values, strict=True)) for values in itertools.product(*choices))


def can_hold_together(one: Rule, other: Rule, specs: Mapping[str, Variable]) -> bool:
    """Whether some assignment satisfies both, found by trying them all."""
    names = {a.variable for rule in (one, other) for a in rule.antecedent}
    few = {name: specs[name] for name in names}
    return any(holds(one, seen) and holds(other, seen) for seen in assignments(few))
