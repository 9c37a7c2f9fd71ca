"""Configs of models that are trained to be a program: they carry the program and its inputs.

A run's folder holds the program next to the weights, so that the folder alone is enough to load it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from espalier.compiler import CompiledModel, compile_program
from espalier.errors import ConfigError, FileError
from espalier.files import write_text
from espalier.language import Program, from_record, program_hash, to_record
from espalier.runs import Plan, RunFolder
from espalier.training import Trainable, as_settings, check_seeds, flatten, override, step_plan

PROGRAM = "program.json"


@dataclass(frozen=True, eq=False, repr=False)
class ProgramRun(Trainable):
    """A program, its inputs, and how its models are trained."""

    program: Program
    inputs: Any = ()
    settings: Any = None
    seeds: int | tuple[int, ...] = 1  # how many from 0 on, or which
    max_layers: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", check_seeds(self.seeds))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.program}, {self.settings}, seeds={self.seeds})"

    @cached_property
    def compiled(self) -> CompiledModel:
        """The program in the weights of a Transformer."""
        return compile_program(self.program)

    def plan(self) -> Plan:
        """As many steps as the recipe has."""
        return step_plan(self.settings.recipe)

    def with_seeds(self, seeds: tuple[int, ...]) -> list[Self]:
        """The same models, with other seeds."""
        return [replace(self, seeds=seeds)]

    def checked_seeds(self, beside: Sequence[object]) -> tuple[int, ...]:
        """The seeds of a config that is trained alone."""
        if beside:
            raise ConfigError("models trained at once for one program differ in their seeds alone")
        return check_seeds(self.seeds)

    def to_dict(self) -> dict[str, Any]:
        """The settings; the manifest has digests of program and inputs."""
        names = ("seeds", "max_layers")
        return {"settings": as_settings(self.settings)} | {
            name: getattr(self, name) for name in names
        }

    @classmethod
    def read(cls, settings: Mapping[str, Any], folder: RunFolder) -> Self:
        """The config that a run's folder holds, but for the inputs."""
        file = folder.path / PROGRAM
        try:
            program = from_record(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise FileError(f"{file} does not hold the program of the run: {error}") from error
        seeds, trained = settings["seeds"], cls(program).settings
        return cls(
            program,
            settings=override(trained, flatten(settings["settings"])),
            seeds=seeds if isinstance(seeds, int) else tuple(seeds),
            max_layers=settings["max_layers"],
        )

    def write_program(self, folder: RunFolder) -> None:
        """Write the program into a run's folder."""
        write_text(folder.path / PROGRAM, json.dumps(to_record(self.program)))

    def described(self, data: dict[str, Any]) -> dict[str, Any]:
        """The manifest's entry for the data, with the program's digest."""
        return data | {"program_sha256": program_hash(self.program)}
