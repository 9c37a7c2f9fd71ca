"""Every pair of words of groups of sentences, within a bound on memory.

A group is taken through one plain pass; its sentences go through `Rows` a few at a time. Where a
single sentence is longer than fits, its words become rows in stretches: each stretch starts from
the plain state kept where it begins, so that what is held does not grow with the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.dependence import Space
from espalier.decomposition.differences import LOG2E, Quick, Steady, Way
from espalier.decomposition.recursion import layers_of
from espalier.decomposition.rows import Rows, measure
from espalier.decomposition.shared import Ready, Shared, plain_pass, share_steps
from espalier.errors import ConfigError
from espalier.nets.lstm import LanguageModel

MIB = 1 << 20
CPU_MEMORY, CUDA_MEMORY = 192 * MIB, 8192 * MIB
# More rows at once than this no longer fit the cache of a core; on CUDA there is no such limit.
CPU_ROWS = 1024
# Numbers held for a word and for a row, in units of the hidden size and for each layer.
WORD, ROW = 40, 18


@dataclass(frozen=True)
class Budget:
    """How many words go through the plain pass together, and how many rows are carried."""

    words: int
    rows: int

    @classmethod
    def of(cls, model: LanguageModel, memory: int | None) -> Budget:
        """What fits into so many bytes."""
        like, shape = model.encoder.weight, model.shape
        if memory is None:
            memory = CUDA_MEMORY if like.is_cuda else CPU_MEMORY
        unit = shape.layers * shape.hidden * like.element_size()
        words, rows = memory // (2 * WORD * unit), memory // (2 * ROW * unit)
        if min(words, rows) < 2:
            raise ConfigError(
                f"memory is {memory:,} bytes, but two words of this model take "
                f"{4 * WORD * unit:,}; allow at least that"
            )
        return cls(words, rows if like.is_cuda else min(rows, CPU_ROWS))


class Engine:
    """A model made ready for all pairs; `pairs` may be called from several threads."""

    @torch.no_grad()
    def __init__(
        self,
        model: LanguageModel,
        *,
        space: Space | tuple[Space, ...] = "hidden",
        memory: int | None = None,
    ) -> None:
        self.model, self.budget = model, Budget.of(model, memory)
        self._layers = [Ready.of(layer) for layer in layers_of(model)]
        spaces = (space,) if isinstance(space, str) else space
        self._decoders = [_decoder(model, one) for one in spaces]

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """Sentences in groups that fit, longest first."""
        order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        groups: list[list[int]] = []
        for number in order:
            if groups and lengths[groups[-1][0]] * (len(groups[-1]) + 1) <= self.budget.words:
                groups[-1].append(number)
            else:
                groups.append([number])
        return groups

    @torch.no_grad()
    def pairs(self, sentences: Sequence[Sequence[int]]) -> list[Float[Tensor, "n n"]]:
        """DI of every pair l < r of each sentence, NaN elsewhere; the longest comes first."""
        return [matrices[0] for matrices in self.pairs_by_space(sentences)]

    @torch.no_grad()
    def pairs_by_space(self, sentences: Sequence[Sequence[int]]) -> list[Float[Tensor, "K n n"]]:
        """The same in each of the spaces that were asked for, in their order, by one pass."""
        found = self._by(Quick(), sentences)
        if found is None or any(_lacks(matrix) for matrix in found):
            found = self._by(Steady(), sentences)
        assert found is not None
        return found

    def _by(self, way: Way, sentences: Sequence[Sequence[int]]) -> list[Tensor] | None:
        """The same by one way, or None where it does not reach."""
        lengths = [len(sentence) for sentence in sentences]
        stretch = min(lengths[0], max(2, self.budget.words // len(sentences)))
        plain = PlainPass(self.model, self._layers, way, sentences, stretch=stretch)
        size = max(1, self.budget.rows // stretch)
        found: list[Tensor] = []
        try:
            for first in range(0, len(sentences), size):
                found += self._some(plain, lengths, slice(first, first + size))
        except OutOfReach:
            return None
        return found

    def _some(self, plain: PlainPass, lengths: Sequence[int], some: slice) -> list[Tensor]:
        """All pairs of the sentences of one slice of a group."""
        lengths, stretch = lengths[some], plain.stretch
        longest, count = lengths[0], len(lengths)
        found = plain.like.new_full((len(self._decoders), count, longest, longest), torch.nan)
        rows = Rows(self._layers, plain.way, capacity=stretch * count)
        for begin in range(0, longest, stretch):
            rows.clear()
            for start, window in plain.windows(begin):
                for step in range(start, min(start + stretch, longest)):
                    going = sum(length > step for length in lengths)
                    here = slice(some.start, some.start + going)
                    now = [layer.at(step - start, here) for layer in window]
                    used = rows.count
                    joint, apart = rows.step(now, going=going, grow=start == begin)
                    if used:
                        for in_space, decoder in zip(found, self._decoders, strict=True):
                            ratios = measure(joint, apart, decoder)
                            in_space[:going, begin : begin + used, step] = ratios.T
        return [found[:, number, :n, :n] for number, n in enumerate(lengths)]


class OutOfReach(Exception):  # noqa: N818
    """Numbers are too large for the quick way."""


class PlainPass:
    """One pass through the model over a group, in windows of `stretch` steps."""

    def __init__(
        self,
        model: LanguageModel,
        layers: Sequence[Ready],
        way: Way,
        sentences: Sequence[Sequence[int]],
        *,
        stretch: int,
    ) -> None:
        self.way, self.stretch, self.like = way, stretch, layers[0].recurrent
        self._layers, self._embedding = layers, model.encoder.weight
        lengths = [len(sentence) for sentence in sentences]
        self._running = [sum(n > step for n in lengths) for step in range(lengths[0])]
        rows = [[*sentence, *[0] * (lengths[0] - len(sentence))] for sentence in sentences]
        self._tokens = torch.tensor(rows, device=self.like.device).T
        shape = (len(layers), 2, len(sentences), layers[0].units)
        self._states = {0: self.like.new_zeros(shape)}
        self._whole: list[Shared] | None = None

    def windows(self, begin: int) -> Iterator[tuple[int, list[Shared]]]:
        """Windows from step `begin` on, with their first steps; a single one is made once."""
        state = self._states[begin].clone()
        for start in range(begin, len(self._running), self.stretch):
            window = self._whole or self._window(start, state)
            if self.stretch == len(self._running):
                self._whole = window
            self._states[start + self.stretch] = state.clone()
            yield start, window

    def _window(self, start: int, state: Tensor) -> list[Shared]:
        """What rows share in each layer; `state` is moved on to the window's end."""
        stop = start + self.stretch
        running, found = self._running[start:stop], []
        projected, own = self._project(self._tokens[start:stop])
        for number, ready in enumerate(self._layers):
            plain = plain_pass(ready.layer, projected, running, state[number])
            shared = share_steps(ready, self.way, plain, own=own, first=number == 0)
            if shared is None:
                raise OutOfReach
            found.append(shared)
            if number + 1 < len(self._layers):
                above = self._layers[number + 1]
                projected = plain[2] @ above.layer.from_input.T
                own = shared.single @ above.from_below
        return found

    def _project(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Input weights times input, of four gates and of three as an addition to M.

        Once for each word that occurs, however often it does.
        """
        kinds, places = torch.unique(tokens, return_inverse=True)
        first = self._layers[0]
        table = self._embedding[kinds] @ first.layer.from_input.T
        own = table[:, : 3 * first.units] * (first.doubled * LOG2E)
        return table[places], own[places]


def _decoder(model: LanguageModel, space: Space) -> Tensor | None:
    """What takes a vector to one as long as its image in that space; None: itself.

    With decoder = Q R, ||decoder x|| = ||R x||: no vector of the vocabulary's size is made.
    """
    match space:
        case "hidden":
            return None
        case "logits":
            root: Tensor = torch.linalg.qr(model.decoder.weight, mode="r").R.T.contiguous()
            return root


def _lacks(matrices: Float[Tensor, "K n n"]) -> bool:
    """Whether any pair has no number."""
    upper = torch.ones_like(matrices, dtype=torch.bool).triu(1)
    return bool((matrices.isnan() & upper).any())
