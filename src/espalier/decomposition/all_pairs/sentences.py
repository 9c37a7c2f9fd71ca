"""Every pair of words of groups of sentences, within a bound on memory.

A few sentences at a time are taken through a plain run of the model, and their words carried along.
Where a single sentence is longer than fits, its words are carried in stretches, each from the plain
state where it begins: memory does not grow with the sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from threading import local

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.weights import PreparedLayer, WordInputs
from espalier.decomposition.all_pairs.word_states import WordStates, lower_triangle
from espalier.decomposition.parts import Space
from espalier.decomposition.room import check_room
from espalier.errors import ConfigError, as_whole
from espalier.nets.lstm import LanguageModel

HiddenStates = Float[Tensor, "N S H"]

MIB = 1 << 20
CPU_MEMORY, CUDA_MEMORY = 256 * MIB, 8192 * MIB
# Words carried at once, and of them those taken through a step together: enough for products to be
# fast, few enough for a processor's cache. CUDA takes all that fit.
CPU_WORDS, CPU_TOGETHER = 2048, 512
# Numbers held for a word of a group and for a word carried, in units of the hidden size and layers.
GROUPED, CARRIED = 60, 40
# Steps of a plain run at once, at most; of many sentences a quarter of the words carried.
STEPS = 64
# Numbers held for every two words in addition to those of the spaces: the places of the lower
# triangle.
WHOLE = 2
# The memory of a sentence alone is reused by each thread for the next ones of up to as many words,
# in steps of that many; up to so many units of all its words.
KEPT_WORDS, KEPT_UNITS = 32, 1 << 15


class AllPairs:
    """A model prepared for the DI of all pairs; several threads may use it.

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
        self._memory = as_whole("memory", memory, least=0, most=sys.maxsize, error=ConfigError)
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
            None if space == "hidden" else lower_triangle(model.decoder.weight) for space in spaces
        ]

    def expect(self, *, words: int) -> None:
        """Prepare for so many words: cache the inputs of the vocabulary, if that pays and fits."""
        if words >= self.model.shape.vocabulary_size:
            self._inputs.tabulate(self._memory)

    def check_room(self, words: int) -> None:
        """Refuse a sentence of so many words if its pairs do not fit into memory."""
        check_room(words, (WHOLE + len(self._decoders)) * words * words)

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
        carried = self.carried
        if not self._layers[0].bias.is_cuda:
            carried = min(carried, CPU_WORDS)
        self.check_room(len(sentences[0]))
        stretch = min(len(sentences[0]), max(2, carried))
        size, found = max(1, carried // stretch), list[Tensor]()
        for first in range(0, len(sentences), size):
            states = None if hidden_states is None else hidden_states[:, first : first + size]
            with torch.inference_mode():
                matrices = self._some(sentences[first : first + size], stretch, states)
            lengths = [len(sentence) for sentence in sentences[first : first + size]]
            found += [one[:, :n, :n].clone() for one, n in zip(matrices, lengths, strict=True)]
        return found

    def _some(
        self, sentences: Sequence[Sequence[int]], stretch: int, hidden_states: HiddenStates | None
    ) -> Float[Tensor, "S K n n"]:
        """All pairs of some sentences, whose words are carried in stretches.

        Each stretch begins with the plain state there, and covers everything after it.
        """
        lengths, like = [len(sentence) for sentence in sentences], self._layers[0].bias
        longest, count = lengths[0], len(lengths)
        tokens = torch.tensor([[*one] + [one[0]] * (longest - len(one)) for one in sentences]).T
        found = like.new_full((len(self._decoders), count, longest, longest), torch.nan)
        words = self._words(min(stretch, longest), count)
        states = {0: like.new_zeros(len(self._layers), 2, count, self.model.shape.hidden)}
        for begin in range(0, longest, stretch):
            words.begin()
            state = states[begin].clone()
            for start, stop in _chunks(begin, longest, stretch, words.steps):
                if not (begin or start % stretch):
                    states[start] = state.clone()
                hidden = words.run(self._layers, self._inputs.of(tokens[start:stop]), state)
                if hidden_states is not None:
                    hidden_states[start:stop] = hidden
                ends = [min(length, stop) - start for length in lengths if length > start]
                carry = start < begin + stretch
                advance = words.advance(self._layers, ends, self._decoders, carry=carry)
                for steps, ratios in advance:
                    at = slice(start + steps.start, start + steps.stop)
                    for in_space, ratio in zip(found, ratios, strict=True):
                        _, many, going = ratio.shape
                        in_space[:going, begin : begin + many, at] = ratio.permute(2, 1, 0)
        found = found.cpu()
        found[..., *torch.tril_indices(longest, longest)] = torch.nan
        return found.transpose(0, 1)

    def _words(self, words: int, sentences: int) -> WordStates:
        """Memory for so many words of so many sentences: new, or reused from an earlier one."""
        like, (units, layers) = self._layers[0].bias, (self.model.shape.hidden, len(self._layers))
        if sentences == 1 and like.device.type == "cpu":
            kept = -(-words // KEPT_WORDS) * KEPT_WORDS
            if kept <= STEPS and kept * units * layers <= KEPT_UNITS:
                return _keep(like.dtype, (kept, 1, units, layers))
        rows = words * sentences if like.is_cuda else max(sentences, CPU_TOGETHER)
        steps = max(1, min(words, STEPS, self.carried // (4 * sentences)))
        return WordStates(like, (words, sentences, units, layers), rows=rows, steps=steps)


_kept = local()


def _keep(dtype: torch.dtype, shape: tuple[int, int, int, int]) -> WordStates:
    """This thread's memory for a sentence, reused while the shape is the same."""
    if getattr(_kept, "key", None) != (dtype, shape):
        like = torch.empty(0, dtype=dtype)
        _kept.words = WordStates(like, shape, rows=CPU_TOGETHER, steps=shape[0], keep=True)
        _kept.key = dtype, shape
    found: WordStates = _kept.words
    return found


def _chunks(begin: int, end: int, stretch: int, most: int) -> Iterator[tuple[int, int]]:
    """Steps from `begin` to `end`, at most so many at a time, none of them beyond a stretch."""
    while begin < end:
        stop = min(begin + most, end, (begin // stretch + 1) * stretch)
        yield begin, stop
        begin = stop
