"""A function as it was before it ran."""

import array
import collections
import contextvars
import functools
import random
import threading
import types

import numpy as np
import pytest

from espalier.language.beginnings import Beginning, BeginningError
from espalier.language.contents import MOST_BYTES

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
        return looks.append(0)

    looks = []
    table = {helper: [looks]}
    inner = table[helper]

    def function():
        helper()
        return table[helper] is inner, inner[0] is looks, function

    beginning = Beginning(function)
    function()
    *same, itself = beginning.again()()
    assert same == [True, True]
    assert itself is not function
    assert looks == [0]


def test_what_did_not_change_is_shared():
    sentinel, large, n = type("Sentinel", (), {})(), [[]], [0]

    def function():
        n[0] += 1
        return sentinel, large

    beginning = Beginning(function)
    assert beginning.again().args == (function,)
    function()
    assert all(a is b for a, b in zip(beginning.again()(), function(), strict=True))


class Slots:
    __slots__ = ("n",)
    calls = 0

    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        type(self).calls += 1
        Slots.calls += isinstance(self, Slots)
        return self.n + Slots.calls


class Deeper(Slots):
    def count(self):
        return super().count() + 1


TOTAL = 0


def rebinds():
    global TOTAL, UNBOUND
    TOTAL += 1
    UNBOUND = globals().get("UNBOUND", 0) if TOTAL > 9 else TOTAL
    return UNBOUND


def nonlocals():
    total = 0

    def count():
        nonlocal total
        total += 1

    def read():
        count()
        return total

    return read


def attributes():
    held = types.SimpleNamespace(n=0)

    def function():
        function.n = getattr(function, "n", 0) + 1
        return function.n

    return lambda: function() + len(vars(held))


def holder():
    one = Deeper()
    return lambda: one.count()


def bound():
    return Slots().count


def arrays():
    counts, ends = np.zeros((2, 3)), [np.zeros(4, order="F")]
    last, views = counts[::-1, -1], [ends[0].reshape(2, 2).T]

    def function():
        counts[...] += 1
        ends[0][1] += last[0]
        return float(last[-1] + views[0][1, 0])

    return function


def raw():
    numbers, bits = array.array("i", [0]), bytearray(1)

    def function():
        numbers[0] += 1
        bits[0] += numbers[0]
        return bits[0]

    return function


class Table(dict):
    name = "t"

    def __missing__(self, key):
        self[key] = len(self)
        return self[key]

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.name += "!"


def tables():
    made = [Table(), collections.defaultdict(list), collections.OrderedDict(a=1, b=2)]
    chain, line = collections.ChainMap({}, {"n": 0}), collections.deque([0, 0], maxlen=2)

    def function():
        own, lists, order = made
        own[len(own)] += 1
        lists[0].append(1)
        order.move_to_end(next(iter(order)))
        chain["n"] += 1
        line.append(chain["n"] + line[0])
        return own.name, dict(own), dict(lists), list(order), line[-1]

    return function


def contexts():
    number, here = contextvars.ContextVar("number", default=0), threading.local()

    def function():
        number.set(number.get() + 1)
        here.n = getattr(here, "n", 0) + number.get()
        return here.n

    return function


def wrapped():
    """By a decorator of another module, whose names are others."""
    exec("def through(function):\n    return lambda: function()\n", names := {})
    return names["through"](lambda by=[0]: by.append(1) or len(by))


@pytest.mark.parametrize(
    "make",
    [
        *(lambda: rebinds, nonlocals, attributes, holder, bound, arrays, raw, tables),
        *(contexts, wrapped),
    ],
)
def test_whatever_holds_a_state_is_copied(make):
    test_a_copy_starts_where_the_function_started(make)


def test_names_that_were_not_bound_are_not_bound_in_the_copy():
    names = {}
    exec(
        "def function():\n"
        "    global first\n"
        "    try:\n"
        "        return first\n"
        "    except NameError:\n"
        "        first = 1\n",
        names,
    )
    beginning = Beginning(names["function"])
    assert [names["function"](), names["function"]()] == [None, 1]
    assert [beginning.again()(), names["function"]()] == [None, 1]


class Odd:
    """Can be neither looked at nor copied."""

    @property
    def __dict__(self):
        raise LookupError("there is none yet")

    @property
    def __class__(self):
        raise LookupError("there is none yet")


def test_what_cannot_be_copied_is_shared():
    held = [Odd(), random.Random(0), threading.Lock(), [0]]

    def function():
        held[-1][0] += 1
        return held[-1][0]

    beginning = Beginning(function)
    assert function() == 1
    assert beginning.is_past()
    assert beginning.again()() == 1
    assert held[-1] == [1]


def test_a_table_next_to_an_iterator_is_not_put_back():
    numbers, seen = iter([1, 2, 3]), []

    def function():
        seen.append(next(numbers))

    beginning = Beginning(function)
    function()
    assert beginning.is_past()
    with pytest.raises(BeginningError):
        beginning.again()


def test_arrays_that_are_large_together_are_shared():
    tables = [np.zeros(MOST_BYTES // 3, dtype=bool) for _ in range(5)]
    beginning = Beginning(lambda: tables[0])
    assert sum(held.size for held in beginning._held.values()) <= MOST_BYTES
    for table in tables:
        table[0] = True
    assert beginning.is_past()


def test_large_arrays_are_shared():
    table = np.zeros(MOST_BYTES + 1, dtype=bool)
    beginning = Beginning(lambda: table[0])
    table[0] = True
    assert not beginning.is_past()
