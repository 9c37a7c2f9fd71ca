"""A trace: what every variable was, at every position, after every sub-layer.

The state after layer k is numbered k, 0 being the state before the first. In between lies the
state that the MLP saw, where the heads' outputs are filled in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from espalier.errors import ProgramError, nearest
from espalier.interpreter.batch import NULL, State
from espalier.interpreter.cache import TraceCache
from espalier.interpreter.explain import Explanation, Replay, explain
from espalier.interventions import Intervention, KnockOut, Sublayer
from espalier.language import Numerical, Program, Rule, Value, as_integer, show_value
from espalier.results import Described, Result

if TYPE_CHECKING:
    import pandas

Assignment = dict[str, Value | None]


@dataclass(frozen=True, repr=False)
class Moment(Described):
    """The residual stream after one sub-layer (or before all, at layer 0)."""

    layer: int
    sublayer: Sublayer
    columns: dict[str, list[Value | None]]


@dataclass(frozen=True, repr=False)
class Trace(Result):
    """One sequence run by the interpreter, with everything it went through.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> trace = es.interpret(entry.program, entry.encode("11"))
    >>> trace.layers, trace.halted, trace.outputs[-1]
    (2, True, 0)
    """

    program: Program
    tokens: tuple[int, ...]
    outputs: list[int]
    layers: int
    halted: bool
    moments: tuple[Moment, ...]
    interventions: tuple[Intervention, ...] = ()
    idle: tuple[object, ...] = ()  # those that touched nothing
    # Where it would have been stopped.
    max_layers: int | None = field(default=None, compare=False, repr=False)

    @property
    def cache(self) -> TraceCache:
        """Its values and edges, under the names that a run of the weights has."""
        return TraceCache(self)

    def state(self, layer: int, position: int, after: Sublayer = "mlp") -> Assignment:
        """Every variable at one position, after `layer` layers; None is null.

        With after="attention" it is the state in the middle of that layer, which the MLP saw.
        """
        moment = self.moment(layer, after)
        position = as_integer(position, "the position")
        if not 0 <= position < len(self.tokens):
            raise ProgramError(
                f"position {position} is outside this trace: it has 0..{len(self.tokens) - 1}"
            )
        return {name: column[position] for name, column in moment.columns.items()}

    def moment(self, layer: int, after: Sublayer = "mlp") -> Moment:
        """The stream after a sub-layer of a layer."""
        layer, lowest = as_integer(layer, "the layer"), 0 if after == "mlp" else 1
        if after not in ("attention", "mlp") or not lowest <= layer <= self.layers:
            raise ProgramError(
                f"layer {layer} after {after!r} is outside this trace: it has {lowest}.."
                f"{self.layers}, after 'attention' or 'mlp'"
            )
        return self.moments[2 * layer if after == "mlp" else 2 * layer - 1]

    def rule(self, layer: int, position: int, variable: str) -> Rule | None:
        """The rule that wrote `variable` in `layer`, or None where no rule did."""
        if not isinstance(variable, str) or variable not in self.program.specs:
            raise ProgramError(f"there is no {variable!r}; {nearest(variable, self.program.specs)}")
        seen = self.state(layer, position, "attention")
        if self._rests(layer, position):
            return None
        buckets = {
            name: None if value is None else as_bucket(self.program, name, value)
            for name, value in seen.items()
        }
        rules = (
            rule
            for number, rule in enumerate(self.program.rules)
            if rule.output == variable and not self._knocked_out(number, layer, position)
        )
        return next((rule for rule in rules if rule.holds(buckets)), None)

    def explain(
        self, position: int, variable: str | None = None, layer: int | None = None
    ) -> Explanation:
        """Why a value is what it is: by default the output at `position`, at the end of the run.

        With `layer` it is the value after that layer, or after the last one where a run under an
        intervention halts before. A head's output is explained as attention left it.

        >>> import espalier as es
        >>> entry = es.zoo.load("parity-sequential-relative")
        >>> why = es.interpret(entry.program, entry.encode("101")).explain(position=2)
        >>> sorted(why.tokens), why.counterexamples[0, "mlp", "parity", 1]
        ([0, 1, 2], Counterexample(value=0, outcome=0))
        """
        return explain(self, self._replay, position, variable=variable, layer=layer)

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self)

    def _knocked_out(self, rule: int, layer: int, position: int) -> bool:
        return any(
            isinstance(one, KnockOut)
            and (one.rule == rule or one.unit == str(self.program.rules[rule]))
            and one.layer in (None, layer)
            and one.position in (None, position)
            for one in self.interventions
        )

    def _rests(self, layer: int, position: int) -> bool:
        """Whether a position of a causal program had halted before `layer` and stays as it was."""
        halt = self.program.halt
        if halt is None or not self.program.causal or layer < 2:
            return False
        return self.state(layer - 1, position)[halt.variable] == halt.value

    def to_frame(self) -> pandas.DataFrame:
        """One row for each layer, sub-layer, position and variable, with value and code.

        A value is written as the program's author does, its code as rules number it.
        """
        import pandas as pd

        rows = [
            (
                moment.layer,
                moment.sublayer,
                position,
                name,
                self.program.write(name, value),
                repr(value) if isinstance(value, float) else show_value(value),
            )
            for moment in self.moments
            for name, column in moment.columns.items()
            for position, value in enumerate(column)
        ]
        columns = ["layer", "sublayer", "position", "variable", "value", "code"]
        return pd.DataFrame(rows, columns=columns)


def as_bucket(program: Program, name: str, value: Value) -> Value:
    """The value as rules see it: a real becomes its bucket."""
    spec = program.specs[name]
    if isinstance(spec, Numerical) and isinstance(value, float):
        return spec.values[spec.bucket(value)]
    return value


def moment_of(program: Program, state: State, sublayer: Sublayer) -> Moment:
    """The state of a single sequence, in values instead of codes."""
    columns: dict[str, list[Value | None]] = {}
    for name, column in state.columns.items():
        spec = program.specs[name]
        if isinstance(spec, Numerical):
            columns[name] = [None if math.isnan(x) else x for x in column.tolist()]
        else:
            columns[name] = [None if c == NULL else spec.values[c] for c in column.tolist()]
    return Moment(state.layer, sublayer, columns)
