"""DI of every two words of a treebank and surprisal, for any network.

A word may be several tokens of the network; it is then a set in focus. LSTM language models have
faster code of their own (`scores`, `surprisal`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float

from espalier.data import Parsed, Treebank
from espalier.decomposition import Asked, word_pairs
from espalier.errors import ModelError
from espalier.nets.language import AnyModel
from espalier.networks import Network, Tokens, WordTokenizer, network, plain
from espalier.syntax.reading import vocabulary_of
from espalier.syntax.scores import SPACES, Scores

Array = np.ndarray
Pieces = tuple[tuple[int, ...], ...]


def read_treebank(
    model: AnyModel | Network, bank: Treebank, *, asked: Asked | None = None
) -> tuple[Scores, Float[Array, " W"]]:
    """DI of every pair in the order (sentence, l, r), and the surprisal of every word.

    Logits are those of the last layer, whichever layer is chosen. Surprisal is in nats, NaN for a
    first word and for networks that do not predict the next token.

    >>> import espalier as es
    >>> from espalier.data import BranchingConfig, branching_corpus
    >>> bank = branching_corpus(BranchingConfig("left", sentences=20, tests=20)).bank
    >>> sizes = dict(vocabulary_size=2, hidden=4, words=["<unk>", "a"])
    >>> scores, surprisal = read_treebank(es.language_model(architecture="gru", **sizes), bank)
    >>> len(scores.hidden) == bank.pairs, len(surprisal) == len(bank.tags)
    (True, True)
    """
    asked = asked or Asked()
    net, sentences = network(model), [_read(model, parsed) for parsed in bank]
    distinct = {_key(one): one for one in sentences}
    columns = []
    for space in SPACES:
        own = replace(asked, space=space, layer=asked.layer if space == "hidden" else -1)
        every = word_pairs(net, list(distinct.values()), asked=own)
        found = {
            key: values[np.triu_indices(len(values), 1)]
            for key, values in zip(distinct, every, strict=True)
        }
        columns.append(_joined(found[_key(one)] for one in sentences))
    lost = {key: _surprisals(net, *one) for key, one in distinct.items()}
    return Scores(*columns), _joined(lost[_key(one)] for one in sentences)


def _key(sentence: tuple[Tokens, Pieces]) -> tuple[tuple[int, ...], Pieces]:
    return sentence[0].ids, sentence[1]


def _joined(parts: Iterable[Array]) -> Float[Array, " _"]:
    return np.concatenate([np.empty(0), *parts]).astype(np.float32)


def _read(model: AnyModel | Network, parsed: Parsed) -> tuple[Tokens, Pieces]:
    """A sentence in the model's tokens, and where those of each word are."""
    words = parsed.words
    alone = tuple((place,) for place in range(len(words)))
    if not isinstance(model, Network):
        encoded = vocabulary_of(model).encode_forms(words)
        return Tokens(encoded.ids, words, encoded.unknown_at), alone
    if model.tokenizer is None:
        raise ModelError(f"{model.name} has no tokenizer: it reads numbers, not a treebank's words")
    if isinstance(model.tokenizer, WordTokenizer):
        return model.read(parsed), alone
    tokens = model.read(" ".join(words))
    if tokens.spans is None:
        raise ModelError(
            f"the tokenizer of {model.name} does not say where tokens are in the text, so words "
            f"are not found in it; give a fast tokenizer"
        )
    ends = np.cumsum([len(word) + 1 for word in words])  # the space before a word belongs to it
    owner = np.searchsorted(ends, [stop for _, stop in tokens.spans], "right")
    pieces: list[list[int]] = [[] for _ in words]
    for place, ((start, stop), word) in enumerate(zip(tokens.spans, owner, strict=True)):
        if stop > start and word < len(words):  # a token without text is special
            pieces[word].append(place)
    return tokens, tuple(map(tuple, pieces))


@torch.no_grad()
def _surprisals(net: Network, tokens: Tokens, pieces: Pieces) -> Float[Array, " W"]:
    """-log P(word | the words before it) in nats, over all its tokens; NaN where not predicted."""
    found = np.full(len(pieces), np.nan)
    if not net.causal or net.outputs != net.vocabulary_size or len(tokens) < 2:
        return found
    logits = plain.logits(net, plain.run(net, net.inputs(tokens)[None])[-1])[0]
    after = torch.tensor(tokens.ids[1:], device=net.device)
    lost = -logits[:-1].log_softmax(-1).gather(1, after[:, None])[:, 0].double().cpu().numpy()
    for number, own in enumerate(pieces):
        if number and own and min(own) > 0:
            found[number] = lost[np.array(own) - 1].sum()
    return found
