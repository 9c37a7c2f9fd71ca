"""Commands that ask what a training set says about a program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from espalier.commands.output import (
    Cluster,
    Force,
    OutParquet,
    OutTable,
    Processes,
    refuse_foreign,
    save,
)
from espalier.commands.progress import counting
from espalier.commands.show import console, show_pairs
from espalier.errors import DataError, FileError
from espalier.files import check_plain
from espalier.targets import load_target, tokens_read

if TYPE_CHECKING:
    from espalier.language import Rule
    from espalier.zoo import Entry

Target = Annotated[str, Parameter(help="A zoo name, FILE.safetensors, or FILE.py:NAME.")]
Inputs = Annotated[str, Parameter(help="The training set, one input per argument.")]
Layers = Annotated[int | None, Parameter(help="Stop after this many layers.")]

# Dropped conditions that are printed.
SHOWN = 10


@Parameter(name="*")
@dataclass(frozen=True)
class TrainingSet:
    """Where the training set comes from, if it is not given as arguments."""

    file: Path | None = None
    "Read the inputs from this file, one per line."
    cases: int = 200
    "Without arguments or a file, draw this many random inputs."
    size: int = 20
    "How large a random input may be."
    seed: int = 0
    "The seed of random inputs."


DRAWN = TrainingSet()


def minimal_command(
    target: Target,
    *inputs: Inputs,
    constraints: bool = False,
    training: TrainingSet = DRAWN,
    out: OutTable = None,
    force: Force = False,
    max_layers: Layers = None,
    workers: Processes = None,
    cluster: Cluster = None,
) -> None:
    """Show which parts of a program a training set needs, and which not (the paper's C.2).

    The table has everything that was dropped.

    Parameters
    ----------
    constraints
        Drop single conditions of rules too (all of Definition 1).
    """
    from espalier.learnability import minimal
    from espalier.runs import Workers

    entry, layers = load_entry(target, max_layers)
    batch = training_tokens(entry, inputs, training, layers)
    with counting("inputs") as progress:
        small = minimal(
            entry.program,
            batch,
            constraints=constraints,
            max_layers=layers,
            workers=Workers(workers or 0, cluster),
            progress=progress,
        )
    lost = small.dropped
    show_pairs(
        {
            "inputs": f"{len(batch):,}",
            "rules": f"{len(small.rules):,} of {len(entry.program.rules):,}",
            "dropped": str(lost).removeprefix("dropped "),
            "rules that clash": _clashing(small.clash),
        }
    )
    for one in lost.constraints[:SHOWN]:
        console().print(f"  {one}", highlight=False, markup=False)
    if len(lost.constraints) > SHOWN:
        console().print(f"  ... and {len(lost.constraints) - SHOWN:,} more")
    save(lost, out, force=force)


def _clashing(clash: tuple[Rule, Rule] | None) -> str:
    return "none" if clash is None else f"on other inputs: [{clash[0]}] and [{clash[1]}]"


def optimum_command(
    target: Target,
    *inputs: Inputs,
    alpha: float = 0.5,
    penalty: Literal["l1", "l2"] = "l1",
    reduce: Literal["nothing", "rules", "constraints"] = "nothing",
    training: TrainingSet = DRAWN,
    out: OutTable = None,
    force: Force = False,
    max_layers: Layers = None,
) -> None:
    """Say whether the compiled MLP is a local optimum of the regularised loss (Appendix B).

    Exits 1 if it is not. The table has every parameter's derivatives.

    Parameters
    ----------
    alpha
        The weight of the penalty; the theorems are for less than 1.
    penalty
        What the penalty sums: absolute values of the parameters, or their squares.
    reduce
        Look at the minimal version: without the rules, or also the conditions, not needed.
    """
    from espalier.learnability import local_optimum, minimal

    entry, layers = load_entry(target, max_layers)
    batch = training_tokens(entry, inputs, training, layers)
    program = entry.program
    if reduce != "nothing":
        every = reduce == "constraints"
        program = minimal(program, batch, constraints=every, max_layers=layers)
    found = local_optimum(program, batch, alpha=alpha, penalty=penalty, max_layers=layers)
    console().print(str(found), highlight=False, markup=False)
    save(found, out, force=force)
    if not found.holds:
        sys.exit(1)


def traces_command(
    target: Target,
    *inputs: Inputs,
    out: OutParquet,
    distinct: bool = False,
    vectors: bool = False,
    training: TrainingSet = DRAWN,
    force: Force = False,
    max_layers: Layers = None,
) -> None:
    """Write the inputs and outputs of every sub-layer over a training set, as Parquet.

    Parameters
    ----------
    distinct
        Keep the first of equal rows.
    vectors
        Write the residual stream in addition to the variables.
    """
    from espalier.learnability import record_traces

    refuse_foreign(out, force=force)
    entry, layers = load_entry(target, max_layers)
    batch = training_tokens(entry, inputs, training, layers)
    found = record_traces(
        entry.program, batch, out=out, distinct=distinct, vectors=vectors, max_layers=layers
    )
    console().print(f"wrote {found}", highlight=False)


def register(app: App) -> None:
    """Add the commands to the command line."""
    app.command(minimal_command, name="minimal")
    app.command(optimum_command, name="optimum")
    app.command(traces_command, name="traces")


def load_entry(target: str, max_layers: int | None) -> tuple[Entry, int | None]:
    """The program that `target` names, and how long it is to run."""
    entry = load_target(target)
    return entry, entry.max_layers if max_layers is None else max_layers


def training_tokens(
    entry: Entry, inputs: Sequence[str], training: TrainingSet, layers: int | None
) -> list[Sequence[int]]:
    """The tokens of the training set, with those that a program wrote after its input."""
    if inputs and training.file is not None:
        raise DataError("the training set is given twice, as arguments and by --file; give one")
    drawn = [name for name in ("cases", "size", "seed") if _is_set(training, name)]
    if drawn and (inputs or training.file is not None):
        raise DataError(f"--{drawn[0]} is for drawn inputs, and inputs are given; drop one of them")
    given = list(inputs)
    if training.file is not None:
        given = _lines(training.file)
    if not given:
        given = entry.samples(training.cases, size=training.size, seed=training.seed)
    return tokens_read(entry, given, layers)


def _is_set(training: TrainingSet, name: str) -> bool:
    return bool(getattr(training, name) != getattr(DRAWN, name))


def _lines(file: Path) -> list[str]:
    check_plain(file)
    if not file.is_file():
        raise FileError(f"there is no file {file}")
    try:
        found = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not text in UTF-8 ({error}); give one input per line") from None
    if not found:
        raise DataError(f"{file} is empty; give it one input per line")
    return found
