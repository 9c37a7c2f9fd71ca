"""Dropout in a Transformer that is trained: of embeddings and of what every sub-layer adds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float
from torch import Tensor

from espalier.nets.noise import Dice
from espalier.nets.transformer.sublayers import Stream, through

PLACE = 1  # what dice throw at 0 draws the batch


@dataclass(frozen=True, eq=False)
class Dropout:
    """One training step's dropout: a share `rate` of the numbers; a new mask at every use."""

    rate: float
    dice: Dice
    _uses: Iterator[int] = field(default_factory=itertools.count)

    def __call__(self, added: Stream) -> Stream:
        """A share of the numbers 0, the rest scaled up."""
        return through(_dropped, added, self._uniforms(added), self.rate)

    def after(self, part: Callable[..., Stream], z: Stream, *rest: Any) -> Stream:
        """The stream after a sub-layer, of whose addition a share is dropped."""
        found = through(part, z, *rest)
        return through(_dropped_since, found, z, self._uniforms(z), self.rate)

    def _uniforms(self, like: Stream) -> Float[Tensor, "E count"]:
        # Other seeds, not other places: each place would be compiled for itself.
        own = Dice(self.dice.seeds + (next(self._uses) << 40), self.dice.step)
        return own.uniforms(PLACE, like[0].numel())


def _dropped(added: Stream, uniforms: Float[Tensor, "E count"], rate: float) -> Stream:
    return added * ((uniforms >= rate) / (1 - rate)).view_as(added)


def _dropped_since(
    after: Stream, before: Stream, uniforms: Float[Tensor, "E count"], rate: float
) -> Stream:
    return before + _dropped(after - before, uniforms, rate)
