"""Minimal versions by definition (the paper's C.2): the rules that hold somewhere on some input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import espalier as es
from espalier.interpreter import Trace
from espalier.interpreter.trace import as_bucket
from espalier.language import Program, Rule


def minimal_version(program: Program, batch: Iterable[Sequence[int]]) -> Program:
    """The program with no rule but those that hold at a position of a layer of an input."""
    seen: dict[tuple[str, ...], set[tuple[object, ...]]] = defaultdict(set)
    for tokens in batch:
        for state in states(es.interpret(program, tokens)):
            for names in {read(rule) for rule in program.rules} if not seen else list(seen):
                seen[names].add(tuple(state[name] for name in names))
    return program.with_rules(
        rule
        for rule in program.rules
        if any(
            rule.holds(dict(zip(read(rule), values, strict=True))) for values in seen[read(rule)]
        )
    )


def read(rule: Rule) -> tuple[str, ...]:
    return tuple(atom.variable for atom in rule.antecedent)


def states(trace: Trace) -> Iterator[dict[str, object]]:
    """Every state that the MLP saw, numbers in their buckets."""
    for moment in trace.moments:
        if moment.sublayer == "attention":
            for position in range(len(trace.tokens)):
                here = {name: column[position] for name, column in moment.columns.items()}
                yield {
                    name: None if value is None else as_bucket(trace.program, name, value)
                    for name, value in here.items()
                }
