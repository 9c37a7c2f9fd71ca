"""Wide layers as kernels against layers one by one, with Triton's interpreter.

Needs TRITON_INTERPRET=1. Streams at the last positions and the gradients of all weights, in
float32: Triton's interpreter multiplies bfloat16 wrongly.
"""

import itertools

import torch

from espalier.nets.transformer import TransformerShape, encode_ends, ends, random_transformers

SIZES = {"width": 24, "hidden": 40, "heads": 2, "head_width": 16, "longest": 12}
MEMBERS, INPUTS, LONGEST = 2, 4, 6


def case(seed, **kind):
    """Random weights and inputs, and cells for just the inputs or for many more."""
    source = torch.Generator().manual_seed(seed)
    shape = TransformerShape(vocabulary=4, outputs=2, **SIZES, **kind)
    weights = random_transformers(shape, range(seed, seed + MEMBERS))
    for name in weights:
        if name.endswith("scale"):
            weights[name] += 0.5 * torch.rand(weights[name].shape, generator=source)
    tokens = torch.randint(4, (MEMBERS, INPUTS, LONGEST), generator=source)
    lengths = torch.randint(1, LONGEST + 1, (MEMBERS, INPUTS), generator=source)
    return shape, weights, tokens, lengths


def ends_and_gradients(case, cells, *, kernels):
    shape, weights, tokens, lengths = case
    ends.trained_end_to_end = lambda *asked: kernels
    own = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}
    found = encode_ends(own, shape, tokens, lengths=lengths, cells=cells)
    factors = torch.linspace(-1, 1, found.numel()).view_as(found)
    del own["unembedding"]  # not looked at
    gradients = torch.autograd.grad((found * factors).sum(), list(own.values()))
    return {"ends": found.detach()} | dict(zip(own, gradients, strict=True))


def agree(case, cells):
    exact = ends_and_gradients(case, None, kernels=False)
    for name, found in ends_and_gradients(case, cells, kernels=True).items():
        error = (found - exact[name]).abs().max() / exact[name].abs().max()
        assert error <= 1e-5, (name, float(error), case[0])


if __name__ == "__main__":
    kinds = itertools.product((True, False), ("relative", "absolute"))
    for seed, (shared, positions) in enumerate(kinds):
        one = case(seed, layers=1 + seed % 3, shared=shared, positions=positions)
        fitting = int(one[3].sum(1).max())
        agree(one, (fitting, None, fitting + 3)[seed % 3])
