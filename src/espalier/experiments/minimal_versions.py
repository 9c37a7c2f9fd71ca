"""Minimal versions of the zoo's programs for training sets of growing size.

For parity and SCAN, the ALTA paper finds which rules a training set needs, and how well these do on
other inputs. Here this is done for every program. Nothing is trained: a minimal version is
compiled, and its weights answer inputs that no training set has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from espalier.compiler import CompiledModel, compile_program
from espalier.errors import EspalierError
from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Row, Scale
from espalier.learnability import minimal
from espalier.programs import ask
from espalier.training import check_seeds
from espalier.zoo import Entry, load, names

SPARE_LAYERS = 1  # beyond those that the program takes for the test inputs
DRAWS = 10  # test inputs drawn for each that is wanted: those of training are left out


@dataclass(frozen=True)
class MinimalVersions:
    """Which programs, how many training inputs, and how large an input may be."""

    programs: tuple[str, ...]
    inputs: tuple[int, ...] = (1, 4, 16, 64, 256, 1024)
    tests: int = 200
    size: int = 10
    seeds: int = 5

    @classmethod
    def at(cls, scale: Scale) -> MinimalVersions:
        """The preset of a scale; `small` leaves out the two largest programs."""
        every = tuple(sorted(names()))
        if scale == "paper":
            return cls(every)
        if scale == "small":
            fewer = tuple(name for name in every if name not in ("scan", "subleq"))
            return cls(fewer, inputs=(1, 4, 16, 64, 256), tests=100, seeds=3)
        return cls(("addition", "reverse"), inputs=(1, 4), tests=10, size=4, seeds=2)


def measure(config: MinimalVersions, cache: RunCache) -> list[Row]:
    """One row per program, seed and number of training inputs."""
    cells = [(name, seed) for name in config.programs for seed in check_seeds(config.seeds)]
    return cache.gather(_cell_rows, [(name, seed, config) for name, seed in cells])


def _cell_rows(cell: tuple[str, int, MinimalVersions], cache: RunCache) -> list[Row]:
    name, seed, config = cell
    return rows_of(load(name), seed, config)


def rows_of(entry: Entry, seed: int, config: MinimalVersions) -> list[Row]:
    """Rules kept and right answers as the training set grows; each set extends the last."""
    drawn = entry.samples(max(config.inputs), size=config.size, seed=2 * seed)
    read = [answer.read for answer in ask(entry, drawn)]
    tests = _unseen(entry, drawn, seed, config)
    wanted = ask(entry, tests)
    most = max(max(answer.layers) for answer in wanted) + SPARE_LAYERS
    right = [answer.value for answer in wanted]
    rows: list[Row] = []
    for count in config.inputs:
        small = minimal(entry.program, read[:count], max_layers=entry.max_layers)
        found = answers_of(entry, compile_program(small), tests, entry.max_layers or most)
        rows.append(
            {
                "program": entry.name,
                "seed": seed,
                "inputs": count,
                "rules": len(small.rules),
                "all_rules": len(entry.program.rules),
                "tested": len(tests),
                "right": sum(one == other for one, other in zip(found, right, strict=True)),
            }
        )
    return rows


def _unseen(entry: Entry, drawn: Sequence[Any], seed: int, config: MinimalVersions) -> list[Any]:
    """Random inputs that are in no training set; all that were drawn, where each is in one."""
    seen = {tuple(entry.encode(one)) for one in drawn}
    pool = entry.samples(DRAWS * config.tests, size=config.size, seed=2 * seed + 1)
    found = [one for one in pool if tuple(entry.encode(one)) not in seen]
    return (found or pool)[: config.tests]


def answers_of(entry: Entry, model: CompiledModel, inputs: Sequence[Any], layers: int) -> list[Any]:
    """The model's answers; None where its outputs cannot be decoded."""
    found = ask(replace(entry, decode=tuple), inputs, model=model, max_layers=layers)
    return [_decoded(entry, answer.value) for answer in found]


def _decoded(entry: Entry, outputs: tuple[int, ...]) -> Any:
    try:
        return entry.decode(outputs)
    except EspalierError:
        return None
