"""Rules as the MLP's last two layers, exactly as Appendix B eq. 8-10.

W1 has a 1 at (rule, m(k, v)) for each atom k = v of the antecedent, b1 is one less than the
number of atoms, negated, and W2 takes the old value out and puts the new one in. `x in S` has a 1
at each value of S and still counts once, because a one-hot sums to 1.

Numbers need more than eq. 10, because the stream holds the exact number and rules know only its
bucket. Two kinds of unit are added after the rules, for each part of a number. They are exact,
because all they add are integer multiples of the part's unit, of few enough bits:

clear       The output of a numerical head is always reset, whatever it is, so it is subtracted
            from itself: x = M clip(x / M) - M clip(-x / M), exact for a power of two M >= |x|.
remainder   A number that a rule rewrites may be x, a first value, and not its bucket c. With g the
            rule's pre-activation and r = (x - c) / M, |r| <= 1/2, the unit clip(g - 1/2 + r) is
            1/2 + r where the rule holds and 0 elsewhere; M times it, less M/2 times the rule
            itself, is the remainder.

With `Realism` the slope of a rule's unit takes `ramp` of the way from 0 to 1, around 1/2, so that
errors in what it reads are not passed on. A reset passes them on, and so takes out whatever an
imperfect head has written; where that can be negative, one more unit per dimension takes that out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from espalier.compiler.expansion import expand, widened
from espalier.compiler.layout import Layout
from espalier.language import Numerical, Rule, SetValued
from espalier.nets.compiled import FeedForwardWeights, Sparse


@dataclass
class _Units:
    """Entries of W1, b1 and W2; a place of W2 that is written twice holds the sum."""

    w1: list[tuple[int, int, float]] = field(default_factory=list)
    b1: list[float] = field(default_factory=list)
    w2: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, reads: dict[int, float], bias: float) -> int:
        unit = len(self.b1)
        self.w1.extend((unit, column, weight) for column, weight in reads.items())
        self.b1.append(bias)
        return unit

    def write(self, dimension: int, unit: int, amount: float) -> None:
        self.w2[dimension, unit] = self.w2.get((dimension, unit), 0.0) + amount


def tabulate(layout: Layout, dtype: torch.dtype) -> FeedForwardWeights:
    """The MLP: one unit per rule, in the program's order, then the units that numbers need."""
    program, units = layout.program, _Units()
    for rule in program.rules:
        reads, bias = _reads(layout, rule), 1.0 - len(rule.antecedent)
        if passes_on(layout, rule):
            units.add({place: weight / _room(layout) for place, weight in reads.items()}, bias)
        else:
            ramp = None if layout.realism is None else layout.realism.ramp
            units.add(*widened(reads, bias, ramp))
    for unit, rule in enumerate(program.rules):
        _write(layout, units, unit, rule)
    for name in layout.flags:
        _clear(layout, units, name)
    for dimension in _cleared(layout):
        unit = units.add({dimension: -1 / _room(layout)}, 0.0)
        units.write(dimension, unit, _room(layout))
    for unit, rule in enumerate(program.rules):
        if _needs_remainder(layout, rule):
            _write_remainder(layout, units, unit, rule)
    hidden = len(units.b1)
    changes = [(d, u, amount) for (d, u), amount in units.w2.items() if amount]
    return FeedForwardWeights(
        w1=Sparse.of((hidden, layout.width + layout.features), units.w1, dtype),
        b1=torch.tensor(units.b1, dtype=dtype),
        w2=Sparse.of((layout.width, hidden), changes, dtype),
        expansion=expand(layout, dtype),
    )


def unit_labels(layout: Layout) -> list[str]:
    """What each hidden unit stands for."""
    labels = [str(rule) for rule in layout.program.rules]
    count = len(layout.own)
    numbered = layout.labels
    labels += [
        f"clear {numbered[dimension]} ({sign})"
        for name in layout.flags
        for dimension in layout.dimensions(name)
        for sign in "+-"
    ]
    labels += [f"clear {numbered[dimension]} (-)" for dimension in _cleared(layout)]
    labels += [
        f"remainder of {numbered[dimension]}: [{rule}]" if place else f"remainder of [{rule}]"
        for rule in layout.program.rules
        if _needs_remainder(layout, rule)
        for place, dimension in enumerate(layout.dimensions(rule.output))
    ]
    ways = [f"distractor {number + 1}" for number in range(count)]
    return labels + [f"{way} ({what})" for way in ways for what in ("writes", "takes out")]


def units_of_rules(layout: Layout) -> list[list[int]]:
    """For each rule its units: its own, and those of the remainder of the number it rewrites."""
    rules, cleared = layout.program.rules, [len(layout.dimensions(name)) for name in layout.flags]
    found, unit = [[number] for number in range(len(rules))], len(rules) + 2 * sum(cleared)
    unit += len(_cleared(layout))
    for own, rule in zip(found, rules, strict=True):
        if _needs_remainder(layout, rule):
            size = len(layout.dimensions(rule.output))
            own += range(unit, unit + size)
            unit += size
    return found


def passes_on(layout: Layout, rule: Rule) -> bool:
    """Whether a rule takes out as much as it reads: the reset of a head that carries values."""
    return rule.is_reset and not isinstance(layout.program.specs[rule.output], Numerical)


def _room(layout: Layout) -> float:
    """How much of a value may be there to be taken out; more than 1 where it is not exact."""
    return 2.0 if _cleared(layout) else 1.0


def _cleared(layout: Layout) -> list[int]:
    """The dimensions of heads that may hold less than nothing."""
    realism = layout.realism
    if realism is None or not (realism.noise or layout.is_superposed):
        return []
    heads = [name for name in layout.program.heads if name not in layout.flags]
    return [dimension for name in heads for dimension in layout.dimensions(name)]


def _reads(layout: Layout, rule: Rule) -> dict[int, float]:
    if rule.is_reset and not isinstance(layout.program.specs[rule.output], Numerical):
        # A reset takes out what is there, a full value or a share of an average.
        return {
            layout.dimension(rule.output, layout.program.specs[rule.output].code(rule.old)): 1.0
        }
    return {
        layout.feature(atom.variable, value): 1.0
        for atom in rule.antecedent
        for value in atom.values
    }


def _write(layout: Layout, units: _Units, unit: int, rule: Rule) -> None:
    """Old value out, new value in (eq. 10)."""
    spec = layout.program.specs[rule.output]
    if isinstance(spec, Numerical):
        if rule.new is None:
            units.write(layout.flags[rule.output], unit, -1.0)
        else:
            for dimension, old, new in _parts(layout, rule):
                units.write(dimension, unit, new - old)
        return
    for value, sign in ((rule.old, -1.0), (rule.new, 1.0)):
        if isinstance(spec, SetValued):
            for element in value or ():  # type: ignore[union-attr]
                units.write(layout.dimension(rule.output, element), unit, sign)
        elif value is not None:
            amount = sign * _room(layout) if passes_on(layout, rule) else sign
            units.write(layout.dimension(rule.output, spec.code(value)), unit, amount)


def _parts(layout: Layout, rule: Rule) -> list[tuple[int, float, float]]:
    """For each part of the number that a rule rewrites: its dimension, old and new."""
    assert isinstance(rule.old, float)
    assert isinstance(rule.new, float)
    parts = layout.formats[rule.output].parts
    return list(
        zip(
            layout.dimensions(rule.output),
            parts.split(rule.old),
            parts.split(rule.new),
            strict=True,
        )
    )


def _clear(layout: Layout, units: _Units, name: str) -> None:
    form = layout.formats[name]
    bounds = form.bounds
    if layout.realism is not None and form.size == 1:
        # Large factors that cancel are exact here, but not in a noisy network.
        held = layout.program.held[layout.program.heads[name].value]
        most = max(abs(number) for number in held) / float(form.parts.factor)
        bounds = [2.0 ** math.ceil(math.log2(most) + 0.5)] if most else [1.0]
    for dimension, bound in zip(layout.dimensions(name), bounds, strict=True):
        for sign in (1.0, -1.0):
            unit = units.add({dimension: sign / bound}, 0.0)
            units.write(dimension, unit, -sign * bound)


def _write_remainder(layout: Layout, units: _Units, rule_unit: int, rule: Rule) -> None:
    form, reads = layout.formats[rule.output], _reads(layout, rule)
    for (dimension, old, _), limit in zip(_parts(layout, rule), form.bounds, strict=True):
        bound = 2 * limit
        bias = 1.0 - len(rule.antecedent) - 0.5 - old / bound
        unit = units.add(reads | {dimension: 1 / bound}, bias)
        units.write(dimension, unit, -bound)
        units.write(dimension, rule_unit, bound / 2)


def _needs_remainder(layout: Layout, rule: Rule) -> bool:
    """Whether a number that the rule rewrites may differ from its bucket."""
    spec = layout.program.specs[rule.output]
    if not isinstance(spec, Numerical) or rule.is_reset:
        return False
    return any(
        spec.values[spec.bucket(number)] == rule.old and number != rule.old
        for number in layout.program.held[rule.output]
    )
