"""`espalier scan`: all of SCAN, on symbols or through compiled weights."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from espalier.commands.output import NAMES, Cluster, Processes
from espalier.commands.progress import counting
from espalier.commands.show import show_pairs, show_table
from espalier.errors import ConfigError, DataError

if TYPE_CHECKING:
    from espalier.data import ScanSplit
    from espalier.language import Program
    from espalier.programs import Engine, Evaluation
    from espalier.runs import Workers
    from espalier.zoo import Entry


def scan_command(
    *,
    engine: Literal["interpreter", "compiled"] = "interpreter",
    split: Literal["all", "length", "mcd1", "mcd2", "mcd3", "grammar"] = "all",
    minimal: bool = False,
    device: str | None = None,
    dtype: Literal["float32", "float64", "bfloat16"] | None = None,
    workers: Processes = None,
    cluster: Cluster = None,
    data: Path | None = None,
    out: Annotated[Path | None, Parameter(name=NAMES)] = None,
) -> None:
    """Answer every example of a split of SCAN and print the accuracy by length.

    The same command resumes a run that was stopped.

    Parameters
    ----------
    engine
        Run on symbols, or through compiled Transformer weights.
    split
        `all` 20,910 examples, the test set of a hard split, or `all` made from the grammar.
    minimal
        Keep only what the split's training set needs of the program.
    device
        Where the compiled model runs: cpu (by default) or cuda.
    dtype
        What it computes with, float32 by default.
    data
        The folder that holds scan/; by default ESPALIER_DATA.
    out
        The run's folder; by default runs/scan-SPLIT-ENGINE.
    """
    from espalier import zoo
    from espalier.data import scan_split
    from espalier.programs import Case, Compiled, Interpreter, evaluate
    from espalier.runs import Workers

    if engine == "interpreter" and (device or dtype):
        raise ConfigError("--device and --dtype are those of weights; add --engine compiled")
    examples = scan_split(split, data=data)
    entry = zoo.load("scan")
    shared = Workers(workers or 0, cluster)
    program = _minimal(entry, examples, shared) if minimal else entry.program
    chosen: Engine = Compiled(workers, dtype or "float32", device or "cpu", cluster)
    if engine == "interpreter":
        chosen = Interpreter(workers, cluster)
    name = f"scan-{split}{'-minimal' if minimal else ''}-{engine}"
    folder = Path("runs") / name if out is None else out
    cases = [Case(example.command, example.actions, example.length) for example in examples.test]
    with counting("examples") as progress:
        result = evaluate(
            entry, cases, engine=chosen, program=program, out=folder, progress=progress
        )
    _show(result, program, folder)


def _minimal(entry: Entry, split: ScanSplit, workers: Workers) -> Program:
    from espalier.learnability import minimal

    if not split.train:
        raise DataError(
            f"the split {split.name!r} has no training set to be minimal for; "
            "use length, mcd1, mcd2 or mcd3"
        )
    train = [entry.encode(example.command) for example in split.train]
    with counting("inputs of the training set") as progress:
        return minimal(entry.program, train, workers=workers, progress=progress)


def _show(result: Evaluation, program: Program, folder: Path) -> None:
    rows = [
        (str(size), f"{cases:,}", f"{accuracy:.2%}", f"{mean:.1f}", str(most))
        for size, cases, accuracy, mean, most in result.by_size().itertuples(index=False)
    ]
    show_table(("actions", "examples", "right", "mean layers", "most"), rows)
    show_pairs(
        {
            "accuracy": f"{result.accuracy:.2%} of {len(result.rows):,}",
            "rules": f"{len(program.rules):,}",
            "layers": f"{sum(row['layers'] for row in result.rows):,} in all, "
            f"at most {result.layers}",
            "seconds": f"{result.seconds:.1f}",
            "peak memory": f"{result.peak_bytes / 2**20:,.0f} MiB in a process"
            if result.peak_bytes
            else "not measured: every answer was there",
            "rows": str(folder),
        }
    )
    for row in result.wrong[:5]:
        sys.stderr.write(f"example {row['number']} was answered {row['wrong']!r}\n")
