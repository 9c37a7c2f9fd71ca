"""Every pair of words of groups of sentences, within a bound on memory.

A group is taken through one plain pass; its sentences go through `Rows` a few at a time. Where a
single sentence is longer than fits, its words become rows in stretches: each stretch starts from
the plain state kept where it begins, so that what is held does not grow with the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.dependence import Space
from espalier.decomposition.differences import LOG2E, Quick, Steady, Way
from espalier.decomposition.native import Native, build
from espalier.decomposition.recursion import layers_of
from espalier.decomposition.rows import Rows
from espalier.decomposition.shared import Ready, Shared, plain_step, share_step
from espalier.errors import ConfigError
from espalier.nets.lstm import LanguageModel, language_model

MIB = 1 << 20
CPU_MEMORY, CUDA_MEMORY = 256 * MIB, 8192 * MIB
# More rows at once than this no longer fit the cache of a core; on CUDA there is no such limit.
CPU_ROWS = 2048
# Numbers held for a word and for a row, in units of the hidden size and for each layer.
WORD, ROW = 24, 18


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
        self.native: Native | None = None
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

    def pairs(self, sentences: Sequence[Sequence[int]]) -> list[Float[Tensor, "n n"]]:
        """DI of every pair l < r of each sentence, NaN elsewhere; the longest comes first."""
        return [matrices[0] for matrices in self.pairs_by_space(sentences)]

    def pairs_by_space(self, sentences: Sequence[Sequence[int]]) -> list[Float[Tensor, "K n n"]]:
        """The same in each of the spaces that were asked for, in their order, by one pass."""
        try:
            return self.pairs_by(Quick(), sentences)
        except OutOfReach:
            return self.pairs_by(Steady(), sentences)

    @torch.no_grad()
    def pairs_by(
        self, way: Way, sentences: Sequence[Sequence[int]]
    ) -> list[Float[Tensor, "K n n"]]:
        """The same by one way, on the CPU."""
        lengths = [len(sentence) for sentence in sentences]
        stretch = min(lengths[0], max(2, self.budget.words // len(sentences)))
        plain = PlainPass(self.model, self._layers, way, sentences, stretch=stretch)
        size = max(1, self.budget.rows // stretch)
        found: list[Tensor] = []
        for first in range(0, len(sentences), size):
            found += self._some(plain, lengths, slice(first, first + size))
        return found

    def _some(self, plain: PlainPass, lengths: Sequence[int], some: slice) -> list[Tensor]:
        """All pairs of the sentences of one slice of a group."""
        lengths, stretch = lengths[some], plain.stretch
        longest, count = lengths[0], len(lengths)
        found = plain.like.new_full((len(self._decoders), count, longest, longest), torch.nan)
        capacity = max(2, stretch * count)
        rows = Rows(self._layers, plain.way, capacity=capacity, native=self.native)
        for begin in range(0, longest, stretch):
            rows.clear()
            for start, window in plain.windows(begin):
                for step in range(start, min(start + stretch, longest)):
                    going = sum(length > step for length in lengths)
                    here = slice(some.start, some.start + going)
                    now = [layer.of(here) for layer in window[step - start]]
                    used = rows.count
                    grow = start == begin
                    ratios = rows.step(now, going=going, grow=grow, decoders=self._decoders)
                    for in_space, ratio in zip(found, ratios, strict=True):
                        in_space[:going, begin : begin + used, step] = ratio.T
        found = found.cpu()
        wanted = len(found) * sum(n * (n - 1) // 2 for n in lengths)
        if int(found.isnan().sum()) != found.numel() - wanted and not plain.way.final:
            raise OutOfReach  # or undefined, which the other way will say again
        return [found[:, number, :n, :n] for number, n in enumerate(lengths)]


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


def trusted(model: LanguageModel) -> Native | None:
    """The compiled step, if there is one for this model's numbers and it agrees with the plain."""
    like = model.encoder.weight
    return _agreeing() if like.dtype == torch.float32 and like.device.type == "cpu" else None


@cache
def _agreeing() -> Native | None:
    model = language_model(vocabulary_size=16, hidden=21, layers=2, seed=0)
    plain, compiled = Engine(model), Engine(model)
    compiled.native = build()
    sentences = [list(range(16)), list(range(9, 0, -1))]
    both = zip(plain.pairs(sentences), compiled.pairs(sentences), strict=True)
    close = (torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in both)
    return compiled.native if all(close) else None


Window = list[list[Shared]]  # by step and layer


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
        self._whole: Window | None = None

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
        tokens = self._tokens[start : start + self.stretch]
        table, own, places = self._project(tokens)
        found = []
        for row, going in zip(places, self._running[start:], strict=False):
            here = row[:going]
            found.append(self._step(table[here], own[here], state[:, :, :going]))
        return found

    def _step(self, projected: Tensor, own: Tensor, state: Tensor) -> list[Shared]:
        found: list[Shared] = []
        for number, (ready, before) in enumerate(zip(self._layers, state, strict=True)):
            if number > 0:
                projected = state[number - 1, 0] @ ready.layer.from_input.T
                own = found[-1].single @ ready.from_below
            totals = plain_step(ready, projected, before)
            shared = share_step(ready, self.way, (totals, before), own=own, first=number == 0)
            if shared is None:
                raise OutOfReach
            found.append(shared)
        return found

    def _project(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Input weights times input, that as an addition to M, and which row is whose.

        Once for each word that occurs, however often it does.
        """
        kinds, places = torch.unique(tokens, return_inverse=True)
        first = self._layers[0]
        table = self._embedding[kinds] @ first.layer.from_input.T
        own = table[:, : 3 * first.units] * (first.doubled * LOG2E)
        return table, own, places
