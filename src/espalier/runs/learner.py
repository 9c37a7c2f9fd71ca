"""The interface of anything that the training loop trains. One loop serves every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Row = dict[str, float | int | str]


@dataclass(frozen=True)
class Snapshot:
    """Weights to save and to analyse later, with what is needed to rebuild the model.

    >>> Snapshot({}, {"shape": "{}"}).metadata
    {'shape': '{}'}
    """

    tensors: dict[str, Tensor]
    metadata: dict[str, str]


@runtime_checkable
class Learner(Protocol):
    """Something that takes steps and can be stopped, stored and resumed exactly."""

    device: torch.device

    @property
    def step(self) -> int:
        """Steps taken so far."""

    @property
    def steps_per_epoch(self) -> int:
        """Steps of one pass over the data."""

    @property
    def finished(self) -> bool:
        """Whether training is to end before its last step."""

    def advance(self, steps: int) -> None:
        """Take that many steps, and wait until they are done."""

    def measure(self) -> list[Row]:
        """One row for each member: the training loss since the last measure, and the tests."""

    def end_epoch(self, rows: Sequence[Row]) -> None:
        """Act on the measures `rows` of the epoch that ended, such as by annealing."""

    def state(self) -> dict[str, Tensor]:
        """Everything that later steps depend on."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""

    def snapshot(self) -> Snapshot:
        """The weights as they are now."""
