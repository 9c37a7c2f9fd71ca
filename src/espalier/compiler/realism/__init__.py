"""Compiled networks that are less clean: other directions, superposition, distractors, noise."""

from espalier.compiler.realism.directions import choose_basis
from espalier.compiler.realism.distractors import add_distractors
from espalier.compiler.realism.mixing import mix
from espalier.compiler.realism.proof import prove

__all__ = ["add_distractors", "choose_basis", "mix", "prove"]
