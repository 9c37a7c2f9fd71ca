"""The two machines, answering a chunk of cases at a time, here or in processes of their own."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.errors import ConfigError
from espalier.language import Program, Run, program_hash
from espalier.runs import in_processes

# Examples answered between two saves, by each process.
CHUNK = 512

Tokens = dict[int, tuple[int, ...]]  # by the number of the case


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
class Answered:
    """The runs of a chunk, and the most memory that was held."""

    runs: dict[int, Run]
    peak_bytes: int


def answers(
    program: Program, tokens: Tokens, engine: Engine, max_layers: int | None
) -> Iterator[Answered]:
    """The runs of a chunk at a time, in any order."""
    on_device = isinstance(engine, Compiled) and engine.device != "cpu"
    workers = _workers(engine.workers, on_device=on_device)
    numbers = list(tokens)
    size = len(numbers) if on_device else CHUNK
    parts = [numbers[start : start + size] for start in range(0, len(numbers), size or 1)]
    jobs = [{number: tokens[number] for number in part} for part in parts]
    machine = _Machine(program, engine, max_layers)
    if workers == 1 or len(jobs) <= 1:
        yield from map(machine, jobs)
        return
    yield from in_processes(machine, [(job,) for job in jobs], workers=workers)


def _workers(asked: int | None, *, on_device: bool) -> int:
    if asked is not None and asked < 1:
        raise ConfigError(f"at least one worker is needed; found workers = {asked}")
    return 1 if on_device else asked or os.cpu_count() or 1


# A process answers many chunks of one program; it is compiled once.
_built: dict[str, Any] = {}


@dataclass(frozen=True)
class _Machine:
    """Answers chunks; travels to other processes as data."""

    program: Program
    engine: Engine
    max_layers: int | None

    def __call__(self, job: Tokens) -> Answered:
        match self.engine:
            case Interpreter():
                from espalier.interpreter import interpret_many

                runs = interpret_many(self.program, job.values(), max_layers=self.max_layers)
                return Answered(dict(zip(job, runs, strict=True)), resident_bytes())
            case Compiled(_, dtype, device):
                return self._compiled(job, dtype, device)

    def _compiled(self, job: Tokens, dtype: str, device: str) -> Answered:
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
        return Answered(dict(zip(job, runs, strict=True)), peak)


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
