"""One plain run of the model over a group of sentences, which leaves what all pairs need of it.

Sentences are ordered by length, longest first, so that those that have a step are the first ones.
Steps are handed out in windows; the state where each window begins is remembered, so that a window
can be had again when its own words are to be carried along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.decomposition.all_pairs.gates import PreparedLayer, Step
from espalier.nets.lstm import LanguageModel, lstm_cell

HiddenStates = Float[Tensor, "N S H"]


class WordInputs:
    """Input weights times input, once for each word that occurs, however often it does."""

    def __init__(self, model: LanguageModel, first: PreparedLayer) -> None:
        self._embedding, self._weights = model.encoder.weight, first.from_input
        self._all: Float[Tensor, "V four_H"] | None = None

    @torch.no_grad()
    def tabulate(self, memory: int) -> None:
        """Keep those of the whole vocabulary, if they fit into so many bytes."""
        size = len(self._embedding) * self._weights.shape[1] * self._embedding.element_size()
        if self._all is None and size <= memory:
            self._all = self._embedding @ self._weights

    def of(self, tokens: Int[Tensor, "N S"]) -> tuple[Float[Tensor, "K four_H"], Tensor]:
        """A table of inputs, and which of its rows is whose."""
        tokens = tokens.to(self._embedding.device)
        if self._all is not None:
            return self._all, tokens
        kinds, places = torch.unique(tokens, return_inverse=True)
        return self._embedding[kinds] @ self._weights, places


class ForwardPass:
    """One run of the model over a group of sentences, in windows of `length` steps."""

    def __init__(
        self,
        layers: Sequence[PreparedLayer],
        sentences: Sequence[Sequence[int]],
        *,
        inputs: WordInputs,
        length: int,
    ) -> None:
        self.length, self._layers, self._inputs = length, layers, inputs
        lengths = [len(sentence) for sentence in sentences]
        self._running = [sum(n > step for n in lengths) for step in range(lengths[0])]
        padding = sentences[0][0]  # any word, in places that nothing looks at
        self._tokens = torch.tensor(
            [[*sentence, *[padding] * (lengths[0] - len(sentence))] for sentence in sentences]
        ).T
        like = layers[0].from_hidden
        # (layer, hidden or cell, sentence, unit), by the step that it precedes
        self._states = {0: like.new_zeros(len(layers), 2, len(sentences), like.shape[0])}
        self._only: list[list[Step]] | None = None
        # Where the last layer's hidden state after each step is put, if anyone wants it.
        self.hidden_states: HiddenStates | None = None

    def windows(self, begin: int) -> Iterator[tuple[int, list[list[Step]]]]:
        """Windows from step `begin` on, with their first steps; steps by layer.

        Where one window is enough it is computed once.
        """
        state = self._states[begin].clone()
        for start in range(begin, len(self._running), self.length):
            window = self._only or self._window(start, state)
            if self.length == len(self._running):
                self._only = window
            self._states[start + self.length] = state.clone()
            yield start, window

    def _window(self, start: int, state: Float[Tensor, "L 2 S H"]) -> list[list[Step]]:
        """Steps from `start` on, by layer; `state` is moved on to the window's end."""
        table, places = self._inputs.of(self._tokens[start : start + self.length])
        found = []
        for step, row in enumerate(places, start):
            going = self._running[step]
            found.append(self._step(table[row[:going]], state[:, :, :going]))
            if self.hidden_states is not None:
                self.hidden_states[step, :going] = state[-1, 0, :going]
        return found

    def _step(
        self, projected: Float[Tensor, "S four_H"], state: Float[Tensor, "L 2 S H"]
    ) -> list[Step]:
        """One step of each layer, given the input to the first one's gates; `state` is moved on."""
        found: list[Step] = []
        below = projected
        for layer, before in zip(self._layers, state, strict=True):
            own = projected[:, : len(layer.halved)] * layer.halved
            if found:
                projected = below @ layer.from_input
                own = found[-1].own_hidden @ layer.input_to_gates
            totals = torch.addmm(projected + layer.bias, before[0], layer.from_hidden)
            states = lstm_cell(totals, before[1])
            before[0], before[1], below = states.hidden, states.cell, states.hidden
            found.append(Step.of(layer, totals, states, own=own))
        return found
