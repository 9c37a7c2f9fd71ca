"""Contextual decomposition, slow and obvious: one sentence, one focus, one step, one equation.

Written in numpy from the recursion in docs/decomposition.md; it shares no code with the library.
A model is a list of layers (W, V, b) with gates in the order i f g o.
"""

from __future__ import annotations

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def weights_of(lm):
    arrays = {name: p.detach().double().numpy() for name, p in lm.named_parameters()}
    return [
        (
            arrays[f"rnn.weight_ih_l{k}"],
            arrays[f"rnn.weight_hh_l{k}"],
            arrays[f"rnn.bias_ih_l{k}"] + arrays[f"rnn.bias_hh_l{k}"],
        )
        for k in range(lm.shape.layers)
    ]


def embed(lm, ids):
    return lm.encoder.weight.detach().double().numpy()[list(ids)]


def shares(s, a, b, c):
    relevant = 0.5 * (s(a + c) - s(c) + s(a + b + c) - s(b + c))
    irrelevant = 0.5 * (s(b + c) - s(c) + s(a + b + c) - s(a + c))
    return relevant, irrelevant, s(c)


def decompose(layers, inputs, focus, *, bias_bias="focus", state=None):
    """Relevant and irrelevant hidden states of the top layer, each (N, H)."""
    x_r = [x if t in focus else 0 * x for t, x in enumerate(inputs)]
    x_n = [0 * x if t in focus else x for t, x in enumerate(inputs)]
    for k, (w, v, bias) in enumerate(layers):
        units = len(bias) // 4
        h_r, h_n, c_r, c_n = (np.zeros(units) for _ in range(4))
        if state is not None:
            h_n, c_n = state[0][k], state[1][k]
        out_r, out_n = [], []
        for t in range(len(inputs)):
            a = np.split(v @ h_r + w @ x_r[t], 4)
            b = np.split(v @ h_n + w @ x_n[t], 4)
            c = np.split(bias, 4)
            i_r, i_n, i_b = shares(sigmoid, a[0], b[0], c[0])
            f_r, f_n, f_b = shares(sigmoid, a[1], b[1], c[1])
            g_r, g_n, g_b = shares(np.tanh, a[2], b[2], c[2])
            o = sigmoid(a[3] + b[3] + c[3])
            here = {"focus": t in focus, "never": False}[bias_bias]
            new_r = i_r * (g_r + g_b) + i_b * g_r + (f_r + f_b) * c_r + here * i_b * g_b
            whole = (f_r + f_n + f_b) * (c_r + c_n) + (i_r + i_n + i_b) * (g_r + g_n + g_b)
            c_r, c_n = new_r, whole - new_r
            h_r = o * 0.5 * (np.tanh(c_r) + np.tanh(c_r + c_n) - np.tanh(c_n))
            h_n = o * np.tanh(c_r + c_n) - h_r
            out_r.append(h_r)
            out_n.append(h_n)
        x_r, x_n = out_r, out_n
    return np.array(x_r), np.array(x_n)


def interdependence(layers, inputs, a, b, *, at=None, decoder=None):
    """DI by its definition: three decompositions."""
    at = max([*a, *b]) if at is None else at
    h_a, h_b, h_ab = (decompose(layers, inputs[: at + 1], some)[0][at] for some in (a, b, [*a, *b]))
    apart = h_ab - (h_a + h_b)
    if decoder is not None:
        apart, h_ab = decoder @ apart, decoder @ h_ab
    size = np.linalg.norm(h_ab)
    return np.linalg.norm(apart) / size if size else np.nan


def all_pairs(layers, inputs, *, decoder=None):
    """DI of every pair l < r at r, pair by pair; NaN elsewhere."""
    n = len(inputs)
    found = np.full((n, n), np.nan)
    for r in range(n):
        for l in range(r):
            found[l, r] = interdependence(layers, inputs, [l], [r], decoder=decoder)
    return found
