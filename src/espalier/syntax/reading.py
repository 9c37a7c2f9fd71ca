"""What a language model knows of the words of a treebank before it reads them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Int

from espalier.data import ROOT, Parsed, Treebank
from espalier.errors import DataError, ModelError
from espalier.nets.language import AnyModel
from espalier.nets.lstm import LanguageModel, Vocabulary
from espalier.networks import Network
from espalier.syntax.effects import Words

Array = np.ndarray


def encode_words(model: AnyModel, bank: Treebank) -> Int[Array, " W"]:
    """The model's number for every word, <unk> for those outside its vocabulary; case is kept."""
    numbers = np.array(vocabulary_of(model).encode_forms(bank.words.names).ids, dtype=np.int64)
    found: Int[Array, " W"] = numbers[bank.words.ids]
    return found


def describe_words(
    model: AnyModel | Network, bank: Treebank, counts: Mapping[str, int] | None = None
) -> Words:
    """Frequency of every word in the text behind the model, and whether the model knows it.

    `counts` are the text's own; by default those that were stored with the model. A word outside
    the vocabulary has frequency 0.
    """
    names = bank.words.names
    counts = counts_of(model) if counts is None else counts
    if counts is None:
        raise ModelError(
            "this model was saved without the counts of its words; name the text that it was "
            "trained on"
        )
    if isinstance(model, Network):
        alone = (Parsed("", (word,), ("X",), (ROOT,), ("",)) for word in names)
        unknown = np.array([_is_unknown(model, word) for word in alone], dtype=np.int8)
    else:
        vocabulary = vocabulary_of(model)
        known = vocabulary.index.keys() - {vocabulary.unknown_word}
        unknown = np.array([word not in known for word in names], dtype=np.int8)
    frequency = np.array([counts.get(word, 0) for word in names]) * (1 - unknown)
    return Words(frequency[bank.words.ids], unknown[bank.words.ids])


def _is_unknown(net: Network, word: Parsed) -> bool:
    """Whether some of a word alone, or all of it, is not in the network's tokens."""
    try:
        return bool(net.read(word).unknown_at)
    except DataError:  # nothing of it is read
        return True


def counts_of(model: AnyModel | Network) -> dict[str, int] | None:
    """How often words occur in the text behind the model, if that was stored with it."""
    if isinstance(model, Network):
        return None
    vocabulary = vocabulary_of(model)
    counts = vocabulary.counts
    return None if counts is None else dict(zip(vocabulary.words, counts, strict=True))


def vocabulary_of(model: AnyModel) -> Vocabulary:
    """The model's words, which reading a treebank needs."""
    if model.vocabulary is None:
        raise ModelError(
            "this model was saved without its words, so it cannot read a treebank; load it with "
            "words=..."
        )
    return model.vocabulary


def threads_for(model: LanguageModel) -> int:
    """How many threads read: one for each of torch's, or one on CUDA."""
    return 1 if model.encoder.weight.is_cuda else torch.get_num_threads()
