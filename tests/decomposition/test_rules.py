"""What every rule conserves, on every Transformer; short ways are their definitions."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import espalier as es
from any_networks import OWN, RECURRENT, TRANSFORMERS, Recurrent, module, tokens_for
from espalier.decomposition import (
    AsPrinted,
    BiasApart,
    Difference,
    Frozen,
    Generalised,
    IntegratedGradients,
    Linearised,
    Papers,
    RelevantOnly,
    Rules,
    Shapley,
    SharedBias,
    Slope,
    ZeroOpposites,
)
from espalier.decomposition.network_parts import divide, pair_parts
from espalier.errors import ConfigError
from espalier.networks import plain

KINDS = [*TRANSFORMERS, *OWN[:-1]]
ATTENTION = [Frozen(), Linearised(), RelevantOnly()]
ACTIVATION = [Difference(), Slope(), Shapley()]
BIAS = [SharedBias(), BiasApart()]
EVERY = [Rules(a, f, b) for a, f, b in product(ATTENTION, ACTIVATION, BIAS)]
EVERY += [Rules(bias=b, opposites=ZeroOpposites()) for b in BIAS]
FOCUS = torch.tensor([[0, 1, 0, 0, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool()


@cache
def given(kind, dtype=torch.float32):
    net = es.network(module(kind))
    net = net if dtype == torch.float32 else net.double()
    return net, net.inputs(net.read(tokens_for(kind)))


def total(parts):
    found = parts.relevant + parts.irrelevant
    return found if parts.bias is None else found + parts.bias


@pytest.mark.parametrize("kind", KINDS)
def test_parts_sum_to_the_whole_by_every_rule(kind):
    net, inputs = given(kind)
    whole = plain.run(net, inputs[None])[-1][0]
    logits = plain.logits(net, whole, bias=False)
    for rules in EVERY:
        for found, true in (
            (divide(net, inputs, FOCUS, rules=rules), whole),
            (divide(net, inputs, FOCUS, rules=rules, logits=True), logits),
        ):
            off = (total(found) - true).norm(dim=-1)
            # Of parts that are larger than the whole, rounding is of the parts.
            size = torch.maximum(true.norm(dim=-1), found.relevant.norm(dim=-1))
            assert bool((off <= 1e-5 * size).all()), rules
            assert_close(found.whole, true, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "compiled"])
def test_what_each_rule_conserves(kind):
    net, inputs = given(kind, torch.float64)
    one, other = FOCUS[:1], FOCUS[1:2]

    def relevant(focus, **rules):
        return divide(net, inputs, focus, rules=Rules(**rules)).relevant[0]

    linear = {"activation": Slope(), "bias": BiasApart()}  # with attention frozen: all is linear
    assert_close(
        relevant(one | other, **linear), relevant(one, **linear) + relevant(other, **linear)
    )
    alike = divide(net, inputs, one, rules=Rules(activation=Shapley(), bias=BiasApart()))
    swapped = divide(net, inputs, ~one, rules=Rules(activation=Shapley(), bias=BiasApart()))
    assert_close(alike.relevant, swapped.irrelevant)
    for rules in EVERY:
        found = divide(net, inputs, FOCUS[3:], rules=rules)
        if not isinstance(rules.attention, RelevantOnly):  # a softmax of nothing is uniform
            assert found.relevant.abs().max() < 1e-12  # no focus, nothing relevant
        left = divide(net, inputs, FOCUS, rules=rules, carry=False)
        assert_close(left.relevant, divide(net, inputs, FOCUS, rules=rules).relevant)


def test_linearised_attention_is_the_derivative_where_all_else_is_linear():
    net, inputs = given("compiled", torch.float64)
    attention = net.body.layers[0][0]
    generator = torch.Generator().manual_seed(0)
    inputs = 0.1 * torch.randn(inputs.shape, generator=generator, dtype=torch.float64)
    body = type(net.body)(((attention,),))
    only = type(net)(net.name, net.embed, body, net.head, net.vocabulary_size)
    found = divide(only, inputs, FOCUS[:2], rules=Rules(attention=Linearised(), bias=BiasApart()))
    directions = FOCUS[:2].unsqueeze(-1) * inputs
    wanted = torch.autograd.functional.jvp(
        lambda x: plain.run(only, x)[-1], inputs.expand_as(directions), directions
    )[1]
    assert_close(found.relevant, wanted)


ALLOCATIONS = [Papers(), AsPrinted(), Generalised(split_output=True, bias_bias="always")]
GATES = [Rules(gates=one) for one in ALLOCATIONS]
PAIRED = dict.fromkeys(["gpt2", "llama", "encoder-causal", "bert"], EVERY)
PAIRED |= dict.fromkeys([*RECURRENT, "unequal-widths"], GATES)


@pytest.mark.parametrize("kind", PAIRED)
def test_all_pairs_of_several_sentences_are_the_definition(kind):
    """Whether or not there is a short way, and however much fits at once."""
    net = given(kind, torch.float64)[0]
    every = net.embed(torch.tensor([[1, 2, 3, 1, 4], [5, 5, 2, 8, 9]])).double()
    left, right = torch.triu_indices(5, 5, 1)
    ones = torch.eye(5, dtype=torch.bool)
    upper = ones.logical_not().triu() | ones
    for rules in PAIRED[kind]:
        both = pair_parts(net, every, rules=rules)
        for joint, alone, inputs in zip(*both, every, strict=True):
            singles = divide(net, inputs, ones, rules=rules).relevant
            assert_close(alone[upper], singles[upper])
            pairs = divide(net, inputs, ones[left] | ones[right], rules=rules).relevant
            assert_close(joint[left, right], pairs[torch.arange(10), right])


def test_a_list_of_sentences_gives_what_each_gives():
    for kind in ("gpt2", "bert", "gru"):
        net = es.network(module(kind))
        given = [[1, 2, 3], [4, 5], [6], [7, 8, 9]]
        for together, alone in zip(es.interdependence(net, given), given, strict=True):
            wanted = es.interdependence(net, alone)
            assert together.words == wanted.words
            np.testing.assert_allclose(together.values, wanted.values, rtol=1e-3, atol=1e-6)


def test_memory_changes_no_number(monkeypatch):
    for kind in ("gpt2", "bert", "gru"):
        net = es.network(module(kind))
        wanted = es.interdependence(net, tokens_for(kind)).values
        with monkeypatch.context() as patch:
            patch.setattr("espalier.decomposition.network_parts.AT_ONCE", 1)
            found = es.interdependence(net, tokens_for(kind)).values
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_small_interactions_are_computed_in_double():
    model = Recurrent(nn.GRU)
    with torch.no_grad():
        model.emb.weight.mul_(1e-4)
    pairs = es.interdependence(es.network(model), [1, 2, 3, 4, 5])
    assert np.nanmin(pairs.values) < 1e-3
    assert pairs.error < 1e-3


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def three(s, a, b, c):
    """Shapley values of a and b, the bias c first."""
    relevant = (s(a + c) - s(c) + s(a + b + c) - s(b + c)) / 2
    return relevant, s(a + b + c) - s(c) - relevant, s(c)


def gru_reference(rnn, inputs, focus):
    """The relevant state after each step, one sum of products at a time."""
    weights = {name: p.detach().numpy() for name, p in rnn.named_parameters()}
    (w_r, w_z, w_n), (v_r, v_z, v_n), (b_r, b_z, b_n), (c_r, c_z, c_n) = (
        np.split(weights[f"{name}_l0"], 3)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h_r = h_i = np.zeros(len(b_r))
    found = []
    for step, x in enumerate(inputs):
        own, other = (x, 0 * x) if step in focus else (0 * x, x)
        reset = three(sigmoid, w_r @ own + v_r @ h_r, w_r @ other + v_r @ h_i, b_r + c_r)
        keep = three(sigmoid, w_z @ own + v_z @ h_r, w_z @ other + v_z @ h_i, b_z + c_z)
        past = (v_n @ h_r, v_n @ h_i, c_n)
        gated_r = reset[0] * past[0] + reset[0] * past[2] + reset[2] * past[0]
        gated_b = reset[2] * past[2]
        gated_i = sum(reset) * sum(past) - gated_r - gated_b
        new = three(np.tanh, w_n @ own + gated_r, w_n @ other + gated_i, b_n + gated_b)
        write = (-keep[0], -keep[1], 1 - keep[2])
        h_new = write[0] * new[0] + write[0] * new[2] + write[2] * new[0]
        h_new = h_new + (step in focus) * write[2] * new[2]
        h_new = h_new + keep[0] * h_r + keep[2] * h_r
        whole = sum(write) * sum(new) + sum(keep) * (h_r + h_i)
        h_r, h_i = h_new, whole - h_new
        found.append(h_r)
    return np.stack(found)


def test_a_grus_parts_are_the_equations():
    torch.manual_seed(1)
    model = Recurrent(nn.GRU).double().eval()
    with torch.no_grad():
        for weights in model.rnn.parameters():
            weights.mul_(3)
    net, tokens = es.network(model), [1, 2, 3, 4, 5]
    found = es.decompose(net, tokens, focus=[1, 3])
    inputs = model.emb.weight.detach().numpy()[tokens]
    np.testing.assert_allclose(found.relevant.numpy(), gru_reference(model.rnn, inputs, {1, 3}))
    other = es.decompose(net, tokens, focus=[1, 3], allocation=Generalised(bias_bias="never"))
    assert not np.allclose(other.relevant, found.relevant)
    assert other.error < 1e-12


def test_integrated_gradients_are_those_of_captum():
    captum = pytest.importorskip("captum.attr")
    net, inputs = given("gpt2", torch.float64)
    direction = torch.randn(net.width, dtype=torch.float64)

    def component(x):
        return plain.run(net, x)[-1][:, -1] @ direction

    theirs = (
        captum.IntegratedGradients(component)
        .attribute(inputs[None], n_steps=16, method="riemann_middle")[0]
        .sum(dim=-1)
    )
    words = tokens_for("gpt2")
    ours = [
        es.decompose(net, words, focus=[n], method=IntegratedGradients(16)).relevant[-1] @ direction
        for n in range(5)
    ]
    assert_close(torch.stack(ours), theirs)


def test_refusals_name_the_culprit():
    net = es.network(module("gpt2"))
    with pytest.raises(ConfigError, match="no method 'cdt'; did you mean 'cd-t'"):
        es.decompose(net, [1, 2], focus=[0], method="cdt")
    with pytest.raises(ConfigError, match=r"parts add up over words: no two interact"):
        es.interdependence(net, [1, 2], method="decompx")
    with pytest.raises(ConfigError, match="rules are 3"):
        es.decompose(net, [1, 2], focus=[0], method=3)
    with pytest.raises(ConfigError, match="logits are those of the last layer"):
        es.decompose(net, [1, 2], focus=[0], layer=1, space="logits")
