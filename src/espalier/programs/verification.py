"""The two machines side by side: every variable, at every position, after every sub-layer."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import torch

from espalier.compiler import (
    NOT_A_VALUE,
    NULL,
    Column,
    CompiledModel,
    Layout,
    compile_program,
    decode,
    encode_meanings,
    is_exact,
    pad,
    probed_runs,
    tolerance,
)
from espalier.errors import ConfigError, ProgramError, as_flag
from espalier.interpreter import IntervenedMachine, Machine, State
from espalier.interventions import Interventions, make_plan
from espalier.language import Numerical, Program, Run, check_batch, check_layers, chunks, show_value
from espalier.nets.compiled import hold
from espalier.programs.agreement import Disagreement, Verification
from espalier.programs.lockstep import Compare, Lockstep
from espalier.runs import HERE, AnyWorkers, Counts, Workers, by_parts, check_progress

# Two numbers agree within this share of the gap between buckets (or of their size, if larger).
CLOSE = 1e-4
PART = 256  # inputs that a worker is given at once


def verify(
    program: Program,
    batch: Iterable[Iterable[object]],
    *,
    model: CompiledModel | None = None,
    max_layers: int | None = None,
    strict: bool = True,
    interventions: Interventions = (),
    workers: AnyWorkers = HERE,
    progress: Counts | None = None,
) -> Verification:
    """Compare the interpreter with `model` (by default `program` compiled) on every input.

    Without `strict`, a rule that reads an undefined variable is not an error but a rule that does
    not hold, and such inputs are compared as well. It is so under `interventions`, one list of them
    for all inputs or one list for each. `workers` compare some hundred inputs each; `progress` is
    called with how many of all have been compared.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> print(es.verify(entry.program, [entry.encode("101"), entry.encode("11")]))
    2 inputs, 5 layers, 172 values compared: all agree
    """
    max_layers = check_layers(program, max_layers)
    sequences = check_batch(program, batch)
    model = compile_program(program) if model is None else model
    if not isinstance(model, CompiledModel) or model.program.specs != program.specs:
        raise ProgramError("the model was not compiled from this program: variables differ")
    lengths = [len(sequence) for sequence in sequences]
    plan = make_plan(program, interventions, lengths, max_layers=max_layers)
    strict = as_flag("strict", strict, error=ProgramError)
    check_progress(progress)
    numbered = dict(enumerate(sequences))
    if (others := Workers.of(workers)) == HERE:
        machine = IntervenedMachine(plan) if plan.owners else Machine(program, strict=strict)
        return _compare_all(machine, model, numbered, max_layers, progress)
    if plan.owners:
        raise ConfigError("interventions are compared by this process alone; give no workers")
    given = (program, model, max_layers, strict)
    found = by_parts(
        _verify_part,
        list(numbered.items()),
        given,
        size=PART,
        workers=others,
        progress=progress,
    )
    return Verification.of(found, edited=not model.is_as_compiled)


def _verify_part(
    numbered: Sequence[tuple[int, tuple[int, ...]]],
    program: Program,
    model: CompiledModel,
    max_layers: int | None,
    strict: bool,
) -> Verification:
    """Some of all inputs, by their numbers among them."""
    return _compare_all(Machine(program, strict=strict), model, dict(numbered), max_layers)


def _compare_all(
    machine: Machine,
    model: CompiledModel,
    sequences: Mapping[int, tuple[int, ...]],
    max_layers: int | None,
    progress: Counts | None = None,
) -> Verification:
    """Every input by its number, those of about the same length together."""
    result = Verification(len(sequences), edited=not model.is_as_compiled)
    order, done = list(sequences), 0
    layers = dict.fromkeys(order, sys.maxsize)
    for places in chunks(list(sequences.values())):
        numbers = [order[place] for place in places]
        runs = _interpret(machine, sequences, numbers, max_layers, result)
        layers |= {number: run.layers for number, run in runs.items()}
        if isinstance(machine, IntervenedMachine):
            machine.plan.refuse_unreached(np.array(list(layers.values())))
        good = {number: runs[number] for number in numbers if number in runs}
        _compare_chunk(machine, model, sequences, good, max_layers, result)
        done += len(numbers)
        if progress is not None:
            progress(done, len(sequences))
    result.keep_first()
    return result


def _compare_chunk(
    machine: Machine,
    model: CompiledModel,
    sequences: Mapping[int, Sequence[int]],
    runs: dict[int, Run],
    max_layers: int | None,
    result: Verification,
) -> None:
    """Every layer of the inputs that the interpreter ran, and the outputs of the model's loop."""
    good = {number: sequences[number] for number in runs}
    # One layer more than any needs: enough to see a model that halts late or never.
    most = 1 + max((run.layers for run in runs.values()), default=0)
    most = most if max_layers is None else max_layers
    if good and isinstance(machine, IntervenedMachine):
        lockstep = Lockstep(model, machine, good, _comparer(model, result))
        found = probed_runs(lockstep, list(sequences.values()), max_layers=most)
        _compare_runs(machine.program, found, runs, result)
    elif good:
        _compare_layers(machine, model, sequences, list(good), max_layers, result)
        answers = dict(zip(good, model.run_many(good.values(), max_layers=most), strict=True))
        if max_layers is None:
            answers |= _answers_of_late(model, good, runs, answers)
        _compare_runs(machine.program, answers, runs, result)


def _answers_of_late(
    model: CompiledModel,
    sequences: Mapping[int, Sequence[int]],
    runs: Mapping[int, Run],
    answers: Mapping[int, Run],
) -> dict[int, Run]:
    """The model's answers after one layer more than its input needs, where it ran longer.

    So the result for an input does not depend on the others in its batch.
    """
    late = {n: run.layers + 1 for n, run in runs.items() if answers[n].layers > run.layers + 1}
    found = dict[int, Run]()
    for most in set(late.values()):
        own = [number for number, layers in late.items() if layers == most]
        again = model.run_many([sequences[n] for n in own], max_layers=most)
        found |= dict(zip(own, again, strict=True))
    return found


def _comparer(model: CompiledModel, result: Verification) -> Compare:
    """A function that records the differences of a state and the stream under interventions."""

    def compare(state: State, z: torch.Tensor, sublayer: str) -> None:
        result.layers += len(state.batch) if sublayer == "mlp" else 0
        result.add(_differences(model, state, z, sublayer, result))

    return compare


def _interpret(
    machine: Machine,
    sequences: Mapping[int, Sequence[int]],
    numbers: list[int],
    max_layers: int | None,
    result: Verification,
) -> dict[int, Run]:
    """The runs of the inputs that the interpreter accepts; the others go to `result.errors`."""
    try:
        first = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
        return machine.run(first, max_layers=max_layers)
    except ProgramError as error:
        if len(numbers) == 1:
            result.errors[numbers[0]] = str(error)
            return {}
    half = len(numbers) // 2
    return _interpret(machine, sequences, numbers[:half], max_layers, result) | _interpret(
        machine, sequences, numbers[half:], max_layers, result
    )


@torch.no_grad()
def _compare_layers(
    machine: Machine,
    model: CompiledModel,
    sequences: Mapping[int, Sequence[int]],
    numbers: list[int],
    max_layers: int | None,
    result: Verification,
) -> None:
    """Step both machines together and compare after each sub-layer."""
    tokens, lengths = pad([sequences[n] for n in numbers], model.device)
    valid = torch.arange(tokens.shape[1], device=model.device) < lengths[:, None]
    state = machine.start([sequences[n] for n in numbers], np.asarray(numbers))
    encoder = model.fast_encoder() or model.encoder.fast()
    z = encoder.embed(tokens)
    settled = encoder.attention.settle(z, valid)
    result.add(_differences(model, state, z[valid], "embedding", result))
    while len(state.batch) and state.layer != max_layers:
        resting = encoder.resting(z, state.layer)
        attended = encoder.attention(z, valid, settled)
        state, z = machine.attend(state), hold(resting, z, attended)
        result.add(_differences(model, state, z[valid], "attention", result))
        state, z = machine.update(state), hold(resting, z, encoder.update_(z.clone()))
        result.add(_differences(model, state, z[valid], "mlp", result))
        result.layers += len(state.batch)
        going = ~machine.halted(state)
        rows = torch.from_numpy(going).to(model.device)
        if not going.all():
            state, z, valid = state.keep(going), z[rows], valid[rows]
            settled = encoder.attention.keep(settled, rows, z.shape[1])


def _differences(
    model: CompiledModel, state: State, z: torch.Tensor, sublayer: str, result: Verification
) -> Iterator[Disagreement]:
    layout = model.layout
    entries = len(state.batch.example)
    result.values += entries * len(state.columns)
    inexact = [name for name in state.columns if not is_exact(layout, name)]
    # Nearly always every exact encoding is right, which one comparison of vectors shows.
    held = layout.read(z).float().cpu()
    off = (held - encode_meanings(layout, state.columns)).abs() > tolerance(layout)
    off[:, layout.own] = False
    for name in inexact:
        off[:, layout.dimensions(name)] = False
    wrong = off.any(-1).numpy()
    everywhere = np.ones(entries, dtype=bool)
    exact = [name for name in state.columns if name not in inexact]
    for names, rows in ((exact, wrong), (inexact, everywhere)):
        places = np.flatnonzero(rows)
        if not len(places):
            continue
        rows_there = z[torch.from_numpy(places)]
        for name, found in decode(layout, rows_there, names, changed=state.nullable).items():
            expected = state.columns[name][places]
            for row in np.flatnonzero(~_agree(layout, name, expected, found)):
                values = (_show(model.program, name, v[row]) for v in (expected, found))
                yield _located(state, int(places[row]), sublayer, name, *values)
    # The constant dimension and the flags belong to no variable, but can go wrong as well.
    for dimension in [*layout.flags.values(), *([] if layout.one is None else [layout.one])]:
        for entry in off[:, dimension].nonzero().flatten().tolist():
            label = f"the dimension {layout.labels[dimension]!r}"
            yield _located(state, entry, sublayer, label, "exact", f"{held[entry, dimension]:.4g}")


def _located(
    state: State, entry: int, sublayer: str, variable: str, interpreter: str, weights: str
) -> Disagreement:
    return Disagreement(
        input=int(state.batch.inputs[state.batch.example[entry]]),
        layer=state.layer,
        sublayer=sublayer,
        position=int(state.batch.position[entry]),
        variable=variable,
        interpreter=interpreter,
        weights=weights,
    )


def _agree(
    layout: Layout, name: str, expected: Column, found: Column
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    spec = layout.program.specs[name]
    if not isinstance(spec, Numerical):
        return np.asarray(expected == found)
    boundaries = np.asarray(spec.boundaries)
    gap = float(np.diff(spec.values).min())
    both_null = np.isnan(expected) & np.isnan(found)
    with np.errstate(invalid="ignore"):
        near = np.abs(expected - found) <= CLOSE * np.maximum(gap, np.abs(expected))
    same = np.searchsorted(boundaries, expected) == np.searchsorted(boundaries, found)
    # Numbers in a realistic stream are not exact: their buckets are what rules see.
    return np.asarray(both_null | (same & (near | (layout.basis is not None))))


def _show(program: Program, name: str, found: float) -> str:
    if isinstance(program.specs[name], Numerical):
        return "∅" if np.isnan(found) else f"{found:.6g}"
    if found == NULL:
        return "∅"
    if found == NOT_A_VALUE:
        return "not a value"
    return show_value(program.specs[name].values[int(found)])


def _compare_runs(
    program: Program, found: dict[int, Run], expected: dict[int, Run], result: Verification
) -> None:
    """The same for the model's own loop: outputs and number of layers."""
    for number, run in found.items():
        want = expected[number]
        if run.layers != want.layers:
            result.add(
                [
                    Disagreement(
                        number, want.layers, "run", 0, "layers", str(want.layers), str(run.layers)
                    )
                ]
            )
        result.add(
            Disagreement(number, want.layers, "run", place, program.output_name, str(a), str(b))
            for place, (a, b) in enumerate(zip(want.outputs, run.outputs, strict=True))
            if a != b
        )
