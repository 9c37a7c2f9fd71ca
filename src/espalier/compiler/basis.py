"""How far a compiled network is from clean, and the directions in which its stream holds meanings.

`Realism` is the request. `Basis` is the result: a row of `directions` for each meaning
(a dimension of the clean stream), which a stream holds multiplied by the meaning's amount and
added up, and the `readout` that takes the amounts out again. `espalier.compiler.realism` makes it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.errors import CompileError
from espalier.results import Described

# Seeds as torch takes them.
SEEDS = 1 << 63


@dataclass(frozen=True)
class Realism:
    """How a compiled network differs from a clean one; `docs/realism.md` has each dial's range.

    sharpness    the logit of a match, as in `compile_program`
    ramp         the share that a unit's slope takes of the gap between what must turn it on and
                 what must not: 1 leaves no room for errors, more lets units leak
    rotation     the seed of a random orthogonal matrix that the stream goes through
    width        residual dimensions: fewer than meanings superpose them, more leave room
    distractors  heads that attend and write, each with two units, where no other part reads
    noise        Gaussian noise on every matrix, as a share of its Frobenius norm
    seed         of noise, distractors and superposed directions
    positions, layers  how long an input, and how many layers, must be proven right
    proven       False: also compile what no calculation proves right, and let `verify` decide

    >>> import espalier as es
    >>> program = es.zoo.load("parity-sequential-relative").program
    >>> realism = Realism(rotation=0, sharpness=40, distractors=2)
    >>> model = es.compile_program(program, realism=realism)
    >>> model.run([2, 1, 0, 1]).outputs
    [0, 1, 1, 0]
    """

    sharpness: float | None = None
    ramp: float = 0.5
    rotation: int | None = None
    width: int | None = None
    distractors: int = 0
    noise: float = 0.0
    seed: int = 0
    positions: int = 64
    layers: int = 64
    proven: bool = True

    def __post_init__(self) -> None:
        if self.sharpness is not None:
            _check_number("sharpness", self.sharpness, above=0.0)
        _check_number("ramp", self.ramp, above=0.0)
        _check_number("noise", self.noise, least=0.0)
        for name, least in (("distractors", 0), ("seed", 0), ("positions", 1), ("layers", 1)):
            _check_count(name, getattr(self, name), least)
        for name, least in (("rotation", 0), ("width", 1)):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), least)
        if not isinstance(self.proven, bool):
            raise CompileError(f"realism: proven is True or False; found {self.proven!r}")

    def __str__(self) -> str:
        named = ((f.name, getattr(self, f.name), f.default) for f in dataclasses.fields(self))
        changed = [f"{name}={value}" for name, value, usual in named if value != usual]
        return ", ".join(changed) or f"ramp={self.ramp}"


@dataclass(frozen=True, repr=False)
class Basis(Described):
    """The directions of a stream of width D that holds M meanings, both in float64.

    Within `tolerance` of a meaning's amount, decoding takes it for that amount. `layers` is how
    many layers are proven right for every input, None where nothing was proven.
    """

    directions: Tensor  # M x D
    readout: Tensor  # D x M
    layers: int | None = None
    tolerance: float = 0.5

    def read(self, z: Tensor) -> Tensor:
        """How much of each meaning a stream holds, in float64."""
        return z.double() @ self.readout.to(z.device)

    def write(self, meanings: Tensor) -> Tensor:
        """The stream that holds these amounts, in float64."""
        return meanings.double() @ self.directions.to(meanings.device)

    @property
    def is_plain(self) -> bool:
        """Whether the first dimensions are the meanings, one each."""
        rows, columns = self.directions.shape
        return columns >= rows and torch.equal(
            self.directions, torch.eye(rows, columns, dtype=torch.float64)
        )


def _check_number(
    name: str, value: object, *, above: float | None = None, least: float = 0.0
) -> None:
    wanted = f"from {least:g} on" if above is None else f"above {above:g}"
    is_fit = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, int | float):
        is_fit &= math.isfinite(value) and (value >= least if above is None else value > above)
    if not is_fit:
        raise CompileError(f"realism: {name} is a finite number {wanted}; found {value!r}")


def _check_count(name: str, value: object, least: int) -> None:
    if type(value) is not int or not least <= value < SEEDS:
        raise CompileError(
            f"realism: {name} is a whole number from {least} to {SEEDS - 1}; found {value!r}"
        )
