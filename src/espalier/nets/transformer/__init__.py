"""Transformers that are trained, many of them stacked as one."""

from espalier.nets.transformer.biases import encoder_bias
from espalier.nets.transformer.dropout import Dropout
from espalier.nets.transformer.ends import encode_ends, trained_end_to_end
from espalier.nets.transformer.layer_launches import CELLS
from espalier.nets.transformer.layer_stack import is_narrow
from espalier.nets.transformer.model import (
    Positions,
    TransformerShape,
    Weights,
    cast,
    decode,
    encode,
    random_transformers,
    read_out,
)
from espalier.nets.transformer.sublayers import norm, through
from espalier.nets.transformer.wide_stack import Sizes

__all__ = [
    "CELLS",
    "Dropout",
    "Positions",
    "Sizes",
    "TransformerShape",
    "Weights",
    "cast",
    "decode",
    "encode",
    "encode_ends",
    "encoder_bias",
    "is_narrow",
    "norm",
    "random_transformers",
    "read_out",
    "through",
    "trained_end_to_end",
]
