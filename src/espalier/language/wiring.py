"""Which variables a program has: its own and the outputs of its heads, and whether they fit.

All heads read the state at the start of a layer, where the outputs of heads are null. A head that
reads another head's output would always be undefined, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from espalier.errors import ProgramError, nearest
from espalier.language.heads import Head
from espalier.language.variables import Categorical, Init, Numerical, SetValued, Variable


def all_variables(
    variables: Mapping[str, Variable], heads: Mapping[str, Head]
) -> dict[str, Variable]:
    """Every variable by name, the heads' outputs last; ProgramError if a head does not fit."""
    _check_mapping("variables", variables, Categorical | Numerical | SetValued, "var(...)")
    _check_mapping("heads", heads, Head, "qkv(...) or v_relative(...)")
    for name in heads:
        if name in variables:
            raise ProgramError(f"{name!r} is both a variable and a head; rename one of them")
    known = dict(variables)
    for name, head in heads.items():
        _check_reads(name, head, variables, heads)
        known[name] = _output_of(name, head, variables[head.value])
        _check_shape(name, head)
        _check_match(name, head, variables)
    return known


def _check_mapping(what: str, given: object, kind: object, example: str) -> None:
    if not isinstance(given, Mapping):
        raise ProgramError(f"{what} must map names to {example}; found {type(given).__name__}")
    for name, spec in given.items():
        if not isinstance(name, str) or not name:
            raise ProgramError(f"{what} has the name {name!r}; names are non-empty strings")
        if not isinstance(spec, kind):  # type: ignore[arg-type]
            raise ProgramError(f"{what}[{name!r}] must be made by {example}; found {spec!r}")


def _check_reads(
    name: str, head: Head, variables: Mapping[str, Variable], heads: Mapping[str, Head]
) -> None:
    for verb, read in (
        ("carries", head.value),
        ("has query", head.query),
        ("has key", head.key),
    ):
        if read in heads:
            raise ProgramError(
                f"head {name!r} {verb} {read!r}, the output of a head, which is null when a layer "
                "starts; copy it into a variable, which can be read in the next layer"
            )
        if read is not None and read not in variables:
            raise ProgramError(
                f"head {name!r} {verb} {read!r}, which is not a variable; "
                f"{nearest(read, variables)}"
            )


def _output_of(name: str, head: Head, value: Variable) -> Categorical | Numerical:
    """What the head `name` writes: its declared output, or a copy of its value's kind."""
    match value, head.output_spec:
        case Categorical(size), None:
            return Categorical(size, Init(0))
        case Numerical(values), None:
            return Numerical(values, Init(0.0))
        case Categorical(size), Categorical() as given if given.size >= size:
            return given
        case Numerical(), Numerical() as given:
            return given
        case SetValued(), _:
            raise ProgramError(
                f"head {name!r} carries {head.value!r}, a set; a head carries categorical or "
                "numerical variables"
            )
        case _, given:
            raise ProgramError(
                f"head {name!r} carries {head.value!r} ({value}), which does not fit its output "
                f"({given})"
            )


def _check_shape(name: str, head: Head) -> None:
    if (head.query is None) != (head.key is None):
        raise ProgramError(f"head {name!r} has a query without a key, or a key without a query")
    if head.relative_positions is not None and not head.relative_positions:
        raise ProgramError(f"head {name!r} has an empty set of relative positions")


def _check_match(name: str, head: Head, known: Mapping[str, Variable]) -> None:
    if head.query is None or head.key is None:
        return
    query, key = known[head.query], known[head.key]
    if not isinstance(key, Categorical):
        raise ProgramError(f"head {name!r} has key {head.key!r} ({key}); a key is categorical")
    if isinstance(query, Numerical):
        raise ProgramError(
            f"head {name!r} has query {head.query!r} ({query}); a query is categorical or a set"
        )
    if query.size != key.size:
        raise ProgramError(
            f"head {name!r} matches query {head.query!r} of range {query.size} with key "
            f"{head.key!r} of range {key.size}; give both the same range"
        )
