"""A function as it was before it ran."""

import collections
import functools

import pytest

from espalier.language.beginnings import Beginning

NAMED = {"n": [0]}


def counts():
    NAMED["n"][0] += 1
    return NAMED["n"][0]


def helped():
    return counts()


def closure():
    n, kinds = [0], collections.Counter()

    def counted(by=1):
        n[0] += by
        kinds["calls"] += 1
        return n[0] + kinds["calls"]

    return counted


def defaults():
    return lambda n=[0]: n.append(1) or len(n)


def partial():
    return functools.partial(lambda n: n.append(1) or len(n), [0])


def cached():
    n = [0]
    hidden = functools.lru_cache(maxsize=None)(lambda: n.append(1) or len(n))
    return lambda: hidden() + len(n)


@pytest.mark.parametrize(
    "make", [lambda: counts, lambda: helped, closure, defaults, partial, cached]
)
def test_a_copy_starts_where_the_function_started(make):
    NAMED["n"] = [0]
    function = make()
    beginning = Beginning(function)
    assert not beginning.is_past()
    said = [function() for _ in range(3)]
    assert beginning.is_past()
    for _ in range(2):
        again = beginning.again()
        assert [again() for _ in range(3)] == said
    assert function() >= said[-1]  # its own tables were left as they were


def test_what_is_one_thing_is_one_thing_in_the_copy():
    def helper():
        return 1

    table = {helper: [1]}
    inner = table[helper]
    looks = []

    def function():
        looks.append(0)
        return table[helper] is inner, function

    same, itself = Beginning(function).again()()
    assert same
    assert itself is not function
    assert looks == []


def test_what_objects_hold_is_shared():
    class Holder:
        n = 0

    held = Holder()

    def function():
        held.n += 1
        return held.n

    beginning = Beginning(function)
    assert function() == 1
    assert not beginning.is_past()
    assert beginning.again()() == 2
