"""Copies of objects that hold what they held before, each made once."""

from __future__ import annotations

import copy
import pickle
import types
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from espalier.language.contents import (
    EMPTY,
    FIXED,
    Contents,
    made_as,
    named,
)


class Copier:
    """Copies the objects of `held`; whatever else they hold is shared."""

    def __init__(self, held: Mapping[int, Contents], names: dict[str, Any]) -> None:
        self._held, self._names = held, names
        self._own_names: dict[str, Any] = dict(names)
        self._done: dict[int, Any] = {}

    def copy(self, value: Any) -> Any:
        """A copy of one of the objects as it was; of anything else, itself."""
        held = self._held.get(id(value))
        if held is None:
            return value
        if id(value) not in self._done:
            made = self._copy(held)
            self._done.setdefault(id(value), made)
        return self._done[id(value)]

    def _copy(self, held: Contents) -> Any:
        kind = type(held.value)
        if kind in FIXED:
            return FIXED[kind][1](held.value, [self.copy(one) for one in held.parts])
        if kind is types.FunctionType:
            return self._function(held)
        if kind is types.CellType:
            return self._fill_cell(types.CellType(), held)
        if kind is type:
            return self._class(held)
        if type(held.plain) is bytes:
            return pickle.loads(held.plain)
        if held.plain is not None:
            return copy.copy(held.plain)
        if hasattr(kind, "dtype"):
            return self._objects(held) if held.value.dtype.hasobject else self._view(held)
        return self._instance(held)

    def _function(self, held: Contents) -> types.FunctionType:
        value, closure = held.value, held.value.__closure__ or ()
        names = self._own_names if value.__globals__ is self._names else value.__globals__
        unfilled = [one for one in closure if id(one) in self._held and id(one) not in self._done]
        self._done |= {id(cell): types.CellType() for cell in unfilled}
        cells = tuple(self.copy(cell) for cell in closure)
        made = types.FunctionType(value.__code__, names, value.__name__, None, cells or None)
        self._done[id(value)] = made
        for cell in unfilled:
            self._fill_cell(self._done[id(cell)], self._held[id(cell)])
        rest = [self.copy(one) for one in held.parts[len(cells) :]]
        made.__defaults__, made.__kwdefaults__ = rest[:2]
        vars(made).update(self.copy(held.attributes[0]))
        for name, one in zip(named(value, self._names), rest[2:], strict=True):
            self._own_names[name] = one
            if one is EMPTY:
                del self._own_names[name]
        return made

    def _fill_cell(self, cell: types.CellType, held: Contents) -> types.CellType:
        self._done[id(held.value)] = cell
        if held.parts[0] is not EMPTY:
            cell.cell_contents = self.copy(held.parts[0])
        return cell

    def _class(self, held: Contents) -> type:
        value, bases = held.value, tuple(map(self.copy, held.value.__bases__))
        rest = held.parts[len(bases) :]
        names, parts = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        inside = {"__module__": value.__module__, "__qualname__": value.__qualname__}
        own = dict(zip(names, parts, strict=True))
        if "__slots__" in own:
            inside["__slots__"] = own.pop("__slots__")
        made = self._done[id(value)] = type(value.__name__, bases, inside)
        for name, one in own.items():
            setattr(made, name, self.copy(one))
        return made

    def _objects(self, held: Contents) -> Any:
        """An array of objects."""
        made = self._done[id(held.value)] = held.value.copy(order="K")
        for place, one in enumerate(held.parts):
            made.flat[place] = self.copy(one)
        return made

    def _view(self, held: Contents) -> Any:
        """A view of a copy of the array that it looks at."""
        value, owner = held.value, held.parts[0]
        numbers = self.copy(owner).ravel(order="K")
        start = value.ctypes.data - owner.ctypes.data
        return type(value)(
            value.shape, value.dtype, buffer=numbers, offset=start, strides=value.strides
        )

    def _instance(self, held: Contents) -> Any:
        """What a table is filled with and what attributes an object has."""
        kind, *items = held.parts
        base = cast(Any, made_as(kind)).base
        made = self._done[id(held.value)] = base.__new__(self.copy(kind))
        items = [self.copy(one) for one in items]
        if issubclass(base, dict):
            for key, one in zip(items[: len(items) // 2], items[len(items) // 2 :], strict=True):
                base.__setitem__(made, key, one)
        elif base is set:
            set.update(made, items)
        elif base is deque:
            deque.__init__(made, items, held.value.maxlen)
        elif base is list:
            list.extend(made, items)
        own, *slots = held.attributes or (None,)
        if own is not None:
            vars(made).update(self.copy(own))
        for slot, one in zip(cast(Any, made_as(type(made))).slots, slots, strict=True):
            if one is not EMPTY:
                slot.__set__(made, self.copy(one))
        return made
