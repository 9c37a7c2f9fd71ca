"""All pairs of words, one step a pair.

With focus {l} the state after word r - 1 is the same for every r > l, so that a row a word is
carried through the sentence. At step r each row is continued twice from the same product V h: as
{l}, which goes on, and as {l, r}, which is compared and dropped. That holds in every layer: what
{l} and {l, r} hand up differs at step r alone, and the layers above have the same past for both.

Rows lie (word, sentence), so that those which have begun are the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.dependence import ratio
from espalier.decomposition.differences import LOG2E, Way
from espalier.decomposition.factor import Factor, Triangle, room
from espalier.decomposition.native import Native, Packed, State
from espalier.decomposition.shared import Ready, Shared

# Rows that the compiled step takes at a time: few calls, and sentences recur among them.
BLOCK = 1536


class Rows:
    """The relevant state of every word alone, for some sentences; room for `capacity` rows."""

    def __init__(
        self,
        layers: Sequence[Ready],
        way: Way,
        *,
        decoders: Sequence[Tensor | None],
        capacity: int,
        native: Native | None = None,
    ) -> None:
        like, units = layers[0].recurrent, layers[0].units
        self._layers, self._way = layers, way
        self._native = native
        self._decoders = [one if one is None else Triangle(one, native) for one in decoders]
        # In [0] rows as {l}, in [1] as {l, r}; twice the cell state, in units of log 2.
        self._hidden = like.new_empty(len(layers), 2, capacity, units)
        self._cell = like.new_empty(len(layers), capacity, units)
        block = capacity if self._native is None else min(capacity, BLOCK)
        self._recurrent = [Factor(layer.recurrent, native) for layer in layers]
        self._wide = like.new_empty(2, 2, room(block), self._recurrent[0].width)
        self._narrow = like.new_empty(2, capacity, units)
        self._squared = like.new_empty(capacity, 2)
        self._going = 0
        self.clear()

    def clear(self) -> None:
        """No word is a row any more."""
        self.count = 0

    def step(
        self, shared: Sequence[Shared | Packed], *, going: int, grow: bool
    ) -> list[Float[Tensor, "l S"]]:
        """DI of every row with this step's word, in the space of each decoder.

        `shared` holds this step of the `going` sentences that have it, for each layer; sentences
        that ended are dropped. With `grow` this step's word becomes a row as well.
        """
        self._drop_ended(going)
        count, both = self.count, None
        for number, now in enumerate(shared):
            both = self._through(number, now, both)
        assert both is not None
        found = [self._measure(both, shared[-1].single, decoder) for decoder in self._decoders]
        if grow:
            self.count += 1
            for number, now in enumerate(shared):
                self._view(self._hidden[number, 0])[count] = now.single
                self._view(self._cell[number])[count] = now.single_cell
        return found

    def _measure(
        self, both: Float[Tensor, "2 l S H"], single: Tensor, decoder: Triangle | None
    ) -> Float[Tensor, "l S"]:
        """|| interaction || / || joint contribution ||; with `decoder`, of their logits."""
        if decoder is None and self._native is not None:
            apart, joint = self._view(self._squared).sqrt().unbind(-1)
            return ratio(apart, joint)
        joint = both[1]
        apart = torch.sub(joint, both[0], out=self._view(self._narrow[0])).sub_(single)
        if decoder is None:
            return ratio(*(torch.linalg.vector_norm(part, dim=-1) for part in (apart, joint)))
        lengths = (decoder.lengths(part.flatten(0, 1)) for part in (apart, joint))
        return ratio(*(some.view(joint.shape[:-1]) for some in lengths))

    def _view(self, rows: Tensor) -> Float[Tensor, "*K l S H"]:
        """The rows in use, by word and sentence."""
        used = rows[..., : self.count * self._going, :]
        return used.view(*used.shape[:-2], self.count, self._going, used.shape[-1])

    def _drop_ended(self, going: int) -> None:
        if going != self._going and self.count:
            kept = [
                self._view(rows)[..., :going, :].clone()
                for rows in (self._hidden[:, 0], self._cell)
            ]
            self._going = going
            self._view(self._hidden[:, 0])[:], self._view(self._cell)[:] = kept
        self._going = going

    def _through(
        self, number: int, now: Shared | Packed, below: Tensor | None
    ) -> Float[Tensor, "2 l S H"]:
        """Both continuations of one layer's rows; those as {l} are kept."""
        if isinstance(now, Packed):
            return self._by_blocks(number, now, below)
        self._products(number, below, slice(0, self.count * self._going))
        moved, spare = self._opened(now), self._view(self._wide[1])
        i, f, g = self._way.settle(moved, spare, now.gates).chunk(3, dim=-1)
        cell, margin = self._view(self._cell[number]), self._view(self._narrow)
        torch.addcmul(now.minus_cell, i[1], g[1], value=LOG2E, out=margin[1])
        margin[1].addcmul_(f[1], cell, value=0.5)
        biases = self._layers[number].minus_biases
        torch.addcmul(biases, f[0], cell, value=0.5, out=cell).addcmul_(i[0], g[0], value=LOG2E)
        torch.add(cell, now.minus_cell, out=margin[0])
        hidden = self._view(self._hidden[number])
        return self._way.settle(self._way.open(margin), hidden, now.output)

    def _by_blocks(
        self, number: int, now: Packed, below: Tensor | None
    ) -> Float[Tensor, "2 l S H"]:
        assert self._native is not None
        state = State(self._cell[number], self._hidden[number], self._squared)
        biases, used = self._layers[number].minus_biases, self.count * self._going
        for start in range(0, used, BLOCK):
            some = slice(start, min(start + BLOCK, used))
            alone, together = self._products(number, below, some)
            gates = (alone, None if below is None else together)
            self._native.through(
                some, gates, now, minus_biases=biases, state=state, scratch=self._wide[1, 0, :3]
            )
        return self._view(self._hidden[number])

    def _products(self, number: int, below: Tensor | None, some: slice) -> Float[Tensor, "2 R K"]:
        """A of the three gates, of both continuations where they differ by more than a word."""
        flat = self._wide[0, :, : some.stop - some.start]
        self._recurrent[number].times(
            self._hidden[number, 0, some], out=self._wide[0, 0], scratch=self._wide[1, 1]
        )
        if below is not None:
            flat[1].copy_(flat[0])
            from_below = self._layers[number].from_below
            for rows, given in zip(flat[..., : from_below.shape[-1]], below, strict=True):
                rows.addmm_(given.flatten(0, 1)[some], from_below)
        return flat

    def _opened(self, now: Shared) -> Float[Tensor, "2 l S K"]:
        """M of the three gates of both continuations, opened."""
        moved = self._view(self._wide[0])
        if now.own is None:
            return self._way.open(moved.add_(now.offset))
        torch.add(moved[0].add_(now.offset), now.own, out=moved[1])
        return self._way.open(moved)
