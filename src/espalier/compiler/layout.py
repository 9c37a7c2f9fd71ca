"""Which residual dimension means what, and which extra features the rules need.

Categorical variables take one dimension per value, sets one per element, numbers one per part
(mostly one in all; see `numbers`). The output of a numerical head has one more that says whether it
is defined, so that null, the zero vector, is not mistaken for the number 0. One constant dimension
is added where needed, and one for each distractor. These dimensions are the meanings: the stream of
a realistic network holds them in other directions, its `basis`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from espalier.compiler.basis import Basis, Realism
from espalier.compiler.numbers import Format, number_formats
from espalier.language import (
    ByPosition,
    Categorical,
    Head,
    Numerical,
    Program,
    SetValued,
    Value,
    show_value,
)
from espalier.results import Described


@dataclass(frozen=True, repr=False)
class Layout(Described):
    """Where every variable of a program lies in the residual stream and among the features."""

    program: Program
    starts: dict[str, int]
    flags: dict[str, int]  # numerical head -> the dimension that is 1 where it is defined
    one: int | None
    width: int
    expanded: dict[str, int]  # variable -> where its one-hot features start, after the stream
    features: int
    formats: dict[str, Format]  # how each numerical variable is held
    realism: Realism | None = None
    basis: Basis | None = field(default=None, compare=False)

    def dimensions(self, name: str) -> range:
        """The residual dimensions of a variable (without a flag)."""
        size = _size(self.program, name, self.formats)
        return range(self.starts[name], self.starts[name] + size)

    def dimension(self, name: str, code: int = 0) -> int:
        """The residual dimension of a value of a categorical variable, or of a number."""
        return self.starts[name] + code

    def feature(self, name: str, value: Value) -> int:
        """The column of W1 that is 1 exactly where `name` has `value` (the paper's m(k, v))."""
        code = self.program.specs[name].code(value)
        if name in self.expanded:
            return self.width + self.expanded[name] + code
        return self.dimension(name, code)

    @property
    def groups(self) -> list[range]:
        """The columns of W1 that hold the one-hot of one variable, variable by variable."""
        starts = {name: self.width + start for name, start in self.expanded.items()}
        starts |= {
            name: self.starts[name]
            for name, spec in self.program.specs.items()
            if isinstance(spec, Categorical) and name not in starts
        }
        sizes = {name: len(self.program.specs[name].values) for name in starts}
        return sorted((range(at, at + sizes[n]) for n, at in starts.items()), key=lambda r: r.start)

    @property
    def stream_width(self) -> int:
        """How many numbers the stream holds at a position."""
        return self.width if self.basis is None else self.basis.directions.shape[1]

    def read(self, z: Tensor) -> Tensor:
        """How much of each meaning the rows of a stream hold."""
        return z if self.basis is None else self.basis.read(z)

    @property
    def own(self) -> range:
        """The dimensions of distractors."""
        count = 0 if self.realism is None else self.realism.distractors
        return range(self.width - count, self.width)

    @property
    def head_names(self) -> list[str]:
        """The heads of the network: the program's, and then distractors."""
        names = list(self.program.heads)
        for number in range(1, len(self.own) + 1):
            name = f"distractor_{number}"
            while name in self.program.specs:
                name += "_"
            names.append(name)
        return names

    @property
    def positions(self) -> int | None:
        """How many positions a realistic network must be right for."""
        if self.realism is None:
            return None
        return min(self.realism.positions, self.program.position_range or self.realism.positions)

    @property
    def is_superposed(self) -> bool:
        """Whether the stream has fewer dimensions than meanings."""
        asked = None if self.realism is None else self.realism.width
        return asked is not None and asked < self.width

    @cached_property
    def labels(self) -> list[str]:
        """What each residual dimension means; where there is a basis, each of its directions."""
        labels = [""] * self.width
        for name in self.starts:
            spec = self.program.specs[name]
            for code, dimension in enumerate(self.dimensions(name)):
                match spec:
                    case Categorical():
                        labels[dimension] = f"{name} = {code}"
                    case SetValued():
                        labels[dimension] = f"{code} in {name}"
                    case Numerical():
                        labels[dimension] = f"{name}, part {code + 1}" if code else name
        for name, dimension in self.flags.items():
            labels[dimension] = f"{name} is defined"
        if self.one is not None:
            labels[self.one] = "1"
        for number, dimension in enumerate(self.own, 1):
            labels[dimension] = f"distractor {number}"
        return labels

    @cached_property
    def feature_labels(self) -> list[str]:
        """What each column of W1 means: the residual dimensions, then the expanded features."""
        return self.labels + [
            f"{name} = {show_value(value)}"
            for name in self.expanded
            for value in self.program.specs[name].values
        ]


def lay_out(
    program: Program,
    dtype: torch.dtype = torch.float32,
    realism: Realism | None = None,
    *,
    formats: dict[str, Format] | None = None,
) -> Layout:
    """Give every variable its place, in the order in which the program names them."""
    if formats is None:
        formats = number_formats(program, dtype, None if realism is None else realism.positions)
    starts, flags, width = {}, {}, 0
    for name, spec in program.specs.items():
        starts[name] = width
        width += _size(program, name, formats)
        if name in program.heads and isinstance(spec, Numerical):
            flags[name] = width
            width += 1
    one = width if _needs_one(program) else None
    width += one is not None
    width += 0 if realism is None else realism.distractors
    expanded, features = {}, 0
    for name in program.specs:
        if _needs_expansion(program, name):
            expanded[name] = features
            features += len(program.specs[name].values)
    return Layout(program, starts, flags, one, width, expanded, features, formats, realism)


def averages(program: Program, head: Head) -> bool:
    """Whether a head may select several positions at once (False only where it surely cannot).

    One relative position is one position. So is a match against a key that is initialised from
    the position, differently everywhere, and that no rule writes.
    """
    if head.relative_positions is not None and len(head.relative_positions) == 1:
        return False
    if head.query is None or head.key is None:
        return True
    if isinstance(program.specs[head.query], SetValued):
        return True
    initial = program.initial[head.key]
    fixed = all(rule.output != head.key for rule in program.rules)
    return not (
        fixed and isinstance(initial, ByPosition) and len(set(initial.table)) == len(initial.table)
    )


def _size(program: Program, name: str, formats: dict[str, Format]) -> int:
    match program.specs[name]:
        case Categorical(size=size) | SetValued(size=size):
            return size
        case Numerical():
            return formats[name].size


def _needs_one(program: Program) -> bool:
    return any(
        head.query is None or isinstance(program.specs[name], Numerical)
        for name, head in program.heads.items()
    )


def _needs_expansion(program: Program, name: str) -> bool:
    """Whether rules read `name` and its residual dimensions are not one-hot already."""
    if isinstance(program.specs[name], Categorical):
        head = program.heads.get(name)
        return head is not None and name in program.read and averages(program, head)
    # The reset of a numerical head reads its bucket too.
    return name in program.read or name in program.heads
