"""What an object holds that may change, and copies of it that hold what they are given.

Tables, arrays, functions with what they close over, objects with attributes and the classes of a
module are understood. Anything else (a file, an iterator, an array of more than 64 MB) is shared by
copies.
"""

from __future__ import annotations

import array
import functools
import operator
import pickle
import random
import sys
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

CONSTANTS = frozenset((type(None), bool, int, float, complex, str, bytes, range, object))
MOST_BYTES = 1 << 26
_BYTES = (bytearray, array.array)
EMPTY: Any = type("Empty", (), {"__slots__": ()})()
# What a table is made of, the special ones first: their methods pass by those of subclasses.
_BASES: tuple[Any, ...] = (
    *(OrderedDict, dict, list, set, deque),
    *(threading.local, types.SimpleNamespace, object),
)
_OF_NUMPY = {("numpy.random._generator", "Generator"), ("numpy.random.mtrand", "RandomState")}
_OF_EVERY_CLASS = {"__dict__", "__weakref__", "__module__", "__doc__", "__qualname__"}
# What cannot be changed, but may lead to what can: what it holds, and another that holds these.
FIXED: dict[type, tuple[Callable[[Any], Iterable[Any]], Callable[[Any, list[Any]], Any]]] = {
    tuple: (iter, lambda value, parts: tuple(parts)),
    frozenset: (iter, lambda value, parts: frozenset(parts)),
    functools.partial: (
        lambda value: (value.keywords, value.func, *value.args),
        lambda value, parts: functools.partial(parts[1], *parts[2:], **parts[0]),
    ),
    types.MethodType: (
        lambda value: (value.__func__, value.__self__),
        lambda value, parts: types.MethodType(*parts),
    ),
    types.BuiltinMethodType: (
        lambda value: (value.__self__,),
        lambda value, parts: getattr(parts[0], value.__name__),
    ),
    staticmethod: (lambda value: (value.__func__,), lambda value, parts: staticmethod(*parts)),
    classmethod: (lambda value: (value.__func__,), lambda value, parts: classmethod(*parts)),
    property: (
        lambda value: (value.fget, value.fset, value.fdel),
        lambda value, parts: property(*parts),
    ),
    functools._lru_cache_wrapper: (
        lambda value: (value.__wrapped__,),
        lambda value, parts: functools.lru_cache(**value.cache_parameters())(*parts),
    ),
}


@dataclass(frozen=True)
class Contents:
    """What one object holds: other objects, attributes, and what only equality can tell."""

    value: Any
    parts: tuple[Any, ...] = ()
    attributes: tuple[Any, ...] = ()
    plain: Any = None

    @property
    def leads_to(self) -> list[Any]:
        """The objects that may change, or lead to some that do."""
        return [one for one in (*self.parts, *self.attributes) if not _is_constant(one)]

    @property
    def size(self) -> int:
        """The bytes of what is copied from it."""
        return int(getattr(self.plain, "nbytes", 0)) or (
            memoryview(self.plain).nbytes if isinstance(self.plain, _BYTES) else 0
        )

    @property
    def is_fixed(self) -> bool:
        """Whether it holds the same for ever; a cache counts what it does not know."""
        return self.plain is None and type(self.value) in FIXED

    def is_same(self, other: Contents) -> bool:
        """Whether both are the same objects, in the same order."""
        return self is other or (
            _are_same(self.parts, other.parts)
            and _are_same(self.attributes, other.attributes)
            and _are_equal(self.plain, other.plain)
        )


def _is_constant(value: Any) -> bool:
    kind = type(value)
    return kind in CONSTANTS or (kind is tuple and CONSTANTS.issuperset(map(type, value)))


def contents(value: Any, names: dict[str, Any], *, room: int = MOST_BYTES) -> Contents | None:
    """What `value` holds now, if it is understood and takes no more than so many bytes.

    `names` are those of the function's module.
    """
    try:
        return _contents(value, names, room)
    except Exception:  # a proxy, say: whatever objects of others raise
        return None


def _contents(value: Any, names: dict[str, Any], room: int) -> Contents | None:
    kind = type(value)
    if kind is list or kind is set:
        return Contents(value, (kind, *value))
    if kind is dict:
        return Contents(value, (kind, *value, *value.values()))
    if kind in FIXED:
        plain = value.cache_info().misses if kind is functools._lru_cache_wrapper else None
        return Contents(value, tuple(FIXED[kind][0](value)), plain=plain)
    if kind is types.CellType:
        return Contents(value, (content(value),))
    if kind is types.FunctionType:
        held = [names.get(name, EMPTY) for name in named(value, names)]
        parts = (*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, *held)
        return Contents(value, parts, (vars(value),))
    if kind is bytearray or kind is array.array:
        return Contents(value, plain=value[:]) if memoryview(value).nbytes <= room else None
    if kind is type:
        return _of_class(value) if value.__module__ == names.get("__name__") else None
    made = made_as(kind)
    if made is None:
        return None
    if made.base is pickle:
        return Contents(value, plain=pickle.dumps(value))
    if hasattr(made.base, "dtype"):
        return _of_array(value, room)
    return Contents(value, (kind, *_items(value, made.base)), _attributes(value, made))


def _items(value: Any, base: Any) -> Iterable[Any]:
    """What is in a table: of a dictionary first the keys."""
    if base is OrderedDict or base is dict:
        return (*base.keys(value), *base.values(value))
    return base.__iter__(value) if base in (list, set, deque) else ()


def _of_array(value: Any, room: int) -> Contents | None:
    """Of an array its numbers or objects; of a view the array that it looks at."""
    owner = owner_of(value)
    if value.dtype.char == "O" and owner is value:
        return Contents(value, tuple(value.flat))
    if owner.dtype.hasobject or owner.nbytes > room or type(owner) is not type(value):
        return None
    if owner is not value:
        return Contents(value, (owner,))
    return Contents(value, plain=value.copy(order="K")) if owner.base is None else None


def owner_of(value: Any) -> Any:
    """The array whose numbers an array looks at."""
    while hasattr(value.base, "dtype"):
        value = value.base
    return value


def _of_class(value: type) -> Contents | None:
    above = value.__mro__[1:-1]
    if any("__init_subclass__" in vars(base) for base in above) or not _is_plain(value):
        return None
    held = {name: one for name, one in vars(value).items() if name not in _OF_EVERY_CLASS}
    held = {n: one for n, one in held.items() if type(one) is not types.MemberDescriptorType}
    return Contents(value, (*value.__bases__, *held, *held.values()))


@dataclass(slots=True)
class Make:
    """How to make an empty object of a class: its builtin base, and where its attributes are."""

    base: Any
    has_dictionary: bool = False
    slots: tuple[Any, ...] = ()


def _made_as(kind: Any) -> Make | None:
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        return Make(numpy.ndarray)
    if kind is random.Random or (kind.__module__, kind.__name__) in _OF_NUMPY:
        return Make(pickle)
    base = next(base for base in _BASES if issubclass(kind, base))
    if base is object and not _is_plain(kind):
        return None
    held = [item for each in kind.__mro__ for item in vars(each).items()]
    dictionary = next((type(one) for name, one in held if name == "__dict__"), None)
    slots = [one for n, one in held if type(one) is types.MemberDescriptorType and n != "__dict__"]
    ways = (types.GetSetDescriptorType, types.MemberDescriptorType)
    return Make(base, dictionary in ways or kind is threading.local, tuple(slots))


_known_makes = functools.lru_cache(256)(_made_as)


def made_as(kind: Any) -> Make | None:
    """How a kind of table, array, generator or object is made; None for any other."""
    return _known_makes(kind)


def _is_plain(kind: type) -> bool:
    """Whether what an instance is, is what its attributes are."""
    if any(
        getattr(kind, way) is not getattr(object, way) for way in ("__reduce__", "__reduce_ex__")
    ):
        return False
    if kind.__module__ == "builtins" or hasattr(kind, "__del__"):
        return False
    try:
        object.__new__(kind)
    except TypeError:  # it is more
        return False
    return True


def _attributes(value: Any, made: Make) -> tuple[Any, ...]:
    own = vars(value) if made.has_dictionary else None
    return (own, *(_slot(one, value) for one in made.slots))


def _slot(slot: Any, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return EMPTY


def content(cell: types.CellType) -> Any:
    """What a cell holds."""
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return EMPTY


def named(function: types.FunctionType, names: dict[str, Any]) -> list[str]:
    """The names of the module that a function of it, and code in it, may use; none of another's."""
    waiting, found = [function.__code__] if function.__globals__ is names else [], dict[str, None]()
    for code in waiting:
        found |= dict.fromkeys(code.co_names)
        waiting.extend(one for one in code.co_consts if isinstance(one, types.CodeType))
    return list(found)


def _are_same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, array.array):
        return bool(one.tobytes() == other.tobytes())
    if not hasattr(one, "dtype"):
        return bool(one == other)
    if one.shape != other.shape or one.dtype != other.dtype or one.strides != other.strides:
        return False
    kind = "u8" if one.nbytes % 8 == 0 else "u1"  # by their bits: nan is nan
    bits = [each.ravel(order="K").view(kind) for each in (one, other)]
    return bool((bits[0] == bits[1]).all())
