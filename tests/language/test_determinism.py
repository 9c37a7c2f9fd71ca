"""Which code could hold a coin, as far as reading it can tell."""

import collections
import dataclasses
import enum
import functools
import operator
import os
import random
import types
from pathlib import Path

import pytest

from espalier.language.determinism import read_code


def toss():
    return os.urandom(1)[0] & 1


def always(z):
    z["y"] = toss()


def on_a_path(coin):
    def step(z):
        if z["a"] and coin(z):
            z["y"] = 0

    return step


TABLE, GROWING = {0: 1, 1: 2, 2: 0}, []
NEXT = iter(range(10**9))


def looks_up(z):
    z["y"] = TABLE[z["a"]] + max(0, len("abc") - 3)


def calls_a_method(z):
    z["y"] = sorted([z["a"], 1]).index(1) if "x".isalpha() else 0


def takes_the_next(z):
    z["y"] = next(NEXT) % 2


def reads_the_time(z):
    import time

    z["y"] = int(time.time()) % 2


def changes_a_global(z):
    global COUNT
    COUNT = COUNT + 1
    z["y"] = COUNT % 2


COUNT = 0


@dataclasses.dataclass(frozen=True)
class Steady:
    """A record that computes what it holds."""

    size: int = 2

    @property
    def twice(self):
        return 2 * self.size

    def __getitem__(self, place):
        return place + self.size


@dataclasses.dataclass(frozen=True)
class Tosses(Steady):
    def __call__(self):
        return toss()


class Inherits(Tosses):
    """The coin is its base's."""


class Plain(enum.Enum):
    ONE = 1

    def next(self):
        return self.value + 1


class Sides(enum.Enum):
    HEADS = 1

    @property
    def other(self):
        return toss()


class Static(enum.IntEnum):
    HEADS = 1

    @staticmethod
    def thrown():
        return toss()


def test_coins_in_methods_of_records_and_enums_are_read():
    steady, tosses, inherits = Steady(), Tosses(), Inherits()
    pair = collections.namedtuple("pair", "a b")(1, 2)
    for function in (
        lambda z: steady.twice + steady[1] + pair.a,
        lambda z: Plain.ONE.next(),
        lambda z, one=Plain.ONE: one.value,
    ):
        assert read_code(function) is not None
    for function in (
        lambda z: tosses(),
        lambda z: inherits(),
        lambda z: Sides.HEADS.other,
        lambda z, side=Sides.HEADS: side.other,
        lambda z: Static.thrown(),
    ):
        assert read_code(function) is None


class Tossing(enum.EnumMeta):
    def __getitem__(cls, name):
        return toss()


class Metal(enum.Enum, metaclass=Tossing):
    GOLD = 1


def test_coins_behind_names_in_a_text_or_in_a_metaclass_are_not_taken_for_steady():
    dice = random.Random(0)
    for function in (
        lambda z: Metal["GOLD"],
        lambda z: operator.attrgetter("__globals__")(toss)["os"].urandom(1),
        lambda z: operator.methodcaller("random")(dice),
        lambda z: operator.methodcaller("clear")([]),
    ):
        assert read_code(function) is None
    assert read_code(lambda z: operator.itemgetter(0)([1])) is not None


class Number(int):
    def __bool__(self):
        return bool(toss())


class Held(enum.Enum):
    STATE = [1]  # noqa: RUF012


@dataclasses.dataclass(frozen=True)
class Clock:
    seen = [1]  # noqa: RUF012
    throw = staticmethod(os.urandom)


@dataclasses.dataclass(frozen=True)
class Counter:
    seen = [1]  # noqa: RUF012


def helper():
    return 0


def test_coins_in_attributes_of_what_code_names_are_read():
    member, number, clock, counter = Static.HEADS, Number(1), Clock(), Counter()
    helper.dice = random.Random(0)
    for unsteady in (
        lambda z: member.thrown(),
        lambda z: 1 if number else 0,
        lambda z: clock.throw(1),
        lambda z: helper.dice.getrandbits(1),
        lambda z: (one for one in ()).gi_frame.f_globals["os"].urandom(1),
    ):
        assert read_code(unsteady) is None
    helper.dice = [1]
    for steady, table in (
        (lambda z: helper.dice[0], helper.dice),
        (lambda z: Held.STATE.value[0], Held.STATE.value),
        (lambda z: counter.seen[0], counter.seen),
    ):
        reading = read_code(steady)
        assert reading.unchanged()
        table.append(2)
        assert not reading.unchanged()


def test_a_table_that_holds_itself_is_held_against_what_it_was():
    table = [1]
    table.append(table)
    reading = read_code(lambda z: table[0])
    assert reading.unchanged()
    table[0] = 2
    assert not reading.unchanged()


def rotate(table):
    table[0] = table.pop(0)


def to_an_equal_one(table):
    table[0] = False


@pytest.mark.parametrize("change", [rotate, to_an_equal_one])
def test_order_and_kind_of_what_a_table_holds_may_be_a_state(change):
    table = {0: 0, 1: 0}
    reading, before = read_code(lambda z: table[0]), dict(table)
    change(table)
    assert table == before
    assert not reading.unchanged()


class Dice:
    """Coins where reading by name alone finds none."""

    def __init__(self):
        self.throw = random.Random(0).getrandbits

    @property
    def side(self):
        return self.throw(1)


DICE = Dice()


def of_a_partial_of_its_own_kind():
    kind = type("Tossed", (functools.partial,), {"__call__": lambda self: DICE.side})
    tossed = kind(int)
    return lambda z: tossed()


def counted_by_a_cache():
    cached = functools.lru_cache(lambda: 0)
    return lambda z: cached() + cached.cache_info().hits % 2


def computed_by_a_module():
    module = types.ModuleType("tosses")
    module.__getattr__ = lambda name: DICE.side
    return lambda z: module.side


def of_a_module_of_its_own_kind():
    module = type("Tosses", (types.ModuleType,), {"side": Dice.side})("tosses")
    module.throw = DICE.throw
    return lambda z: module.side


def called_by_python():
    kind = dataclasses.make_dataclass("Tossed", [], frozen=True)
    kind.__call__ = functools.partial(DICE.throw, 1)
    tossed = kind()
    return lambda z: tossed()


def taken_by_python():
    kind = dataclasses.make_dataclass("Tossed", [], frozen=True)
    kind.__getitem__ = DICE.throw
    tossed = kind()
    return lambda z: tossed[1]


def named_in_a_text():
    return lambda z: int("{.__globals__[DICE].side}".format(rotate))  # noqa: UP032


def among_builtins():
    exec("def toss(z): return __builtins__['__import__']('os').urandom(1)", names := {})
    return names["toss"]


def among_builtins_of_its_own():
    names = {"__builtins__": {"len": lambda text: DICE.side}}
    exec("def toss(z): return len('')", names)
    return names["toss"]


@pytest.mark.parametrize(
    "make",
    [
        *(of_a_partial_of_its_own_kind, counted_by_a_cache, computed_by_a_module),
        *(of_a_module_of_its_own_kind, called_by_python, taken_by_python, named_in_a_text),
        *(among_builtins, among_builtins_of_its_own),
    ],
)
def test_coins_that_no_name_shows_are_not_taken_for_steady(make):
    coin = make()
    assert len({coin({}) for _ in range(99)}) > 1
    assert read_code(coin) is None


def test_code_that_could_hold_a_coin_is_distinguished_from_code_that_cannot():
    for steady in (looks_up, calls_a_method, lambda z: looks_up(z), on_a_path(looks_up)):
        assert read_code(steady) is not None
    objects = (random.Random(0).random, object(), Path("x").exists)
    for unsteady in (always, takes_the_next, reads_the_time, changes_a_global, *objects):
        assert read_code(unsteady) is None
    grows = read_code(lambda z: GROWING.append(z))
    assert grows.unchanged()
    GROWING.append(1)
    assert not grows.unchanged()


class Proxy:
    """Stands for what is there later, as the current request of a server does."""

    @property
    def __class__(self):
        raise LookupError("there is none yet")


class Kind(type):
    def __getattr__(cls, name):
        raise RuntimeError(f"no {name} yet")


class Names(dict):
    def __missing__(self, name):
        raise RuntimeError(f"no {name} yet")


@pytest.mark.parametrize("make", [Proxy, Kind("Odd", (), {})], ids=["proxy", "kind"])
def test_objects_that_raise_when_they_are_looked_at_may_be_coins(make):
    odd = make()
    assert read_code(lambda z: odd if z else 0) is None


def test_names_that_raise_when_they_are_looked_up_may_be_coins():
    code = (lambda z: absent + 1).__code__  # noqa: F821
    assert read_code(types.FunctionType(code, Names(__builtins__={}))) is None
