"""Compile the kernels of layers for a Hopper device, which need not be there.

Triton's interpreter runs them as plain Python; what its compiler refuses is seen only here. Fails
where a kernel does not compile, or needs more memory than leaves room for two programs.
"""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from espalier.nets.transformer import attention_kernels as attention
from espalier.nets.transformer import layer_kernels as kernels
from espalier.nets.transformer import wide_kernels as wide
from espalier.nets.transformer.layer_launches import CELLS, COMPILED

HOPPER = GPUTarget("cuda", 90, 32)
MEMORY = 227 * 1024 // 2  # of a processor, for one of two programs
STREAMS = ("stream", "stream_out", "gradient", "gradient_out", "scale_out")  # in float32
SHORT = ("gradient", "to_asking", "to_asked", "carried", "asking", "asked")  # in bfloat16
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


def compiles_plainly(kernel, kinds, **constants):
    """Kernels whose arguments are plain pointers and numbers, most of them counts."""
    pointers = {"bias": "*fp32", "to_bias": "*fp32", "starts": "*i32", "lengths": "*i32"}
    every = dict.fromkeys(kernel.arg_names, "i32") | {"scale": "fp32"} | pointers | kinds
    every |= dict.fromkeys(constants, "constexpr")
    kinds = {name: every[name] for name in kernel.arg_names}
    triton.compile(ASTSource(kernel, kinds, constants), target=HOPPER)


def streams_of(kernel):
    """The types of what wide kernels read and write."""
    return {
        name: "i32" if name in ("cells", "of_member", "numbers") else kind_of(name, 1)
        for name in kernel.arg_names
        if name.islower()
    }


if __name__ == "__main__":
    compiles(kernels.attend, 64, HEADS=4, ACROSS=True, LEARNED=False)
    compiles(kernels.attend_back, 128, HEADS=4, ACROSS=False, LEARNED=True)
    compiles(kernels.attend_back, 128, HEADS=4, ACROSS=True, LEARNED=False)
    compiles(kernels.feed_forward, 128, BLOCKS=4)
    compiles(kernels.feed_forward_back, 64, BLOCKS=4)
    short = dict.fromkeys(SHORT, "*bf16")
    sizes = {"RAGGED": True, "ASKS": 32, "SEEN": 32, "WIDTH": 64}
    compiles_plainly(attention.forward, short, **sizes | {"RAGGED": False})
    compiles_plainly(attention.backward, short, LEARNED=True, ADDED=True, **sizes)
    sizes = {"EACH": 4, "WIDTH": 512, "BLOCK": 512}
    compiles_plainly(wide.enter, streams_of(wide.enter), ADDED=True, **sizes)
    compiles_plainly(wide.leave, streams_of(wide.leave), CELLS=16, **sizes)
    numbers = {"out": "*bf16", "entered": "*bf16", "gradient": "*bf16"}
    compiles_plainly(wide.gelu, numbers, BLOCK=2048)
    compiles_plainly(wide.gelu_back, numbers, BLOCK=2048)
