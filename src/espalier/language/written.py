"""The result of a decoder: the tokens it wrote after a prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from espalier.results import Result

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Written:
    """One token: the output of a row's last position, after that position's `layers` layers."""

    token: int
    layers: int


@dataclass(frozen=True, repr=False)
class Generation(Result):
    """A prompt and the tokens written after it, the stop token included where it was reached.

    `layers` says for each token how many layers the position took that wrote it.

    >>> Generation((1, 2), (0,), (3,), stopped=False).sequence
    (1, 2, 0)
    """

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    layers: tuple[int, ...]
    stopped: bool
    idle: tuple[object, ...] = field(default=(), compare=False)  # interventions that did nothing

    @property
    def sequence(self) -> tuple[int, ...]:
        """Prompt and written tokens."""
        return self.prompt + self.tokens

    def to_frame(self) -> pandas.DataFrame:
        """One row per written token, with the layers that it took."""
        import pandas as pd

        return pd.DataFrame({"token": self.tokens, "layers": self.layers})
