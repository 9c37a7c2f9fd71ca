"""A program as plain lists and dicts, and back: what is written to disk, with no code in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from espalier.errors import ProgramError
from espalier.language.heads import Halt, Head
from espalier.language.program import Program
from espalier.language.rules import Atom, Rule, RuleSet
from espalier.language.text import TextFormat, check_text
from espalier.language.validation import (
    ByInput,
    ByPosition,
    Constant,
    Initial,
    check_causal,
    check_halt,
    check_output,
    check_range,
    check_vocabulary,
)
from espalier.language.value_names import check_value_names
from espalier.language.variables import (
    Categorical,
    Numerical,
    SetValued,
    Value,
    Variable,
    numerical_var,
    set_var,
    var,
)

Record = dict[str, Any]


def to_record(program: Program) -> Record:
    """Everything a program is, as JSON can hold it."""
    names = list(program.specs)
    halt = program.halt
    # Left out where there is none, so that older programs keep their record.
    text: Record = {} if program.text is None else {"text": program.text.to_record()}
    if program.value_names:
        text["value_names"] = {name: [*names] for name, names in program.value_names.items()}
    return text | {
        "variables": {name: _spec(spec) for name, spec in program.variables.items()},
        "heads": {name: _head(head) for name, head in program.heads.items()},
        "initial": {name: _initial(initial) for name, initial in program.initial.items()},
        "rules": [_rule(rule, names) for rule in program.rules],
        "output_name": program.output_name,
        "input_range": program.input_range,
        "position_range": program.position_range,
        "halt": None if halt is None else [halt.variable, halt.value],
        "vocabulary": program.vocabulary,
        "causal": program.causal,
    }


def program_hash(program: Program) -> str:
    """A hash of all that a program does; how people write to it and its values does not count."""
    words = ("text", "value_names")
    bare = {name: part for name, part in to_record(program).items() if name not in words}
    record = json.dumps(bare, sort_keys=True)
    return hashlib.sha256(record.encode()).hexdigest()


def from_record(record: Mapping[str, Any]) -> Program:
    """The program that was recorded; ProgramError if the record is not one."""
    try:
        return _read(record)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, ProgramError):
            raise
        raise ProgramError(f"this is not the record of a program: {error!r}") from error


def _read(record: Mapping[str, Any]) -> Program:
    variables = {name: _read_spec(spec) for name, spec in record["variables"].items()}
    heads = {name: _read_head(head) for name, head in record["heads"].items()}
    initial = {
        name: _read_initial(variables[name], first) for name, first in record["initial"].items()
    }
    halt = None if record["halt"] is None else Halt(*record["halt"])
    check_output(record["output_name"], variables, heads)
    check_halt(halt, variables, heads)
    tokens = check_range("input_range", record["input_range"])
    positions = record["position_range"]
    for name in variables:
        _check_length(name, initial[name], tokens, positions)
    program = Program(
        variables=variables,
        heads=heads,
        rules=RuleSet([]),
        initial=initial,
        output_name=record["output_name"],
        input_range=tokens,
        position_range=None if positions is None else check_range("position_range", positions),
        halt=halt,
        vocabulary=check_vocabulary(record["vocabulary"], tokens),
        # Records older than causal programs do not mention it.
        causal=check_causal(record.get("causal", False), heads),
        text=_read_text(record, tokens, len(variables[record["output_name"]].values)),
    )
    names = list(program.specs)
    named = check_value_names(record.get("value_names"), program.specs)
    return replace(program, value_names=named).with_rules(
        [_read_rule(rule, names) for rule in record["rules"]]
    )


def _read_text(record: Mapping[str, Any], tokens: int, outputs: int) -> TextFormat | None:
    found = record.get("text")
    text = None if found is None else TextFormat.from_record(found)
    return check_text(text, tokens=tokens, outputs=outputs)


def _check_length(name: str, initial: Initial, tokens: int, positions: int | None) -> None:
    match initial:
        case ByInput(table) if len(table) != tokens:
            raise ProgramError(f"the first values of {name!r} are {len(table)}, not {tokens}")
        case ByPosition(table) if len(table) != positions:
            raise ProgramError(f"the first values of {name!r} are {len(table)}, not {positions}")
        case _:
            pass


def _spec(spec: Variable) -> Record:
    match spec:
        case Categorical(size, init, beyond):
            # Left out where it is the default, so that older programs keep their hash.
            choice = {} if beyond == "refuse" else {"out_of_range": beyond}
            return {"kind": "categorical", "size": size, "default": init.default, **choice}
        case Numerical(values, init):
            return {"kind": "numerical", "values": values, "default": init.default}
        case SetValued(size, sets, init):
            declared = [_value(value) for value in sets]
            return {
                "kind": "set",
                "size": size,
                "values": declared,
                "default": _value(init.default),
            }


def _read_spec(record: Record) -> Variable:
    match record["kind"]:
        case "categorical":
            beyond = record.get("out_of_range", "refuse")
            return var(record["size"], default=record["default"], out_of_range=beyond)
        case "numerical":
            return numerical_var(record["values"], default=record["default"])
        case "set":
            return set_var(record["values"], record["size"], default=record["default"])
        case kind:
            raise ProgramError(f"unknown kind of variable {kind!r}")


def _head(head: Head) -> Record:
    offsets, output = head.relative_positions, head.output_spec
    return {
        "match": [head.query, head.key, head.value],
        "relative_positions": None if offsets is None else sorted(offsets),
        "output": None if output is None else _spec(output),
    }


def _read_head(record: Record) -> Head:
    offsets, output = record["relative_positions"], record["output"]
    spec = None if output is None else _read_spec(output)
    if isinstance(spec, SetValued):
        raise ProgramError("the output of a head is a set")
    query, key, value = record["match"]
    return Head(query, key, value, None if offsets is None else frozenset(offsets), spec)


def _initial(initial: Initial) -> Record:
    match initial:
        case Constant(value):
            return {"constant": _value(value)}
        case ByInput(table):
            return {"input": [_value(value) for value in table]}
        case ByPosition(table):
            return {"position": [_value(value) for value in table]}


def _read_initial(spec: Variable, record: Record) -> Initial:
    match record:
        case {"constant": value}:
            return Constant(spec.check_initial(value))
        case {"input": table}:
            return ByInput(tuple(spec.check_initial(value) for value in table))
        case {"position": table}:
            return ByPosition(tuple(spec.check_initial(value) for value in table))
        case _:
            raise ProgramError(f"unknown kind of initialisation {sorted(record)}")


def _rule(rule: Rule, names: list[str]) -> list[Any]:
    atoms = [
        [names.index(atom.variable), *(_value(value) for value in atom.values)]
        for atom in rule.antecedent
    ]
    return [names.index(rule.output), _value(rule.old), _value(rule.new), atoms]


def _read_rule(record: list[Any], names: list[str]) -> Rule:
    output, old, new, atoms = record
    return Rule(
        [Atom(names[name], tuple(_read_value(v) for v in values)) for name, *values in atoms],
        names[output],
        _read_value(old),
        None if new is None else _read_value(new),
    )


def _value(value: Value | None) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _read_value(value: Any) -> Value:
    return frozenset(value) if isinstance(value, list) else value
