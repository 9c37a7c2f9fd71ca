"""A trace as arrays: the codes after every sub-layer, the rules that fired, what heads selected.

A *moment* numbers the states of a trace: 2k after layer k, 2k - 1 in its middle, after attention.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from espalier.interpreter.batch import NULL, Column, Ints, Mask
from espalier.interpreter.explain.reach import Reach, reach_of
from espalier.interpreter.machine import Machine, codes_of
from espalier.interpreter.tables import Tables
from espalier.language import LazyRules, Numerical, Program, SetValued, Value, Variable

if TYPE_CHECKING:
    from espalier.interpreter.trace import Trace

NO_RULE = -1
Masks = NDArray[np.bool_]


class Replay:
    """What one run did, by arrays over moments and positions."""

    def __init__(self, trace: Trace) -> None:
        self.program, self.length, self.layers = trace.program, len(trace.tokens), trace.layers
        self.names = list(self.program.specs)
        self.place = {name: place for place, name in enumerate(self.names)}
        # (moments, positions): codes, -1 for null; reals of numerical variables, NaN for null.
        self.columns: dict[str, Column] = {
            name: cast(Column, np.stack([to_codes(spec, m.columns[name]) for m in trace.moments]))
            for name, spec in self.program.specs.items()
        }
        self.reads = self.program.derived(_reads)
        self._reaches: dict[str, Reach] = {}

    @cached_property
    def machine(self) -> Machine:
        """The machine for other runs of the program: a rule that reads null does not hold."""
        is_lazy = isinstance(self.program.rules, LazyRules)
        return Machine(self.program, strict=False, record_rules=is_lazy)

    @cached_property
    def resting(self) -> Mask:
        """(layers + 1, positions): where a causal program's position had halted before a layer."""
        rests = np.zeros((self.layers + 1, self.length), dtype=bool)
        halt = self.program.halt
        if halt is not None and self.program.causal:
            rests[2:] = self.columns[halt.variable][2:-1:2] == halt.value
        return rests

    @cached_property
    def fired(self) -> dict[str, Ints]:
        """For each variable that rules write, (layers + 1, positions): their number, or -1."""
        specs, shape = self.program.specs, (self.layers + 1, self.length)
        codes = {
            name: codes_of(specs[name], column[1::2].reshape(-1))
            for name, column in self.columns.items()
        }
        found = {}
        for output, tables in self.program.derived(Tables.of).rules.items():
            numbers = np.full(shape, NO_RULE)
            for table in tables:
                held = table.owners_at(codes).reshape(self.layers, self.length)
                numbers[1:] = np.maximum(numbers[1:], held)
            found[output] = np.where(self.resting, NO_RULE, numbers)
        return found

    def selected(self, head_name: str, layer: int) -> Masks:
        """(query, place): which places in its reach a head selected in a layer."""
        head, reach = self.program.heads[head_name], self.reach(head_name)
        allowed = np.asarray(reach.allowed & ~self.resting[layer][:, None])
        if head.query is None or head.key is None:
            return allowed
        query, key = (self.columns[name][2 * layer - 2] for name in (head.query, head.key))
        match self.program.specs[head.query]:
            case SetValued(values=values):
                held = [[code in value for code in key.tolist()] for value in values]
                return np.asarray(allowed & np.asarray(held)[query[:, None], reach.keys])
            case _:
                return np.asarray(allowed & (query[:, None] == reach.at_keys(key)))

    def reach(self, head_name: str) -> Reach:
        """What the head's offsets and the causal mask allow, the same in every layer."""
        if head_name not in self._reaches:
            head = self.program.heads[head_name]
            self._reaches[head_name] = reach_of(head, self.length, causal=self.program.causal)
        return self._reaches[head_name]

    def value(self, name: str, moment: int, position: int) -> Value | None:
        """A value as people write it."""
        return from_code(self.program.specs[name], self.columns[name][moment, position])


def to_codes(spec: Variable, values: list[Value | None]) -> Column:
    """Values as the machine holds them."""
    if isinstance(spec, Numerical):
        return np.asarray([np.nan if x is None else x for x in values], dtype=np.float64)
    code = lru_cache(maxsize=None)(spec.code)  # a value is checked once
    return np.asarray([NULL if x is None else code(x) for x in values], dtype=np.int64)


def from_code(spec: Variable, code: float) -> Value | None:
    """What a code or a real stands for."""
    if isinstance(spec, Numerical):
        return None if np.isnan(code) else float(code)
    return None if code == NULL else spec.values[int(code)]


def _reads(program: Program) -> dict[str, list[str]]:
    """For each variable that rules write, all that they read: itself among them."""
    found: dict[str, set[str]] = defaultdict(set)
    for rule in program.rules:
        found[rule.output].update([atom.variable for atom in rule.antecedent])
    return {output: sorted(names) for output, names in found.items()}
