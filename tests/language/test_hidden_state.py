"""What functions keep from their first calls: refused where it shows, allowed where it does not."""

import collections
import copy
import functools
import random
import types

import numpy as np
import pytest
from tests.language.refusals import both, refused

from espalier.language import var

FEW = {"a": var(3), "b": var(4), "y": var(4)}


class Slots:
    __slots__ = ("first",)


class Filled:
    """An object that remembers in its attributes, or in its class's."""

    by_class = None

    def __init__(self):
        self.first = None

    def of(self, value):
        if self.first is None:
            self.first = value
        return self.first

    @classmethod
    def of_class(cls, value):
        cls.by_class = value if cls.by_class is None else cls.by_class
        return cls.by_class

    def __call__(self, z):
        z["y"] = self.of(z["b"])


FIRST, HELD = None, types.SimpleNamespace(first=None)
NUMBERS = np.arange(100).reshape(10, 10) % 4
CALLS, SEEN = 0, np.zeros(3, dtype=int)
NOTHING = type("Nothing", (), {"__module__": __name__})()
TABLE = None


def first_of_all(z):
    global FIRST
    a = z["a"]
    if FIRST is None:
        FIRST = a + 1
    z["y"] = FIRST


def of_a_held_object(z):
    a = z["a"]
    if HELD.first is None:
        HELD.first = a
    z["y"] = HELD.first


def of_itself(z):
    a = z["a"]
    if not hasattr(of_itself, "first"):
        of_itself.first = a
    z["y"] = of_itself.first


def as_slots():
    held = Slots()

    def step(z):
        a = z["a"]
        if not hasattr(held, "first"):
            held.first = a
        z["y"] = held.first

    return step


def through_a_method():
    remember = {}.setdefault
    return lambda z: z.update(y=remember(z["a"], z["b"]))


def deep_inside():
    held = Filled()
    held.rows = (types.MappingProxyType({}), [Filled()])
    return lambda z: z.update(y=held.rows[1][0].of(z["b"]))


def of_a_class():
    kind = type("Own", (Filled,), {"__module__": __name__})
    return lambda z: z.update(y=kind.of_class(z["b"]))


@both
@pytest.mark.parametrize(
    "make",
    [
        *(lambda: first_of_all, lambda: of_a_held_object, lambda: of_itself, as_slots),
        *(through_a_method, deep_inside, of_a_class, Filled),
        *(lambda: functools.partial(Filled.__call__, Filled()), lambda: Filled().__call__),
    ],
)
def test_what_is_kept_from_the_first_call_is_refused(make, lazily, monkeypatch):
    monkeypatch.setitem(globals(), "FIRST", None)
    monkeypatch.setattr(HELD, "first", None)
    vars(of_itself).clear()
    assert "does not repeat itself" in refused(make(), FEW, lazily=lazily)


def reads_numbers(z):
    z["y"] = int(NUMBERS[z["a"], z["b"]])


def counts(z):
    global CALLS
    CALLS += 1
    SEEN[z["a"]] += 1
    z["y"] = z["b"]


def counts_in_objects():
    held, kind = types.SimpleNamespace(calls=0), type("Own", (), {"__module__": __name__, "n": 0})
    one = kind()

    def step(z):
        held.calls, kind.n, step.calls = held.calls + 1, kind.n + 1, held.calls
        z["y"] = z["a"] if isinstance(one, kind) else z["b"]

    return step


def scratch():
    """Overwrites, in each call, what the call before has left."""
    rows, line = np.zeros((2, 3)), collections.deque()
    column, held = rows[:, 1], types.SimpleNamespace()

    def step(z):
        rows[:] = z["a"]
        line.extend((z["b"], 1))
        held.sum = column.sum() + line.popleft()
        line.clear()
        z["y"] = int(held.sum) % 4

    return step


def sentinel():
    """Asks whether a value is a certain object, in a method too."""

    class Memo:
        def __init__(self):
            self.found = {}

        def get(self, key):
            return self.found.get(key, NOTHING)

    memo = Memo()

    def step(z):
        at = z["a"], z["b"]
        if memo.get(at) is NOTHING:
            memo.found[at] = sum(at) % 4
        z["y"] = memo.found[at]

    return step


def built_when_needed(z):
    global TABLE
    if TABLE is None:
        TABLE = np.arange(12) % 4
    z["y"] = int(TABLE[3 * z["b"] + z["a"]])


def recursion():
    known = np.full(16, -1)
    known[:2] = 0, 1

    def fibonacci(n):
        if known[n] < 0:
            known[n] = fibonacci(n - 1) + fibonacci(n - 2)
        return known[n]

    return lambda z: z.update(y=int(fibonacci(z["a"] + z["b"])) % 4)


def from_a_generator():
    def numbers():
        one, another = 0, 1
        while True:
            yield one
            one, another = another, one + another

    source, seen = numbers(), []

    def step(z):
        while len(seen) <= z["b"]:
            seen.append(next(source))
        z["y"] = seen[z["b"]] % 4

    return step


class Lookup:
    """An object whose attributes are looked up in a table."""

    def __getattr__(self, name):
        return {}[name]

    def __call__(self, z):
        z["y"] = z["b"]


def drawn_once(dice):
    """A table of random numbers, whose seed is given."""

    def made():
        own, table = copy.deepcopy(dice), []

        def step(z):
            if not table:
                table.extend(int(4 * own.random()) for _ in range(12))
            z["y"] = table[3 * z["b"] + z["a"]]

        return step

    return made


class Properties:
    @functools.cached_property
    def table(self):
        return np.arange(4)[::-1]

    @functools.cache  # noqa: B019
    def at(self, place):
        return int(self.table[place])

    def __call__(self, z):
        z["y"] = self.at(z["b"])


@both
@pytest.mark.parametrize(
    "make",
    [
        *(lambda: reads_numbers, lambda: counts, counts_in_objects, scratch, sentinel),
        *(lambda: built_when_needed, recursion, Properties, from_a_generator),
        *map(drawn_once, (random.Random(0), np.random.default_rng(0), np.random.RandomState(0))),
    ],
)
def test_functions_that_remember_and_stay_functions_are_allowed(make, lazily, monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", None)
    assert refused(make(), FEW, lazily=lazily) is None


def test_an_object_that_raises_when_it_is_looked_at_runs_lazily():
    assert refused(Lookup(), FEW, lazily=True) is None
