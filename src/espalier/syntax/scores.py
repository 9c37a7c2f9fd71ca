"""What a language model makes of a treebank: DI of every pair, surprisal of every word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data.treebank import Treebank
from espalier.data.trees import pair_starts
from espalier.decomposition.corpus import one_thread_each
from espalier.decomposition.dependence import Space
from espalier.decomposition.engine import Engine, trusted
from espalier.decomposition.inputs import check_model
from espalier.errors import ModelError
from espalier.nets.lstm import LanguageModel
from espalier.nets.vocabulary import UNKNOWN, Vocabulary
from espalier.syntax.effects import Words

Array = np.ndarray
WORTH_BUILDING = 50_000  # pairs from which on compiling the step of rows pays
SPACES: tuple[Space, ...] = ("hidden", "logits")


@dataclass(frozen=True)
class Scores:
    """DI of every pair in the order (sentence, l, r), in hidden states and in logits."""

    hidden: Float[Array, " P"]
    logits: Float[Array, " P"]


def encode_words(model: LanguageModel, bank: Treebank) -> Int[Array, " W"]:
    """The model's number for every word, <unk> for those outside its vocabulary; case is kept."""
    numbers = np.array(vocabulary_of(model).encode(bank.words.names).ids, dtype=np.int64)
    found: Int[Array, " W"] = numbers[bank.words.ids]
    return found


def pair_scores(model: LanguageModel, bank: Treebank, *, workers: int | None = None) -> Scores:
    """DI of every pair of a treebank, sentence by sentence from a zero state.

    There is a thread for each of torch's by default; on CUDA there is one.
    """
    numbers = encode_words(check_model(model), bank)
    engine, places = Engine(model, space=SPACES), pair_starts(bank.lengths)
    if places[-1] >= WORTH_BUILDING:
        engine.native = trusted(model)
    engine.meet(torch.from_numpy(numbers))
    found = np.empty((2, places[-1]), dtype=np.float32)

    def compute(group: list[int]) -> None:
        sentences = [numbers[bank.starts[n] : bank.starts[n + 1]].tolist() for n in group]
        for number, matrices in zip(group, engine.pairs_by_space(sentences), strict=True):
            left, right = np.triu_indices(matrices.shape[-1], 1)
            here = slice(places[number], places[number + 1])
            found[:, here] = matrices.cpu().numpy()[:, left, right]

    count = workers or (1 if model.encoder.weight.is_cuda else torch.get_num_threads())
    with one_thread_each(count) as pool:
        list(pool.map(compute, engine.groups(bank.lengths.tolist())))
    return Scores(*found)


@torch.no_grad()
def surprisals(model: LanguageModel, bank: Treebank, *, at_once: int = 1024) -> Float[Array, " W"]:
    """-log P(word | the words before it), in nats; NaN for the first, which nothing precedes.

    What takes time is the sum over the vocabulary, which beginnings that several sentences share
    have in common.
    """
    numbers = encode_words(model, bank)
    beginning, first = _beginnings(numbers, bank)
    hidden, place = _states(model, bank, numbers), np.flatnonzero(beginning >= 0)
    totals = torch.cat(
        [_log_sum(model.decoder(hidden[some])) for some in torch.split(first, at_once)]
        or [hidden.new_empty(0)]
    )
    weight, bias, after = model.decoder.weight, model.decoder.bias, torch.from_numpy(numbers)
    found = np.full(len(numbers), np.nan, dtype=np.float32)
    for some in np.array_split(place, -(-len(place) // at_once) or 1):
        target = after[some].to(hidden.device)
        scores = (hidden[some - 1] * weight[target]).sum(dim=-1) + bias[target]
        found[some] = (totals[beginning[some]] - scores).cpu().numpy()
    return found


def _log_sum(logits: Float[Tensor, "B V"]) -> Float[Tensor, " B"]:
    """log of the sum of exp, in place: nothing else of the vocabulary's size is made."""
    highest = logits.amax(dim=-1)
    return logits.sub_(highest[:, None]).exp_().sum(dim=-1).log_().add_(highest)


def _beginnings(numbers: Int[Array, " W"], bank: Treebank) -> tuple[Int[Array, " W"], Tensor]:
    """Which beginning of a sentence precedes each word (-1: none), and where each ends first."""
    known: dict[tuple[int, int], int] = {}
    found = np.full(len(numbers), -1)
    first: list[int] = []
    tokens, starts = numbers.tolist(), bank.starts.tolist()
    for start, stop in pairwise(starts):
        before = -1
        for place in range(start + 1, stop):
            before = known.setdefault((before, tokens[place - 1]), len(known))
            if before == len(first):
                first.append(place - 1)
            found[place] = before
    return found, torch.tensor(first, dtype=torch.long)


def _states(
    model: LanguageModel, bank: Treebank, numbers: Int[Array, " W"]
) -> Float[Tensor, "W H"]:
    """The hidden state after every word, sentences of similar length together."""
    like = model.encoder.weight
    found = like.new_empty(len(numbers), model.shape.hidden)
    order = np.argsort(bank.lengths, kind="stable")
    for some in np.array_split(order, -(-len(numbers) // 4096)):
        lengths = bank.lengths[some]
        if not len(some):
            continue
        steps = np.arange(lengths.max())
        places = bank.starts[some][:, None] + np.minimum(steps, lengths[:, None] - 1)
        hidden, _ = model.rnn(model.encoder(torch.from_numpy(numbers[places]).to(like.device)))
        inside = steps < lengths[:, None]
        found[places[inside]] = hidden[torch.from_numpy(inside).to(like.device)]
    return found


def describe_words(
    model: LanguageModel, bank: Treebank, counts: Mapping[str, int] | None = None
) -> Words:
    """Frequency of every word in the text behind the model, and whether the model knows it.

    `counts` are the text's own; by default those that were stored with the model. A word outside
    the vocabulary has frequency 0.
    """
    vocabulary = vocabulary_of(model)
    if counts is None:
        if vocabulary.counts is None:
            raise ModelError(
                "this model was saved without the counts of its words; name the text that it was "
                "trained on"
            )
        counts = dict(zip(vocabulary.words, vocabulary.counts, strict=True))
    known = vocabulary.index.keys() - {UNKNOWN}
    frequency = np.array([counts.get(word, 0) * (word in known) for word in bank.words.names])
    unknown = np.array([word not in known for word in bank.words.names], dtype=np.int8)
    return Words(frequency[bank.words.ids], unknown[bank.words.ids])


def vocabulary_of(model: LanguageModel) -> Vocabulary:
    """The model's words, which reading a treebank needs."""
    if model.vocabulary is None:
        raise ModelError(
            "this model was saved without its words, so it cannot read a treebank; load it with "
            "words=..."
        )
    return model.vocabulary
