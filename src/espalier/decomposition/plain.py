"""The plain pass of all pairs: one run of the model over a group, in windows of some steps.

It leaves at each step what rows share there, and the state where each window begins, so that a
window can be had again when its words become rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.decomposition.differences import Way
from espalier.decomposition.factor import TALL, Factor, room
from espalier.decomposition.native import Native, Packed
from espalier.decomposition.shared import Ready, Shared, plain_step, share_step
from espalier.nets.lstm import LanguageModel

Hiddens = Float[Tensor, "N S H"]
Window = list[list[Shared | Packed]]  # by step and layer


class OutOfReach(Exception):  # noqa: N818
    """Numbers are too large for the quick way."""


class Inputs:
    """Input weights times input, once for each word that occurs, however often it does.

    Those of words that were met are kept, where all of the vocabulary's fit into `memory`.
    """

    def __init__(self, model: LanguageModel, first: Ready, *, memory: int) -> None:
        self._embedding, self._weights = model.encoder.weight, first.layer.from_input.T
        words, width = len(self._embedding), self._weights.shape[-1]
        self._fits = words * width * self._embedding.element_size() <= memory
        self._met = torch.zeros(words, dtype=torch.bool)
        self._table = self._embedding.new_empty(0, width)

    @torch.no_grad()
    def meet(self, words: Int[Tensor, " W"]) -> None:
        """Keep the inputs of these words; those already kept may be read meanwhile."""
        if not self._fits:
            return
        if len(self._table) == 0:
            self._table = self._embedding.new_empty(len(self._met), self._weights.shape[-1])
        new = words.unique()
        new = new[~self._met[new]]
        here = new.to(self._table.device)
        self._table[here] = self._embedding[here] @ self._weights
        self._met[new] = True

    def of(self, tokens: Int[Tensor, "N S"]) -> tuple[Float[Tensor, "K four_H"], Tensor]:
        """A table of inputs, and which of its rows is whose."""
        device = self._embedding.device
        if bool(self._met[tokens].all()):
            return self._table, tokens.to(device)
        kinds, places = torch.unique(tokens.to(device), return_inverse=True)
        return self._embedding[kinds] @ self._weights, places


class PlainPass:
    """One pass through the model over a group, in windows of `stretch` steps."""

    def __init__(
        self,
        layers: Sequence[Ready],
        way: Way,
        sentences: Sequence[Sequence[int]],
        *,
        inputs: Inputs,
        stretch: int,
        native: Native | None,
    ) -> None:
        self.way, self.stretch, self.like = way, stretch, layers[0].recurrent
        self.native = native
        self._layers, self._inputs = layers, inputs
        lengths = [len(sentence) for sentence in sentences]
        self._running = [sum(n > step for n in lengths) for step in range(lengths[0])]
        filling = sentences[0][0]  # any word, in places that nothing looks at
        self._tokens = torch.tensor(
            [[*sentence, *[filling] * (lengths[0] - len(sentence))] for sentence in sentences]
        ).T
        self._recurrent = [Factor(ready.plain, native) for ready in layers]
        self._past = self.like.new_empty(room(len(sentences)), self._recurrent[0].width)
        self._scratch = self.like.new_empty(TALL * layers[0].units)
        shape = (len(layers), 2, len(sentences), layers[0].units)
        self._states = {0: self.like.new_zeros(shape)}
        self._whole: Window | None = None
        # Where the last layer's hidden state after each step is put, if anyone wants it.
        self.states: Hiddens | None = None

    def windows(self, begin: int) -> Iterator[tuple[int, Window]]:
        """Windows from step `begin` on, with their first steps; a single one is made once."""
        state = self._states[begin].clone()
        for start in range(begin, len(self._running), self.stretch):
            window = self._whole or self._window(start, state)
            if self.stretch == len(self._running):
                self._whole = window
            self._states[start + self.stretch] = state.clone()
            yield start, window

    def _window(self, start: int, state: Tensor) -> Window:
        """What rows share at each step and layer; `state` is moved on to the window's end."""
        table, places = self._inputs.of(self._tokens[start : start + self.stretch])
        found = []
        for step, row in enumerate(places, start):
            going = self._running[step]
            found.append(self._step(table[row[:going]], state[:, :, :going]))
            if self.states is not None:
                self.states[step, :going] = state[-1, 0, :going]
        return found

    def _step(self, given: Tensor, state: Float[Tensor, "L 2 S H"]) -> list[Shared | Packed]:
        """What rows share at each layer; `given` is the input to the first one's gates."""
        found: list[Shared | Packed] = []
        own = given
        for number, before in enumerate(state):
            if number > 0:
                from_input = self._layers[number].layer.from_input.T
                given, own = state[number - 1, 0] @ from_input, found[-1].single @ from_input
            shared = self._share(number, before, given=given, own=own)
            if shared is None:
                raise OutOfReach
            found.append(shared)
        return found

    def _share(
        self, number: int, state: Float[Tensor, "2 S H"], *, given: Tensor, own: Tensor
    ) -> Shared | Packed | None:
        """What rows share of one layer, whose input is `given`; `state` is moved on."""
        ready = self._layers[number]
        if self.native is None:
            totals = plain_step(ready, torch.addmm(given, state[0], ready.plain), state)
            return share_step(ready, self.way, (totals, state), own=own, first=number == 0)
        self._recurrent[number].times(state[0], out=self._past, scratch=self._scratch)
        return self.native.share(ready, self._past, given, own=own, state=state)
