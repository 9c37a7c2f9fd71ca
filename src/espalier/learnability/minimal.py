"""The minimal version of a program with respect to a set of inputs (the paper's Appendix C.2).

Everything that the program never needed on the inputs is removed: rules that held at no position
of any layer, and the first values of tokens and positions that were never seen; on request also
single conditions of the rules that stay, which is the whole of Definition 1 (B.3). What is left is
a program again, and whether it still works on other inputs is the question.

With fewer conditions, two rules of one variable may hold together on other inputs. Definition 1 is
about the inputs given, so that is allowed: `MinimalProgram.clash` names two such rules, the
interpreter raises where it happens, and weights would write both values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from espalier.errors import ConfigError, as_flag
from espalier.interpreter import Mask
from espalier.language import (
    ByInput,
    ByPosition,
    Constant,
    Initial,
    Program,
    Rule,
    RuleSet,
    find_conflict,
)
from espalier.learnability.assignments import (
    Assignments,
    join_assignments,
    mlp_inputs,
    run_layers,
    training_set,
)
from espalier.learnability.constraints import DroppedConstraint, loosen
from espalier.results import Result
from espalier.runs import HERE, AnyWorkers, Counts, Workers, by_parts

if TYPE_CHECKING:
    import pandas

CHUNK = 4096  # inputs run at once, here or by a worker


@dataclass(frozen=True, repr=False)
class Dropped(Result):
    """What a minimal version lacks: rules that never held, tokens and positions never seen.

    `constraints` are the conditions that went from rules that stay, each with the reason why.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> len(es.minimal(entry.program, [entry.encode("0")]).dropped.rules)
    4
    """

    rules: tuple[Rule, ...]
    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    constraints: tuple[DroppedConstraint, ...] = ()

    def to_frame(self) -> pandas.DataFrame:
        """One row for everything dropped: its kind, what it was, and why it went."""
        import pandas as pd

        rows = [("rule", str(rule), "it never held") for rule in self.rules]
        rows += [("condition", one.what, one.why) for one in self.constraints]
        rows += [("token", str(token), "it was never seen") for token in self.tokens]
        rows += [("position", str(place), "it was never seen") for place in self.positions]
        return pd.DataFrame(rows, columns=["kind", "what", "why"])


@dataclass(frozen=True, repr=False)
class MinimalProgram(Program):
    """A program that is minimal for some inputs, and what was dropped to make it so.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> es.minimal(entry.program, [entry.encode("0")]).clash is None
    True
    """

    dropped: Dropped = field(default=Dropped((), (), ()), kw_only=True)

    @cached_property
    def clash(self) -> tuple[Rule, Rule] | None:
        """Two rules that can hold together on inputs it is not minimal for, or None."""
        return find_conflict(self.rules)


def minimal(
    program: Program,
    inputs: Iterable[Iterable[object]],
    *,
    constraints: bool = False,
    max_layers: int | None = None,
    workers: AnyWorkers = HERE,
    progress: Counts | None = None,
) -> MinimalProgram:
    """`program` without the rules and first values that running it on `inputs` never needs.

    With `constraints`, rules also lose the conditions that are not needed (Definition 1). On those
    inputs it does exactly what `program` does. `max_layers` stops a program that does not halt by
    itself. `workers` run it on some thousand inputs each; `progress` is called with how many of all
    inputs have been run.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> len(es.minimal(entry.program, [entry.encode("0")]).rules), len(entry.program.rules)
    (3, 7)
    """
    sequences, max_layers = training_set(program, inputs, max_layers)
    found = by_parts(
        _needed,
        sequences,
        (program, max_layers, constraints),
        size=CHUNK,
        workers=Workers.of(workers),
        progress=progress,
    )
    held = np.any([mask for mask, _ in found], axis=0)
    kept = [rule for rule, holds in zip(program.rules, held, strict=True) if holds]
    lost: list[DroppedConstraint] = []
    if constraints:
        kept, lost = loosen(kept, join_assignments([some for _, some in found if some is not None]))
    seen = {token for sequence in sequences for token in sequence}
    longest = max(map(len, sequences))
    dropped = Dropped(
        tuple(rule for rule, holds in zip(program.rules, held, strict=True) if not holds),
        tuple(token for token in range(program.input_range) if token not in seen),
        tuple(range(longest, program.position_range or longest)),
        tuple(lost),
    )
    smaller = {
        "rules": RuleSet(kept),
        "initial": _restrict(program, seen, longest),
        "dropped": dropped,
    }
    same = {f.name: getattr(program, f.name) for f in fields(Program)}
    return MinimalProgram(**(same | smaller))


def _needed(
    sequences: list[tuple[int, ...]], program: Program, max_layers: int | None, constraints: bool
) -> tuple[Mask, Assignments | None]:
    """Which rules held on some inputs and, if requested, what the MLP saw there."""
    if not as_flag("constraints", constraints, error=ConfigError):
        return run_layers(program, sequences, max_layers=max_layers), None
    assignments, held = mlp_inputs(program, sequences, max_layers=max_layers)
    return held, assignments


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
