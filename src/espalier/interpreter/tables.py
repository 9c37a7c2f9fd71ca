"""Rules as look-up tables: all rules over the same variables are answered by one search.

The codes of a group's variables are read as the digits of one number. A dense array answers where
such numbers are small, sorted numbers and a binary search where they are not.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from espalier.interpreter.batch import NULL, Ints, Mask
from espalier.language import Program, Rule, Value, Variable

# What a table answers beside a new code (>= 0) and NULL (-1).
UNDEFINED = -2  # a rule holds but for variables that are null here
NO_RULE = -3

DENSE_LIMIT = 1 << 22
# Numbers are made of at most this many values at a time, so that they fit into 64 bits.
STAGE_LIMIT = 1 << 31


class Index:
    """Finds the row of a table of codes that equals given codes."""

    def __init__(self, rows: Ints, sizes: Sequence[int]) -> None:
        self._stages = _stages(sizes)
        self._known: list[Ints] = []
        self._dense = math.prod(sizes) <= DENSE_LIMIT
        if self._dense:
            place = np.full(math.prod(sizes), -1, dtype=np.int64)
            place[_number(list(rows.T), sizes)] = np.arange(len(rows))
            self._known.append(place)
            self._sizes = sizes
            return
        rank = np.zeros(len(rows), dtype=np.int64)
        for columns, stage_sizes in self._stages:
            number = _number([rows[:, c] for c in columns], stage_sizes)
            known, rank = np.unique(rank * math.prod(stage_sizes) + number, return_inverse=True)
            self._known.append(known)
        self._row = np.zeros(len(self._known[-1]), dtype=np.int64)
        self._row[rank] = np.arange(len(rows))

    def find(self, columns: Sequence[Ints]) -> Ints:
        """For each entry, the number of the row that its codes equal, or -1."""
        if self._dense:
            return self._known[0][_number(columns, self._sizes)]
        rank: Ints = np.zeros(len(columns[0]), dtype=np.int64)
        missed = np.zeros(len(columns[0]), dtype=bool)
        for (places, sizes), known in zip(self._stages, self._known, strict=True):
            number = rank * math.prod(sizes) + _number([columns[p] for p in places], sizes)
            rank = np.minimum(np.searchsorted(known, number), len(known) - 1)
            missed |= known[rank] != number
        return np.where(missed, -1, self._row[rank])


@dataclass
class RuleTable:
    """The rules of `output` whose antecedents are over `variables`."""

    output: str
    variables: tuple[str, ...]
    rows: Ints  # one row of codes for each assignment that satisfies a rule
    answers: Ints
    owners: Ints  # the number of the rule that each row satisfies
    sizes: tuple[int, ...]
    reads_null: bool  # False for resets, which are not concerned with null
    _indices: dict[tuple[int, ...], Index] = field(default_factory=dict)

    def look_up(
        self, codes: Mapping[str, Ints], nulls: Mapping[str, Mask], satisfied: Mask | None = None
    ) -> Ints:
        """For each entry, the new code, NULL, UNDEFINED or NO_RULE.

        `nulls` says where the variables that are null anywhere are null. The rules that hold
        somewhere are marked in `satisfied`, by their number.
        """
        columns = [codes[name] for name in self.variables]
        found = self._index(tuple(range(len(columns)))).find(columns)
        answer = np.where(found >= 0, self.answers[found], NO_RULE)
        absent = [nulls[name] for name in self.variables if name in nulls]
        if absent:
            somewhere = np.logical_or.reduce(absent)
            answer[somewhere] = NO_RULE
            if self.reads_null:
                self._mark_undefined(np.flatnonzero(somewhere), columns, nulls, answer)
        if satisfied is not None:
            satisfied[self.owners[found[answer > UNDEFINED]]] = True
        return answer

    def _mark_undefined(
        self, entries: Ints, columns: list[Ints], nulls: Mapping[str, Mask], answer: Ints
    ) -> None:
        """A rule reads a null variable where all its other conditions hold."""
        masks = [nulls[name][entries] if name in nulls else None for name in self.variables]
        pattern = np.zeros(len(entries), dtype=object if len(masks) > 62 else np.int64)
        for place, mask in enumerate(masks):
            if mask is not None:
                pattern = pattern + mask * (1 << place)
        for shape in set(pattern.tolist()):
            here = entries[pattern == shape]
            kept = tuple(p for p in range(len(masks)) if not shape >> p & 1)
            held = self._index(kept).find([columns[p][here] for p in kept]) >= 0 if kept else True
            answer[here[held] if kept else here] = UNDEFINED

    def _index(self, kept: tuple[int, ...]) -> Index:
        if kept not in self._indices:
            self._indices[kept] = Index(self.rows[:, kept], [self.sizes[p] for p in kept])
        return self._indices[kept]


def tabulate(program: Program) -> dict[str, list[RuleTable]]:
    """For each output variable that has rules, its tables."""
    groups: dict[tuple[str, tuple[str, ...]], dict[int, Rule]] = defaultdict(dict)
    order = {name: place for place, name in enumerate(program.specs)}
    for number, rule in enumerate(program.rules):
        names = sorted((atom.variable for atom in rule.antecedent), key=order.__getitem__)
        groups[rule.output, tuple(names)][number] = rule
    tables: dict[str, list[RuleTable]] = defaultdict(list)
    for (output, over), rules in groups.items():
        for part in _parts(rules, over):
            tables[output].append(_table(output, over, part, program.specs))
    return dict(tables)


def _parts(rules: dict[int, Rule], names: tuple[str, ...]) -> list[dict[int, Rule]]:
    """The rules, in several parts where some could hold together: a table answers but once.

    Only programs that were loosened have such rules; the machine meets them and raises.
    """
    parts: list[tuple[dict[int, Rule], set[tuple[Value, ...]]]] = []
    for number, rule in rules.items():
        allowed = {atom.variable: atom.values for atom in rule.antecedent}
        keys = set(itertools.product(*(allowed[name] for name in names)))
        part = next((part for part in parts if part[1].isdisjoint(keys)), None)
        if part is None:
            part = ({}, set())
            parts.append(part)
        part[0][number] = rule
        part[1].update(keys)
    return [part for part, _ in parts]


def _table(
    output: str, names: tuple[str, ...], rules: Mapping[int, Rule], specs: Mapping[str, Variable]
) -> RuleTable:
    codes = {name: {v: c for c, v in enumerate(specs[name].values)} for name in names}
    rows: list[tuple[int, ...]] = []
    answers: list[int] = []
    owners: list[int] = []
    resets = True
    for number, rule in rules.items():
        allowed = {atom.variable: atom.values for atom in rule.antecedent}
        choices = [[codes[name][value] for value in allowed[name]] for name in names]
        new = NULL if rule.new is None else codes[output][rule.new]
        found = list(itertools.product(*choices))
        rows += found
        answers += [new] * len(found)
        owners += [number] * len(found)
        resets &= rule.is_reset
    return RuleTable(
        output,
        names,
        np.asarray(rows, dtype=np.int64),
        np.asarray(answers, dtype=np.int64),
        np.asarray(owners, dtype=np.int64),
        tuple(len(specs[name].values) for name in names),
        reads_null=not resets,
    )


def _number(columns: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """Codes as the digits of one number."""
    number = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        number = number * size + column
    return number


def _stages(sizes: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The columns in groups whose sizes multiply to at most `STAGE_LIMIT`."""
    stages: list[tuple[list[int], list[int]]] = [([], [])]
    for column, size in enumerate(sizes):
        if stages[-1][0] and math.prod(stages[-1][1]) * size > STAGE_LIMIT:
            stages.append(([], []))
        stages[-1][0].append(column)
        stages[-1][1].append(size)
    return stages
