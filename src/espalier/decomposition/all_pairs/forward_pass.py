"""One plain run of the model over a group of sentences, which leaves what all pairs need of it.

Sentences are ordered by length, longest first, so that those that have a step are the first ones.
Steps are handed out in windows, each taken layer by layer; the state where each window begins is
remembered, so that a window
can be had again when its own words are to be carried along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.decomposition.all_pairs.gates import PreparedLayer, Step
from espalier.nets.lstm import LanguageModel, LSTMStates, lstm_cell

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
        self._steps, self.sentences = lengths[0], len(sentences)
        padding = sentences[0][0]  # any word, in places that nothing looks at
        self._tokens = torch.tensor(
            [[*sentence, *[padding] * (lengths[0] - len(sentence))] for sentence in sentences]
        ).T
        like = layers[0].from_hidden
        # (layer, hidden or cell, sentence, unit), by the step that it precedes
        self._states = {0: like.new_zeros(len(layers), 2, len(sentences), like.shape[0])}
        self._only: list[Step] | None = None
        # Where the last layer's hidden state after each step is put, if anyone wants it.
        self.hidden_states: HiddenStates | None = None

    def windows(self, begin: int) -> Iterator[tuple[int, list[Step]]]:
        """Windows from step `begin` on, with their first steps; by layer.

        Where one window is enough it is computed once.
        """
        state = self._states[begin].clone()
        for start in range(begin, self._steps, self.length):
            window = self._only or self._window(start, state)
            if self.length == self._steps:
                self._only = window
            self._states[start + self.length] = state.clone()
            yield start, window

    def _window(self, start: int, state: Float[Tensor, "L 2 S H"]) -> list[Step]:
        """Steps from `start` on, by layer; `state` is moved on to the window's end.

        Sentences that have ended run on with padding, which nothing looks at.
        """
        table, places = self._inputs.of(self._tokens[start : start + self.length])
        projected, found, hidden = table[places], list[Step](), table[:0]
        own = projected[..., : len(self._layers[0].halved)] * self._layers[0].halved
        for layer, before in zip(self._layers, state, strict=True):
            if found:
                own = found[-1].own_hidden @ layer.input_to_gates
                projected = hidden @ layer.from_input
            totals, states = projected + layer.bias, list[LSTMStates]()
            last, cell = before
            for now in totals:
                states.append(lstm_cell(now.addmm_(last, layer.from_hidden), cell))
                last, cell = states[-1].hidden, states[-1].cell
            before[0], before[1] = last, cell
            hidden = torch.stack([one.hidden for one in states])
            found.append(Step.of(layer, totals, states, own=own))
        if self.hidden_states is not None:
            self.hidden_states[start : start + len(hidden)] = hidden
        return found
