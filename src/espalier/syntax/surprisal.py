"""Surprisal of every word of a treebank: -log P(word | the words before it).

Most of the time goes into the sum over the vocabulary, a product of a hidden state with all output
weights. It is computed once for each beginning of a sentence, however many sentences share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.data import Treebank
from espalier.decomposition import HiddenStates, one_thread_each
from espalier.nets.lstm import LanguageModel, recur
from espalier.syntax.reading import encode_words, threads_for

Array = np.ndarray
WORDS_AT_ONCE = 4096  # through the recursion
ALIKE = 0.85  # the shortest sentence of a batch, relative to its longest
STATES_AT_ONCE, COLUMNS_AT_ONCE = 1024, 2048  # of logits, so that they stay in the cache
# Sums outside are taken again with the highest logit subtracted: float32 would round them away.
SAFE = (1e-20, 1e37)


def surprisals(model: LanguageModel, bank: Treebank) -> Float[Array, " W"]:
    """-log P(word | the words before it), in nats; NaN for the first, which nothing precedes."""
    with one_thread_each(threads_for(model)) as pool:
        return SurprisalReader(model, pool).begin(bank).surprisals()


class SurprisalReader:
    """Reads treebanks one after the other with a model; sums of known beginnings are reused."""

    def __init__(self, model: LanguageModel, pool: ThreadPoolExecutor) -> None:
        self._model, self._pool, self._sums = model, pool, LogSums(model)
        self._known: dict[tuple[int, int], int] = {}
        self._totals: list[Float[Array, " N"]] = []  # log of the sum over the vocabulary

    def begin(self, bank: Treebank) -> Reading:
        """Start reading; the result is waited for in `surprisals`."""
        reading = self.expect(bank)
        for some in _batches(bank.lengths):
            task = partial(_read, self._model, some, reading)
            reading.futures.append(self._pool.submit(task))
        return reading

    def expect(self, bank: Treebank) -> Reading:
        """A treebank that is read elsewhere: pass all hidden states to `hear` of the result."""
        numbers, before = encode_words(self._model, bank), len(self._known)
        beginning, ends = self._beginnings(numbers, bank)
        self._totals.append(np.empty(len(self._known) - before, dtype=np.float32))
        return Reading(
            bank=bank,
            numbers=numbers,
            sums=self._sums,
            scores=np.full(len(numbers), np.nan, dtype=np.float32),
            beginning=beginning,
            new=np.where(ends, np.roll(beginning, -1) - before, -1),
            totals=tuple(self._totals),
        )

    def _beginnings(
        self, numbers: Int[Array, " W"], bank: Treebank
    ) -> tuple[Int[Array, " W"], Bool[Array, " W"]]:
        """Which beginning precedes each word (-1: none), and whether a new one ends with it."""
        known, found, ends = self._known, np.full(len(numbers), -1), np.zeros(len(numbers), bool)
        tokens, starts = numbers.tolist(), bank.starts.tolist()
        for start, stop in pairwise(starts):
            before = -1
            for place in range(start + 1, stop):
                count = len(known)
                before = known.setdefault((before, tokens[place - 1]), count)
                found[place], ends[place - 1] = before, before == count
        return found, ends


@dataclass(frozen=True)
class Reading:
    """A treebank being read: threads write their results, each at places of its own."""

    bank: Treebank
    numbers: Int[Array, " W"]
    sums: LogSums
    scores: Float[Array, " W"]  # the logit of every word after those before it
    beginning: Int[Array, " W"]  # which one precedes a word; -1: none
    new: Int[Array, " W"]  # which new beginning ends with a word; -1: none
    totals: Sequence[Float[Array, " _"]]  # of the beginnings so far, the new ones last
    futures: list[Future[None]] = field(default_factory=list)

    def hear(self, alike: Sequence[Sequence[int]], states: HiddenStates) -> None:
        """Take in the states after the words of sentences, each of which may occur repeatedly."""
        some = np.array([number for numbers in alike for number in numbers])
        whose = np.repeat(np.arange(len(alike)), [len(numbers) for numbers in alike])
        lengths, steps = self.bank.lengths[some], np.arange(len(states))
        which, step = np.nonzero(steps < lengths[:, None] - 1)  # last words are left out
        here = self.bank.starts[some][which] + step
        hidden = states[step, whose[which]]
        self.scores[here + 1] = self.sums.scores(hidden, self.numbers[here + 1]).cpu().numpy()
        new = np.flatnonzero(self.new[here] >= 0)
        for part in np.split(new, range(STATES_AT_ONCE, len(new), STATES_AT_ONCE)):
            found = self.sums.after(hidden[part])
            self.totals[-1][self.new[here[part]]] = found.cpu().numpy()

    def surprisals(self) -> Float[Array, " W"]:
        """The surprisal of every word, once all are read."""
        for future in self.futures:
            future.result()
        totals = np.append(np.concatenate(self.totals), np.nan)  # -1 is the last: no beginning
        found: Float[Array, " W"] = totals[self.beginning] - self.scores
        return found.astype(np.float32)


def _read(model: LanguageModel, some: Int[Array, " B"], reading: Reading) -> None:
    """Read sentences of similar length."""
    bank, device = reading.bank, model.encoder.weight.device
    lengths = bank.lengths[some]
    steps = np.arange(lengths.max())
    places = bank.starts[some][:, None] + np.minimum(steps, lengths[:, None] - 1)
    tokens = torch.from_numpy(reading.numbers[places]).to(device)
    reading.hear([[number] for number in some.tolist()], _states(model, tokens))


class LogSums:
    """Logits of single words, and the log of the sum of exp(logits) over the vocabulary.

    Logits are taken as they are: subtracting the highest would be two more passes over them, which
    nearly never changes anything.
    """

    @torch.no_grad()
    def __init__(self, model: LanguageModel) -> None:
        self._decoder = model.decoder
        blocks = model.decoder.weight.split(COLUMNS_AT_ONCE)
        biases = model.decoder.bias.split(COLUMNS_AT_ONCE)
        self._blocks = [
            (weight.T.contiguous(), bias) for weight, bias in zip(blocks, biases, strict=True)
        ]

    @torch.no_grad()
    def scores(self, hidden: Float[Tensor, "B H"], words: Int[Array, " B"]) -> Float[Tensor, " B"]:
        """The logit of one word after each state."""
        weight, bias = self._decoder.weight, self._decoder.bias
        numbers = torch.from_numpy(words).to(weight.device)
        return (hidden * weight[numbers]).sum(-1) + bias[numbers]

    @torch.no_grad()
    def after(self, hidden: Float[Tensor, "B H"]) -> Float[Tensor, " B"]:
        """One sum per state."""
        sums = hidden.new_zeros(len(hidden))
        for weight, bias in self._blocks:
            sums += torch.addmm(bias, hidden, weight).exp_().sum(dim=-1)
        found = sums.log()
        risky = (~((sums > SAFE[0]) & (sums < SAFE[1]))).nonzero()[:, 0]
        if len(risky):
            found[risky] = torch.logsumexp(self._decoder(hidden[risky]), dim=-1)
        return found


@torch.no_grad()
def _states(model: LanguageModel, tokens: Int[Tensor, "B N"]) -> HiddenStates:
    """The hidden state of the last layer after every word, from a zero state.

    The first layer's input is computed once for each distinct word.
    """
    kinds, place = torch.unique(tokens.T, return_inverse=True)
    below = model.encoder.weight[kinds]
    zero = below.new_zeros(1, len(tokens), model.shape.hidden)
    for layer, (from_input, from_hidden, bias) in enumerate(model.layers()):
        projected = below @ from_input.T + bias
        projected = projected[place] if layer == 0 else projected
        hiddens, _ = recur(projected[None], from_hidden[None], (zero, zero))
        below = hiddens[0]
    return below


def _batches(lengths: Int[Array, " S"]) -> list[Int[Array, " B"]]:
    """Sentences of similar length together, the longest first; those of one word are left out."""
    order = np.argsort(-lengths, kind="stable")
    found: list[list[int]] = []
    longest = 0
    for number, length in zip(order.tolist(), lengths[order].tolist(), strict=True):
        full = bool(found) and longest * len(found[-1]) >= WORDS_AT_ONCE
        if length < 2:
            break
        if full or length < ALIKE * longest or not found:
            found.append([])
            longest = length
        found[-1].append(number)
    return [np.array(some) for some in found]
