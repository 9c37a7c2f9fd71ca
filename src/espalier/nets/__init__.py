"""Torch modules that know nothing of programs, one sub-room an architecture.

`compiled` is the Transformer that programs become, `transformer` the stacked Transformers that are
trained, `lstm` the language models. What they share is here: random numbers, and fused functions.
"""

from espalier.nets.fusion import fused
from espalier.nets.noise import Dice, Noise

__all__ = ["Dice", "Noise", "fused"]
