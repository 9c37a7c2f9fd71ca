"""Torch modules that know nothing of programs, one subpackage per architecture.

`compiled` is the Transformer that programs become, `plain` a textbook one, `transformer` the
stacked Transformers that are trained, `lstm` the language models. What they share is here: random
numbers, fused functions, products in bfloat16 on any CPU, files with a checksum, and whether there
is room for them.
"""

from espalier.nets.bfloat16 import bfloat16_products
from espalier.nets.fusion import fused
from espalier.nets.noise import Dice, Noise, mix
from espalier.nets.plain import PlainBlock, PlainConfig, PlainTransformer
from espalier.nets.room import refuse_beyond_memory
from espalier.nets.rounding import ready_functions
from espalier.nets.tensor_files import (
    CHECKSUMS,
    check_checksums,
    check_finite,
    parse_json,
    read_safetensors,
    write_safetensors,
)

__all__ = [
    "CHECKSUMS",
    "Dice",
    "Noise",
    "PlainBlock",
    "PlainConfig",
    "PlainTransformer",
    "bfloat16_products",
    "check_checksums",
    "check_finite",
    "fused",
    "mix",
    "parse_json",
    "read_safetensors",
    "ready_functions",
    "refuse_beyond_memory",
    "write_safetensors",
]

ready_functions()  # whatever computes with torch here comes after this
