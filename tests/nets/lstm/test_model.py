import contextlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from espalier.errors import FileError, ModelError
from espalier.nets.lstm import Vocabulary, language_model, load_language_model, save_language_model


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 7), st.integers(0, 2**31))
def test_states_end_in_what_nn_lstm_gives(layers, hidden, steps, seed):
    lm = language_model(vocabulary_size=9, hidden=hidden, layers=layers, seed=seed).double()
    tokens = torch.randint(9, (2, steps))
    state = tuple(torch.randn(layers, 2, hidden, dtype=torch.float64) for _ in range(2))
    seen, (last, cell) = lm.read(tokens, state)
    states = lm.states(tokens, state)
    assert_close(states.hidden[-1], seen)
    assert_close(states.hidden[:, :, -1], last)
    assert_close(states.cell[:, :, -1], cell)
    assert_close(states.hidden, states.output_gate * torch.tanh(states.cell))


def test_the_seed_decides_the_weights_and_nothing_else_does():
    torch.manual_seed(5)
    one = language_model(vocabulary_size=9, hidden=4, seed=3)
    drawn = torch.rand(1)
    torch.manual_seed(6)
    two = language_model(vocabulary_size=9, hidden=4, seed=3)
    other = language_model(vocabulary_size=9, hidden=4, seed=4)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(one.encoder.weight, other.encoder.weight)
    assert one.encoder.weight.abs().max() <= 0.1
    assert not one.decoder.bias.any()
    torch.manual_seed(5)
    language_model(vocabulary_size=9, hidden=4, seed=7)
    assert drawn.shape == (1,)


@pytest.mark.parametrize("tied", [False, True])
def test_saving_and_loading_gives_the_same_model(tmp_path, tied):
    words = ["the", "cat", "<unk>", "sat"]
    lm = language_model(vocabulary_size=4, hidden=6, layers=2, tied=tied, dropout=0.3, words=words)
    save_language_model(lm, tmp_path / "model.safetensors")
    back = load_language_model(tmp_path / "model")
    assert back.shape == lm.shape
    assert back.vocabulary == lm.vocabulary
    assert (back.decoder.weight is back.encoder.weight) == tied
    tokens, unknown = back.encode(["the", "dog", "sat"])
    assert tokens.tolist() == [0, 2, 3]
    assert unknown == 1
    assert_close(back(tokens[None])[0], lm.eval()(tokens[None])[0])


@pytest.mark.parametrize("tied", [False, True])
def test_a_word_language_model_from_outside(tmp_path, tied):
    class RNNModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = torch.nn.Embedding(8, 5)
            self.rnn = torch.nn.LSTM(5, 5, 2, dropout=0.2)
            self.decoder = torch.nn.Linear(5, 8)
            if tied:
                self.decoder.weight = self.encoder.weight

        def forward(self, tokens):
            return self.decoder(self.rnn(self.encoder(tokens))[0])

    outside = RNNModel().eval()
    torch.save(outside.state_dict(), tmp_path / "model.pt")
    tokens = torch.randint(8, (3, 6))
    for source in (outside, outside.state_dict(), tmp_path / "model.pt"):
        lm = load_language_model(source, words=list("abcdefgh"))
        assert lm.shape.layers == 2
        assert lm.vocabulary == Vocabulary(tuple("abcdefgh"))
        assert_close(lm(tokens)[0], outside(tokens.T).transpose(0, 1))


def test_refusals_name_the_culprit(tmp_path):
    with pytest.raises(ModelError, match="hidden is 0"):
        language_model(vocabulary_size=9, hidden=0)
    with pytest.raises(ModelError, match="embedding is 3, hidden is 4"):
        language_model(vocabulary_size=9, hidden=4, embedding=3, tied=True)
    with pytest.raises(ModelError, match="2 words, but vocabulary_size is 9"):
        language_model(vocabulary_size=9, hidden=4, words=["a", "b"])
    with pytest.raises(ModelError, match="'a' twice"):
        Vocabulary(("a", "b", "a"))
    lm = language_model(vocabulary_size=9, hidden=4)
    with pytest.raises(ModelError, match="token 9 is outside the vocabulary"):
        lm.encode([9])
    with pytest.raises(ModelError, match="saved without its words"):
        lm.encode(["a"])
    gru = {"rnn.weight_ih_l0": torch.zeros(12, 4), "rnn.weight_hh_l0": torch.zeros(12, 4)}
    rest = {"encoder.weight": torch.zeros(9, 4), "decoder.bias": torch.zeros(9)}
    with pytest.raises(ModelError, match="GRU"):
        load_language_model(gru | rest)
    with pytest.raises(ModelError, match=r"lacks encoder\.weight"):
        load_language_model({"wte.weight": torch.zeros(2, 2)})
    with torch.no_grad():
        lm.decoder.bias[2] = float("nan")
    with pytest.raises(ModelError, match=r"'decoder\.bias' holds nan at"):
        load_language_model(lm)
    (tmp_path / "broken.safetensors").write_bytes(b"\x20\x00\x00\x00\x00\x00\x00\x00{}")
    with pytest.raises(FileError, match="not a safetensors file"):
        load_language_model(tmp_path / "broken")
    with pytest.raises(FileError, match="there is no model at"):
        load_language_model(tmp_path / "epoch-3")
    with contextlib.chdir(tmp_path), pytest.raises(FileError, match="holds no checkpoint"):
        load_language_model(".")
    with pytest.raises(FileError, match="holds no checkpoint"):
        load_language_model(tmp_path)
