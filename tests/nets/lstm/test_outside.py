"""A model from outside is used whole, or refused for what would be left out."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from espalier.errors import ModelError
from espalier.nets.lstm import Vocabulary, load_language_model


class Outside(nn.Module):
    """Embedding, LSTM and linear layer under names of its own; `between` is applied before it."""

    def __init__(self, *, between=None, scale=1.0, bias=True, flat=False, **rnn):
        super().__init__()
        self.emb, self.drop = nn.Embedding(8, 5), nn.Dropout(0.5)
        self.lstm = nn.LSTM(5, 5, bias=bias, **rnn)
        width = rnn.get("proj_size") or 5 * (1 + rnn.get("bidirectional", False))
        self.out = nn.Linear(width, 8, bias=bias)
        self.between, self.scale, self.flat = between, scale, flat

    def forward(self, tokens, state=None):
        hidden, _ = self.lstm(self.drop(self.emb(tokens) * self.scale), state)
        logits = self.out(hidden if self.between is None else self.between(hidden))
        return logits.log_softmax(-1).flatten(0, 1) if self.flat else (logits, state)


@pytest.mark.parametrize("given", [{}, {"bias": False}, {"num_layers": 2}, {"flat": True}])
@pytest.mark.parametrize("batch_first", [False, True])
def test_other_names_missing_biases_and_layouts_get_in(given, batch_first):
    module = Outside(batch_first=batch_first, **given)
    lm = load_language_model(module, words={f"w{7 - n}": 7 - n for n in range(8)})
    assert module.training  # as it was
    tokens = torch.randint(8, (3, 6))
    hidden, _ = module.eval().lstm(module.emb(tokens if batch_first else tokens.T))
    logits = module.out(hidden)
    assert_close(lm(tokens)[0], logits if batch_first else logits.transpose(0, 1))
    assert lm.vocabulary.decode([0, 7]) == ["w0", "w7"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"between": nn.LayerNorm(5)}, r"between\.bias.* would be left out; .* of a LayerNorm"),
        ({"between": nn.Linear(5, 5)}, "two modules for the decoder, 'out' and 'between'"),
        ({"between": nn.Tanh()}, "its forward does something else besides"),
        ({"scale": 3.0}, "logits on random tokens are off by"),
        ({"bidirectional": True}, "second direction"),
        ({"proj_size": 3}, "projection"),
    ],
)
def test_what_would_be_left_out_is_named(given, message):
    with pytest.raises(ModelError, match=f"^Outside: .*{message}"):
        load_language_model(Outside(**given))


def test_a_state_dict_is_refused_with_a_renaming_or_for_what_it_is():
    state = Outside().state_dict()
    wanted = r"Rename emb.weight to encoder.weight, lstm. to rnn., out. to decoder.\?"
    with pytest.raises(ModelError, match=wanted):
        load_language_model(state)
    names = {"emb": "encoder", "lstm": "rnn", "out": "decoder"}
    renamed = {names[k.split(".")[0]] + k[k.index(".") :]: v for k, v in state.items()}
    load_language_model(renamed)
    with pytest.raises(ModelError, match=r"left out: norm\.weight"):
        load_language_model(renamed | {"norm.weight": torch.ones(5)})
    with pytest.raises(ModelError, match=r"decoder\.weight is \(8, 4\); \(8, 5\) is expected"):
        load_language_model(renamed | {"decoder.weight": torch.ones(8, 4)})
    unequal = {f"rnns.{n}.{k}": v for n in (0, 1) for k, v in nn.LSTM(5, 5).state_dict().items()}
    with pytest.raises(ModelError, match=r"rnns\.0, rnns\.1 are LSTMs of their own"):
        load_language_model(unequal | {"encoder.weight": torch.ones(8, 5)})


def test_words_are_read_by_number_and_unknown_ones_by_any_common_name():
    words = Vocabulary.of({"b": 1, "a": 0, "[UNK]": 2})
    assert words.words == ("a", "b", "[UNK]")
    encoded = words.encode(["b", "zebra", 0, "yak"])
    assert encoded.ids == (1, 2, 0, 2)
    assert encoded.unknown_at == (1, 3)
    with pytest.raises(ModelError, match="no word has the number 1 \\('b' has 2\\)"):
        Vocabulary.of({"a": 0, "b": 2})
    with pytest.raises(ModelError, match="are word pieces, such as '##ing'"):
        Vocabulary.of(["[UNK]", "walk", "##ing"])
    with pytest.raises(ModelError, match="'the cat' is empty or has white space"):
        words.encode(["the cat"])
