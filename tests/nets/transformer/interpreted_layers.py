"""Layers as kernels against layers one by one, with Triton's interpreter: needs TRITON_INTERPRET=1.

Whole models, an encoder with a decoder: logits and the gradients of all weights. In float32, as
Triton's interpreter multiplies bfloat16 wrongly.
"""

import torch

from espalier.nets.transformer import (
    TransformerShape,
    decode,
    encode,
    layer_stack,
    model,
    random_transformers,
)


def logits_and_gradients(case, way):
    shape, weights, commands, lengths, before, parts, beside = case
    model.LAYERS = way
    own = {name: tensor.detach().clone().requires_grad_() for name, tensor in weights.items()}
    encoded = encode(own, shape, commands, lengths=lengths).beside(beside)
    logits = decode(own, shape, before, encoded, parts=parts)
    counted = logits if parts is None else logits[:, parts < beside]
    factors = torch.linspace(-1, 1, counted.numel()).view_as(counted)
    gradients = torch.autograd.grad((counted * factors).sum(), list(own.values()))
    return {"logits": counted.detach()} | dict(zip(own, gradients, strict=True))


def case(seed, *, members, beside, cells, words, **more):
    """Random weights and rows of several outputs each; the last cells belong to none."""
    source = torch.Generator().manual_seed(seed)
    shape = TransformerShape(
        vocabulary=9, outputs=9, width=64, hidden=128, heads=2, head_width=64, decoder=True, **more
    )
    rows = 2
    weights = random_transformers(shape, range(seed, seed + members))
    inputs = (members, rows * beside, words)
    commands = torch.randint(9, inputs, generator=source)
    lengths = torch.randint(1, words + 1, inputs[:2], generator=source)
    before = torch.randint(9, (members, rows, cells), generator=source)
    parts = torch.randint(beside + 1, (rows, cells), generator=source).sort(1).values
    parts = None if beside == 1 else parts
    return shape, weights, commands, lengths, before, parts, beside


def agree(one):
    found, wanted = (logits_and_gradients(one, way) for way in ("kernels", "one by one"))
    for name, right in wanted.items():
        error = (found[name] - right).abs().max() / right.abs().max()
        assert error < 1e-5, (name, float(error))


if __name__ == "__main__":
    layer_stack.is_narrow = lambda *_: True
    model.is_narrow = lambda *_: True
    agree(case(0, members=2, beside=2, cells=20, words=5, layers=2, shared=True))
    agree(case(1, members=1, beside=1, cells=64, words=9, layers=2, positions="absolute"))
    layer_stack.PROGRAMS = 1
    agree(case(2, members=1, beside=3, cells=31, words=4, layers=1))
