"""Transition rules in the form of the paper's Appendix B.1.

A rule says: where every atom of the antecedent holds, the output variable goes from its old value
to a new one. At most one rule of an output variable may hold at a time; where none does, the
variable keeps its value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from espalier.errors import ProgramError
from espalier.language.variables import Value, as_items, show_value
from espalier.results import fit


@dataclass(frozen=True, slots=True)
class Atom:
    """`variable` has one of `values` (almost always exactly one)."""

    variable: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        values: object = self.values
        if not isinstance(values, tuple):  # refused when the program is built, and shown there
            return f"{self.variable} in {values!r}"
        if len(self.values) == 1:
            return f"{self.variable} = {show_value(self.values[0])}"
        return f"{self.variable} in " + ", ".join(map(show_value, self.values))


Antecedent = Mapping[str, Value] | Iterable[Atom | tuple[str, Value]]


@dataclass(frozen=True, slots=True, init=False)
class Rule:
    """`output` goes from `old` to `new` where every atom of `antecedent` holds.

    The antecedent always holds the atom `output = old`; it is added where it was left out. A new
    value of None is null, which only the resets of head outputs write.
    """

    antecedent: tuple[Atom, ...]
    output: str
    old: Value
    new: Value | None

    def __init__(self, antecedent: Antecedent, output: str, old: Value, new: Value | None) -> None:
        if isinstance(antecedent, Mapping):
            atoms = tuple([Atom(name, (value,)) for name, value in antecedent.items()])
        else:
            atoms = tuple([_as_atom(item) for item in as_items(antecedent, "an antecedent")])
        if output not in [atom.variable for atom in atoms]:
            atoms = (*atoms, Atom(output, (old,)))
        _fill(self, atoms, output, old, new)

    @classmethod
    def of_atoms(cls, atoms: tuple[Atom, ...], output: str, old: Value, new: Value | None) -> Rule:
        """The rule with exactly these atoms, `output = old` among them; nothing is checked."""
        rule = object.__new__(cls)
        _fill(rule, atoms, output, old, new)
        return rule

    @property
    def is_reset(self) -> bool:
        """Whether the rule sets a head's output back to null."""
        return self.new is None

    def holds(self, state: Mapping[str, Value | None]) -> bool:
        """Whether every atom holds of an assignment of bucket values (null satisfies nothing)."""
        return all(state[atom.variable] in atom.values for atom in self.antecedent)

    def __str__(self) -> str:
        conditions = ", ".join(str(a) for a in self.antecedent if a.variable != self.output)
        change = f"{self.output}: {show_value(self.old)} -> {show_value(self.new)}"
        return f"{change} if {conditions}" if conditions else change


def _fill(rule: Rule, atoms: tuple[Atom, ...], output: str, old: Value, new: Value | None) -> None:
    object.__setattr__(rule, "antecedent", atoms)
    object.__setattr__(rule, "output", output)
    object.__setattr__(rule, "old", old)
    object.__setattr__(rule, "new", new)


def _as_atom(item: object) -> Atom:
    if isinstance(item, Atom):
        return item
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ProgramError(f"an antecedent holds pairs (variable, value); found {item!r}")
    return Atom(item[0], (item[1],))


FEW = 10  # rules that a repr shows


class RuleSet(Sequence[Rule]):
    """The rules of a program, resets included, in the order in which they were written."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleSet:
        if isinstance(index, slice):
            return RuleSet(self._rules[index])
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __eq__(self, other: object) -> bool:
        return self._rules == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    @property
    def summary(self) -> str:
        """How many rules there are, in words."""
        return f"{len(self):,} rules ({len(self.resets):,} resets)"

    @property
    def resets(self) -> RuleSet:
        """The rules that set head outputs back to null."""
        return RuleSet(rule for rule in self if rule.is_reset)

    @property
    def transitions(self) -> RuleSet:
        """The rules that are not resets."""
        return RuleSet(rule for rule in self if not rule.is_reset)

    def of(self, output: str) -> RuleSet:
        """The rules of one output variable."""
        return RuleSet(rule for rule in self if rule.output == output)

    def __repr__(self) -> str:
        shown = [str(rule) for rule in self[:FEW]]
        if len(self) > FEW:
            shown.append(f"... and {len(self) - FEW:,} more")
        return fit(f"RuleSet of {len(self):,}:\n  " + "\n  ".join(shown))


def as_rules(rules: object) -> list[Rule]:
    """The rules of a list, or of anything that has a `rules` attribute (a RuleBuilder)."""
    rules = getattr(rules, "rules", rules)
    found = as_items(rules, "rules")
    for place, rule in enumerate(found):
        if not isinstance(rule, Rule):
            raise ProgramError(
                f"rules[{place}] must be a Rule(antecedent, output, old, new); found {rule!r}"
            )
    return found  # type: ignore[return-value]


class Atoms:
    """The atoms `variable = value`, each made once: many rules share them."""

    def __init__(self) -> None:
        self._made: dict[str, dict[Value, Atom]] = defaultdict(dict)

    def __call__(self, variable: str, value: Value) -> Atom:
        """The atom `variable = value`."""
        atoms = self._made[variable]
        if value not in atoms:
            atoms[value] = Atom(variable, (value,))
        return atoms[value]
