import doctest
import pkgutil
import sys
from importlib import import_module

import pytest

import espalier.decomposition
import espalier.nets.lstm

FILES = [
    found.name
    for room in (espalier.decomposition, espalier.nets.lstm)
    for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
]


@pytest.mark.parametrize("name", FILES)
def test_examples_do_what_they_say(name):
    import_module(name)
    # Functions of the same names hide some of the files from their room.
    assert doctest.testmod(sys.modules[name]).failed == 0
