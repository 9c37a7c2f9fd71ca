"""DI of every pair of a treebank's words at every layer of a GRU or a Transformer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from espalier.data import Treebank, pair_starts
from espalier.decomposition import layer_pairs
from espalier.nets.language import AnyModel
from espalier.networks import network
from espalier.syntax.reading import encode_words
from espalier.syntax.scores import Scores


def layer_scores(model: AnyModel, bank: Treebank) -> dict[int, Scores]:
    """Scores by layer, from 1; each has the logits of the last. Equal sentences are read once.

    >>> import espalier as es
    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> bank = branching_corpus(BranchingConfig("left", sentences=20, tests=20)).bank
    >>> sizes = dict(vocabulary_size=2, hidden=4, words=["<unk>", "a"])
    >>> found = layer_scores(es.language_model(architecture="gru", **sizes), bank)
    >>> len(found[1].hidden) == bank.pairs
    True
    """
    net, numbers = network(model), encode_words(model, bank)
    places = pair_starts(bank.lengths)
    hidden = np.empty((net.layers, places[-1]), dtype=np.float32)
    logits = np.empty(places[-1], dtype=np.float32)
    alike: dict[tuple[int, ...], list[int]] = {}
    for number, (start, stop) in enumerate(pairwise(bank.starts)):
        alike.setdefault(tuple(numbers[start:stop].tolist()), []).append(number)
    for length in {len(words) for words in alike}:
        some = [words for words in alike if len(words) == length]
        left, right = np.triu_indices(length, 1)
        found, shown = (part.numpy() for part in layer_pairs(net, torch.tensor(some)))
        for place, words in enumerate(some):
            for number in alike[words]:
                here = slice(places[number], places[number + 1])
                hidden[:, here] = found[:, place, left, right]
                logits[here] = shown[place, left, right]
    return {layer: Scores(values, logits) for layer, values in enumerate(hidden, start=1)}
