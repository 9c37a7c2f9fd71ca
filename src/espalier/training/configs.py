"""How models are trained: every setting of the optimisation, with the papers' values as default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf
from sys import float_info
from typing import Any, Literal, get_args

from espalier.errors import LARGEST_SEED, ConfigError, as_whole, check_whole, is_number, nearest
from espalier.nets.language import Architecture, PositionKind
from espalier.runs import Precision

OptimiserName = Literal["adam", "adafactor", "adafactor-absolute"]
LanguageOptimiser = Literal["sgd", "adamw"]
StepPrecision = Literal["float32", "tf32", "bfloat16"]
SMALLEST = float_info.min  # above 0
LARGEST_RATE = 3.4e38  # float32 has none beyond
MOST_SEEDS = 100_000
STOP_MEASURES = 3  # must not change: manifests and names leave out this default


@dataclass(frozen=True)
class Network:
    """The sizes of a language model; the vocabulary's size comes from the data.

    `heads` and `positions` are a Transformer's, whose `hidden` is the width of its stream.

    >>> Network(hidden=64, tied=True).layers
    1
    """

    hidden: int = 200
    layers: int = 1
    embedding: int | None = None
    tied: bool = False
    dropout: float = 0.0
    architecture: Architecture = "lstm"
    heads: int = 5
    positions: PositionKind = "learned"

    def __post_init__(self) -> None:
        _check_choice("architecture", self.architecture, get_args(Architecture))
        _check_choice("positions", self.positions, get_args(PositionKind))

    def sizes(self, *, longest: int) -> dict[str, Any]:
        """Arguments of `language_model`; a Transformer reads at most `longest` tokens at once."""
        found = asdict(self)
        if self.architecture == "transformer":
            return found | {"longest": longest}
        return {name: found[name] for name in found if name not in ("heads", "positions")}


@dataclass(frozen=True)
class Recipe:
    """SGD without momentum, truncated backpropagation, state carried over; or AdamW.

    lstms-compose-bottom-up, 4.1: learning rate 1 throughout, gradients clipped at 0.25. Where
    `anneal` is above 1, the learning rate is divided by it after an epoch whose validation loss
    is no better than the best, and training ends early once it is below `smallest_rate`.
    In the last `settle` epochs the rate falls to a hundredth, by the same factor each time.
    With `optimiser` "adamw" the rate rises over `warm_up` steps and falls to 0 by a cosine, and
    matrices decay by `weight_decay` (Loshchilov and Hutter 2019).
    Where windows are `shifted`, every epoch cuts the text at other places, which matters to
    Transformers: to them a window is all there is. With `output_dropout` their last states are
    dropped out as well, as those of LSTMs and GRUs always are.
    `precision` concerns products on CUDA only.

    >>> Recipe(epochs=10, learning_rate=4.0).clip
    0.25
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
    optimiser: LanguageOptimiser = "sgd"
    warm_up: int = 0
    weight_decay: float = 0.0
    shifted: bool = False
    output_dropout: bool = False

    def __post_init__(self) -> None:
        check_whole(self, ("epochs", "batch", "window"), error=ConfigError)
        _check_choice("optimiser", self.optimiser, get_args(LanguageOptimiser))
        if self.optimiser == "adamw" and (self.anneal != 1 or self.settle):
            raise ConfigError("adamw's rate falls by a cosine; leave out anneal and settle")
        if self.optimiser == "sgd" and (self.warm_up or self.weight_decay):
            raise ConfigError("warm_up and weight_decay are adamw's; set optimiser=adamw")
        _check_rate(self.learning_rate)
        _check_choice("precision", self.precision, get_args(Precision))
        check_whole(self, ("settle", "warm_up"), least=0, error=ConfigError)
        if self.settle >= self.epochs:
            raise ConfigError(
                f"settle is {self.settle}; it counts the last epochs, fewer than {self.epochs}"
            )
        _check_number("smallest_rate", self.smallest_rate, least=0)
        _check_number("weight_decay", self.weight_decay, least=0)
        if not (isinstance(self.clip, float) and self.clip == inf):  # gradients stay as they are
            _check_number("clip", self.clip, least=SMALLEST)
        _check_number("anneal", self.anneal, least=1)  # it divides the learning rate; 1: never


@dataclass(frozen=True)
class StepRecipe:
    """How models are trained on drawn batches; `measures` is the number of times they are measured.

    `precision` concerns products on CUDA only, except that bfloat16 applies on every device.
    With `stop_share` training ends before its last step at the first measure at which every member
    has had at least that share of training's examples right at `stop_measures` measures in a row,
    this one included; the test set plays no part in it.

    >>> StepRecipe(steps=1_000, batch=64).optimiser
    'adafactor'
    """

    steps: int = 50_000
    batch: int = 256
    learning_rate: float = 5e-4
    optimiser: OptimiserName = "adafactor"
    measures: int = 10
    precision: StepPrecision = "tf32"
    stop_share: float | None = None
    stop_measures: int = STOP_MEASURES

    def __post_init__(self) -> None:
        check_whole(self, ("steps", "batch", "measures", "stop_measures"), error=ConfigError)
        _check_rate(self.learning_rate)
        _check_choice("optimiser", self.optimiser, get_args(OptimiserName))
        _check_choice("precision", self.precision, get_args(StepPrecision))
        if self.steps % self.measures:
            raise ConfigError(
                f"{self.steps} steps are not divided evenly by {self.measures} measures; "
                f"choose a number of measures that divides the steps"
            )
        self._check_stop()

    @property
    def until(self) -> str:
        """What ends training: "the last step", or "fitted" where a share does.

        >>> StepRecipe(stop_share=0.99).until
        'fitted'
        """
        return "the last step" if self.stop_share is None else "fitted"

    def _check_stop(self) -> None:
        share, count = self.stop_share, self.stop_measures
        if share is None:
            if count != STOP_MEASURES:
                raise ConfigError(f"stop_measures is {count} without a stop_share to be reached")
            return
        if isinstance(share, bool) or not is_number(share) or not 0 < share <= 1:
            raise ConfigError(
                f"stop_share is {share!r}; use a share of training's examples, above 0 and up to "
                f"1, or None to train to the last step"
            )
        if count > self.measures:
            raise ConfigError(
                f"stop_measures is {count}, and there are {self.measures} measures in all: "
                f"training would never stop; measure more often, or ask for fewer in a row"
            )


def check_seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """The seeds, given as such or as their number, from 0 on.

    >>> check_seeds(3), check_seeds([4, 7])
    ((0, 1, 2), (4, 7))
    """
    if getattr(seeds, "ndim", 1) == 0:
        seeds = as_whole("seeds", seeds, least=1, error=ConfigError)
    if type(seeds) is int and seeds > MOST_SEEDS:
        raise ConfigError(f"seeds are {seeds}; at most {MOST_SEEDS:,} models are trained at once")
    found = range(seeds) if type(seeds) is int else seeds
    found = list(found) if isinstance(found, Iterable) else []
    if (
        not found
        or not all(type(seed) is int and abs(seed) <= LARGEST_SEED for seed in found)
        or len(set(found)) < len(found)
    ):
        raise ConfigError(
            f"seeds are {seeds!r}; say how many, or give integers: at least one, and none twice"
        )
    return tuple(found)


def _check_number(name: str, value: object, *, least: float) -> None:
    if isinstance(value, bool) or not is_number(value) or not value >= least:  # type: ignore[operator]
        above = "above 0" if least == SMALLEST else f"{least:g} or more"
        raise ConfigError(f"{name} is {value!r}; use a number that is {above}")


def _check_rate(rate: float) -> None:
    if not is_number(rate) or not 0 < rate <= LARGEST_RATE:
        raise ConfigError(f"learning_rate is {rate!r}; use a number above 0, as float32 has them")


def _check_choice(name: str, found: str, known: tuple[str, ...]) -> None:
    if found not in known:
        raise ConfigError(f"{name} is {found!r}; {nearest(found, known)}")
