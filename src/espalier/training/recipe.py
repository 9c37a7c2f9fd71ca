"""How a model is trained: every setting of the optimisation, with the papers' values as default."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from espalier.errors import ConfigError, check_whole, is_number
from espalier.runs import Precision


@dataclass(frozen=True)
class Recipe:
    """SGD without momentum or weight decay, truncated backpropagation, state carried over.

    lstms-compose-bottom-up, 4.1: learning rate 1 throughout, gradients clipped at 0.25. Where
    `anneal` is above 1, the learning rate is divided by it after an epoch whose validation loss
    is no better than the best, and training ends early once it is below `smallest_rate`.
    In the last `settle` epochs the rate falls to a hundredth, by the same factor each time.
    `precision` concerns products on CUDA only.
    """

    epochs: int = 50
    learning_rate: float = 1.0
    clip: float = 0.25
    batch: int = 20
    window: int = 35
    anneal: float = 1.0
    smallest_rate: float = 0.0
    settle: int = 0
    precision: Precision = "tf32"

    def __post_init__(self) -> None:
        check_whole(self, ("epochs", "batch", "window"), error=ConfigError)
        if not 0 <= self.settle < self.epochs:
            raise ConfigError(
                f"settle is {self.settle}; it counts the last epochs, fewer than {self.epochs}"
            )
        if not is_number(self.learning_rate) or self.learning_rate <= 0:
            raise ConfigError(f"learning_rate is {self.learning_rate!r}; use a number above 0")
        if not self.clip > 0:  # infinite: gradients stay as they are
            raise ConfigError(f"clip is {self.clip}; it must be above 0")
        if self.anneal < 1:
            raise ConfigError(
                f"anneal is {self.anneal}; it divides the learning rate, so use 1 (never) or more"
            )
        if self.precision not in ("float32", "tf32"):
            raise ConfigError(f"precision is {self.precision!r}; use 'float32' or 'tf32'")

    def to_dict(self) -> dict[str, object]:
        """The fields by name, for a manifest."""
        return asdict(self)
