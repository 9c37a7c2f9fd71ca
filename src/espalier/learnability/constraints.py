"""Conditions that a training set does not need of a rule (the second half of Definition 1, B.3).

A condition can go from a rule if the rule then holds where it held before and nowhere else among
the assignments of D: if no assignment fails it alone. Whether it can is a matter of its rule alone.
Where a rule newly holds, some output changes, since a rule always writes another value than the one
it finds; and if another rule of the same variable held there already, two would hold, which B.1
forbids and which weights would add up.

- The condition on the output variable stays, always: B.1 requires it, and W2 takes out its value.
- Conditions are tried from the last written to the first, each against what is left by then. What
  stays is needed: taking more away from a rule only makes the rest more needed.
- From `x in S` the values go first with which the rule never held. They are to `x in S` what a
  rule that never holds is to a rule set.
- An assignment in which a condition's variable is null does not fail that condition: a rule that
  holds but for a null is an error of the program's, and stays impossible on D.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from espalier.interpreter import Ints, Mask
from espalier.language import Atom, Program, Rule, Value, show_value
from espalier.learnability.assignments import Assignments


@dataclass(frozen=True)
class DroppedConstraint:
    """What a rule lost: a whole condition, or some `values` of a condition `x in S`."""

    rule: Rule  # as it was
    atom: Atom
    values: tuple[Value, ...] | None = None

    @property
    def why(self) -> str:
        """What the inputs did not show."""
        if self.values is None:
            return "it never failed where the rest of what the rule keeps held"
        return "the rule never held with it"

    @property
    def what(self) -> str:
        """The condition, and the rule it went from."""
        lost = str(self.atom)
        if self.values is not None:
            lost = f"{self.atom.variable} = " + " or ".join(map(show_value, self.values))
        return f"{lost} of [{self.rule}]"

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def loosen(
    rules: Iterable[Rule], assignments: Assignments
) -> tuple[list[Rule], list[DroppedConstraint]]:
    """The rules without the conditions that the assignments do not need, and those conditions."""
    rules = list(rules)
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, rule in enumerate(rules):
        groups[frozenset(atom.variable for atom in rule.antecedent)].append(number)
    found: dict[int, tuple[Rule, list[DroppedConstraint]]] = {}
    for variables, numbers in groups.items():
        names = [name for name in assignments.program.specs if name in variables]
        codes = dict(zip(names, assignments.over(names).T, strict=True))
        for number in numbers:
            found[number] = _loosen(assignments.program, rules[number], codes)
    ordered = [found[number] for number in range(len(rules))]
    return [rule for rule, _ in ordered], [one for _, dropped in ordered for one in dropped]


def _loosen(
    program: Program, rule: Rule, codes: dict[str, Ints]
) -> tuple[Rule, list[DroppedConstraint]]:
    """One rule; `codes` are the assignments of its variables."""
    atoms, dropped = _narrow(program, rule, codes)
    failed = {atom.variable: fails(program, atom, codes[atom.variable]) for atom in atoms}
    failures = np.sum(list(failed.values()), axis=0)
    kept = list(atoms)
    for atom in reversed(atoms):
        alone = failed[atom.variable] & (failures == 1)
        if atom.variable != rule.output and not alone.any():
            failures = failures - failed[atom.variable]
            kept.remove(atom)
            dropped.append(DroppedConstraint(rule, atom))
    return Rule(kept, rule.output, rule.old, rule.new), dropped


def _narrow(
    program: Program, rule: Rule, codes: dict[str, Ints]
) -> tuple[list[Atom], list[DroppedConstraint]]:
    """The conditions with only the values with which the rule held."""
    holds = ~np.logical_or.reduce(
        [
            fails(program, atom, codes[atom.variable]) | (codes[atom.variable] < 0)
            for atom in rule.antecedent
        ]
    )
    atoms, dropped = [], []
    for atom in rule.antecedent:
        spec, seen = program.specs[atom.variable], set(codes[atom.variable][holds].tolist())
        used = tuple(value for value in atom.values if spec.code(value) in seen)
        atoms.append(Atom(atom.variable, used))
        if len(used) < len(atom.values):
            unused = tuple(value for value in atom.values if value not in used)
            dropped.append(DroppedConstraint(rule, atom, unused))
    return atoms, dropped


def fails(program: Program, atom: Atom, codes: Ints) -> Mask:
    """Where the variable has a value, and none that the condition allows."""
    spec = program.specs[atom.variable]
    allowed = [spec.code(value) for value in atom.values]
    return (codes >= 0) & ~np.isin(codes, allowed)


def is_needed(assignments: Assignments, rule: Rule, atom: Atom) -> bool:
    """Whether some assignment fails this condition of the rule alone, null failing none."""
    program, names = assignments.program, list(assignments.program.specs)
    failed = {
        one.variable: fails(program, one, assignments.codes[:, names.index(one.variable)])
        for one in rule.antecedent
    }
    alone = failed[atom.variable] & (np.sum(list(failed.values()), axis=0) == 1)
    return bool(alone.any())
