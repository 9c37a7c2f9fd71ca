"""Run a program on symbols: one input with its trace, or many with their outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from espalier.interpreter.batch import State
from espalier.interpreter.forking import run_forked
from espalier.interpreter.interventions import IntervenedMachine
from espalier.interpreter.machine import Machine
from espalier.interpreter.trace import Trace, moment_of
from espalier.interventions import Intervention, Interventions, make_plan
from espalier.language import Program, Run, Runs, as_items, check_batch, check_layers

# Positions worked on at a time: enough to keep numpy busy, few enough to stay in the cache.
CHUNK = 1 << 15


def interpret(
    program: Program,
    tokens: Iterable[object],
    *,
    max_layers: int | None = None,
    interventions: Sequence[Intervention] = (),
) -> Trace:
    """Run `program` on one sequence and record everything it went through.

    It stops when the program halts, or after `max_layers` layers, whichever is first. With
    `interventions` (see `espalier.interventions`) a rule that reads an undefined variable does not
    hold, and an output that is null is None.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> es.interpret(entry.program, entry.encode("101")).outputs
    [0, 1, 1, 0]
    """
    max_layers = check_layers(program, max_layers)
    checked = program.tokens(tokens)
    machine = machine_for(program, [checked], interventions, max_layers)
    first = machine.start([checked])
    moments = [moment_of(program, first, "mlp")]

    def record(attended: State, updated: State) -> None:
        moments.append(moment_of(program, attended, "attention"))
        moments.append(moment_of(program, updated, "mlp"))

    runs = machine.run(first, max_layers=max_layers, observe=record)
    run = with_idle(machine, runs)[0]
    ending, states = (run.outputs, run.layers, run.halted), tuple(moments)
    given = machine.plan.lists[0] if isinstance(machine, IntervenedMachine) else ()
    return Trace(program, checked, *ending, states, given, run.idle, max_layers)


def interpret_many(
    program: Program,
    batch: Iterable[Iterable[object]],
    *,
    max_layers: int | None = None,
    interventions: Interventions = (),
) -> Runs:
    """Run `program` on sequences of any lengths; each halts on its own.

    `interventions` is one list for all of them, or a list of lists, one for each.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> runs = es.interpret_many(entry.program, [entry.encode("101"), entry.encode("1")])
    >>> [run.outputs[-1] for run in runs]
    [0, 1]
    """
    max_layers = check_layers(program, max_layers)
    sequences = check_batch(program, batch)
    machine = machine_for(program, sequences, interventions, max_layers)
    runs: dict[int, Run] = {}
    if isinstance(machine, IntervenedMachine) and 2 * len(set(sequences)) <= len(sequences):
        runs = run_forked(machine, sequences, max_layers)
    else:
        for numbers in chunks(sequences):
            first = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
            runs |= machine.run(first, max_layers=max_layers)
    runs = with_idle(machine, runs)
    return Runs(runs[number] for number in range(len(sequences)))


def machine_for(
    program: Program,
    sequences: Sequence[Sequence[int]],
    interventions: Interventions,
    max_layers: int | None,
) -> Machine:
    """The machine that runs these inputs, strict where nothing intervenes."""
    if not as_items(interventions, "interventions"):
        return Machine(program)
    lengths = [len(sequence) for sequence in sequences]
    return IntervenedMachine(make_plan(program, interventions, lengths, max_layers=max_layers))


def with_idle(machine: Machine, runs: dict[int, Run]) -> dict[int, Run]:
    """The runs with the interventions that touched nothing; ProgramError if one was not reached."""
    if not isinstance(machine, IntervenedMachine):
        return runs
    return machine.plan.finished(runs, machine.touched)


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
