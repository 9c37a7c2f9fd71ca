"""Functions that remember: what they remember may say nothing but what they read."""

import array
import collections
import contextvars
import threading
import types

import numpy as np
import pytest
from tests.language.refusals import both, refused

from espalier.errors import ProgramError
from espalier.language import var
from espalier.language.lazy import LazyRules

FEW = {"a": var(3), "b": var(4), "y": var(4)}


class Empty:
    """An object without anything."""


class OwnTable(dict):
    """A table of one's own kind."""


def by_position(make):
    """A memo in what has a place for each number, -1 or 99 where there is nothing yet."""

    def made(key):
        memo = make()
        nothing = memo[0]

        def step(z):
            at, b = key(z), z["b"]
            if memo[at] == nothing:
                memo[at] = b
            z["y"] = int(memo[at])

        return step

    return made


def by_name(make):
    """A memo in what has keys."""

    def made(key):
        memo = make()

        def step(z):
            at, b = key(z), z["b"]
            if at not in memo:
                memo[at] = b
            z["y"] = memo[at]

        return step

    return made


def by_attribute(make):
    def made(key):
        memo = make()

        def step(z):
            name, b = f"of{key(z)}", z["b"]
            if not hasattr(memo, name):
                setattr(memo, name, b)
            z["y"] = getattr(memo, name)

        return step

    return made


def in_a_queue(key):
    """The last values, oldest first."""
    line = collections.deque(maxlen=99)

    def step(z):
        at, b = key(z), z["b"]
        if at not in (known := dict(line)):
            line.append((at, b))
        z["y"] = known.get(at, b)

    return step


def in_a_context(key):
    memo = contextvars.ContextVar("memo", default=())

    def step(z):
        at, b = key(z), z["b"]
        if at not in dict(memo.get()):
            memo.set((*memo.get(), (at, b)))
        z["y"] = dict(memo.get())[at]

    return step


def by_nonlocal(key):
    memo = ()

    def remember(at, value):
        nonlocal memo
        memo = memo if at in dict(memo) else (*memo, (at, value))

    def step(z):
        remember(key(z), z["b"])
        z["y"] = dict(memo)[key(z)]

    return step


def by_global(key):
    source = """
def step(z):
    global memo
    at, b = key(z), z["b"]
    memo = memo if at in dict(memo) else (*memo, (at, b))
    z["y"] = dict(memo)[at]
"""
    exec(source, names := {"memo": (), "key": key})
    return names["step"]


MEMOS = {
    "numpy": by_position(lambda: np.full(12, -1)),
    "numpy's objects": by_position(lambda: np.full(12, None)),
    "rows": by_position(lambda: np.full((4, 3), -1.0).reshape(-1)),
    "bytes": by_position(lambda: bytearray(b"c" * 12)),
    "array": by_position(lambda: array.array("i", [-1] * 12)),
    "list": by_position(lambda: [-1] * 12),
    "dict": by_name(dict),
    "defaultdict": by_name(lambda: collections.defaultdict(int)),
    "OrderedDict": by_name(collections.OrderedDict),
    "Counter": by_name(collections.Counter),
    "own table": by_name(OwnTable),
    "ChainMap": by_name(lambda: collections.ChainMap({}, {99: 1})),
    "UserDict": by_name(collections.UserDict),
    "queue": in_a_queue,
    "object": by_attribute(Empty),
    "namespace": by_attribute(types.SimpleNamespace),
    "thread": by_attribute(threading.local),
    "function": by_attribute(lambda: lambda: 0),
    "class": by_attribute(lambda: type("Memo", (), {"__module__": __name__})),
    "context": in_a_context,
    "nonlocal": by_nonlocal,
    "global": by_global,
}


@both
@pytest.mark.parametrize("make", MEMOS.values(), ids=MEMOS)
def test_a_memo_under_too_few_names_is_refused(make, lazily):
    for key in (lambda z: z["a"], lambda z: 0):
        assert "does not repeat itself" in refused(make(key), FEW, lazily=lazily)


@both
@pytest.mark.parametrize("make", MEMOS.values(), ids=MEMOS)
def test_a_memo_under_all_it_depends_on_is_allowed(make, lazily):
    for key in (lambda z: z["b"], lambda z: 4 * z["a"] + z["b"]):
        assert refused(make(key), FEW, lazily=lazily) is None


def test_the_rules_of_a_lazy_function_are_those_of_its_beginning():
    """A run has filled the memo, so that it no longer differs from call to call."""
    for key, is_one in ((lambda z: z["a"], False), (lambda z: z["b"], True)):
        rules = LazyRules(MEMOS["numpy"](key), FEW, frozenset(), 1_000)
        for a in range(3):
            rules.decide({"a": a, "b": 2, "y": 0}.__getitem__)
        if is_one:
            assert len(rules)
        else:
            with pytest.raises(ProgramError, match="does not repeat itself"):
                len(rules)
