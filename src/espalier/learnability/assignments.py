"""What the MLP saw while a program ran: the paper's data set D of variable assignments (B.4).

A program is run over a training set, layer by layer; assignments are compared by exact values.
Positions of a causal program that rest are left out: no sub-layer is applied to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from espalier.errors import ProgramError
from espalier.interpreter import Column, Ints, Machine, Mask, State, chunks, codes_of
from espalier.language import Numerical, Program, check_batch, check_layers

# Codes are packed into words of so many values.
WORD = 1 << 62


@dataclass(frozen=True)
class Layer:
    """One layer of some sequences: the state before it, after its heads, and after its MLP."""

    before: State
    attended: State
    updated: State
    awake: Mask  # the entries that the layer was applied to


@dataclass(frozen=True)
class Assignments:
    """The distinct assignments at the input of the MLP, one per row, in the order first seen.

    A variable's column holds codes as rules see them, -1 for null: a number is its bucket.
    """

    program: Program
    codes: Ints

    def __len__(self) -> int:
        return len(self.codes)

    def over(self, names: Sequence[str]) -> Ints:
        """The distinct assignments of these variables alone."""
        places = [list(self.program.specs).index(name) for name in names]
        part = self.codes[:, places]
        sizes = [len(self.program.specs[name].values) for name in names]
        return part[Distinct(sizes).fresh(list(part.T))]


def training_set(
    program: Program, inputs: object, max_layers: int | None
) -> tuple[list[tuple[int, ...]], int | None]:
    """The inputs as token ids, and how long to run; ProgramError if there is none to learn from."""
    max_layers = check_layers(program, max_layers)
    sequences = check_batch(program, inputs)  # type: ignore[arg-type]
    if not sequences:
        raise ProgramError(
            "the training set is empty: what a program needs is found by running it on at least "
            "one input"
        )
    return sequences, max_layers


def run_layers(
    program: Program,
    sequences: Sequence[Sequence[int]],
    *,
    max_layers: int | None,
    see: Callable[[Layer], None] | None = None,
) -> Mask:
    """Run all sequences and pass every layer to `see`; for each rule, whether it held anywhere."""
    machine = Machine(program, record_rules=True)
    for numbers in chunks(sequences):
        first = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
        watcher = None if see is None else _Watcher(machine, first, see)
        machine.run(first, max_layers=max_layers, observe=watcher)
    assert machine.satisfied is not None
    return machine.satisfied


def mlp_inputs(
    program: Program, sequences: Sequence[Sequence[int]], *, max_layers: int | None
) -> tuple[Assignments, Mask]:
    """What the MLP saw on `sequences`, and which rules held."""
    specs = program.specs
    distinct = Distinct([len(spec.values) for spec in specs.values()])
    found: list[Ints] = []

    def see(layer: Layer) -> None:
        seen = layer.attended.take(layer.awake).columns
        columns = [codes_of(spec, seen[name]) for name, spec in specs.items()]
        fresh = distinct.fresh(columns)
        found.append(np.stack([column[fresh] for column in columns], axis=1))

    held = run_layers(program, sequences, max_layers=max_layers, see=see)
    nothing = np.zeros((0, len(specs)), dtype=np.int64)
    return Assignments(program, np.concatenate([nothing, *found])), held


def join_assignments(parts: Sequence[Assignments]) -> Assignments:
    """All distinct assignments of several, in the order first seen."""
    if len(parts) == 1:
        return parts[0]
    program = parts[0].program
    distinct = Distinct([len(spec.values) for spec in program.specs.values()])
    codes = np.concatenate([part.codes for part in parts])
    return Assignments(program, codes[distinct.fresh(list(codes.T))])


class _Watcher:
    """Holds the state before each layer, of the sequences that still run."""

    def __init__(self, machine: Machine, first: State, see: Callable[[Layer], None]) -> None:
        self._machine, self._before, self._see = machine, first, see

    def __call__(self, attended: State, updated: State) -> None:
        running = np.isin(self._before.batch.inputs, attended.batch.inputs)
        before = self._before.keep(running)
        awake = ~self._machine.resting(before)
        self._see(Layer(before, attended, updated, awake))
        self._before = updated


def exact_sizes(program: Program) -> list[int | None]:
    """The sizes that `Distinct` needs for a state's columns: numbers are compared as reals."""
    specs = program.specs.values()
    return [None if isinstance(spec, Numerical) else len(spec.values) for spec in specs]


class Distinct:
    """Finds rows not seen before, by their exact values.

    `sizes` has the number of codes of each column, or None for a column of reals. Codes are read as
    the digits of a few 64-bit words, null being one more digit; a real is a word of its own.
    """

    def __init__(self, sizes: Sequence[int | None]) -> None:
        self._sizes = sizes
        self._words: list[list[int]] = []
        packed: list[int] = []
        room = 0
        for column, size in enumerate(sizes):
            if size is None:
                self._words.append([column])
                continue
            if room < size + 1:
                packed, room = [], WORD
                self._words.append(packed)
            packed.append(column)
            room //= size + 1
        self._seen: set[bytes] = set()

    def fresh(self, columns: Sequence[Column]) -> Ints:
        """The indices of new rows, the first of equal ones, in order."""
        words = np.stack([self._pack(word, columns) for word in self._words], axis=1)
        width = words.shape[1]
        keys = words.ravel() if width == 1 else words.view(f"V{8 * width}").ravel()
        first = np.sort(np.unique(keys, return_index=True)[1])
        names = [row.tobytes() for row in words[first]]
        new = [n for n, name in enumerate(names) if name not in self._seen]
        self._seen.update(names)
        return first[new]

    def _pack(self, word: list[int], columns: Sequence[Column]) -> Ints:
        if self._sizes[word[0]] is None:
            # One NaN and one zero, so that equal values are equal bits.
            real = np.where(np.isnan(columns[word[0]]), math.nan, columns[word[0]] + 0.0)
            return np.asarray(real.view(np.int64))
        number: Ints = np.zeros(len(columns[word[0]]), dtype=np.int64)
        for place in word:
            size = self._sizes[place]
            assert size is not None
            number = number * (size + 1) + columns[place].astype(np.int64, copy=False) + 1
        return number
