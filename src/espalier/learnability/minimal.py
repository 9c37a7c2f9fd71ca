"""The minimal version of a program with respect to a set of inputs (the paper's Appendix C.2).

What running the program on the inputs never needed is taken away: rules that held at no position
of any layer, and the first values of tokens and positions that were never seen. What is left is a
program again, and whether it still works on other inputs is the question.

Left out: the second half of the paper's Definition 1, which also removes single conditions from
the rules that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from espalier.errors import ProgramError
from espalier.interpreter.interpret import chunks
from espalier.interpreter.machine import Machine
from espalier.language import ByInput, ByPosition, Constant, Program, Rule, RuleSet
from espalier.language.program import check_batch, check_layers
from espalier.language.validation import Initial


@dataclass(frozen=True)
class Dropped:
    """What a minimal version lacks: rules that never held, tokens and positions never seen."""

    rules: tuple[Rule, ...]
    tokens: tuple[int, ...]
    positions: tuple[int, ...]

    def __str__(self) -> str:
        parts = (
            (len(self.rules), "rules that never held"),
            (len(self.tokens), "tokens never seen"),
            (len(self.positions), "positions never seen"),
        )
        named = [f"{count:,} {what}" for count, what in parts if count]
        return "dropped " + (", ".join(named) if named else "nothing")


@dataclass(frozen=True)
class MinimalProgram(Program):
    """A program that is minimal for some inputs, and what was dropped to make it so."""

    dropped: Dropped = field(default=Dropped((), (), ()), kw_only=True)

    def __str__(self) -> str:
        return f"{super().__str__()}\n  {self.dropped}"


def minimal(
    program: Program, inputs: Iterable[Iterable[object]], *, max_layers: int | None = None
) -> MinimalProgram:
    """`program` without the rules and first values that running it on `inputs` never needs.

    On those inputs it does exactly what `program` does. `max_layers` stops a program that does
    not halt by itself.
    """
    max_layers = check_layers(program, max_layers)
    sequences = check_batch(program, inputs)
    if not sequences:
        raise ProgramError("a minimal version needs at least one input; found none")
    kept = satisfied_rules(program, sequences, max_layers=max_layers)
    seen = {token for sequence in sequences for token in sequence}
    longest = max(map(len, sequences))
    dropped = Dropped(
        tuple(rule for rule, held in zip(program.rules, kept, strict=True) if not held),
        tuple(token for token in range(program.input_range) if token not in seen),
        tuple(range(longest, program.position_range or longest)),
    )
    smaller = {
        "rules": RuleSet(rule for rule, held in zip(program.rules, kept, strict=True) if held),
        "initial": _restrict(program, seen, longest),
        "dropped": dropped,
    }
    same = {f.name: getattr(program, f.name) for f in fields(Program)}
    return MinimalProgram(**(same | smaller))


def satisfied_rules(
    program: Program, sequences: Sequence[Sequence[int]], *, max_layers: int | None
) -> list[bool]:
    """For each rule, whether it holds at some position of some layer while running `sequences`."""
    machine = Machine(program, record_rules=True)
    for numbers in chunks(sequences):
        first = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
        machine.run(first, max_layers=max_layers)
    assert machine.satisfied is not None
    return [bool(held) for held in machine.satisfied]


def _restrict(program: Program, seen: set[int], longest: int) -> Mapping[str, Initial]:
    """The first values, with the default in place of those for what was never seen."""
    restricted: dict[str, Initial] = {}
    for name, initial in program.initial.items():
        default = program.variables[name].init.default
        match initial:
            case Constant():
                restricted[name] = initial
            case ByInput(table):
                restricted[name] = ByInput(
                    tuple(value if x in seen else default for x, value in enumerate(table))
                )
            case ByPosition(table):
                restricted[name] = ByPosition(table[:longest] + (default,) * (len(table) - longest))
    return restricted
