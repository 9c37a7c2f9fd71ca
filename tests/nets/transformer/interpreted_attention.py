"""Short attention against its formula, with Triton's interpreter: needs TRITON_INTERPRET=1.

Fails where one of the random cases does not agree, forward or back. In float32 and float16:
Triton's interpreter multiplies bfloat16 wrongly.
"""

import itertools
import random

import torch

from espalier.nets.transformer.short_attention import short_attention

CHANCE = random.Random(0)


def by_the_formula(asking, asked, bias, heads):
    parts = asking.chunk(3, -1) if asked is None else (asking, *asked.chunk(2, -1))
    query, key, value = (part.unflatten(-1, (heads, -1)).transpose(2, 3) for part in parts)
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5 + bias, -1)
    return (weights @ value).transpose(2, 3).flatten(3)


def case(alone, rows, bias_heads, bias_asks):
    """Random queries, keys, values and biases, some of them forbidding; and the heads."""
    members, batch, heads, width = CHANCE.choice([(1, 2, 2, 16), (2, 2, 1, 32), (2, 1, 2, 16)])
    asks, seen = CHANCE.choice([1, 5, 16, 17, 33]), CHANCE.choice([1, 8, 16, 20, 49, 64])
    seen = asks if alone else seen
    inner = heads * width
    asking = torch.randn(members, batch, asks, inner * (3 if alone else 1))
    asked = None if alone else torch.randn(members, batch, seen, 2 * inner)
    size = (members, batch if rows else 1, heads if bias_heads else 1, asks if bias_asks else 1)
    bias = torch.randn(*size, seen)
    return asking, asked, bias.masked_fill(torch.rand_like(bias) < 0.2, -1e9), heads


def lying_otherwise(tensor):
    """The same numbers, the first axis the nearest."""
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0)


def agree(case, types, *, learned, lying=lambda tensor: tensor):
    """Values and gradients are the formula's in float64, as exactly as types can tell."""
    *given, heads = case
    given = [
        None if one is None else one.to(dtype) for one, dtype in zip(given, types, strict=True)
    ]
    known = [n for n in (0, 1, 2) if given[n] is not None and (n < 2 or learned)]
    found = []
    for attend, exact in ((short_attention, False), (by_the_formula, True)):
        own = [one if one is None else lying(one.double() if exact else one) for one in given]
        own = [one if one is None else one.detach() for one in own]
        for n in known:
            own[n].requires_grad_()
        carried = attend(*own, heads)
        factors = torch.linspace(-1, 1, carried.numel(), dtype=carried.dtype).view_as(carried)
        gradients = torch.autograd.grad((carried * factors).sum(), [own[n] for n in known])
        found.append([carried.detach().double(), *(one.double() for one in gradients)])
    rough = max(8 * torch.finfo(types[0]).eps, torch.finfo(types[2]).eps)
    for one, other in zip(*found, strict=True):
        assert (one - other).abs().max() <= rough * other.abs().max().clamp(min=1)


LONG = (torch.float32, torch.float32, torch.float32)
SHORT = (torch.float16, torch.float16, torch.float32)
SHORTER = (torch.float16, torch.float16, torch.bfloat16)


def main():
    torch.manual_seed(0)
    for alone, *spread in itertools.product((True, False), repeat=4):
        learned = (alone + sum(spread)) % 2 == 0  # so that any four of the five meet in every way
        agree(case(alone, *spread), LONG, learned=learned)
    for types, alone, lying in itertools.product(
        (LONG, SHORT, SHORTER), (True, False), (lambda tensor: tensor, lying_otherwise)
    ):
        agree(case(alone, True, True, True), types, learned=True, lying=lying)
    for alone in (True, False):  # one bias for all members, rows, and those that are seen
        asking, asked, bias, heads = case(alone, False, True, True)
        agree((asking, asked, bias[:1], heads), SHORT, learned=True)
        agree((asking, asked, bias[..., :1].clamp(min=-1), heads), SHORT, learned=True)
    for alone in (True, False):
        asking, asked, bias, heads = case(alone, True, True, True)
        for one in (asking, asked, bias):
            if one is not None:
                one.requires_grad_()
        torch.library.opcheck(torch.ops.espalier.short_attention, (asking, asked, bias, heads))


if __name__ == "__main__":
    main()
