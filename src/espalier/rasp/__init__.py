"""RASP expressions (Weiss et al. 2021; Tracr, Lindner et al. 2023) that become ordinary programs.

from operator import eq
from espalier.rasp import indices, length, select, aggregate, tokens, translate

backwards = aggregate(select(indices, length - indices - 1, eq), tokens)
found = translate(backwards, vocabulary="abc", longest=8)
found.decode(espalier.interpret(found.program, found.encode("abca")).outputs)   # a, c, b, a
"""

from espalier.rasp.evaluation import evaluate
from espalier.rasp.expressions import (
    Expression,
    aggregate,
    always,
    categorical,
    elementwise,
    exists,
    full,
    indices,
    length,
    mean,
    numerical,
    select,
    select_all,
    selector_width,
    shift,
    tokens,
)
from espalier.rasp.selectors import Selector
from espalier.rasp.translated import Translation
from espalier.rasp.translation import translate

__all__ = [
    "Expression",
    "Selector",
    "Translation",
    "aggregate",
    "always",
    "categorical",
    "elementwise",
    "evaluate",
    "exists",
    "full",
    "indices",
    "length",
    "mean",
    "numerical",
    "select",
    "select_all",
    "selector_width",
    "shift",
    "tokens",
    "translate",
]
