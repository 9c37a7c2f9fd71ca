import json

import pytest
import torch

import espalier as es
from espalier.nets.language.files import ENGLISH as PACKAGED
from espalier.nets.lstm import Vocabulary, load_language_model, save_language_model
from espalier.nets.lstm.files import ENGLISH, read_tensors


def test_the_english_model_is_small_and_half_precise_and_knows_its_words():
    assert ENGLISH.stat().st_size <= 8_000_000
    tensors, metadata = read_tensors(ENGLISH)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    model = es.english_model()
    assert (model.shape.hidden, model.shape.tied, len(model.vocabulary)) == (300, True, 10_000)
    assert json.loads(metadata["counts"]) == list(model.vocabulary.counts)
    assert model.vocabulary.counts[model.vocabulary.index["the"]] == 113_161
    assert "CC BY-SA" in (ENGLISH.parent / "README.md").read_text()


def test_the_transformer_beside_it_has_the_same_words_and_both_are_small():
    assert sum(file.stat().st_size for file in PACKAGED.values()) <= 12_000_000
    tensors, _ = read_tensors(PACKAGED["transformer"])
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    model = es.english_model("transformer")
    assert (model.shape.hidden, model.shape.layers, model.shape.tied) == (120, 4, True)
    assert model.vocabulary == es.english_model().vocabulary
    assert "CC BY-SA" in (PACKAGED["transformer"].parent / "README.md").read_text()
    with pytest.raises(es.ModelError, match="brings no 'grru' of English"):
        es.english_model("grru")


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_it_has_learnt_english(architecture):
    model = es.english_model(architecture)
    words = ["The", "city", "is", "located", "in", "the", "north", "of", "the"]
    read = model.vocabulary.encode(words)
    logits, _ = model(torch.tensor([read.ids]))
    likely = model.vocabulary.decode(logits[0, -1].topk(20).indices.tolist())
    assert not read.unknown_at
    assert {"city", "river"} & set(likely)
    assert not {"is", "located", "the", "of"} & set(likely)


def test_what_is_saved_in_half_precision_is_read_in_single(tmp_path):
    words = Vocabulary(("a", "<unk>"), (3, 4))
    model = es.language_model(vocabulary_size=2, hidden=3, words=words, tied=True)
    save_language_model(model, tmp_path / "half.safetensors", dtype=torch.float16)
    again = load_language_model(tmp_path / "half.safetensors")
    assert again.vocabulary == words
    for name, weights in model.named_parameters():
        found = again.get_parameter(name)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, weights, rtol=1e-3, atol=1e-4)
    with pytest.raises(es.ModelError, match="2 words have 1 counts"):
        Vocabulary(("a", "b"), (1,))
