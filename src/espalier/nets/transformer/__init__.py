"""Transformers that are trained, many of them stacked as one."""

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

__all__ = [
    "Positions",
    "TransformerShape",
    "Weights",
    "cast",
    "decode",
    "encode",
    "norm",
    "random_transformers",
    "read_out",
    "through",
]
