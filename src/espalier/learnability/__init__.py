"""What a training set says about a program: which parts of it the set can teach at all."""

from espalier.learnability.minimal import Dropped, MinimalProgram, minimal

__all__ = ["Dropped", "MinimalProgram", "minimal"]
