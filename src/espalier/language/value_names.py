"""How a program's author writes values: `phase = PARSE` where the stream holds `phase = 0`.

Names are for display alone: no machine sees them, and a program's hash does not count them. Where
none were given, what is known otherwise names a value: the vocabulary, the answers of the text
format, the names of what a head carries or a set is matched against.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from espalier.errors import ProgramError, nearest
from espalier.language.validation import ByInput
from espalier.language.variables import (
    Categorical,
    Numerical,
    SetValued,
    Value,
    Variable,
    as_items,
    show_value,
)

if TYPE_CHECKING:
    from espalier.language.program import Program
    from espalier.language.rules import Atom, Rule

ValueNames = Mapping[str, tuple[str, ...]]


def check_value_names(names: object, specs: Mapping[str, Variable]) -> dict[str, tuple[str, ...]]:
    """A name for every value (of a set variable: for every element); ProgramError otherwise."""
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise ProgramError(f"value_names maps variables to lists of names; found {names!r}")
    checked = {}
    for variable, given in names.items():
        if variable not in specs:
            raise ProgramError(f"value_names has {variable!r}; {nearest(variable, specs)}")
        found, wanted = as_items(given, f"the value names of {variable!r}"), _count(specs[variable])
        if len(found) != wanted or not all(isinstance(name, str) and name for name in found):
            raise ProgramError(
                f"{variable!r} needs {wanted} value names, words that are not empty; found "
                f"{len(found)}: {found[:8]!r}"
            )
        checked[variable] = tuple(map(str, found))
    return checked


def names_of_values(program: Program) -> dict[str, tuple[str, ...] | None]:
    """For every variable the names of its values, or None where a value is its own name."""
    found = {name: program.value_names.get(name) or _known(program, name) for name in program.specs}
    for name, head in program.heads.items():
        same = _count(program.specs[name]) == _count(program.specs[head.value])
        if found[name] is None and head.output_spec is None and same:
            found[name] = found[head.value]
    for head in program.heads.values():
        if head.query is None or head.key is None or found[head.query] is not None:
            continue
        query, key = program.specs[head.query], program.specs[head.key]
        if isinstance(query, SetValued) and query.size == _count(key):
            found[head.query] = found[head.key]
    return found


def write_value(spec: Variable, names: tuple[str, ...] | None, value: Value | None) -> str:
    """The name of a value, or the value itself where it has none."""
    match spec, value:
        case SetValued(), frozenset() if names is not None:
            return "{" + ",".join(names[element] for element in sorted(value)) + "}"
        case Numerical(values=buckets), int() | float() if names is not None:
            return names[buckets.index(value)] if value in buckets else show_value(value)
        case Categorical(), int() if names is not None:
            return names[value]
    return show_value(value)


def write_rule(program: Program, rule: Rule) -> str:
    """A rule in the words of its program."""

    def atom(one: Atom) -> str:
        values = [program.write(one.variable, value) for value in one.values]
        return f"{one.variable} {'=' if len(values) == 1 else 'in'} {', '.join(values)}"

    conditions = ", ".join(atom(one) for one in rule.antecedent if one.variable != rule.output)
    old, new = (program.write(rule.output, value) for value in (rule.old, rule.new))
    change = f"{rule.output}: {old} -> {new}"
    return f"{change} if {conditions}" if conditions else change


def _known(program: Program, name: str) -> tuple[str, ...] | None:
    """What names the values of a variable to which its author gave no names."""
    spec, initial = program.specs[name], program.initial.get(name)
    if not isinstance(spec, Categorical):
        return None
    if name == program.output_name and program.text is not None:
        answers = program.text.answers
        return tuple(str(v) if answers[v] in (None, "") else str(answers[v]) for v in spec.values)
    is_token = isinstance(initial, ByInput) and tuple(initial.table) == spec.values
    if program.vocabulary is None or not is_token or len(program.vocabulary) != spec.size:
        return None
    try:
        return None if name in program.written else program.vocabulary
    except ProgramError:  # a function with more rules than can be listed
        return None


def _count(spec: Variable) -> int:
    return spec.size if isinstance(spec, SetValued) else len(spec.values)
