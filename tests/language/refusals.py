"""Whether a function is refused, explored or run."""

import random

import pytest

from espalier.errors import ProgramError
from espalier.language.exploration import explore
from espalier.language.lazy import LazyRules


def refused(function, variables, *, lazily):
    """Why a function is refused, or None."""
    try:
        if not lazily:
            explore(function, variables)
            return None
        rules, pick = LazyRules(function, variables, frozenset(), 1_000), random.Random(0)
        sizes = {name: len(spec.values) for name, spec in variables.items()}
        for _ in range(40):
            codes = {name: pick.randrange(size) for name, size in sizes.items()}
            rules.decide(codes.__getitem__)
    except ProgramError as error:
        return str(error)
    return None


both = pytest.mark.parametrize("lazily", [False, True], ids=["explored", "lazy"])
