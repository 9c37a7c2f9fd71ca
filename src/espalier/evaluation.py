"""A program against answers that are known: every example, by either machine, resumable.

Examples are answered in chunks, by several processes on a CPU. Each chunk's rows reach the disk
before the next is begun, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.errors import ConfigError, DataError
from espalier.language import Program, Run
from espalier.language.records import program_hash
from espalier.storage import write_frame
from espalier.zoo import Entry

if TYPE_CHECKING:
    import pandas

    from espalier.training.folder import RunFolder

# Examples answered between two saves, by each process.
CHUNK = 512

Row = dict[str, Any]
Progress = Callable[[int, int], None]  # examples answered, examples in all


@dataclass(frozen=True)
class Interpreter:
    """Answer on symbols; `workers` processes, one for each core by default."""

    workers: int | None = None


@dataclass(frozen=True)
class Compiled:
    """Answer through Transformer weights; on a CPU by `workers` processes of one thread each."""

    workers: int | None = None
    dtype: str = "float32"
    device: str = "cpu"


Engine = Interpreter | Compiled


@dataclass(frozen=True)
class Case:
    """An input, the answer it should get, and the size that results are grouped by."""

    given: Any
    answer: Any
    size: int


@dataclass(frozen=True)
class Evaluation:
    """Which cases were answered rightly, after how many layers, and at what cost."""

    rows: tuple[Row, ...]
    seconds: float
    peak_bytes: int

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(sum(row["right"] for row in self.rows) / len(self.rows))

    @property
    def layers(self) -> int:
        """The most layers that any case took."""
        return int(max(row["layers"] for row in self.rows))

    @property
    def wrong(self) -> list[Row]:
        """The cases answered wrongly, with what was answered."""
        return [row for row in self.rows if not row["right"]]

    def to_frame(self) -> pandas.DataFrame:
        """One row a case: number, size, layers, right, and the answer where it was wrong."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def by_size(self) -> pandas.DataFrame:
        """For each size: how many cases, the share answered rightly, mean and most layers."""
        grouped = self.to_frame().groupby("size")
        table = grouped.agg(
            cases=("right", "size"),
            accuracy=("right", "mean"),
            mean_layers=("layers", "mean"),
            most_layers=("layers", "max"),
        )
        return table.reset_index()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as .csv, .parquet or .json."""
        write_frame(path, self.to_frame())

    def __str__(self) -> str:
        right = sum(row["right"] for row in self.rows)
        return (
            f"{right:,} of {len(self.rows):,} right ({self.accuracy:.2%}), at most {self.layers} "
            f"layers, {self.seconds:.1f} s"
        )

    __repr__ = __str__


def evaluate(
    entry: Entry,
    cases: Sequence[Case],
    *,
    engine: Engine | None = None,
    program: Program | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Answer every case with `entry`'s program, or with another `program` in its place.

    With `out`, rows are kept in that folder as they come, and a run that was stopped goes on.
    """
    if not cases:
        raise DataError("there is nothing to evaluate: no cases were given")
    engine = Interpreter() if engine is None else engine
    program = entry.program if program is None else program
    if out is None:
        return _run(entry, program, cases, engine, _Kept([], None), progress)
    from espalier.training.folder import RunFolder

    folder = RunFolder.create(out)
    manifest = _open(folder, entry, program, cases, engine)
    kept = _Kept(folder.rows("cases"), folder)
    began, status = time.monotonic(), "interrupted"
    try:
        result = _run(entry, program, cases, engine, kept, progress)
        status = "finished"
    finally:
        from espalier.training.manifest import close_run

        close_run(folder, manifest, status=status, seconds=time.monotonic() - began)
    folder.tidy()
    spent = manifest["seconds"] + time.monotonic() - began
    return Evaluation(result.rows, spent, result.peak_bytes)


@dataclass
class _Kept:
    """Rows so far, and the folder that new ones go to."""

    rows: list[Row]
    folder: RunFolder | None

    def add(self, rows: list[Row]) -> None:
        self.rows += rows
        if self.folder is not None:
            self.folder.append_rows(rows, "cases")


def _run(
    entry: Entry,
    program: Program,
    cases: Sequence[Case],
    engine: Engine,
    kept: _Kept,
    progress: Progress | None,
) -> Evaluation:
    began = time.monotonic()
    done = {row["number"] for row in kept.rows}
    left = [number for number in range(len(cases)) if number not in done]
    tokens = {number: tuple(entry.encode(cases[number].given)) for number in left}
    peak = 0
    for answered in _answers(entry, program, tokens, engine):
        rows = [_row(entry, number, cases[number], run) for number, run in answered.runs.items()]
        kept.add(rows)
        peak = max(peak, answered.peak_bytes)
        if progress is not None:
            progress(len(kept.rows), len(cases))
    rows = sorted(kept.rows, key=lambda row: int(row["number"]))
    return Evaluation(tuple(rows), time.monotonic() - began, peak)


def _row(entry: Entry, number: int, case: Case, run: Run) -> Row:
    answer = entry.decode(run.outputs)
    right = bool(run.halted or entry.max_layers is not None) and answer == case.answer
    wrong = None if right else str(answer)
    return {
        "number": number,
        "size": case.size,
        "layers": run.layers,
        "right": right,
        "wrong": wrong,
    }


@dataclass(frozen=True)
class _Answered:
    runs: dict[int, Run]
    peak_bytes: int


def _answers(
    entry: Entry, program: Program, tokens: dict[int, tuple[int, ...]], engine: Engine
) -> Iterator[_Answered]:
    """The runs of a chunk at a time, in any order."""
    on_device = isinstance(engine, Compiled) and engine.device != "cpu"
    workers = 1 if on_device else engine.workers or os.cpu_count() or 1
    if workers < 1:
        raise ConfigError(f"at least one worker is needed; found workers = {engine.workers}")
    numbers = list(tokens)
    size = len(numbers) if on_device else CHUNK
    parts = [numbers[start : start + size] for start in range(0, len(numbers), size or 1)]
    jobs = [{number: tokens[number] for number in part} for part in parts]
    machine = _Machine(program, engine, entry.max_layers)
    if workers == 1 or len(jobs) <= 1:
        yield from map(machine, jobs)
        return
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from pool(delayed(machine)(job) for job in jobs)


# A process answers many chunks of one program; it is compiled once.
_built: dict[str, Any] = {}


@dataclass(frozen=True)
class _Machine:
    """Answers chunks; travels to other processes as data."""

    program: Program
    engine: Engine
    max_layers: int | None

    def __call__(self, job: dict[int, tuple[int, ...]]) -> _Answered:
        match self.engine:
            case Interpreter():
                from espalier.interpreter import interpret_many

                runs = interpret_many(self.program, job.values(), max_layers=self.max_layers)
                return _Answered(dict(zip(job, runs, strict=True)), resident_bytes())
            case Compiled(_, dtype, device):
                return self._compiled(job, dtype, device)

    def _compiled(self, job: dict[int, tuple[int, ...]], dtype: str, device: str) -> _Answered:
        import torch

        if device == "cpu":
            torch.set_num_threads(1)
        key = f"{program_hash(self.program)} {dtype} {device}"
        if key not in _built:
            from espalier.compiler import compile_program

            _built.clear()
            model = compile_program(self.program, dtype=getattr(torch, dtype))
            _built[key] = model.to(device)
        runs = _built[key].run_many(job.values(), max_layers=self.max_layers)
        on_cuda = torch.device(device).type == "cuda"
        peak = torch.cuda.max_memory_allocated(device) if on_cuda else resident_bytes()
        return _Answered(dict(zip(job, runs, strict=True)), peak)


def resident_bytes() -> int:
    """The most memory that this process has held.

    From /proc where there is one: getrusage also counts what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def _open(
    folder: RunFolder, entry: Entry, program: Program, cases: Sequence[Case], engine: Engine
) -> dict[str, Any]:
    import torch

    from espalier.training.manifest import describe_run, open_run

    device = engine.device if isinstance(engine, Compiled) else "cpu"
    config = {
        "program": entry.name,
        "program_sha256": program_hash(program),
        "engine": type(engine).__name__.lower(),
        "dtype": engine.dtype if isinstance(engine, Compiled) else None,
    }
    text = "\n".join(f"{case.given}\t{case.answer}" for case in cases)
    data = {"cases": len(cases), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    described = describe_run("evaluation", config, data=data, device=torch.device(device))
    return open_run(folder, described)
