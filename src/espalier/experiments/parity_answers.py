"""Answers to bit strings, counted by length and by number of ones.

A row is a cell: a kind of model, a seed, a length and a number of ones; how many strings there
were, how many were answered rightly, and how many with 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from espalier import zoo
from espalier.compiler import CompiledModel, compile_program
from espalier.data import ParityConfig, ParitySet, parity_set
from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Row
from espalier.experiments.intervals import summarise
from espalier.experiments.parity_models import ProgramName, Read, Traced, name_of, with_until
from espalier.learnability import minimal
from espalier.learnability.supervision import ReadableRun, TraceRun
from espalier.training import ParityRun, StepRecipe, Trainable, TrainedRun, train

if TYPE_CHECKING:
    import pandas

    from espalier.language import Run
    from espalier.zoo import Entry

SPARE_LAYERS = 8  # beyond those that the longest string takes, for models that do not halt


def entry_of(traced: Traced | Read) -> Entry:
    """The program, large enough for the test strings."""
    longest = traced.test.longest
    match traced.program:
        case "sequential-relative":
            return zoo.load("parity-sequential-relative")
        case "sequential-absolute":
            return zoo.load("parity-sequential-absolute", positions=longest)
        case "sum-modulo":
            return zoo.load("parity-sum-modulo", buckets=longest + 1)


def strings_for(program: ProgramName, config: ParityConfig) -> ParitySet:
    """The strings of a config; the program without START cannot read the empty one."""
    return parity_set(replace(config, shortest=1) if program == "sequential-absolute" else config)


def compiled_cells(traced: Traced) -> list[Row]:
    """Rows of the compiled program, and of its minimal version for the training strings."""
    entry, test = entry_of(traced), strings_for(traced.program, traced.test)
    inputs = training_inputs(traced, entry)
    small = minimal(entry.program, inputs, max_layers=entry.max_layers)
    programs = {"original": entry.program, "minimal": small}
    rows: list[Row] = []
    for version, program in programs.items():
        answers = ask(compile_program(program), entry, test)
        rows += cells(test, answers, _labels(traced, version, 0))
    return rows


def traced_cells(traced: Traced, cache: RunCache) -> list[Row]:
    """Rows of the Transformers whose MLPs were trained on traces."""
    entry, test = entry_of(traced), strings_for(traced.program, traced.test)
    run = TraceRun(
        entry.program,
        training_inputs(traced, entry),
        traced.settings,
        seeds=traced.seeds,
        max_layers=entry.max_layers,
    )
    found = _trained(run, traced, cache)
    ended, rows = _ended(found, traced.settings.recipe), list[Row]()
    for seed, model in enumerate(found.models):
        answers = ask(model.to(cache.device), entry, test)
        rows += cells(test, answers, _labels(traced, "traces", seed) | ended)
    return rows


def read_cells(read: Read, cache: RunCache) -> list[Row]:
    """Rows of the Transformers from which a program's variables are read."""
    entry, test = entry_of(read), strings_for(read.program, read.test)
    run = ReadableRun(
        entry.program,
        training_inputs(read, entry),
        read.settings,
        seeds=read.seeds,
        max_layers=entry.max_layers,
    )
    inputs = [entry.encode(string) for string in test.strings()]
    found = _trained(run, read, cache)
    ended, rows = _ended(found, read.settings.recipe), list[Row]()
    members = found.models.run_many(inputs, max_layers=_most_layers(entry, test))
    for seed, runs in enumerate(members):
        rows += cells(test, _last(runs), _labels(read, "readable", seed) | ended)
    return rows


def transformer_cells(run: ParityRun, cache: RunCache) -> list[Row]:
    """Rows of the Transformers trained end to end."""
    found, test, shape = _trained(run, run, cache), parity_set(run.test), run.shape
    labels: Row = {
        "layers": shape.layers,
        "sharing": "yes" if shape.shared else "no",
        "positions": shape.positions,
        "trained_to": run.train.longest,
    }
    labels |= _ended(found, run.recipe)
    rows: list[Row] = []
    for seed, answers in enumerate(found.models.predict(test)):
        rows += cells(test, answers, labels | {"seed": seed})
    return rows


def _trained(config: Trainable, learner: Traced | Read | ParityRun, cache: RunCache) -> TrainedRun:
    """The cached models of a learner, trained if they are not yet."""
    out = cache.path / name_of(learner)
    return train(config, out, device=str(cache.device), progress=cache.progress)


def _ended(found: TrainedRun, recipe: StepRecipe) -> Row:
    """What ended training, and when."""
    return {"until": recipe.until, "step": found.step}


def _labels(traced: Traced | Read, version: str, seed: int) -> Row:
    longest = traced.train.longest
    return {"program": traced.program, "version": version, "seed": seed, "trained_to": longest}


def training_inputs(traced: Traced | Read, entry: Entry) -> list[list[int]]:
    """The training strings as a program reads them, each once."""
    strings = set(strings_for(traced.program, traced.train).strings())
    return [entry.encode(string) for string in sorted(strings)]


def ask(model: CompiledModel, entry: Entry, test: ParitySet) -> np.ndarray:
    """The model's last output for each string, when it halts or has no layers left."""
    inputs = [entry.encode(string) for string in test.strings()]
    return _last(model.run_many(inputs, max_layers=_most_layers(entry, test)))


def _last(runs: Iterable[Run]) -> np.ndarray:
    return np.asarray([run.outputs[-1] for run in runs])


def _most_layers(entry: Entry, test: ParitySet) -> int:
    return entry.max_layers or int(test.lengths.max()) + SPARE_LAYERS


def cells(test: ParitySet, answers: np.ndarray, labels: Row) -> list[Row]:
    """One row for each length and number of ones that there are strings of."""
    places = np.stack([test.lengths, test.ones], 1)
    distinct, which = np.unique(places, axis=0, return_inverse=True)
    counts = [
        np.bincount(which.ravel(), weights=weights, minlength=len(distinct)).astype(int).tolist()
        for weights in (np.ones(len(test)), answers == test.parities, answers == 1)
    ]
    return [
        labels | {"length": length, "ones": ones, "strings": n, "right": right, "odd": odd}
        for (length, ones), n, right, odd in zip(distinct.tolist(), *counts, strict=True)
    ]


def shares_by(rows: pandas.DataFrame, by: Sequence[str], *, of: str = "right") -> pandas.DataFrame:
    """The share of `of` among the strings of each group, with intervals over seeds."""
    summed = rows.groupby([*by, "seed"], as_index=False)[[of, "strings"]].sum()
    summed["share"] = summed[of] / summed["strings"]
    return summarise(summed, "share", by=by)


def both_ways(rows: pandas.DataFrame, by: Sequence[str], *, of: str = "right") -> pandas.DataFrame:
    """The shares by length and by number of ones, one below the other: `axis` and `x`."""
    import pandas as pd

    parts = []
    for axis, label in (("length", "length"), ("ones", "number of ones")):
        part = shares_by(rows, [*by, axis], of=of).rename(columns={axis: "x"})
        parts.append(part.assign(axis=label))
    return pd.concat(parts, ignore_index=True)


def slices(rows: pandas.DataFrame, by: Sequence[str]) -> pandas.DataFrame:
    """Tables 2 and 3: shares for short strings, for longer ones, and for many ones."""
    table = slices_with_intervals(rows, by)
    return table[[name for name in table if name != "seeds" and not name.endswith("±")]]


def slices_with_intervals(rows: pandas.DataFrame, by: Sequence[str]) -> pandas.DataFrame:
    """The same; after each share half of its interval, which a single seed does not have."""
    short = int(rows["trained_to"].iloc[0])
    kinds = {
        f"length <= {short}": rows["length"] <= short,
        f"length > {short}": rows["length"] > short,
        f"ones > {short}": rows["ones"] > short,
    }
    table = rows.groupby(list(by), as_index=False).agg(seeds=("seed", "nunique"))
    for name, some in kinds.items():
        part = shares_by(rows[some], by)
        half = ((part["high"] - part["low"]) / 2).where(part["seeds"] > 1)
        part = part.assign(**{name: part["mean"], f"{name} ±": half})
        table = table.merge(part[[*by, name, f"{name} ±"]], on=list(by))
    return table


def slices_by_end(rows: pandas.DataFrame, by: Sequence[str]) -> pandas.DataFrame:
    """The same by what ended training, with the last step where rows have it."""
    rows = with_until(rows)
    table = slices_with_intervals(rows, [*by, "until"])
    if "step" not in rows:
        return table
    steps = rows.groupby([*by, "until"], as_index=False)["step"].max()
    return table.merge(steps, on=[*by, "until"])
