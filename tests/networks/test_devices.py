"""Networks are decomposed on their own device: on torch's device that has shapes and no numbers."""

from dataclasses import replace

import pytest
import torch

import espalier as es
from any_networks import module
from espalier.decomposition import (
    AttentionRollout,
    ConditionalPMI,
    GradientInput,
    InteractionIndex,
    Linearised,
    Occlusion,
    PerturbedMasking,
    Rules,
    Shapley,
)
from espalier.decomposition.attribution import Reader, contributions, interactions
from espalier.decomposition.network_parts import divide, pair_parts
from espalier.networks import Recurrent

THERE = torch.device("meta")
KINDS = ["lstm-projected", "gru-both-ways", "gpt2", "llama", "bert", "trained", "compiled"]
WORDS = [1, 2, 1]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def elsewhere(kind):
    """The network where mixing devices is an error and nothing is computed."""
    net = es.network(module(kind))
    width = net.inputs(net.read(WORDS)).shape[-1]

    def embed(tokens):
        assert tokens.device == THERE
        return torch.empty(*tokens.shape, width, device=THERE)

    return replace(net.to(THERE), embed=embed)


def test_parts_and_pairs_stay_on_the_device(kind, elsewhere):
    net, tokens = elsewhere, elsewhere.read(WORDS)
    inputs = net.inputs_of([tokens, tokens])
    focus = torch.eye(3, dtype=torch.bool, device=THERE)
    rules = Rules(attention=Linearised(), activation=Shapley())
    found = divide(net, inputs, focus, rules=rules)
    assert found.relevant.device == found.whole.device == THERE
    for part in pair_parts(net, inputs, rules=rules, logits=True):
        assert part.device == THERE


def test_other_methods_stay_on_the_device(kind, elsewhere, monkeypatch):
    net, tokens = elsewhere, elsewhere.read(WORDS)
    reader = Reader(net, tokens, layer=-1, logits=False)
    focus = torch.eye(3, dtype=torch.bool, device=THERE)
    methods = [Occlusion(), GradientInput()]
    for method in methods if isinstance(net.body, Recurrent) else [*methods, AttentionRollout()]:
        assert contributions(reader, focus, method)[0].device == THERE
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x: torch.zeros(x.shape))
    for pair in (Occlusion(), InteractionIndex(), PerturbedMasking(token=1), ConditionalPMI()):
        if not isinstance(pair, ConditionalPMI) or net.outputs == net.vocabulary_size:
            interactions(reader, tokens, pair)


def test_a_network_says_where_it_is():
    net = es.network(module("gru"))
    there = es.network(net, device="meta")
    assert (net.device.type, there.device.type) == ("cpu", "meta")
    assert there.double().device == THERE
    assert net.double() is net.double()


def test_layers_are_compared_as_they_are_written(monkeypatch):
    """torch's fast path for encoder layers has another GELU on CUDA."""

    def fast(*given, **more):
        raise AssertionError("the fast path was taken")

    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", fast)
    ours = es.language_model(vocabulary_size=9, hidden=8, heads=2, architecture="transformer")
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)
    body = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    with torch.no_grad():
        ours(torch.tensor([[1, 2, 3]]))
        with pytest.raises(AssertionError, match="fast path"):
            body(torch.randn(1, 3, 8))
    es.network(ours)
    module = Whole(body)
    es.network(module, causal=False)
    assert torch.backends.mha.get_fastpath_enabled()


class Whole(torch.nn.Module):
    """Embedding, body and decoder in one."""

    def __init__(self, body):
        super().__init__()
        self.embedding, self.body = torch.nn.Embedding(9, 8), body
        self.decoder = torch.nn.Linear(8, 9)

    def forward(self, tokens):
        return self.decoder(self.body(self.embedding(tokens)))
