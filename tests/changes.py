"""Interventions by definition, one position and one change at a time, and random ones to try.

Slow and obvious on purpose; it shares nothing with the machines under test.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

from hypothesis import strategies as st

import espalier as es
from dice import Dice
from espalier.interpreter import Machine
from espalier.interventions import Copy, Cut, Intervention, KnockOut, Mean, Set
from espalier.language import Categorical, Numerical, Program, SetValued
from reference import (
    ReferenceRun,
    States,
    aggregate,
    apply_rules,
    first_state,
    has_halted,
    matches,
    nearest_bucket,
)
from strategies import cases, random_input


def run_changed(
    program: Program, tokens: Sequence[int], changes: Sequence[Intervention], max_layers: int
) -> ReferenceRun:
    """What the program does by definition where these changes are made."""
    states = [first_state(program, token, place) for place, token in enumerate(tokens)]
    write(program, states, changes, 0, "mlp")
    updated, attended, halted, layer = [states], [[]], False, 0
    while not halted and layer != max_layers:
        layer += 1
        resting = [has_halted(program, here) and layer > 1 for here in states]
        middle = attend(program, states, changes, layer, resting)
        write(program, middle, changes, layer, "attention")
        states = [
            {**here, **dict.fromkeys(program.heads)}
            if resting[place]
            else apply_rules(firing(program, changes, layer, place), program.specs, here)
            for place, here in enumerate(middle)
        ]
        write(program, states, changes, layer, "mlp")
        if program.halt is not None:
            halted = all(s[program.halt.variable] == program.halt.value for s in states)
        attended.append(middle)
        updated.append(states)
    outputs = [here[program.output_name] for here in states]
    return ReferenceRun(outputs, layer, halted, updated, attended)


def attend(program, states: States, changes, layer: int, resting: list[bool]) -> States:
    middle = [dict(here) for here in states]
    for name, head in program.heads.items():
        for query in range(len(states)):
            if not resting[query]:
                keys = selected(program, name, states, changes, layer, query)
                values = [states[key][head.value] for key in keys]
                middle[query][name] = aggregate(program.specs[name], values)
    return middle


def selected(program, name: str, states: States, changes, layer: int, query: int) -> list[int]:
    """The positions that a head selects, those left out whose edge is cut."""
    head, found = program.heads[name], []
    for key in range(len(states)):
        allowed = head.relative_positions is None or key - query in head.relative_positions
        seen = allowed and not (program.causal and key > query)
        match = head.query is None or matches(states[query][head.query], states[key][head.key])
        cut = any(
            isinstance(one, Cut)
            and one.head == name
            and one.layer in (None, layer)
            and one.query in (None, query)
            and one.key in (None, key)
            for one in changes
        )
        if seen and match and not cut:
            found.append(key)
    return found


def firing(program, changes, layer: int, position: int) -> list:
    """The rules that are not knocked out."""
    return [
        rule
        for number, rule in enumerate(program.rules)
        if not any(
            isinstance(one, KnockOut)
            and one.head is None
            and (one.rule == number or one.unit == str(rule))
            and one.layer in (None, layer)
            and one.position in (None, position)
            for one in changes
        )
    ]


def write(program, states: States, changes, layer: int, sublayer: str) -> None:
    """Set what is to be set after this sub-layer, in the order of the list."""
    left = [dict(here) for here in states]
    for one in changes:
        match one:
            case KnockOut(head=str(name)) if sublayer == "attention":
                if one.layer in (None, layer):
                    for place, here in enumerate(states):
                        if one.position in (None, place):
                            here[name] = None
            case Set() | Copy() | Mean() if (one.layer, one.sublayer) == (layer, sublayer):
                states[one.position][one.variable] = exact(program, one, left)


def exact(program, one, left: States) -> object:
    """The value that a change writes, numbers as fractions."""
    name, spec = one.variable, program.specs[one.variable]
    match one:
        case Set():
            value = one.value
        case Copy():
            value = copied(one, one.source)
        case Mean() if isinstance(one.over[0], int):
            value = mean(program, name, [left[place][name] for place in one.over])
        case Mean():
            value = mean(program, name, [copied(one, source) for source in one.over])
    return Fraction(value) if isinstance(spec, Numerical) and value is not None else value


def copied(one, source) -> object:
    return source.state(one.layer, one.position, one.sublayer)[one.variable]


def mean(program, name: str, values: list) -> object:
    spec = program.specs[name]
    if isinstance(spec, Numerical):
        values = [None if value is None else Fraction(value) for value in values]
        found = aggregate(spec, values)
        return found if name in program.heads else nearest_bucket(spec, found)
    return aggregate(spec, values)


# Random ones


@st.composite
def changed_inputs(draw, most_layers=4, **kind):
    """A program, inputs, a list of changes for each, and a number of layers."""
    case, dice = draw(cases(**kind)), Dice(draw)
    program, layers = case.program, dice.number(1, most_layers)
    machine, traces = Machine(program, strict=False), []
    if dice.chance(50):
        with suppress(es.UndefinedError):
            traces = [es.interpret(program, random_input(dice, program), max_layers=layers)]
    runs = machine.run(machine.start(case.batch), max_layers=layers)
    found = [
        (tokens, random_changes(dice, program, tokens, runs[number].layers, traces))
        for number, tokens in enumerate(case.batch)
    ]
    return program, [pair for pair in found if pair[1]], layers


def random_changes(
    dice: Dice, program: Program, tokens: Sequence[int], layers: int, traces: Sequence = ()
) -> list[Intervention]:
    """Up to three changes that every run of `layers` layers reaches."""
    found = []
    for _ in range(dice.number(1, 3)):
        kinds = [_set, _set, _mean, *([_copy, _mean_of_runs] if traces else [])]
        kinds += [_cut, _cut, _knock_out_head] if program.heads and layers else []
        if layers and any(not rule.is_reset for rule in program.rules):
            kinds.append(_knock_out_rule)
        one = dice.pick(kinds)(dice, program, len(tokens), layers, traces)
        found += [] if one is None else [one]
    return found


def _place(dice, program, length, layers, *, numbers=True):
    names = [n for n in program.specs if layers or n not in program.heads]
    if not numbers:
        names = [
            n
            for n in names
            if n not in program.heads or not isinstance(program.specs[n], Numerical)
        ]
    name = dice.pick(names)
    sublayer = "attention" if name in program.heads else dice.pick(["mlp", "attention"])
    sublayer = sublayer if layers else "mlp"
    layer = dice.number(1 if sublayer == "attention" else 0, layers)
    return name, {"layer": layer, "position": dice.number(0, length - 1), "sublayer": sublayer}


def reports(program, name: str) -> list[float]:
    """Means of one, two or three numbers that a head carries, if it can select so many."""
    head = program.heads[name]
    limits = [3, program.position_range or 3, len(head.relative_positions or range(3))]
    held = [Fraction(number) for number in program.held[head.value]]
    return sorted(
        {
            float(sum(chosen) / count)
            for count in range(1, min(limits) + 1)
            for chosen in itertools.product(held, repeat=count)
        }
    )


def values_of(program, name: str) -> list:
    spec = program.specs[name]
    is_head = name in program.heads
    match spec:
        case Numerical() if is_head:
            return [None, *(value for value in reports(program, name) if value * 8 % 1 == 0)]
        case Numerical():
            return list(program.held[name])
        case SetValued():
            return [*spec.values, *([None] if frozenset() not in spec.values else [])]
        case Categorical():
            return [*spec.values, None]


def _set(dice, program, length, layers, traces):
    name, place = _place(dice, program, length, layers)
    return Set(name, **place, value=dice.pick(values_of(program, name)))


def _copy(dice, program, length, layers, traces):
    name, place = _place(dice, program, length, layers)
    return _if_it_fits(program, Copy(name, **place, source=dice.pick(traces)))


def _mean_of_runs(dice, program, length, layers, traces):
    name, place = _place(dice, program, length, layers)
    return _if_it_fits(program, Mean(name, **place, over=[dice.pick(traces), traces[0]]))


def _mean(dice, program, length, layers, traces):
    name, place = _place(dice, program, length, layers, numbers=False)
    if isinstance(program.specs[name], SetValued):
        return None
    return Mean(name, **place, over=dice.some(range(length), least=1, most=3))


def _if_it_fits(program, one):
    """The change, unless it reads beyond its source or would make null what cannot be."""
    sources = [one.source] if isinstance(one, Copy) else one.over
    if any(one.layer > s.layers or one.position >= len(s.tokens) for s in sources):
        return None
    value = exact(program, one, [])
    is_head = one.variable in program.heads
    if is_head and isinstance(value, Fraction) and len({*map(id, sources)}) > 1:
        return None  # a mean of means need not be one that the head can report
    return one if value is not None or None in values_of(program, one.variable) else None


def _cut(dice, program, length, layers, traces):
    name = dice.pick(list(program.heads))
    allowed = program.heads[name].relative_positions
    edges = [
        (query, key)
        for query in range(length)
        for key in range(query + 1 if program.causal else length)
        if allowed is None or key - query in allowed
    ]
    if not edges:
        return None
    query, key = dice.pick(edges)
    layer = dice.pick([None, *range(1, layers + 1)])
    return Cut(name, layer=layer, query=dice.pick([query, None]), key=dice.pick([key, None]))


def _knock_out_head(dice, program, length, layers, traces):
    return KnockOut(head=dice.pick(list(program.heads)), **_anywhere(dice, length, layers))


def _knock_out_rule(dice, program, length, layers, traces):
    numbers = [n for n, rule in enumerate(program.rules) if not rule.is_reset]
    number, where = dice.pick(numbers), _anywhere(dice, length, layers)
    labels = [str(rule) for rule in program.rules]
    if dice.chance(30) and labels.count(labels[number]) == 1:
        return KnockOut(unit=labels[number], **where)
    return KnockOut(rule=number, **where)


def _anywhere(dice, length, layers):
    return {
        "layer": dice.pick([None, *range(1, layers + 1)]),
        "position": dice.pick([None, *range(length)]),
    }
