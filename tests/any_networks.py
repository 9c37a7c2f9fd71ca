"""One small network of every architecture that can be taken apart, weights drawn by a seed."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import espalier as es
from espalier.nets.transformer import TransformerShape, random_transformers

WORDS = ["<unk>", "the", "dog", "chased", "cat", ".", "It", "ran", "a", "The"]
RECURRENT = {
    "lstm": (nn.LSTM, {"num_layers": 2, "dropout": 0.3}),
    "lstm-no-bias": (nn.LSTM, {"bias": False}),
    "lstm-projected": (nn.LSTM, {"num_layers": 2, "proj_size": 5}),
    "lstm-both-ways": (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    "gru": (nn.GRU, {"num_layers": 2}),
    "gru-both-ways": (nn.GRU, {"bidirectional": True}),
}
TRANSFORMERS = ["gpt2", "llama", "qwen2", "mistral", "bert", "roberta"]
OWN = ["encoder", "encoder-causal", "trained", "trained-absolute", "compiled", "unequal-widths"]
KINDS = [*RECURRENT, *TRANSFORMERS, *OWN]
SEEDS = [*(kind for kind in KINDS if kind != "mistral"), "mistral"]  # new ones come last


class Recurrent(nn.Module):
    def __init__(self, kind, *, tied=False, **given):
        super().__init__()
        self.emb, self.drop = nn.Embedding(10, 8), nn.Dropout(0.5)
        self.rnn = kind(8, 8, batch_first=True, **given)
        width = given.get("proj_size") or 8 * (1 + given.get("bidirectional", False))
        self.out = nn.Linear(width, 10)
        if tied:
            self.out.weight = self.emb.weight

    def forward(self, tokens, state=None):
        return self.out(self.drop(self.rnn(self.drop(self.emb(tokens)), state)[0]))


class UnequalWidths(nn.Module):
    """As AWD-LSTM has them: an LSTM for each layer, wide in the middle."""

    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(10, 6), nn.Linear(6, 10)
        self.rnns = nn.ModuleList([nn.LSTM(6, 9), nn.LSTM(9, 6)])
        self.out.weight = self.emb.weight

    def forward(self, tokens):
        x = self.emb(tokens)
        for rnn in self.rnns:
            x = rnn(x)[0]
        return self.out(x)


class Encoder(nn.Module):
    def __init__(self, *, causal):
        super().__init__()
        self.causal, self.emb = causal, nn.Embedding(10, 8)
        self.pos = nn.Parameter(torch.randn(16, 8))
        layer = nn.TransformerEncoderLayer(
            8, 2, 12, batch_first=not causal, norm_first=causal, activation="gelu"
        )
        norm = nn.LayerNorm(8) if causal else None
        self.enc = nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
        self.out = nn.Linear(8, 10)

    def forward(self, tokens):
        size = tokens.shape[0 if self.causal else 1]
        mask = nn.Transformer.generate_square_subsequent_mask(size) if self.causal else None
        places = self.pos[:size]
        places = places[:, None] if self.causal else places
        return self.out(self.enc(3 * self.emb(tokens) + places, mask=mask))


def module(kind):
    """The module itself."""
    torch.manual_seed(SEEDS.index(kind))
    if kind in RECURRENT:
        maker, given = RECURRENT[kind]
        return Recurrent(maker, **given)
    if kind in TRANSFORMERS:
        return _pretrained(kind)
    match kind:
        case "unequal-widths":
            return UnequalWidths()
        case "encoder" | "encoder-causal":
            return Encoder(causal=kind == "encoder-causal")
        case "compiled":
            program = es.zoo.load("parity-sequential-relative").program
            return es.compile_program(program).fixed_depth(3)
    places = "absolute" if kind == "trained-absolute" else "relative"
    shape = TransformerShape(
        vocabulary=10, outputs=4, width=8, hidden=12, heads=2, head_width=4, layers=2,
        positions=places, shared=kind == "trained",
    )  # fmt: skip
    return SimpleNamespace(shape=shape, weights=random_transformers(shape, [3]))


def _pretrained(kind):
    transformers = pytest.importorskip("transformers")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    sizes = {
        "vocab_size": 10, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
        "num_attention_heads": 4, "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0,
    }  # fmt: skip
    match kind:
        case "gpt2":
            config = transformers.GPT2Config(
                vocab_size=10, n_embd=8, n_layer=2, n_head=2, n_positions=16,
                bos_token_id=None, eos_token_id=None,
            )  # fmt: skip
            return _drawn(transformers.GPT2LMHeadModel(config))
        case "llama":
            config = transformers.LlamaConfig(**sizes, num_key_value_heads=2)
            return _drawn(transformers.LlamaForCausalLM(config))
        case "qwen2":
            config = transformers.Qwen2Config(**sizes, num_key_value_heads=2)
            return _drawn(transformers.Qwen2ForCausalLM(config))
        case "mistral":  # which sees three positions, itself included
            config = transformers.MistralConfig(**sizes, num_key_value_heads=2, sliding_window=3)
            return _drawn(transformers.MistralForCausalLM(config))
        case "bert":
            return _drawn(transformers.BertForMaskedLM(transformers.BertConfig(**sizes)))
    return _drawn(transformers.RobertaForMaskedLM(transformers.RobertaConfig(**sizes)))


def _drawn(model):
    """Larger weights than those to begin training with, biases that are not zero."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            size = 0.5 if weights.ndim > 1 else 0.2
            near = 1.0 if "norm" in name.lower() or "ln_" in name else 0.0
            weights.copy_(size * torch.randn(weights.shape) + near * (weights.ndim == 1))
    return model


def tokens_for(kind):
    return [2, 1, 0, 1, 1] if kind == "compiled" else [1, 2, 3, 1, 4]


def gpt2_folder(path, *, tokenizer=True):
    """A small GPT-2 as `save_pretrained` writes it, with a tokenizer of pieces of words."""
    transformers, tokenizers = map(pytest.importorskip, ("transformers", "tokenizers"))
    logging.getLogger("transformers").setLevel(logging.ERROR)
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(["the cat sat on the mat and the student asked a dog"] * 9, trainer)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=made.get_vocab_size(), n_embd=8, n_layer=2, n_head=2, n_positions=256,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    _drawn(transformers.GPT2LMHeadModel(config)).save_pretrained(path)
    if tokenizer:
        transformers.PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(path)
    return path
