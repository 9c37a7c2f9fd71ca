"""ALTI by its definition, one pair of positions at a time."""

import numpy as np
import pytest
import torch

import espalier as es
from any_networks import module
from espalier.decomposition import ALTI
from espalier.networks import plain


def layer_norm(x, norm, *, of=None):
    """The norm without its bias, by the deviation of another vector if one is given."""
    of = x if of is None else of
    return (x - x.mean()) / np.sqrt(of.var() + norm.eps) * norm.weight.numpy()


def shares_by_definition(net, inputs):
    states, found = inputs[None], np.eye(len(inputs))
    for attending, feeding in net.body.layers:
        (attention,) = attending.body
        seen = states if attending.before is None else plain.normed(states, attending.before)
        query, key, value = plain.project(seen, attention)
        pattern, x = plain.pattern(query, key, attention)[0].numpy(), states[0].numpy()
        output = attention.output.weight.numpy().reshape(x.shape[1], attention.heads, -1)
        mixing = np.zeros_like(found)
        for p in range(len(x)):
            handed = [
                sum(pattern[h, p, w] * output[:, h] @ value[0, h, w].numpy() for h in range(2))
                + (x[p] if w == p else 0)
                for w in range(len(x))
            ]
            total = sum(handed) + attention.output.bias.numpy()
            whole = total
            if attending.after is not None:
                handed = [layer_norm(one, attending.after, of=total) for one in handed]
                whole = layer_norm(total, attending.after) + attending.after.bias.numpy()
            near = [max(0.0, np.abs(whole).sum() - np.abs(whole - one).sum()) for one in handed]
            mixing[p] = np.array(near) / sum(near) if sum(near) else np.eye(len(x))[p]
        found = mixing @ found
        states = plain.through_sublayer(plain.through_sublayer(states, attending), feeding)
    return found


@pytest.mark.parametrize("kind", ["encoder", "encoder-causal"])
def test_alti_is_its_definition(kind):
    net = es.network(module(kind).double())
    tokens = net.read([1, 2, 3, 1, 4])
    with torch.no_grad():
        wanted = shares_by_definition(net, net.inputs(tokens))
    np.testing.assert_allclose(wanted.sum(axis=1), 1)
    for word in range(5):
        parts = es.decompose(net, tokens.ids, focus=[word], method=ALTI())
        found = (parts.relevant / parts.hidden)[:, 0].numpy()
        np.testing.assert_allclose(found, wanted[:, word], rtol=1e-9, atol=1e-12)
