"""The Shapley interaction index of words: exact where all coalitions are affordable, else shapiq's.

With m(T) the Möbius transform of what coalitions are worth, the index of a set S is the sum over
all T that contain S of m(T) / (|T| - |S| + 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from espalier.decomposition.inputs import ReadWords
from espalier.decomposition.parts import Space
from espalier.errors import ConfigError
from espalier.results import Result

if TYPE_CHECKING:
    import pandas

Game = Callable[[Bool[np.ndarray, "B n"]], Float[np.ndarray, " B"]]
Index = dict[tuple[int, ...], float]


@dataclass(frozen=True)
class ShapleyInteraction:
    """The Shapley interaction index of l and r among all words that are seen at r.

    It is an index of numbers, not of vectors, so the value of a coalition is the state's (or the
    logits') component along the state of the whole sentence; the index is divided by the difference
    between all words and none. Up to `budget` runs for each r: exact where 2 ** (r + 1) runs are
    enough, else the estimate of shapiq, drawn by `seed`. With `order` above 2 sets of up to so many
    words have one too, read at their last word, as `WordSets`.

    >>> ShapleyInteraction(order=3).budget
    4096
    """

    budget: int = 4096
    seed: int = 0
    order: int = 2

    def __post_init__(self) -> None:
        if self.budget < 16:
            raise ConfigError(f"budget is {self.budget}; at least 16 runs per word are needed")
        if type(self.order) is not int or self.order < 2:
            raise ConfigError(f"order is {self.order!r}; sets have 2 words or more")


@dataclass(frozen=True, repr=False, eq=False)
class WordSets(ReadWords, Result):
    """`values` is the index of every set of 2 to `order` words, by their places.

    It has a sign, and is relative to what all words do at the set's last word.

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4)
    >>> sets = es.interdependence(model, [1, 2, 3], method=ShapleyInteraction(order=3))
    >>> sorted(sets.values)
    [(0, 1), (0, 1, 2), (0, 2), (1, 2)]
    """

    words: tuple[str, ...]
    unknown_at: tuple[int, ...]
    values: Index
    order: int
    space: Space
    passes: int

    def to_frame(self) -> pandas.DataFrame:
        """One row per set: how many words, their places, they themselves, and the index."""
        import pandas as pd

        rows = [
            (len(some), " ".join(map(str, some)), " ".join(self.words[p] for p in some), value)
            for some, value in sorted(self.values.items(), key=lambda one: (len(one[0]), one[0]))
        ]
        return pd.DataFrame(rows, columns=["order", "places", "words", "index"])


def shapley_index(game: Game, players: int, method: ShapleyInteraction) -> Index:
    """The index of every set of 1 to `order` players.

    >>> worth = lambda some: some.sum(axis=1) ** 2.0
    >>> shapley_index(worth, 3, ShapleyInteraction())[0, 2]
    2.0
    """
    order = min(method.order, players)
    if 2**players <= method.budget:
        return exact_index(game, players, order)
    # A regression: nearer than shapiq's sampling estimators for most networks, though not for all.
    kind, seed = _shapiq().KernelSHAPIQ, method.seed
    found = kind(n=players, max_order=order, index="SII", random_state=seed).approximate(
        method.budget, game
    )
    sets = (some for size in range(1, order + 1) for some in combinations(range(players), size))
    return {some: float(found[some]) for some in sets}


def exact_index(game: Game, players: int, order: int) -> Index:
    """The same by all coalitions."""
    numbers = np.arange(2**players)
    inside = (numbers[:, None] >> np.arange(players) & 1).astype(bool)
    worth = np.asarray(game(inside), dtype=float)
    for player in range(players):  # the Möbius transform
        apart = worth.reshape(-1, 2, 2**player)
        apart[:, 1] -= apart[:, 0]
    sizes, found = inside.sum(axis=1), {}
    for size in range(1, order + 1):
        for some in combinations(range(players), size):
            over = inside[:, some].all(axis=1)
            found[some] = float((worth[over] / (sizes[over] - size + 1)).sum())
    return found


def _shapiq() -> Any:
    try:
        import shapiq
    except ImportError as error:
        raise ConfigError(
            "the Shapley interaction index of so many words needs shapiq: "
            "pip install 'espalier[baselines]'; or a budget of 2 ** words runs"
        ) from error
    return shapiq
