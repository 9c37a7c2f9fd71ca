"""The result of a run, by the interpreter or the weights: outputs and the number of layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from espalier.results import Result

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Run(Result):
    """One sequence's outputs, one per position, after `layers` layers.

    Under interventions an output may be null, which is None; `idle` are those that touched nothing.

    >>> Run([0, 1], layers=2).to_frame()["output"].tolist()
    [0, 1]
    """

    outputs: list[int]
    layers: int
    halted: bool = True
    idle: tuple[object, ...] = field(default=(), compare=False)
    cache: Any = field(default=None, compare=False, repr=False)  # what it went through, if asked

    def to_frame(self) -> pandas.DataFrame:
        """One row per position."""
        import pandas as pd

        return pd.DataFrame({"position": range(len(self.outputs)), "output": self.outputs})


class Runs(Result, Sequence[Run]):
    """The runs of a batch, in the order in which the inputs were given.

    >>> Runs([Run([0, 1], layers=2), Run([1], layers=1)]).outputs
    [[0, 1], [1]]
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = tuple(runs)

    @property
    def outputs(self) -> list[list[int]]:
        """The outputs of every run."""
        return [run.outputs for run in self]

    @property
    def layers(self) -> list[int]:
        """The number of layers of every run."""
        return [run.layers for run in self]

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Run | Runs:
        return Runs(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __eq__(self, other: object) -> bool:
        return self._runs == other._runs if isinstance(other, Runs) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple((tuple(run.outputs), run.layers) for run in self))

    def to_frame(self) -> pandas.DataFrame:
        """One row per run: input, layers, halted, outputs."""
        import pandas as pd

        return pd.DataFrame(
            {
                "input": range(len(self)),
                "layers": self.layers,
                "halted": [run.halted for run in self],
                "outputs": [" ".join(map(str, run.outputs)) for run in self],
            }
        )
