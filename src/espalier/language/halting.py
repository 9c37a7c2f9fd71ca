"""Whether a program can halt, and what that depends on: known from its rules before it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from espalier.language.lazy import LazyRules
from espalier.language.program import Program
from espalier.language.validation import Constant
from espalier.language.variables import Numerical, Value


def can_halt(program: Program) -> bool:
    """Whether a rule may ever hold that writes the halt value: False only where none can."""
    if program.halt is None or isinstance(program.rules, LazyRules):
        return True
    goal = program.halt.variable, program.halt.value
    rules = (program.rules[number] for number in rules_that_may_hold(program))
    return any((rule.output, rule.new) == goal for rule in rules)


def rules_that_may_hold(program: Program, more: Iterable[tuple[str, Value]] = ()) -> Iterator[int]:
    """The numbers of the rules whose every condition may be met; `more` are met as well.

    A value may be met if a variable starts with it, a rule whose every condition may be met writes
    it, or a head carries it. Which values are met together is not asked.
    """
    waiting: dict[tuple[str, Value], list[tuple[int, int]]] = defaultdict(list)
    for number, rule in enumerate(program.rules):
        for place, atom in enumerate(rule.antecedent):
            for value in atom.values:
                waiting[atom.variable, value].append((number, place))
    open_atoms = [set(range(len(rule.antecedent))) for rule in program.rules]
    carriers: dict[str, list[str]] = defaultdict(list)
    for name, head in program.heads.items():
        carriers[head.value].append(name)
    queue = list(dict.fromkeys([*_starts(program), *more]))
    met = set(queue)
    while queue:
        variable, value = queue.pop()
        news = [(name, value) for name in carriers[variable]]
        for number, place in waiting[variable, value]:
            if place in open_atoms[number]:
                open_atoms[number].remove(place)
                if not open_atoms[number]:
                    yield number
                    rule = program.rules[number]
                    if rule.new is not None:
                        news.append((rule.output, rule.new))
        queue += [new for new in dict.fromkeys(news) if new not in met]
        met.update(news)


def halting_variables(program: Program) -> frozenset[str]:
    """The variables that halting depends on, by rules and heads; all where rules are not known."""
    if program.halt is None or isinstance(program.rules, LazyRules):
        return frozenset(program.variables)
    reads: dict[str, set[str]] = defaultdict(set)
    for rule in program.rules:
        reads[rule.output].update(atom.variable for atom in rule.antecedent)
    for name, head in program.heads.items():
        reads[name] = {read for read in (head.query, head.key, head.value) if read is not None}
    found, queue = {program.halt.variable}, [program.halt.variable]
    while queue:
        new = reads[queue.pop()] - found
        found |= new
        queue += new
    return frozenset(found)


def _starts(program: Program) -> Iterator[tuple[str, Value]]:
    for name, initial in program.initial.items():
        spec = program.specs[name]
        if isinstance(spec, Numerical):
            continue
        values = (initial.value,) if isinstance(initial, Constant) else initial.table
        yield from dict.fromkeys((name, value) for value in values)
    # Any number may be met: a head's mean lies between those that it carries.
    for name, spec in program.specs.items():
        if isinstance(spec, Numerical):
            yield from ((name, value) for value in spec.values)
