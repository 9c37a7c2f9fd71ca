"""Every example in a docstring does what it says, and every public name has one."""

import doctest
import inspect
import sys
from importlib import import_module
from typing import get_args

import pytest

import espalier as es
from espalier.decomposition.allocations import Allocation
from espalier.results import Result
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


def every_result(kind: type = Result) -> set[type]:
    found = {one for one in kind.__subclasses__() if one.__module__ in FILES}
    return found.union(*map(every_result, found))


def test_every_public_name_has_an_example():
    for name in FILES:
        if name != "espalier.exports.pretrained":  # transformers may be absent
            import_module(name)
    offered = [getattr(es, name) for name in es.__all__]
    public = [one for one in offered if inspect.isfunction(one) or inspect.isclass(one)]
    public += [*every_result(), *get_args(Allocation)]
    assert [one.__name__ for one in public if ">>> " not in (one.__doc__ or "")] == []
