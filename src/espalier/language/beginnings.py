"""A function as it was before it was explored: with its tables and caches as they were then.

A memo whose key lacks a variable, or a cache of a random value, gives the same answer ever after:
called again, the function repeats itself. A copy of it with its first tables may not. What changed
is copied, and what leads to it: tables, arrays, names that are bound again, attributes of objects.
What names of other modules stand for is shared, and so is all that cannot be copied.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import io
import types
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from espalier.language.contents import EMPTY, MOST_BYTES, Contents, contents
from espalier.language.copies import Copier

MOST_OBJECTS = 100_000  # of those that lead to others; what is further away is not looked at


class BeginningError(Exception):
    """What a function leads to cannot be copied."""


class Beginning:
    """What a function names or holds that may change while it runs, as it is now."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self._names = _names_of(function)
        self._context = contextvars.copy_context()
        self._held: dict[int, Contents] = {}
        self._led_from: dict[int, list[int]] = {}
        self._runs_on = False  # it leads to an iterator or a generator, which no copy can put back
        self._look()

    def _look(self) -> None:
        """Remember what each object holds that the function leads to, the nearest first."""
        waiting, seen, room = deque([cast(Any, self.function)]), {id(EMPTY)}, MOST_BYTES
        while waiting and len(self._held) < MOST_OBJECTS:
            value = waiting.popleft()
            held = None if id(value) in seen else contents(value, self._names, room=room)
            seen.add(id(value))
            kind = type(value)
            self._runs_on |= hasattr(kind, "__next__") and not issubclass(kind, io.IOBase)
            if held is not None:
                self._held[id(value)] = held
                room -= held.size
                for one in held.leads_to:
                    self._led_from.setdefault(id(one), []).append(id(value))
                    waiting.append(one)

    def is_past(self) -> bool:
        """Whether something is not as it was."""
        return bool(self._changed()) or not self._is_same_context()

    def _changed(self) -> list[int]:
        return [place for place, had in self._held.items() if not self._is_as_it_was(had)]

    def _is_as_it_was(self, had: Contents) -> bool:
        now = had if had.is_fixed else contents(had.value, self._names)
        return now is not None and now.is_same(had)

    def _is_same_context(self) -> bool:
        now, had = contextvars.copy_context(), self._context
        return len(now) == len(had) and all(now.get(one, EMPTY) is had[one] for one in had)

    def again(self) -> Callable[..., object]:
        """A copy of the function that is as it was, in the context in which it was.

        Raises BeginningError if that cannot be made.
        """
        concerned = self._changed()
        reached = set(concerned)
        for place in concerned:
            more = set(self._led_from.get(place, ())) - reached
            reached |= more
            concerned.extend(more)
        held = {place: self._held[place] for place in concerned}
        if self._runs_on:
            raise BeginningError
        try:
            made = Copier(held, self._names).copy(self.function)
        except Exception as error:  # whatever objects of others raise
            raise BeginningError from error
        return functools.partial(self._context.copy().run, made)


def _names_of(function: Any) -> dict[str, Any]:
    """The names of the module in which a function, or what it wraps or calls, was written."""
    for _ in range(100):  # of wrappers, which could go round
        if isinstance(function, functools.partial):
            function = function.func
        elif type(function) is types.MethodType:
            function = function.__func__
        elif (wrapped := inspect.getattr_static(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif type(function) is types.FunctionType:
            return function.__globals__
        else:
            function = type(function).__call__
    return {}
