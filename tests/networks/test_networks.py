"""Every network goes through both calls, and unsupported modules are refused by name."""

from functools import cache

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import espalier as es
from any_networks import KINDS, WORDS, Encoder, Recurrent, module, tokens_for
from espalier.decomposition import (
    ALTI,
    AttentionRollout,
    ConditionalPMI,
    GradientInput,
    IntegratedGradients,
    InteractionIndex,
    Occlusion,
    PerturbedMasking,
)
from espalier.errors import ConfigError, DataError, ModelError
from espalier.nets.transformer import encode, read_out
from espalier.networks import plain

METHODS = [Occlusion(), GradientInput(), IntegratedGradients(8), AttentionRollout(), ALTI()]
INTERACTIONS = [Occlusion(), InteractionIndex(), ConditionalPMI(), PerturbedMasking(token=1)]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@cache
def network_of(kind):
    return es.network(module(kind))


@pytest.fixture
def net(kind):
    return network_of(kind)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: type(one).__name__)
def test_other_attributions_are_parts_too(kind, net, method):
    if isinstance(method, AttentionRollout | ALTI) and not hasattr(net.body, "final"):
        with pytest.raises(ModelError, match="no attention to roll out"):
            es.decompose(net, tokens_for(kind), focus=[1], method=method)
        return
    parts = es.decompose(net, tokens_for(kind), focus=[1, 2], method=method)
    assert parts.error < 1e-5
    every = es.decompose(net, tokens_for(kind), focus=range(5), method=method)
    alone = [es.decompose(net, tokens_for(kind), focus=[n], method=method) for n in range(5)]
    if not isinstance(method, Occlusion):  # all others add up over words
        assert_close(sum(one.relevant for one in alone), every.relevant, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", INTERACTIONS, ids=lambda one: type(one).__name__)
def test_other_interactions_are_matrices_too(kind, net, method):
    if isinstance(method, ConditionalPMI) and net.outputs != net.vocabulary_size:
        with pytest.raises(ModelError, match="they have no conditional PMI"):
            es.interdependence(net, tokens_for(kind), method=method)
        return
    found = es.interdependence(net, tokens_for(kind), method=method)
    assert found.values.shape == (5, 5)
    assert found.undefined <= 10
    with pytest.raises(ConfigError, match="add up over words"):
        es.interdependence(net, tokens_for(kind), method=GradientInput())


def test_states_are_those_of_transformers():
    model = module("llama").eval()
    net, tokens = es.network(model), torch.tensor([[1, 2, 3, 4, 5]])
    found = plain.run(net, net.embed(tokens))
    with torch.no_grad():
        wanted = model(tokens, output_hidden_states=True).hidden_states
    for ours, theirs in zip(found, wanted, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["trained", "trained-absolute"])
def test_states_are_those_of_transformers_trained_here(kind):
    given, tokens = module(kind), torch.tensor([[1, 2, 3, 1, 4]])
    net = es.network(given)
    lengths = torch.tensor([[5]])
    wanted = read_out(
        given.weights, encode(given.weights, given.shape, tokens[None], lengths=lengths).stream
    )
    found = plain.logits(net, plain.run(net, net.embed(tokens))[-1])
    assert_close(found, wanted[0], rtol=1e-4, atol=1e-5)


def test_bare_bodies_take_what_is_around_them():
    around = {"embedding": nn.Embedding(10, 8), "decoder": nn.Linear(8, 10)}
    for body in (nn.LSTM(8, 8), nn.GRU(8, 8), Encoder(causal=False).enc):
        causal = False if isinstance(body, nn.TransformerEncoder) else None
        net = es.network(body, tokenizer=WORDS, causal=causal, **around)
        assert es.decompose(net, "The dog ran.", focus=["dog"]).error < 1e-5
        with pytest.raises(ModelError, match="needs what is around it"):
            es.network(body)
    with pytest.raises(ModelError, match="say whether the encoder is run with a causal mask"):
        es.network(Encoder(causal=False).enc, **around)


def test_lstms_give_the_numbers_that_they_give_as_language_models():
    lm = es.english_model()
    words = ["the", "city", "of", "London"]
    one, two = es.decompose(lm, words, focus=[1]), es.decompose(es.network(lm), words, focus=[1])
    assert_close(one.relevant, two.relevant, rtol=1e-4, atol=1e-6)
    pairs = es.interdependence(es.network(lm), "the city of London")
    np.testing.assert_array_equal(pairs.values, es.interdependence(lm, words).values)
    assert es.network(Recurrent(nn.LSTM, tied=True)).lstm.shape.tied


def test_what_cannot_be_decomposed_is_refused_by_name():
    class Between(Recurrent):
        def forward(self, tokens):
            return self.out(torch.tanh(self.rnn(self.emb(tokens))[0]))

    with pytest.raises(ModelError, match=r"Between: its own logits .* does something else"):
        es.network(Between(nn.GRU))
    net = Recurrent(nn.GRU)
    net.out = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(3), nn.Linear(8, 10))
    with pytest.raises(ModelError, match=r"out\.1 cannot be decomposed: a BatchNorm1d"):
        es.network(net.eval())
    convolution = nn.Sequential(nn.Embedding(10, 8), nn.Conv1d(8, 8, 3))
    with pytest.raises(ModelError, match=r"Sequential: it has no part .* Conv1d"):
        es.network(convolution)
    with pytest.raises(ModelError, match="give it a depth"):
        es.network(es.compile_program(es.zoo.load("parity-sequential-relative").program))
    with pytest.raises(ModelError, match="float32 or float64"):
        es.network(Recurrent(nn.LSTM).half())
    with pytest.raises(ConfigError, match="layer is 7"):
        es.decompose(es.network(Recurrent(nn.GRU)), [1, 2], focus=[0], layer=7)
    with pytest.raises(DataError, match="no tokenizer"):
        es.decompose(es.network(Recurrent(nn.GRU)), "the dog", focus=[0])


def test_a_block_with_more_in_it_is_refused_by_the_name_of_the_module():
    model = module("llama")
    model.model.layers[0].self_attn.q_norm = nn.LayerNorm(2)
    with pytest.raises(ModelError, match=r"LlamaAttention has q_norm \(LayerNorm\)"):
        es.network(model)


def test_reading_a_network_writes_no_tensor_as_text(monkeypatch):
    """Which took a quarter of the time of a treebank."""
    monkeypatch.setattr(torch.Tensor, "__repr__", lambda _: pytest.fail("a tensor became text"))
    net = es.network(es.language_model(vocabulary_size=9, hidden=4, architecture="gru"))
    assert net.embed(torch.tensor([[1, 2, 3]])).shape == (1, 3, 4)
