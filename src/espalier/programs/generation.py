"""Write with a causal program: the loop of A.3, in which what is written is read again.

The output of the last position is the next token, so the output variable's values are tokens.
Every position is computed once: its keys and values are cached, layer by layer, and no later
token can change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from espalier.errors import LONGEST_RUN, ProgramError
from espalier.interventions import Intervention, Interventions, as_lists
from espalier.language import (
    Generation,
    Program,
    Written,
    as_integer,
    as_items,
    check_batch,
    check_layers,
    chunks,
)
from espalier.programs.changed_generation import ChangedDecoder
from espalier.runs import HERE, AnyWorkers, Workers, by_parts
from espalier.zoo import Entry

if TYPE_CHECKING:
    from espalier.compiler import CompiledModel

T = TypeVar("T")

# Positions of the prompts that are read together. After that, a row is one position at a time.
TOGETHER = 1 << 17
PART = 256  # inputs that a worker is given at once


class Decoder(Protocol):
    """A machine that continues from where it stopped."""

    def extend(self, tokens: Sequence[Sequence[int]]) -> list[Written]:
        """The answer of each row's last position after these tokens more."""

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Continue with some of the rows only."""


def generate(
    machine: Program | CompiledModel,
    prompt: Iterable[object],
    *,
    max_tokens: int,
    stop: int | str | None = None,
    max_layers: int | None = None,
    interventions: Sequence[Intervention] = (),
) -> Generation:
    """What `machine` writes after `prompt`: at most `max_tokens` tokens, and none after `stop`.

    A `Program` writes on symbols, a `CompiledModel` with its weights. Each token takes the layers
    until its position halts, or `max_layers`. `interventions` hold whenever the text is read.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-scratchpad")
    >>> prompt, stop = entry.encode("101"), entry.writing.stop
    >>> es.generate(entry.program, prompt, max_tokens=8, stop=stop).tokens
    (1, 1, 0, 2)
    """
    return generate_many(
        machine,
        [prompt],
        max_tokens=max_tokens,
        stop=stop,
        max_layers=max_layers,
        interventions=interventions,
    )[0]


def generate_many(
    machine: Program | CompiledModel,
    prompts: Iterable[Iterable[object]],
    *,
    max_tokens: int | Sequence[int],
    stop: int | str | None = None,
    max_layers: int | None = None,
    interventions: Interventions = (),
) -> list[Generation]:
    """What was written after prompts of any lengths, in the order given.

    `max_tokens` is one number for all, or one per prompt; `interventions` one list for all, or one
    per prompt.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-scratchpad")
    >>> prompts, stop = [entry.encode("101"), entry.encode("1")], entry.writing.stop
    >>> [one.tokens for one in es.generate_many(entry.program, prompts, max_tokens=8, stop=stop)]
    [(1, 1, 0, 2), (1, 2)]
    """
    program = machine if isinstance(machine, Program) else _program_of(machine)
    layers = check_layers(program, max_layers)
    _check_writes(program)
    checked = check_batch(program, prompts)
    limits = _limits(program, checked, max_tokens)
    end = None if stop is None else program.tokens([stop])[0]
    if end is None and max(limits, default=0) > LONGEST_RUN:
        raise ProgramError(
            f"max_tokens is {max(limits)}, and nothing stops it sooner; give at most "
            f"{LONGEST_RUN:,}, or the token to stop= after"
        )
    if as_items(interventions, "interventions"):
        changed = ChangedDecoder(machine, as_lists(interventions, len(checked)), max_layers=layers)
        return changed.finished(_write(changed, checked, limits, end))
    written: dict[int, Generation] = {}
    for numbers in chunks(checked, TOGETHER):
        decoder = _decoder(machine, numbers, layers)
        chunk = [checked[n] for n in numbers]
        found = _write(decoder, chunk, [limits[n] for n in numbers], end)
        written |= dict(zip(numbers, found, strict=True))
    return [written[number] for number in range(len(checked))]


@dataclass(frozen=True)
class Answer:
    """What a program of the zoo answered: by its outputs, or by what it wrote.

    `layers` is a number for each token that was written, and one for a program that writes none.
    `read` is all that the program has read: its input, and what it wrote but for the last token.
    """

    value: Any
    outputs: tuple[int, ...]
    layers: tuple[int, ...]
    finished: bool
    read: tuple[int, ...]


def ask(
    entry: Entry,
    inputs: Iterable[Any],
    *,
    model: CompiledModel | None = None,
    max_layers: int | None = None,
    workers: AnyWorkers = HERE,
) -> list[Answer]:
    """The answers of `entry` to inputs as users write them, on symbols or by `model`.

    `workers` answer some hundred inputs each.
    """
    if (others := Workers.of(workers)) != HERE:
        given = entry, model, max_layers
        parts = by_parts(_ask_part, list(inputs), given, size=PART, workers=others)
        return [answer for part in parts for answer in part]
    prompts = [entry.encode(given) for given in inputs]
    layers = entry.max_layers if max_layers is None else max_layers
    if entry.writing is not None:
        texts = generate_many(
            entry.program if model is None else model,
            prompts,
            max_tokens=[entry.writing.most(prompt) for prompt in prompts],
            stop=entry.writing.stop,
            max_layers=layers,
        )
        return [
            Answer(entry.decode(t.tokens), t.tokens, t.layers, t.stopped, t.sequence[:-1])
            for t in texts
        ]
    if model is None:
        from espalier.interpreter import interpret_many

        runs = interpret_many(entry.program, prompts, max_layers=layers)
    else:
        runs = model.run_many(prompts, max_layers=layers)
    return [
        Answer(
            entry.decode(run.outputs), tuple(run.outputs), (run.layers,), run.halted, tuple(read)
        )
        for run, read in zip(runs, prompts, strict=True)
    ]


def _ask_part(
    inputs: list[Any], entry: Entry, model: CompiledModel | None, max_layers: int | None
) -> list[Answer]:
    return ask(entry, inputs, model=model, max_layers=max_layers)


def _write(
    decoder: Decoder, prompts: list[tuple[int, ...]], limits: list[int], stop: int | None
) -> list[Generation]:
    """The autoregressive loop: what a row writes is what it reads next, until it is done."""
    texts: list[list[Written]] = [[] for _ in prompts]
    stopped = [False] * len(prompts)
    rows, new = list(range(len(prompts))), [list(prompt) for prompt in prompts]
    while rows:
        going = np.array([not stopped[n] and len(texts[n]) < limits[n] for n in rows])
        if not going.all():
            # A row that is done must stop: its program may not run on what comes after.
            decoder.keep(going)
            rows, new = _chosen(rows, going), _chosen(new, going)
        if rows:
            answers = decoder.extend(new)
            for number, one in zip(rows, answers, strict=True):
                texts[number].append(one)
                stopped[number] = one.token == stop
            new = [[one.token] for one in answers]
    return [
        Generation(prompt, tuple(one.token for one in text), tuple(one.layers for one in text), end)
        for prompt, text, end in zip(prompts, texts, stopped, strict=True)
    ]


def _chosen(items: list[T], which: NDArray[np.bool_]) -> list[T]:
    return [item for item, chosen in zip(items, which, strict=True) if chosen]


def _program_of(machine: object) -> Program:
    from espalier.compiler import CompiledModel

    if not isinstance(machine, CompiledModel):
        raise ProgramError(
            f"generate needs a Program or a CompiledModel; found {type(machine).__name__}"
        )
    return machine.program


def _decoder(
    machine: Program | CompiledModel, numbers: list[int], max_layers: int | None
) -> Decoder:
    if isinstance(machine, Program):
        from espalier.interpreter import SymbolDecoder

        return SymbolDecoder(machine, numbers, max_layers=max_layers)
    from espalier.compiler import WeightsDecoder

    return WeightsDecoder(machine, len(numbers), max_layers=max_layers)


def _check_writes(program: Program) -> None:
    """Refuse a program whose output cannot be read again."""
    if not program.causal:
        raise ProgramError(
            "the program is not causal: what it wrote would change with every token that follows; "
            "build it with program_spec(..., causal=True)"
        )
    if program.output.size > program.input_range:
        raise ProgramError(
            f"the output {program.output_name!r} has {program.output.size} values, but there are "
            f"only {program.input_range} tokens; a value that is written is the next token"
        )


def _limits(
    program: Program, prompts: list[tuple[int, ...]], max_tokens: int | Sequence[int]
) -> list[int]:
    given = [max_tokens] * len(prompts) if not isinstance(max_tokens, Sequence) else [*max_tokens]
    if len(given) != len(prompts):
        raise ProgramError(f"max_tokens has {len(given)} numbers for {len(prompts)} prompts")
    limits = [as_integer(limit, "max_tokens") for limit in given]
    for number, (prompt, limit) in enumerate(zip(prompts, limits, strict=True)):
        if limit < 0:
            raise ProgramError(f"max_tokens must not be negative; found {limit}")
        # The last token is written but not read.
        needed = len(prompt) + max(0, limit - 1)
        if program.position_range is not None and needed > program.position_range:
            raise ProgramError(
                f"input {number}: {len(prompt)} tokens and {limit} more need {needed} positions, "
                f"more than position_range = {program.position_range}; give a smaller max_tokens "
                "or build the program with a larger position_range"
            )
    return limits
