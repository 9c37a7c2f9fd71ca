"""Random language models whose weights are large enough for nonlinearity to matter."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from espalier.nets.lstm import language_model

WORDS = ["<unk>", "the", "cat", "sat", "on", "mat", "and", "dog"]


def random_model(seed=0, *, hidden=6, layers=1, scale=2.0, dtype=torch.float64, **given):
    lm = language_model(vocabulary_size=8, hidden=hidden, layers=layers, words=WORDS, **given)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in lm.parameters():
            drawn = torch.randn(weights.shape, generator=generator, dtype=torch.float64)
            weights.copy_(scale * drawn / weights.shape[-1] ** 0.5)
    return lm.to(dtype).eval()


@st.composite
def models(draw):
    return random_model(
        draw(st.integers(0, 2**31)),
        hidden=draw(st.integers(1, 7)),
        layers=draw(st.integers(1, 3)),
        scale=draw(st.sampled_from([0.3, 1.0, 3.0])),
        embedding=draw(st.sampled_from([None, 3])),
    )


def sentences(least=1, most=7):
    return st.lists(st.integers(0, 7), min_size=least, max_size=most)


@st.composite
def focused(draw, least=1, most=7):
    """A sentence and a set of its places, not empty."""
    tokens = draw(sentences(least, most))
    places = st.sets(st.integers(0, len(tokens) - 1), min_size=1)
    return tokens, sorted(draw(places))
