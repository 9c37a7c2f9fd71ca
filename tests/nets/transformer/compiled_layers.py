"""Compile the kernels of layers for a Hopper device, which need not be there.

Triton's interpreter runs them as plain Python; what its compiler refuses is seen only here. Fails
where a kernel does not compile, or needs more memory than leaves room for two programs.
"""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from espalier.nets.transformer import layer_kernels as kernels
from espalier.nets.transformer.layer_launches import CELLS, COMPILED

HOPPER = GPUTarget("cuda", 90, 32)
MEMORY = 227 * 1024 // 2  # of a processor, for one of two programs
STREAMS = ("stream", "stream_out", "gradient", "gradient_out", "scale_out")  # in float32
MATRICES = ("qk", "ov", "inner", "outer")
ROWS = ("read", "asked", "carried_out", "query_out", "hidden_out", "inner_out")
NUMBERS = ("rows", "layer", "own_layers", "whole", "of_member", "of_row")


def kind_of(name, width):
    """The type of a kernel's argument."""
    sizes = dict.fromkeys(MATRICES, (width, width)) | dict.fromkeys(ROWS, (CELLS, width))
    sizes |= dict.fromkeys(("biases", "biases_out"), (CELLS, CELLS))
    if name in sizes:
        return "tensordesc<bf16[{},{}]>".format(*sizes[name])
    if name in NUMBERS:
        return "i32"
    if name == "logit_scale":
        return "fp32"
    return "*fp32" if name in STREAMS else "*bf16"


def compiles(kernel, width, **constants):
    constants |= {"ADDED": 2, "EACH": 2, "CELLS": CELLS, "WIDTH": width}
    kinds = {
        name: "constexpr" if name in constants else kind_of(name, width)
        for name in kernel.arg_names
    }
    found = triton.compile(ASTSource(kernel, kinds, constants), target=HOPPER, options=COMPILED)
    assert found.metadata.shared <= MEMORY, (kernel.__name__, found.metadata.shared)


if __name__ == "__main__":
    compiles(kernels.attend, 64, HEADS=4, ACROSS=True, LEARNED=False)
    compiles(kernels.attend_back, 128, HEADS=4, ACROSS=False, LEARNED=True)
    compiles(kernels.attend_back, 128, HEADS=4, ACROSS=True, LEARNED=False)
    compiles(kernels.feed_forward, 128, BLOCKS=4)
    compiles(kernels.feed_forward_back, 64, BLOCKS=4)
