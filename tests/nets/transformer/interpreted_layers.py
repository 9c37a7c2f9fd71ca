"""Layers as kernels against layers one by one, with Triton's interpreter: needs TRITON_INTERPRET=1.

Whole models, an encoder with a decoder: logits and the gradients of all weights. In float32, as
Triton's interpreter multiplies bfloat16 wrongly.
"""

import torch

from espalier.nets.transformer import (
    TransformerShape,
    decode,
    encode,
    layer_launches,
    layer_stack,
    model,
    random_transformers,
)

ROWS = 2
NARROW = {"width": 64, "hidden": 128, "heads": 2, "head_width": 64}
FOUR = NARROW | {"hidden": 256, "heads": 4}
WIDE = {"width": 128, "hidden": 128, "heads": 1, "head_width": 160}


def case(seed, *, members, beside, cells, words, **shape):
    """Random weights and rows of several outputs each, with cells at the end that belong to none.

    With one output to a row, nothing is said of parts.
    """
    source = torch.Generator().manual_seed(seed)
    shape = TransformerShape(vocabulary=9, outputs=9, decoder=True, **shape)
    weights = random_transformers(shape, range(seed, seed + members))
    for name in weights:
        if name.endswith("scale"):
            weights[name] += 0.5 * torch.rand(weights[name].shape, generator=source)
    inputs = (members, ROWS * beside, words)
    commands = torch.randint(9, inputs, generator=source)
    lengths = torch.randint(1, words + 1, inputs[:2], generator=source)
    before = torch.randint(9, (members, ROWS, cells), generator=source)
    parts = torch.randint(beside, (ROWS, cells), generator=source).sort(1).values
    parts[:, -3:], parts[0, -5:] = beside, beside
    return shape, weights, commands, lengths, before, None if beside == 1 else parts, beside


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


def agree(programs, one):
    """Cut into so many programs, kernels give what layers give one by one."""
    layer_launches.PROGRAMS = programs
    found, stacks = {}, []

    def watched(*args, **more):
        stacks.append(way)
        return layer_stack.run_layers(*args, **more)

    model.is_narrow, model.run_layers = lambda *_: True, watched
    for way in ("kernels", "one by one"):
        found[way] = logits_and_gradients(one, way)
    assert stacks == ["kernels"] * 2, "an encoder and a decoder"
    for name, wanted in found["one by one"].items():
        error = (found["kernels"][name] - wanted).abs().max() / wanted.abs().max()
        assert error < 1e-5, (name, float(error))


def main():
    many = layer_launches.PROGRAMS
    sizes = {"members": 2, "beside": 2, "cells": 20, "words": 5}
    agree(many, case(0, **sizes, **NARROW, layers=2, shared=True))
    agree(1, case(1, **sizes | {"cells": 31, "words": 30}, **NARROW, layers=3))
    sizes["beside"] = 1  # without parts
    agree(many, case(2, **sizes | {"cells": 64}, **NARROW, layers=1, positions="absolute"))
    sizes |= {"members": 1, "beside": 3, "words": 20}
    for groups in (1, 2, 4):  # every row has a program for each
        agree(ROWS * groups, case(3, **sizes, **FOUR, layers=1))
    agree(many, case(4, **sizes, **WIDE, layers=1, positions="absolute"))


if __name__ == "__main__":
    main()
