"""Rules as look-up tables: all rules over the same variables are answered by one search.

The codes of a group's variables are read as the digits of one number. A dense array answers where
such numbers are small, sorted numbers and a binary search where they are not.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from espalier.interpreter.batch import NULL, Column, Ints, Mask
from espalier.language import Constant, Numerical, Program, Rule, Value

# Whether rules that hold fire, given the entries at which they do and their numbers.
Fires = Callable[[Ints, Ints], Mask]

# What a table answers other than a new code (>= 0) and NULL (-1).
UNDEFINED = -2  # a rule holds but for variables that are null here
NO_RULE = -3

# A dense array has at most so many places, so many for each row, or so many however few the rows.
DENSE_LIMIT, DENSE_SHARE, SMALL = 1 << 22, 8, 1 << 10
# Numbers are made of at most this many values at a time, so that they fit into 64 bits.
STAGE_LIMIT = 1 << 31


class Index:
    """Finds the row of a table of codes that equals given codes."""

    def __init__(self, rows: Ints, sizes: Sequence[int]) -> None:
        self._stages, self._sizes = _stages(sizes), sizes
        # It lives as long as the program, so its memory is bounded by the rules, not by all codes.
        room = min(DENSE_LIMIT, max(SMALL, DENSE_SHARE * len(rows)))
        self._dense = math.prod(sizes) <= room
        if self._dense:
            place = np.full(math.prod(sizes), -1, dtype=np.int64)
            place[_number(list(rows.T), sizes)] = np.arange(len(rows))
            self._known = [place]
            return
        rank, self._known = _ranks(rows, sizes)
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
        self,
        codes: Mapping[str, Ints],
        nulls: Mapping[str, Mask],
        fires: Fires | None = None,
        *,
        strict: bool = True,
    ) -> Ints:
        """For each entry, the new code, NULL, UNDEFINED (only if `strict`) or NO_RULE.

        `nulls` says where the variables that are null anywhere are null. `fires` is asked whether
        the rules that hold fire.
        """
        columns = [codes[name] for name in self.variables]
        found = self._index(tuple(range(len(columns)))).find(columns)
        answer = np.where(found >= 0, self.answers[found], NO_RULE)
        absent = [nulls[name] for name in self.variables if name in nulls]
        if absent:
            somewhere = np.logical_or.reduce(absent)
            answer[somewhere] = NO_RULE
            if strict and self.reads_null:
                self._mark_undefined(np.flatnonzero(somewhere), columns, nulls, answer)
        if fires is not None:
            held = np.flatnonzero(answer > UNDEFINED)
            answer[held[~fires(held, self.owners[found[held]])]] = NO_RULE
        return answer

    def owners_at(self, codes: Mapping[str, Ints]) -> Ints:
        """For each entry, the number of the rule that holds, or -1."""
        columns = [codes[name] for name in self.variables]
        defined = np.logical_and.reduce([column >= 0 for column in columns])
        index = self._index(tuple(range(len(columns))))
        found = index.find([np.maximum(column, 0) for column in columns])
        return np.where(defined & (found >= 0), self.owners[found], -1)

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


@dataclass(frozen=True)
class Tables:
    """All that the interpreter looks up: rules, resets and first values, made once per program."""

    rules: dict[str, list[RuleTable]]  # by output variable
    # Heads whose every value has a reset are null after every layer, with nothing to look up: for
    # each of their values, the number of the rule that resets it.
    resets: dict[str, Ints]
    initial: dict[str, Column]

    @staticmethod
    def of(program: Program) -> Tables:
        """The tables of `program`."""
        rules, numbers = tabulate(program), _reset_numbers(program)
        resets = {
            name: np.asarray([numbers[name, value] for value in program.specs[name].values])
            for name in program.heads
            if all((name, value) in numbers for value in program.specs[name].values)
        }
        kept = {name: tables for name, tables in rules.items() if name not in resets}
        return Tables(kept, resets, _first_codes(program))

    @staticmethod
    def without_rules(program: Program) -> Tables:
        """The tables of a program that is run from its function."""
        resets = {name: np.zeros(0, dtype=np.int64) for name in program.heads}
        return Tables({}, resets, _first_codes(program))


def _reset_numbers(program: Program) -> dict[tuple[str, Value], int]:
    return {(r.output, r.old): number for number, r in enumerate(program.rules) if r.is_reset}


def _first_codes(program: Program) -> dict[str, Column]:
    """The tables of first values, as codes or reals."""
    found: dict[str, Column] = {}
    for name, initial in program.initial.items():
        spec = program.specs[name]
        values = (initial.value,) if isinstance(initial, Constant) else initial.table
        if isinstance(spec, Numerical):
            found[name] = np.asarray(values, dtype=np.float64)
        else:
            found[name] = np.asarray([spec.code(value) for value in values], dtype=np.int64)
    return found


def tabulate(program: Program) -> dict[str, list[RuleTable]]:
    """For each output variable that has rules, its tables."""
    specs = program.specs
    codes: dict[str, dict[Value, int]] = {
        name: dict(zip(spec.values, range(len(spec.values)), strict=True))
        for name, spec in specs.items()
    }
    order = {name: place for place, name in enumerate(specs)}
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[int, Rule]]] = defaultdict(list)
    for number, rule in enumerate(program.rules):
        groups[rule.output, tuple([a.variable for a in rule.antecedent])].append((number, rule))
    merged: dict[tuple[str, tuple[str, ...]], list[_Rows]] = defaultdict(list)
    for (output, over), rules in groups.items():
        names = tuple(sorted(over, key=order.__getitem__))
        merged[output, names].append(_rows(rules, [over.index(name) for name in names], codes))
    tables: dict[str, list[RuleTable]] = defaultdict(list)
    for (output, names), parts in merged.items():
        sizes = tuple(len(specs[name].values) for name in names)
        found = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        tables[output] += _tables(output, names, found, sizes)
    return dict(tables)


# Rows of codes, the answer to each, and the number of the rule that each satisfies.
_Rows = tuple[Ints, Ints, Ints]


def _rows(
    rules: list[tuple[int, Rule]], places: list[int], codes: Mapping[str, Mapping[Value, int]]
) -> _Rows:
    """The rows of rules whose atoms are over the same variables in the same order.

    `places` says which atom comes first, and so on.
    """
    output, over = rules[0][1].output, rules[0][1].antecedent
    columns = [(codes[over[place].variable], place) for place in places]
    numbers, answers, rows = [], [], []
    for number, rule in rules:
        atoms = rule.antecedent
        answer = NULL if rule.new is None else codes[output][rule.new]
        if max([len(atom.values) for atom in atoms]) == 1:
            rows.append([code[atoms[place].values[0]] for code, place in columns])
            numbers.append(number)
            answers.append(answer)
            continue
        choices = [[code[v] for v in dict.fromkeys(atoms[p].values)] for code, p in columns]
        found = [list(row) for row in itertools.product(*choices)]
        rows += found
        numbers += [number] * len(found)
        answers += [answer] * len(found)
    return np.array(rows), np.array(answers), np.array(numbers)


def _tables(
    output: str, names: tuple[str, ...], found: Sequence[Ints], sizes: tuple[int, ...]
) -> Iterator[RuleTable]:
    """These rows, in several tables where some are the same: a table has one answer per row.

    Only programs whose rules were loosened have such rows; the machine raises where two hold.
    """
    rows, answers, numbers = found
    repeat = _repeats(_ranks(rows, sizes)[0])
    for time in range(int(repeat.max()) + 1):
        part = repeat == time
        yield RuleTable(
            output,
            names,
            rows[part],
            answers[part],
            numbers[part],
            sizes,
            reads_null=bool((answers != NULL).any()),
        )


def _repeats(ranks: Ints) -> Ints:
    """How often each entry's value occurs before it."""
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    repeat = np.zeros_like(ranks)
    repeat[order] = np.arange(len(ranks)) - np.searchsorted(ordered, ordered)
    return repeat


def _ranks(rows: Ints, sizes: Sequence[int]) -> tuple[Ints, list[Ints]]:
    """A number for each row, equal where rows are, and what it takes to number others so."""
    rank = np.zeros(len(rows), dtype=np.int64)
    stages = []
    for columns, stage_sizes in _stages(sizes):
        number = _number([rows[:, c] for c in columns], stage_sizes)
        known, rank = np.unique(rank * math.prod(stage_sizes) + number, return_inverse=True)
        stages.append(known)
    return rank, stages


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
