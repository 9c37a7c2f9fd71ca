"""The two machines, answering a chunk of cases at a time, in any process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from espalier.errors import ConfigError
from espalier.language import Program, Run, program_hash
from espalier.programs.evaluation import Row
from espalier.runs import AnyWorkers, Workers, choose_device, peak_bytes

# Examples answered between two saves: whatever the workers, chunks are the same.
CHUNK, DEVICE_CHUNK = 512, 1 << 15
COLUMNS = {
    "number": "int64",
    "size": "int64",
    "layers": "int64",
    "right": "bool",
    "wrong": "string",
}


@dataclass(frozen=True)
class Case:
    """An input, the answer it should get, and the size that results are grouped by."""

    given: Any
    answer: Any
    size: int


@dataclass(frozen=True)
class Interpreter:
    """Answer on symbols; `workers` processes, one for each core by default, or a dask `cluster`."""

    workers: AnyWorkers | None = None
    cluster: str | None = None


@dataclass(frozen=True)
class Compiled:
    """Answer through Transformer weights; on a CPU by `workers` processes of one thread each.

    With a dask `cluster`, an engine on a device uses the workers that are tagged with a GPU.
    """

    workers: AnyWorkers | None = None
    dtype: str = "float32"
    device: str = "cpu"
    cluster: str | None = None

    @property
    def on_device(self) -> bool:
        """Whether it runs on a GPU."""
        return self.device != "cpu"


Engine = Interpreter | Compiled


def workers_for(engine: Engine, cases: int) -> Workers:
    """The workers that answer: this process where one is enough."""
    on_device = isinstance(engine, Compiled) and engine.on_device
    asked = Workers.of(engine.workers or 0, engine.cluster)
    if asked.cluster is not None:
        return asked
    if engine.workers is not None and not asked.count:
        raise ConfigError("at least one worker is needed; found workers = 0")
    count = asked.count or os.cpu_count() or 1
    return Workers(0 if on_device or count == 1 or cases <= CHUNK else count)


# A process answers many chunks of one program; it is compiled once.
_built: dict[str, Any] = {}


@dataclass(frozen=True)
class Machine:
    """Answers chunks; it can be pickled for other processes."""

    program: Program
    engine: Engine
    max_layers: int | None
    decode: Callable[[Iterable[int]], Any]

    def __call__(self, first: int, cases: list[Case], tokens: list[list[int]]) -> list[Row]:
        """The rows of successive cases, of which the `first` has this number."""
        match self.engine:
            case Interpreter():
                from espalier.interpreter import interpret_many

                runs = interpret_many(self.program, tokens, max_layers=self.max_layers)
            case Compiled(_, dtype, device):
                runs = self._model(dtype, device).run_many(tokens, max_layers=self.max_layers)
        answered = zip(cases, runs, strict=True)
        return [self._row(n, case, run) for n, (case, run) in enumerate(answered, start=first)]

    def measured(self, *chunk: Any) -> tuple[list[Row], int]:
        """The rows, and the most memory that was held."""
        return self(*chunk), peak_bytes()

    def _model(self, dtype: str, device: str) -> Any:
        import torch

        if device == "cpu":
            torch.set_num_threads(1)
        key = f"{program_hash(self.program)} {dtype} {device}"
        if key not in _built:
            from espalier.compiler import compile_program

            _built.clear()
            where = choose_device(device)  # of this process, which may be a cluster's worker
            model = compile_program(self.program, dtype=getattr(torch, dtype))
            _built[key] = model.to(where)
        return _built[key]

    def _row(self, number: int, case: Case, run: Run) -> Row:
        answer = self.decode(run.outputs)
        right = bool(run.halted or self.max_layers is not None) and answer == case.answer
        wrong = None if right else str(answer)
        found = (number, case.size, run.layers, bool(right), wrong)
        return dict(zip(COLUMNS, found, strict=True))
