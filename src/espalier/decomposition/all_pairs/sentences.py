"""Every pair of words of groups of sentences, within a bound on memory.

A group is taken through one plain run of the model; the words of its sentences are carried along a
few sentences at a time. Where a single sentence is longer than fits, its words are carried in
stretches, each from the plain state where it begins: what is held does not grow with the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.forward_pass import ForwardPass, HiddenStates, WordInputs
from espalier.decomposition.all_pairs.gates import PreparedLayer
from espalier.decomposition.all_pairs.word_states import WordStates, triangle
from espalier.decomposition.parts import Space
from espalier.errors import ConfigError
from espalier.nets.lstm import LanguageModel

MIB = 1 << 20
CPU_MEMORY, CUDA_MEMORY = 256 * MIB, 8192 * MIB
# Words carried at once, and of them those taken through a step together: enough for products to be
# fast, few enough for a processor's cache. CUDA takes all that fit.
CPU_WORDS, CPU_TOGETHER = 2048, 512
# Numbers held for a word of a group and for a word carried, in units of the hidden size and layers.
GROUPED, CARRIED = 60, 40


class AllPairs:
    """A model made ready for the DI of all pairs; several threads may ask.

    >>> from espalier.nets.lstm import language_model
    >>> model = language_model(vocabulary_size=9, hidden=4)
    >>> all_pairs = AllPairs(model, spaces=["hidden", "logits"])
    >>> [matrix.shape for matrix in all_pairs.of([[1, 2, 3], [4, 5]])]
    [torch.Size([2, 3, 3]), torch.Size([2, 2, 2])]
    """

    @torch.no_grad()
    def __init__(
        self,
        model: LanguageModel,
        *,
        spaces: Sequence[Space] = ("hidden",),
        memory: int | None = None,
    ) -> None:
        like, shape = model.encoder.weight, model.shape
        self.model = model
        if memory is None:
            memory = CUDA_MEMORY if like.is_cuda else CPU_MEMORY
        self._memory = memory
        unit = shape.layers * shape.hidden * like.element_size()
        self.grouped, self.carried = (self._memory // (2 * n * unit) for n in (GROUPED, CARRIED))
        if min(self.grouped, self.carried) < 2:
            raise ConfigError(
                f"memory is {memory:,} bytes, but two words of this model take "
                f"{4 * CARRIED * unit:,}; allow at least that"
            )
        self._layers = [
            PreparedLayer.of(layer, first=number == 0)
            for number, layer in enumerate(model.layers())
        ]
        self._inputs = WordInputs(model, self._layers[0])
        self._decoders = [
            None if space == "hidden" else triangle(model.decoder.weight) for space in spaces
        ]

    def expect(self, *, words: int) -> None:
        """Make ready for so many words: keep the inputs of the vocabulary, if it pays and fits."""
        if words >= self.model.shape.vocabulary_size:
            self._inputs.tabulate(self._memory)

    def groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """Sentences in groups that fit, longest first."""
        order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        groups: list[list[int]] = []
        for number in order:
            if groups and lengths[groups[-1][0]] * (len(groups[-1]) + 1) <= self.grouped:
                groups[-1].append(number)
            else:
                groups.append([number])
        return groups

    @torch.no_grad()
    def of(
        self, sentences: Sequence[Sequence[int]], *, hidden_states: HiddenStates | None = None
    ) -> list[Float[Tensor, "K n n"]]:
        """DI of every pair l < r of each sentence in each space, NaN elsewhere, on the CPU.

        The longest sentence comes first. `hidden_states` is filled with the last layer's hidden
        state after each word.
        """
        stretch = min(len(sentences[0]), max(2, self.grouped // len(sentences)))
        plain = ForwardPass(self._layers, sentences, inputs=self._inputs, length=stretch)
        plain.hidden_states = hidden_states
        carried = self.carried if self._layers[0].bias.is_cuda else min(self.carried, CPU_WORDS)
        size = max(1, carried // stretch)
        lengths = [len(sentence) for sentence in sentences]
        found: list[Tensor] = []
        for first in range(0, len(sentences), size):
            found += self._some(plain, first, lengths[first : first + size])
        return found

    def _some(self, plain: ForwardPass, first: int, lengths: Sequence[int]) -> list[Tensor]:
        """All pairs of some of a group's sentences, from the `first` of them on."""
        longest, stretch = lengths[0], plain.length
        found = self._layers[0].bias.new_full(
            (len(self._decoders), len(lengths), longest, longest), torch.nan
        )
        for begin in range(0, longest, stretch):
            rows = stretch * len(lengths)
            rows = rows if found.is_cuda else max(len(lengths), min(rows * stretch, CPU_TOGETHER))
            shape = (min(stretch, longest - begin), len(lengths), rows)
            words = WordStates(self._layers, shape, decoders=self._decoders)
            for start, window in plain.windows(begin):
                number, end, carry = start, min(start + stretch, longest), start == begin
                while number < end:
                    going = sum(length > number for length in lengths)
                    here = slice(first, first + going)
                    steps = words.together(end - number, carry=carry)
                    some = slice(number - start, number - start + steps)
                    ratios = words.advance([one.some(some, here) for one in window], carry=carry)
                    for in_space, ratio in zip(found, ratios, strict=True):
                        last = begin + ratio.shape[1]
                        in_space[:going, begin:last, number : number + steps] = ratio.permute(
                            2, 1, 0
                        )
                    number += steps
        found = found.cpu()
        found[..., *torch.tril_indices(longest, longest)] = torch.nan
        return [found[:, number, :n, :n] for number, n in enumerate(lengths)]
