import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.decomposition import one_thread_each
from espalier.syntax import surprisal as reading
from espalier.syntax.surprisal import LogSums, SurprisalReader, surprisals
from treebanks import WORDS, banks

KNOWN = (*WORDS[:4], "<unk>")


def model(layers=1, dtype=torch.float64):
    lm = es.language_model(vocabulary_size=5, hidden=4, layers=layers, seed=1, words=KNOWN)
    return lm.to(dtype)


def one_by_one(lm, bank):
    """Each sentence alone, through the model's own forward pass."""
    found = []
    for one in bank:
        ids, _ = lm.encode(one.words)
        logits, _ = lm(ids[None])
        after = -torch.log_softmax(logits[0], dim=-1)[:-1].gather(1, ids[1:, None])[:, 0]
        found += [np.nan, *after.tolist()]
    return found


@settings(max_examples=25)
@given(banks(most=6), st.integers(1, 3), st.sampled_from([3, 4096]))
def test_surprisals_are_those_of_the_sentences_by_themselves(bank, layers, words):
    lm = model(layers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "WORDS_AT_ONCE", words)
        patch.setattr(reading, "STATES_AT_ONCE", words)
        patch.setattr(reading, "COLUMNS_AT_ONCE", words)
        np.testing.assert_allclose(surprisals(lm, bank), one_by_one(lm, bank), rtol=1e-5)


@settings(max_examples=25)
@given(banks(most=6), banks(most=6))
def test_beginnings_are_known_from_one_treebank_to_the_next(first, second):
    lm = model()
    with one_thread_each(2) as pool:
        reader = SurprisalReader(lm, pool)
        begun = [reader.begin(bank) for bank in (first, second, first)]
        for bank, one in zip((first, second, first), begun, strict=True):
            np.testing.assert_allclose(one.surprisals(), one_by_one(lm, bank), rtol=1e-5)
    assert len(begun[-1].totals[-1]) == 0  # nothing of it was new


@pytest.mark.parametrize("shift", [0.0, 200.0, -200.0, -60.0])
def test_sums_of_any_size(shift):
    lm = model(dtype=torch.float32)
    with torch.no_grad():
        lm.decoder.bias += shift
        hidden = torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
        exact = torch.logsumexp(lm.decoder.double()(hidden.double()), dim=-1)
        lm.float()
        torch.testing.assert_close(LogSums(lm).after(hidden).double(), exact, rtol=1e-6, atol=1e-6)
