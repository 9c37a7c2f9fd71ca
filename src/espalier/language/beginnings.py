"""A function as it was before it was explored: with its tables and caches as they were then.

A memo whose key lacks a variable, or a cache of a random value, gives the same answer ever after:
called again, the function repeats itself. A copy of it with its first tables may not. Only
functions of one module are copied, with the tables that they name or hold; what objects hold and
what other modules name is shared.
"""

from __future__ import annotations

import functools
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, cast

_TABLES = (list, dict, set, defaultdict, Counter, OrderedDict)
_CONSTANTS = frozenset((type(None), bool, int, float, complex, str, bytes))


class Beginning:
    """What a function names that may change while it runs, as it is now."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self._tables: dict[int, tuple[Any, Any]] = {}
        self._caches: dict[int, tuple[Any, int]] = {}
        plain = function.func if isinstance(function, functools.partial) else function
        self._names: dict[str, Any] = getattr(plain, "__globals__", {})
        self._look(function, set())

    def _look(self, found: Any, seen: set[int]) -> None:
        """Remember the tables and caches that `found` leads to."""
        waiting = [found]
        while waiting:
            value = waiting.pop()
            if type(value) in _CONSTANTS or id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) in _TABLES:
                self._tables[id(value)] = (value, value.copy())
            elif isinstance(value, functools._lru_cache_wrapper):
                self._caches[id(value)] = (value, value.cache_info().misses)
            waiting.extend(self._parts(value))

    def _parts(self, value: Any) -> Iterator[Any]:
        if isinstance(value, functools._lru_cache_wrapper):
            yield value.__wrapped__
        elif type(value) is functools.partial:
            yield from (value.func, *value.args, *value.keywords.values())
        elif type(value) in (*_TABLES, tuple, frozenset):
            yield from value.values() if isinstance(value, dict) else value
        elif self._is_own(value):
            yield from (value.__defaults__, value.__kwdefaults__, vars(value))
            yield from map(_content, value.__closure__ or ())
            yield from (self._names[name] for name in self._named(value.__code__))

    def _is_own(self, value: object) -> bool:
        return type(value) is types.FunctionType and value.__globals__ is self._names

    def _named(self, code: types.CodeType) -> list[str]:
        """The names of the module that code, and code in it, may use."""
        inside = (self._named(one) for one in code.co_consts if isinstance(one, types.CodeType))
        return [
            *(name for name in code.co_names if name in self._names),
            *(name for names in inside for name in names),
        ]

    def is_past(self) -> bool:
        """Whether a table or a cache is not as it was."""
        return any(cache.cache_info().misses != had for cache, had in self._caches.values()) or any(
            list(map(id, _held(table))) != list(map(id, _held(had)))
            for table, had in self._tables.values()
        )

    def again(self) -> Callable[..., object]:
        """A copy of the function, with copies of its tables as they were and empty caches."""
        return cast(Callable[..., object], _Copier(self).copy(self.function))


class _Copier:
    """Copies what leads to tables, each thing once."""

    def __init__(self, beginning: Beginning) -> None:
        self._beginning = beginning
        self._done: dict[int, Any] = {}
        self._names: dict[str, Any] = {}

    def copy(self, value: Any) -> Any:
        """A copy of a table or of what leads to one; anything else as it is."""
        if type(value) in _CONSTANTS:
            return value
        if id(value) in self._done:
            return self._done[id(value)]
        if type(value) in _TABLES:
            return self._table(value)
        if self._beginning._is_own(value):
            return self._function(value)
        made = value
        if isinstance(value, functools._lru_cache_wrapper):
            made = functools.lru_cache(**value.cache_parameters())(self.copy(value.__wrapped__))
        elif type(value) is functools.partial:
            keywords = {name: self.copy(one) for name, one in value.keywords.items()}
            made = functools.partial(self.copy(value.func), *map(self.copy, value.args), **keywords)
        elif type(value) in (tuple, frozenset):
            made = type(value)(map(self.copy, value))
        return self._done.setdefault(id(value), made)

    def _table(self, table: Any) -> Any:
        _, had = self._beginning._tables.get(id(table), (table, table))
        made = self._done[id(table)] = had.copy()
        made.clear()
        if isinstance(had, dict):
            for key, one in had.items():
                made[self.copy(key)] = self.copy(one)
        else:
            (made.extend if isinstance(made, list) else made.update)(map(self.copy, had))
        return made

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        if not self._names:
            self._names.update(function.__globals__)
        made = types.FunctionType(
            function.__code__, self._names, function.__name__, None, cells if cells else None
        )
        self._done[id(function)] = made
        made.__defaults__ = self.copy(function.__defaults__)
        made.__kwdefaults__ = self.copy(function.__kwdefaults__)
        vars(made).update(self.copy(vars(function)))
        for cell, own in zip(cells, function.__closure__ or (), strict=True):
            content = _content(own)
            if content is not _EMPTY:
                cell.cell_contents = self.copy(content)
        for name in self._beginning._named(function.__code__):
            self._names[name] = self.copy(function.__globals__[name])
        return made


_EMPTY = object()


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return _EMPTY


def _held(table: Any) -> list[Any]:
    """What a table holds; of a set, in an order that a copy of it has too."""
    if isinstance(table, dict):
        return [*table, *table.values()]
    return sorted(table, key=id) if isinstance(table, set) else table
