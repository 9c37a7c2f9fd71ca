"""The sizes of language models that are no LSTMs; the fields of an LSTM's, and a few more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from espalier.errors import ModelError, check_whole, nearest
from espalier.nets.lstm import LSTMShape

Architecture = Literal["lstm", "gru", "transformer"]
PositionKind = Literal["learned", "sinusoidal"]


@dataclass(frozen=True)
class GRUShape(LSTMShape):
    """The sizes of a GRU language model.

    >>> GRUShape(vocabulary_size=9, hidden=4).to_dict()["architecture"]
    'gru'
    """

    architecture: ClassVar[Architecture] = "gru"

    def to_dict(self) -> dict[str, object]:
        """The fields by name and the architecture, as stored with the weights."""
        return super().to_dict() | {"architecture": self.architecture}


@dataclass(frozen=True)
class CausalShape(LSTMShape):
    """The sizes of a causal Transformer: `hidden` is its width, 4 times that inside its MLPs.

    It reads at most `longest` tokens at once.

    >>> CausalShape(vocabulary_size=9, hidden=8, heads=2).head_width
    4
    """

    architecture: ClassVar[Architecture] = "transformer"

    heads: int = 5
    longest: int = 128
    positions: PositionKind = "learned"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, ("heads", "longest"), error=ModelError)
        if self.positions not in ("learned", "sinusoidal"):
            known = ("learned", "sinusoidal")
            raise ModelError(f"positions are {self.positions!r}; {nearest(self.positions, known)}")
        if self.hidden % self.heads or (self.positions == "sinusoidal" and self.hidden % 2):
            raise ModelError(
                f"hidden is {self.hidden}; it must be a multiple of heads, {self.heads}, and even "
                f"where positions are sinusoidal"
            )
        if self.width != self.hidden:
            raise ModelError(
                f"a Transformer's embedding is as wide as its stream: embedding is {self.width}, "
                f"hidden is {self.hidden}"
            )

    @property
    def head_width(self) -> int:
        """Width of one head."""
        return self.hidden // self.heads

    def to_dict(self) -> dict[str, object]:
        """The fields by name and the architecture, as stored with the weights."""
        return super().to_dict() | {"architecture": self.architecture}
