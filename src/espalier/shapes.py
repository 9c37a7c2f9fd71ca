"""The glossary of axis letters, and the shape aliases made of them.

B  batch: one row per sequence      V  input tokens (the program's `input_range`)
N  positions of a sequence          P  positional embeddings (`position_range`)
D  residual stream                  K  query and key of one head
R  hidden units of the MLP          O  values of the output variable
"""

from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor

Tokens = Int[Tensor, "B N"]
Lengths = Int[Tensor, "B"]
Valid = Bool[Tensor, "B N"]
Residual = Float[Tensor, "B N D"]
Logits = Float[Tensor, "B N O"]

__all__ = ["Lengths", "Logits", "Residual", "Tokens", "Valid"]
