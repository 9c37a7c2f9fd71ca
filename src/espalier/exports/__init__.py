"""Compiled programs in other tools; each tool is imported only when it is used."""

from espalier.exports.lens import to_transformer_lens
from espalier.exports.onnx import to_onnx
from espalier.exports.transformers import to_transformers

__all__ = ["to_onnx", "to_transformer_lens", "to_transformers"]
