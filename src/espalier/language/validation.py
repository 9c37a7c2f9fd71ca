"""What is refused when a program is built, and the tables that its init functions become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from espalier.errors import FAULTS, ProgramError, nearest
from espalier.language.heads import Halt, Head
from espalier.language.rules import Atom, Rule
from espalier.language.variables import (
    Categorical,
    InitFunction,
    Value,
    Variable,
    as_integer,
    as_items,
    check_size,
    show_value,
)


@dataclass(frozen=True)
class Constant:
    """The same first value everywhere."""

    value: Value


@dataclass(frozen=True)
class ByInput:
    """The first value for each token."""

    table: tuple[Value, ...]


@dataclass(frozen=True)
class ByPosition:
    """The first value at each position."""

    table: tuple[Value, ...]


Initial = Constant | ByInput | ByPosition


def check_range(what: str, given: object) -> int:
    """`given` as a positive number of values, no larger than a machine could hold."""
    size = check_positive(what, given)
    check_size(what, size)
    return size


def check_positive(what: str, given: object) -> int:
    """`given` as a positive integer."""
    number = as_integer(given, what)
    if number < 1:
        raise ProgramError(f"{what} must be at least 1; found {number}")
    return number


def check_output(
    name: object, variables: Mapping[str, Variable], heads: Mapping[str, Head]
) -> None:
    """Refuse an output that is not a categorical variable of the program\'s own."""
    if not isinstance(name, str):
        raise ProgramError(f"output_name must be the name of a variable; found {name!r}")
    if name in heads:
        raise ProgramError(
            f"output_name is {name!r}, the output of a head, which is null at the end of every "
            "layer; copy it into a variable"
        )
    if name not in variables:
        raise ProgramError(
            f"output_name is {name!r}, which is not a variable; {nearest(name, variables)}"
        )
    if not isinstance(variables[name], Categorical):
        raise ProgramError(f"output_name is {name!r} ({variables[name]}); an output is categorical")


def check_halt(halt: object, variables: Mapping[str, Variable], heads: Mapping[str, Head]) -> None:
    """Refuse a halting condition that can never be met."""
    if halt is None:
        return
    if not isinstance(halt, Halt):
        raise ProgramError(f"halt_spec must be made by halt_spec(variable, value); found {halt!r}")
    if halt.variable in heads:
        raise ProgramError(
            f"halt_spec waits for {halt.variable!r}, the output of a head, which is null at the "
            "end of every layer; copy it into a variable"
        )
    if halt.variable not in variables:
        raise ProgramError(
            f"halt_spec waits for {halt.variable!r}, which is not a variable; "
            f"{nearest(halt.variable, variables)}"
        )
    spec = variables[halt.variable]
    if not isinstance(spec, Categorical):
        raise ProgramError(f"halt_spec waits for {halt.variable!r} ({spec}); it is categorical")
    try:
        spec.check(halt.value)
    except ProgramError as error:
        raise ProgramError(f"halt_spec waits for {halt.variable!r}: {error}") from None


def check_causal(causal: object, heads: Mapping[str, Head]) -> bool:
    """`causal` itself; ProgramError if a head of a causal program could only look ahead."""
    if not isinstance(causal, bool):
        raise ProgramError(f"causal is True or False; found {causal!r}")
    for name, head in heads.items():
        offsets = head.relative_positions
        if causal and offsets and min(offsets) > 0:
            raise ProgramError(
                f"head {name!r} ({head}) looks only to the right, where a causal program sees "
                "nothing; give it a relative position of 0 or less, or drop causal"
            )
    return causal


def check_vocabulary(names: Sequence[str] | None, input_range: int) -> tuple[str, ...] | None:
    """One different name for each token, or none at all."""
    if names is None:
        return None
    words = []
    for name in as_items(names, "the vocabulary"):
        if not isinstance(name, str):
            raise ProgramError(f"the vocabulary holds names; found {name!r}")
        words.append(name)
    if len(words) != input_range or len(set(words)) != len(words):
        raise ProgramError(
            f"the vocabulary needs {input_range} different names, one per token; found "
            f"{len(words)}, {len(set(words))} of them different"
        )
    return tuple(words)


def initial_values(
    name: str, spec: Variable, input_range: int, position_range: int | None
) -> Initial:
    """The table of a variable\'s first values."""
    init = spec.init
    if init.from_input is not None:
        return ByInput(_tabulate(name, spec, init.from_input, input_range, "token"))
    if init.from_position is None:
        return Constant(init.default)
    if position_range is None:
        raise ProgramError(
            f"variable {name!r} is initialised from the position, but position_range is None; "
            "give the number of positions"
        )
    return ByPosition(_tabulate(name, spec, init.from_position, position_range, "position"))


def _tabulate(
    name: str, spec: Variable, function: InitFunction, size: int, what: str
) -> tuple[Value, ...]:
    table: list[Value] = []
    for index in range(size):
        try:
            table.append(spec.check_initial(function(index)))
        except ProgramError as error:
            raise ProgramError(f"first value of {name!r} at {what} {index}: {error}") from None
        except FAULTS as error:
            raise ProgramError(
                f"the init function of variable {name!r} raised {type(error).__name__} at {what} "
                f"{index}: {error}"
            ) from error
    return tuple(table)


def check_rule(rule: Rule, specs: Mapping[str, Variable], heads: frozenset[str]) -> Rule:
    """`rule` with plain values; ProgramError if it reads or writes what is not there."""
    if _is_plain(rule, specs, heads):
        return rule
    try:
        if not isinstance(rule.output, str):
            raise ProgramError(f"writes {rule.output!r}; a variable is called by its name")
        atoms = tuple([_check_atom(atom, specs) for atom in rule.antecedent])
        names = [atom.variable for atom in atoms]
        if len(set(names)) < len(names):
            repeated = min(name for name in names if names.count(name) > 1)
            raise ProgramError(f"{repeated!r} occurs in the antecedent more than once")
        if rule.output not in specs:
            raise ProgramError(
                f"writes {rule.output!r}, which is not a variable; {nearest(rule.output, specs)}"
            )
        if (rule.output in heads) != (rule.new is None):
            raise ProgramError("only the output of a head can be set to null, and to nothing else")
        if rule.new is None and len(atoms) > 1:
            raise ProgramError("a reset has no other condition: heads are reset in every layer")
        spec = specs[rule.output]
        old = spec.check(rule.old)
        new = None if rule.new is None else spec.check_written(rule.new)
        if old == new and rule.new == new:  # one that saturates or wraps to it may stay
            raise ProgramError("the new value is the old one; drop the rule")
        if Atom(rule.output, (old,)) not in atoms:
            raise ProgramError(f"the antecedent must hold {rule.output} = {show_value(old)}")
    except ProgramError as error:
        raise ProgramError(f"rule [{rule}]: {error}") from None
    return Rule.of_atoms(atoms, rule.output, old, new)


def _is_plain(rule: Rule, specs: Mapping[str, Variable], heads: frozenset[str]) -> bool:
    """Whether a rule is well formed at first sight: integers of categorical variables alone."""
    output, old, new = rule.output, rule.old, rule.new
    if type(old) is not int or type(new) is not int or old == new or output in heads:
        return False
    names = set()
    for atom in rule.antecedent:
        spec, values = specs.get(atom.variable), atom.values
        if type(spec) is not Categorical or type(values) is not tuple or len(values) != 1:
            return False
        if type(values[0]) is not int or not 0 <= values[0] < spec.size:
            return False
        if atom.variable == output and (values[0] != old or not 0 <= new < spec.size):
            return False
        names.add(atom.variable)
    return output in names and len(names) == len(rule.antecedent)


def _check_atom(atom: Atom, specs: Mapping[str, Variable]) -> Atom:
    if not isinstance(atom.variable, str) or atom.variable not in specs:
        raise ProgramError(
            f"reads {atom.variable!r}, which is not a variable; {nearest(atom.variable, specs)}"
        )
    spec = specs[atom.variable]
    if not isinstance(atom.values, tuple):
        raise ProgramError(f"{atom.variable!r} allows a tuple of values; found {atom.values!r}")
    if not atom.values:
        raise ProgramError(f"allows {atom.variable!r} no value at all")
    try:
        values = dict.fromkeys(spec.check(value) for value in atom.values)
        return Atom(atom.variable, tuple(values))
    except ProgramError as error:
        raise ProgramError(f"reads {atom.variable!r}: {error}") from None
