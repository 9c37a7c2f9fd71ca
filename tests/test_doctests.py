"""Every example in a docstring does what it says, and every public function has one."""

import doctest
import inspect
import sys
from importlib import import_module

import pytest

import espalier as es
from test_house import FILES

WITH_EXAMPLES = sorted(name for name, file in FILES.items() if ">>> " in file.read_text())


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_do_what_they_say(name, tmp_path):
    import_module(name)
    module = sys.modules[name]  # a function may have its file's name
    found = doctest.testmod(
        module,
        extraglobs={"getfixture": lambda _: tmp_path},
        optionflags=doctest.ELLIPSIS,
        report=True,
    )
    assert found.attempted
    assert not found.failed


def test_every_public_function_has_an_example():
    functions = [name for name in es.__all__ if inspect.isfunction(getattr(es, name))]
    assert [name for name in functions if ">>> " not in (getattr(es, name).__doc__ or "")] == []
