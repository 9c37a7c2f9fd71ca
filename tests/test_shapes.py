"""Every array that is annotated, in whatever room, is checked while tests run."""

import ast
import re
import sys
from importlib import import_module

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

from espalier.data import trees
from espalier.decomposition.all_pairs.word_states import lengths
from shape_checks import modules_with_shapes
from test_house import FILES

ARRAY = re.compile(r"\b(Float|Int|Bool|Real|UInt64)\[")


def annotations(tree: ast.Module) -> list[str]:
    arguments = [node.annotation for node in ast.walk(tree) if isinstance(node, ast.arg)]
    returns = [node.returns for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    fields = [node.annotation for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    return [ast.unparse(found) for found in (*arguments, *returns, *fields) if found]


@pytest.mark.parametrize("name", sorted(modules_with_shapes()))
def test_every_shape_can_be_read(name: str) -> None:
    """What cannot be evaluated would go unchecked without a word."""
    import_module(name)
    for written in filter(ARRAY.search, annotations(ast.parse(FILES[name].read_text()))):
        eval(written, vars(sys.modules[name]))  # a function may have its file's name


def test_wrong_shapes_and_numbers_are_refused_wherever_they_are() -> None:
    with pytest.raises(TypeCheckError, match="heads"):
        trees.ancestors(np.zeros((2, 3)))
    with pytest.raises(TypeCheckError, match="decoder"):
        lengths(torch.zeros(2, 2, 4), torch.zeros(3, 3))
