"""Whether a function can be seen, from its code, to depend on nothing but its arguments.

Its code, and that of all it calls, is read: constants, tables, Enums and records with their
methods and attributes, functions of the same kind with theirs, and builtins that always give the
same are allowed. Whatever else it names (a module such as os, an object, an iterator, a generator
of random numbers) could be random. Tables may be changed by the function; whether they were is seen
afterwards.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import dis
import enum
import functools
import math
import operator
import reprlib
import types
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_BUILTINS = (
    "abs all any bool bytes chr complex dict divmod enumerate filter float format frozenset int "
    "isinstance issubclass len list map max min ord pow range repr reversed round set slice sorted "
    "str sum tuple zip Exception ValueError KeyError IndexError TypeError AssertionError"
)
_STEADY = {id(getattr(builtins, name)) for name in _BUILTINS.split()}
_STEADY |= {
    id(one) for module in (math, operator) for name, one in vars(module).items() if name[0] != "_"
}
# Through these a string names an attribute, which is not read.
_STEADY -= {id(operator.attrgetter), id(operator.methodcaller)}
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, range, type(...))
# Methods of records and Enums that are not read: what makes an instance, and what Python writes.
_MAKERS = ("__init__", "__new__", "__post_init__", "__init_subclass__", "_generate_next_value_")
_WRITTEN = {"<string>", *(str(m.__file__) for m in (collections, dataclasses, enum, reprlib))}
_STORES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME")
# Attributes of generators and frames that lead to everything a module names; what a cache counts;
# and what reads attributes that a string names.
_UNREAD = {"gi_frame", "f_back", "f_builtins", "f_globals", "f_locals", "tb_frame", "cr_frame"}
_UNREAD |= {"ag_frame", "cache_info", "cache_clear", "format", "format_map"}
# What a class in C has; a class's own Python code is read.
_IN_C = (
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
    type(vars(collections.namedtuple("_One", "a"))["a"]),
)


class _UnsteadyError(Exception):
    """The code names something that may differ from call to call."""


@dataclass
class Reading:
    """Tables that a function names, as they were; and what was read of its code so far."""

    tables: list[tuple[_Table, tuple[object, ...]]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def unchanged(self) -> bool:
        """Whether all tables hold the same objects in the same order; equal ones are not enough."""
        return all(
            len(held := _held(table)) == len(before) and all(map(operator.is_, held, before))
            for table, before in self.tables
        )

    def value(self, found: object) -> None:
        """Read what a name stands for."""
        if id(found) in self.seen or id(found) in _STEADY or type(found) in _CONSTANTS:
            return
        self.seen.add(id(found))
        if isinstance(found, functools._lru_cache_wrapper):
            self.value(found.__wrapped__)
        elif type(found) is functools.partial:
            self._all((found.func, *found.args, *found.keywords.values()))
        elif type(found) is types.FunctionType:
            self._function(found)
        elif isinstance(found, tuple | frozenset) and type(found) in (tuple, frozenset):
            self._all(found)
        elif isinstance(found, list | set | dict) and type(found) in (list, set, dict):
            self._all(_held(found))
            self.tables.append((found, _held(found)))
        elif isinstance(found, enum.Enum):
            self.value(type(found))
        elif isinstance(found, type) and type(found) is enum.EnumMeta:
            self._class(found)
            for member in cast(type[enum.Enum], found):
                self.value(member.value)
                self._all(one for name, one in vars(member).items() if name[0] != "_")
        elif _is_record(found):
            self._all(found if isinstance(found, tuple) else vars(found).values())
            self._class(type(found))
        else:
            raise _UnsteadyError

    def _class(self, found: type) -> None:
        """Read what a record's or an Enum's class and its bases hold: methods, properties, values.

        Values whose names begin with an underscore cannot be named by code that is read, but those
        with two may be called by what Python does.
        """
        own = [base for base in found.__mro__ if base.__module__ != "builtins"]
        for name, one in (item for base in own for item in vars(base).items()):
            if isinstance(one, property | types.DynamicClassAttribute):
                one = one.fget
            elif isinstance(one, functools.cached_property):
                one = one.func
            one = getattr(one, "__func__", one)  # of a static method, or of a class's
            if name in _MAKERS or isinstance(one, _IN_C):
                continue
            if isinstance(one, types.FunctionType):
                if one.__code__.co_filename not in _WRITTEN:
                    self.value(one)
            elif not name.startswith("_") or _may_be_called(name, one):
                self.value(one)

    def _all(self, values: Iterable[object]) -> None:
        for value in values:
            self.value(value)

    def _function(self, function: types.FunctionType) -> None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self._all((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))
        self._all(vars(function).values())
        own = cast(Any, function).__builtins__  # which typeshed does not always know
        self._code(function.__code__, ChainMap(function.__globals__, own), cells)

    def _code(
        self, code: types.CodeType, names: Mapping[str, object], cells: dict[str, types.CellType]
    ) -> None:
        steps = list(dis.get_instructions(code))
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            if step.opname in _STORES or (step.opname == "STORE_DEREF" and step.argval in cells):
                raise _UnsteadyError
            if "ATTR" in step.opname or "METHOD" in step.opname:
                if str(step.argval).startswith("_") or step.argval in _UNREAD:
                    raise _UnsteadyError
            elif step.opname == "LOAD_GLOBAL" or step.opname == "LOAD_NAME":
                self._named(names.get(step.argval, _MISSING), after)
            elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval in cells:
                self._named(_content(cells[step.argval]), after)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, names, cells)

    def _named(self, found: object, after: dis.Instruction | None) -> None:
        """Read a value; of a module, what is taken from it next."""
        if isinstance(found, types.ModuleType):
            taken = after is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD")
            # Not what a module, or one of a kind of its own, computes when it is asked for it.
            own = vars(found) if type(found) is types.ModuleType else {}
            found = own.get(after.argval, _MISSING) if taken and after else _MISSING
        self.value(found)


_MISSING = object()
_Table = list[object] | set[object] | dict[object, object]


def _held(table: _Table) -> tuple[object, ...]:
    """What a table holds, in its order."""
    return (*table, *table.values()) if isinstance(table, dict) else tuple(table)


def _may_be_called(name: str, one: object) -> bool:
    """Whether Python itself may call what a class has under this name."""
    return name.startswith("__") and (callable(one) or hasattr(one, "__get__"))


def _is_record(found: object) -> bool:
    if isinstance(found, tuple):
        return type(found).__bases__ == (tuple,) and hasattr(found, "_fields")
    frozen = getattr(type(found), "__dataclass_params__", None)
    return frozen is not None and frozen.frozen and hasattr(found, "__dict__")


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return _MISSING


def read_code(function: Callable[..., object]) -> Reading | None:
    """What a function depends on besides its arguments; None if it could differ from call to call.

    >>> import os
    >>> table = [1, 2]
    >>> read_code(lambda z: table[z["a"]] + len(z)).unchanged()
    True
    >>> read_code(lambda z: os.urandom(1)[0]) is None
    True
    """
    reading = Reading()
    try:
        reading.value(function)
    except Exception:  # a proxy, say, that is no use here: whatever objects of others raise
        return None
    return reading
