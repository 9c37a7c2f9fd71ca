"""The models of the ALTA experiments, one learner at a time, and the cost of their steps."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial

import torch

from espalier.compiler import compile_program
from espalier.experiments import (
    Learner,
    Read,
    Traced,
    end_to_end,
    entry_of,
    readable,
    traced,
    training_inputs,
    translators,
)
from espalier.learnability import lessons
from espalier.learnability.supervision import ReadableRun, shape_for, trace_learner
from espalier.nets.transformer import TransformerShape
from espalier.training import ParityRun, ScanRun, TaskLearner, TranslationTask

FILES = {
    "traces": "alta-figure-4",
    "readable": "alta-readable",
    "parity": "alta-table-3",
    "scan": "alta-table-6",
}
Maker = Callable[[torch.device], TaskLearner]
KINDS = {Traced: "traces", Read: "readable", ParityRun: "parity", ScanRun: "scan"}


def learners(args: argparse.Namespace) -> list[Learner]:
    """The requested learners, the quick ones first."""
    found: list[Learner] = []
    if "traces" in args.only:
        found += traced(args.scale)
    if "readable" in args.only:
        found += readable(args.scale)
    runs = [*(end_to_end(args.scale) if "parity" in args.only else ())]
    runs += [*(translators(args.scale) if "scan" in args.only else ())]
    runs = [one for one in runs if not args.layers or one.shape.layers in args.layers]
    found += sorted(runs, key=lambda run: run.shape.layers)
    wanted = [with_changes(one, args) for one in found]
    return [one for one in wanted if all(word in describe(one) for word in args.match)]


def with_changes(one: Learner, args: argparse.Namespace) -> Learner:
    """The learner with other steps, batches or seeds, where they are given."""
    if args.seeds:
        one = replace(one, seeds=args.seeds)
    asked = {"steps": args.steps, "batch": args.batch, "measures": args.measures}
    changes = {name: value for name, value in asked.items() if value}
    if isinstance(one, Traced | Read):
        recipe = replace(one.settings.recipe, **changes)
        return replace(one, settings=replace(one.settings, recipe=recipe))
    shape = replace(one.shape, first_biases=args.biases)
    return replace(one, shape=shape, recipe=replace(one.recipe, **changes))


def describe(one: Learner) -> str:
    """A name for people."""
    match one:
        case Traced():
            return f"traces {one.program}"
        case Read():
            return f"readable {one.program}"
        case ParityRun() | ScanRun():
            sharing = "shared" if one.shape.shared else "own"
            biases = one.shape.first_biases
            from_there = "" if biases is None else f" from {biases:g}"
            return (
                f"{KINDS[type(one)]} {one.shape.layers} {sharing} {one.shape.positions}{from_there}"
            )


def learner_of(one: Learner, device: torch.device) -> TaskLearner:
    """The models of a learner at their first step."""
    match one:
        case Traced():
            few = replace(one, train=replace(one.train, per_count=min(50, one.train.per_count)))
            return trace_maker(few)(device)
        case Read():
            return readable_learner(one, device)
        case ParityRun() | ScanRun():
            return one.prepare(device).learner


def small_learners(only: Collection[str]) -> Iterator[tuple[str, Maker]]:
    """One learner of every requested kind: a name and a maker."""
    for one in traced("smoke") if "traces" in only else ():
        for optimiser in ("adam", "adafactor"):
            recipe = replace(one.settings.recipe, optimiser=optimiser, precision="float32")
            settings = replace(one.settings, hidden=64, recipe=recipe)
            yield f"{one.program} {optimiser}", trace_maker(replace(one, settings=settings))
    runs = [*(end_to_end("smoke")[1::2] if "parity" in only else ())]
    runs += [*(translators("smoke")[:2] if "scan" in only else ())]
    for one in runs:
        for kind in (one, shortened(one)):
            yield f"{describe(one)} {kind.recipe.precision}", partial(learner_of, kind)
    for one in readable("smoke")[:1] if "readable" in only else ():
        yield "readable", partial(learner_of, one)


def shortened(one: ParityRun | ScanRun) -> ParityRun | ScanRun:
    """The same in bfloat16, with heads as wide as attention's own kernels want them."""
    recipe = replace(one.recipe, precision="bfloat16")
    return replace(one, shape=replace(one.shape, head_width=16), recipe=recipe)


def trace_maker(one: Traced) -> Maker:
    """The MLPs of a program on any device; traces are made once."""
    entry = entry_of(one)
    inputs = training_inputs(one, entry)
    taught = lessons(compile_program(entry.program), inputs, max_layers=entry.max_layers)
    seeds = range(one.seeds)
    return lambda device: trace_learner(taught, one.settings, seeds=seeds, device=device)


def readable_learner(one: Read, device: torch.device) -> TaskLearner:
    """The Transformers from which a program's variables are to be read."""
    entry = entry_of(one)
    inputs, layers = training_inputs(one, entry), entry.max_layers
    run = ReadableRun(entry.program, inputs, one.settings, seeds=one.seeds, max_layers=layers)
    return run.prepare(device).learner


def flops(one: Learner) -> float:
    """Additions and multiplications of a step's products, forward and backward."""
    match one:
        case Traced():
            compiled = compile_program(entry_of(one).program).layout
            sizes = [compiled.width + compiled.features]
            sizes += [one.settings.hidden] * one.settings.hidden_layers + [compiled.width]
            products = sum(a * b for a, b in itertools.pairwise(sizes))
            return 6.0 * one.seeds * one.settings.recipe.batch * products
        case Read():
            entry, settings = entry_of(one), one.settings
            layers = entry.max_layers or one.train.longest
            shape = shape_for(entry.program, settings, layers)
            tokens = one.train.longest + 1
            return 6.0 * one.seeds * settings.recipe.batch * stack_products(shape, tokens)
        case ParityRun():
            tokens = one.train.longest + 1
            return 6.0 * len(one.seeds) * one.recipe.batch * stack_products(one.shape, tokens)
        case ScanRun():
            task = TranslationTask.of(one, torch.device("cpu"))
            (rows, beside), size = task.packing.slots.shape, task.packing.parts.shape[1]
            words = task.pairs.commands.shape[1]
            encoder = beside * stack_products(one.shape, words)
            decoder = stack_products(one.shape, size, asked=beside * words)
            return 6.0 * len(one.splits) * len(one.seeds) * rows * (encoder + decoder)


def stack_products(shape: TransformerShape, tokens: int, *, asked: int = 0) -> float:
    """Products of one row in one stack of layers; a decoder asks so many positions as well.

    As of layers one by one: as kernels, a head's circuits are half of its matrices' products.
    """
    inner = shape.heads * shape.head_width
    within = tokens * (4 * shape.width * inner + 2 * tokens * inner)
    across = 2 * (tokens + asked) * shape.width * inner + 2 * tokens * asked * inner
    mlp = 2 * tokens * shape.width * shape.hidden
    return float(shape.layers * (within + (across if asked else 0) + mlp))
