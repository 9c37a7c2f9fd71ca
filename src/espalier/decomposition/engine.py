"""Every pair of words of groups of sentences, within a bound on memory.

A group is taken through one plain pass; its sentences go through `Rows` a few at a time. Where a
single sentence is longer than fits, its words become rows in stretches: each stretch starts from
the plain state kept where it begins, so that what is held does not grow with the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.decomposition.dependence import Space
from espalier.decomposition.differences import Quick, Steady, Way
from espalier.decomposition.factor import Factor
from espalier.decomposition.native import Native, build
from espalier.decomposition.plain import Hiddens, Inputs, OutOfReach, PlainPass
from espalier.decomposition.rows import Rows
from espalier.decomposition.shared import Ready
from espalier.errors import ConfigError
from espalier.nets.lstm import LanguageModel, language_model

MIB = 1 << 20
CPU_MEMORY, CUDA_MEMORY = 256 * MIB, 8192 * MIB
# More rows at once than this no longer fit the cache of a core; on CUDA there is no such limit.
CPU_ROWS = 4096
# Numbers held for a word and for a row, in units of the hidden size and for each layer.
WORD, ROW = 24, 18


@dataclass(frozen=True)
class Budget:
    """How many words go through the plain pass together, and how many rows are carried."""

    words: int
    rows: int

    @classmethod
    def of(cls, model: LanguageModel, memory: int) -> Budget:
        """What fits into so many bytes."""
        like, shape = model.encoder.weight, model.shape
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
        if memory is None:
            memory = CUDA_MEMORY if model.encoder.weight.is_cuda else CPU_MEMORY
        self.model, self.budget = model, Budget.of(model, memory)
        self.native: Native | None = None
        self._layers = [Ready.of(layer) for layer in model.layers()]
        self._inputs = Inputs(model, self._layers[0], memory=memory)
        spaces = (space,) if isinstance(space, str) else space
        self._decoders = [_decoder(model, one) for one in spaces]

    def meet(self, words: Int[Tensor, " W"]) -> None:
        """Make ready, once for all, words that many groups will have."""
        self._inputs.meet(words)

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

    def pairs_by_space(
        self, sentences: Sequence[Sequence[int]], *, states: Hiddens | None = None
    ) -> list[Float[Tensor, "K n n"]]:
        """The same in each of the spaces that were asked for, in their order, by one pass.

        `states` is filled with the last layer's hidden state after each word.
        """
        try:
            return self.pairs_by(Quick(), sentences, states=states)
        except OutOfReach:
            return self.pairs_by(Steady(), sentences, states=states)

    @torch.no_grad()
    def pairs_by(
        self, way: Way, sentences: Sequence[Sequence[int]], *, states: Hiddens | None = None
    ) -> list[Float[Tensor, "K n n"]]:
        """The same by one way, on the CPU."""
        lengths = [len(sentence) for sentence in sentences]
        stretch = min(lengths[0], max(2, self.budget.words // len(sentences)))
        native = self.native if isinstance(way, Quick) else None
        plain = PlainPass(
            self._layers, way, sentences, inputs=self._inputs, stretch=stretch, native=native
        )
        plain.states = states
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
        rows = Rows(
            self._layers,
            plain.way,
            decoders=self._decoders,
            capacity=capacity,
            native=plain.native,
        )
        for begin in range(0, longest, stretch):
            rows.clear()
            for start, window in plain.windows(begin):
                for step in range(start, min(start + stretch, longest)):
                    going = sum(length > step for length in lengths)
                    here = slice(some.start, some.start + going)
                    now = [layer.of(here) for layer in window[step - start]]
                    used = rows.count
                    grow = start == begin
                    ratios = rows.step(now, going=going, grow=grow)
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
    model = language_model(vocabulary_size=16, hidden=22, layers=2, seed=0)
    plain, compiled = (Engine(model, space=("hidden", "logits")) for _ in range(2))
    native = compiled.native = build()
    sentences = [list(range(16)), list(range(9, 0, -1))]
    both = zip(plain.pairs_by_space(sentences), compiled.pairs_by_space(sentences), strict=True)
    close = [torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in both]
    close.append(torch.allclose(_powers(model, None), _powers(model, native)))
    return native if all(close) else None


@torch.no_grad()
def _powers(model: LanguageModel, native: Native | None) -> Float[Tensor, " B"]:
    """Sums of powers of two of what the decoder makes of some vectors."""
    vectors, factor = model.encoder.weight, Factor(model.decoder.weight.T.contiguous(), native)
    sums, held = vectors.new_zeros(len(vectors)), vectors.new_empty(factor.held(len(vectors)))
    factor.add_powers(sums, vectors, bias=model.decoder.bias, held=held)
    return sums
