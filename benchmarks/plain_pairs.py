"""All pairs of one sentence as an expert writes it in an afternoon: plain torch, one layer.

The relevant state of every word alone is carried; at step r one more step gives {l, r} for every l.
Interactions are differences, so that small ones are rounding in float32; ours are not.
"""

from __future__ import annotations

import torch
from torch import Tensor

from espalier.nets.lstm import LanguageModel


def share(function, part: Tensor, bias: Tensor, total: Tensor) -> Tensor:
    """What a part contributes to function(total), the bias first."""
    first = function(bias + part) - function(bias)
    return (first + function(total) - function(total - part)) / 2


@torch.no_grad()
def all_pairs(model: LanguageModel, tokens: list[int]) -> Tensor:
    """DI of every two words, read at the later one."""
    rnn = model.rnn
    bias = rnn.bias_ih_l0 + rnn.bias_hh_l0
    inputs = model.encoder(torch.tensor(tokens)) @ rnn.weight_ih_l0.T
    weights, count = rnn.weight_hh_l0.T.contiguous(), len(tokens)
    b_i, b_f, b_g, _ = bias.chunk(4)
    i_b, f_b, g_b = b_i.sigmoid(), b_f.sigmoid(), b_g.tanh()
    hidden = cell = inputs.new_zeros(1, rnn.hidden_size)
    words = states = inputs.new_zeros(0, rnn.hidden_size)
    found = inputs.new_full((count, count), torch.nan)
    for r in range(count):
        total = inputs[r] + hidden @ weights + bias
        t_i, t_f, t_g, t_o = total.chunk(4, dim=-1)
        cell = t_f.sigmoid() * cell + t_i.sigmoid() * t_g.tanh()
        out = t_o.sigmoid()
        hidden = out * cell.tanh()
        zero, own = inputs.new_zeros(1, rnn.hidden_size), inputs[r][None]
        alone = torch.cat([words @ weights, own])  # {l}, and {r} itself
        both = alone + own
        entering, before = torch.cat([alone, both[:-1]]), torch.cat([states, zero, states])
        here = torch.ones(len(entering), 1)
        here[:r] = 0  # the product of two biases is relevant at steps in focus
        p_i, p_f, p_g, _ = entering.chunk(4, dim=-1)
        i = share(torch.sigmoid, p_i, b_i, t_i)
        f = share(torch.sigmoid, p_f, b_f, t_f)
        g = share(torch.tanh, p_g, b_g, t_g)
        after = i * (g + g_b) + i_b * g + here * i_b * g_b + (f + f_b) * before
        shown = out * share(torch.tanh, after, zero, cell)
        apart = shown[r + 1 :] - shown[:r] - shown[r]
        found[:r, r] = apart.norm(dim=-1) / shown[r + 1 :].norm(dim=-1)
        words, states = shown[: r + 1], after[: r + 1]
    return found
