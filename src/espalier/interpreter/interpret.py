"""Run a program on symbols: one input with its trace, or many with their outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from espalier.interpreter.batch import State
from espalier.interpreter.machine import Machine
from espalier.interpreter.trace import Trace, moment_of
from espalier.language import Program, Run, Runs, check_batch, check_layers

# Positions worked on at a time: enough to keep numpy busy, few enough to stay in the cache.
CHUNK = 1 << 15


def interpret(
    program: Program, tokens: Iterable[object], *, max_layers: int | None = None
) -> Trace:
    """Run `program` on one sequence and keep everything it went through.

    It stops when the program halts, or after `max_layers` layers, whichever is first.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> es.interpret(entry.program, entry.encode("101")).outputs
    [0, 1, 1, 0]
    """
    max_layers = check_layers(program, max_layers)
    checked = program.tokens(tokens)
    machine = Machine(program)
    first = machine.start([checked])
    moments = [moment_of(program, first, "mlp")]

    def record(attended: State, updated: State) -> None:
        moments.append(moment_of(program, attended, "attention"))
        moments.append(moment_of(program, updated, "mlp"))

    run = machine.run(first, max_layers=max_layers, observe=record)[0]
    return Trace(program, checked, run.outputs, run.layers, run.halted, tuple(moments))


def interpret_many(
    program: Program,
    batch: Iterable[Iterable[object]],
    *,
    max_layers: int | None = None,
) -> Runs:
    """Run `program` on sequences of any lengths; each halts by itself.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> runs = es.interpret_many(entry.program, [entry.encode("101"), entry.encode("1")])
    >>> [run.outputs[-1] for run in runs]
    [0, 1]
    """
    max_layers = check_layers(program, max_layers)
    sequences = check_batch(program, batch)
    machine = Machine(program)
    runs: dict[int, Run] = {}
    for numbers in chunks(sequences):
        first = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
        runs |= machine.run(first, max_layers=max_layers)
    return Runs(runs[number] for number in range(len(sequences)))


def chunks(sequences: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Numbers of sequences, a chunk at a time."""
    chunk: list[int] = []
    size = 0
    for number, sequence in enumerate(sequences):
        chunk.append(number)
        size += len(sequence)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
