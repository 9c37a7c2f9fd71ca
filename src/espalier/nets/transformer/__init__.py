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
from espalier.nets.transformer.short_attention import is_short, short_attention
from espalier.nets.transformer.sublayers import in_full, norm, on_cuda, through

__all__ = [
    "Positions",
    "TransformerShape",
    "Weights",
    "cast",
    "decode",
    "encode",
    "in_full",
    "is_short",
    "norm",
    "on_cuda",
    "random_transformers",
    "read_out",
    "short_attention",
    "through",
]
