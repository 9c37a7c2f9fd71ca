"""What an explored function sees: variables that are looked up only when they are read.

A function may make a dictionary of what it sees, but what it writes there goes nowhere. So a view
remembers who asked for all of its names, and looks into their dictionaries when they are done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, MutableMapping
from types import FrameType
from typing import NoReturn

from espalier.errors import ProgramError, nearest
from espalier.language.variables import Value, Variable, show_value


class View(MutableMapping[str, Value]):
    """What the function sees: reads follow `path` and extend it, writes are held apart."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        read_only: frozenset[str],
        path: list[tuple[str, int]],
        choose: Callable[[int], int],
    ) -> None:
        self.path = path
        self.writes: dict[str, Value] = {}
        self.error: ProgramError | None = None
        self._variables, self._read_only, self._choose = variables, read_only, choose
        self._seen: dict[str, Value] = {}
        self._replayed = 0
        self._overwritten: dict[str, list[Value]] = {}
        self._copiers: list[FrameType] = []
        self.is_copied = False

    def __getitem__(self, name: str) -> Value:
        if name in self.writes:
            return self.writes[name]
        if name in self._seen:
            return self._seen[name]
        if name not in self._variables:
            self._fail(
                f"ffn_fn reads {name!r}, which is not a variable; {nearest(name, self._variables)}"
            )
        values = self._variables[name].values
        if self._replayed < len(self.path):
            expected, code = self.path[self._replayed]
            if expected != name:
                self._fail(
                    f"ffn_fn does not repeat itself: after the same values it read {expected!r} "
                    f"once and {name!r} another time; it may depend on nothing but what it reads"
                )
        else:
            code = self._code(name, len(values))
            self.path.append((name, code))
        self._replayed += 1
        self._seen[name] = values[code]
        return values[code]

    def _code(self, name: str, size: int) -> int:
        """Which of its values a variable has that was not read before."""
        return self._choose(size)

    def __setitem__(self, name: str, value: object) -> None:
        if name not in self._variables:
            self._fail(
                f"ffn_fn writes {name!r}, which is not a variable; {nearest(name, self._variables)}"
            )
        if name in self._read_only:
            self._fail(
                f"ffn_fn writes {name!r}, the output of a head, which is null at the end of every "
                "layer; write a variable of its own"
            )
        if name in self.writes:
            self._overwritten.setdefault(name, []).append(self.writes[name])
        try:
            self.writes[name] = self._variables[name].check_written(value)
        except ProgramError as error:
            self._fail(f"ffn_fn writes {name!r}: {error} ({self.where()})")

    def __delitem__(self, name: str) -> None:
        self._fail(f"ffn_fn deletes {name!r}; a variable always has a value")

    def __iter__(self) -> Iterator[str]:
        self._copiers.append(sys._getframe(1))
        return iter(self._variables)

    def keys(self) -> KeysView[str]:
        """The names of all variables."""
        self._copiers.append(sys._getframe(1))
        return super().keys()

    def items(self) -> ItemsView[str, Value]:
        """The names and values of all variables."""
        self._copiers.append(sys._getframe(1))
        return super().items()

    def __len__(self) -> int:
        return len(self._variables)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def pretend(self, name: str, value: object) -> None:
        """Let the variable `name` read as `value`, whatever it is."""
        self._seen[name] = value  # type: ignore[assignment]

    def __copy__(self) -> NoReturn:
        self._fail("ffn_fn copies its argument; dict(z) makes a dictionary of its values")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def check_copies(self) -> None:
        """Refuse a function that changed a dictionary of the values instead of the view."""
        frames, self._copiers = self._copiers, []
        self.is_copied = bool(frames) and self._variables.keys() <= {*self._seen, *self.writes}
        for frame in frames if self.is_copied else ():
            for local, held in list(frame.f_locals.items()):
                if type(held) is dict and held.keys() >= self._variables.keys():
                    self._check_copy(local, held)

    def _check_copy(self, local: str, held: dict[str, object]) -> None:
        for name in self._variables:
            had = [*self._overwritten.get(name, ()), self.writes.get(name), self._seen.get(name)]
            if held[name] not in had:
                self._fail(
                    f"ffn_fn changes a copy: {local}[{name!r}] is {held[name]!r}, but {name!r} is "
                    f"{show_value(self[name])}; what is to happen must be written to the argument "
                    "itself"
                )

    def where(self) -> str:
        """The values read so far, for errors."""
        read = ", ".join(f"{name} = {show_value(value)}" for name, value in self._seen.items())
        return f"where {read}" if read else "before reading anything"

    def _fail(self, message: str) -> NoReturn:
        # Stored as well as raised, so that a function that catches everything cannot swallow it.
        self.error = self.error or ProgramError(message)
        raise self.error


class FixedView(View):
    """A view of an assignment: variables have the values of `codes`, or else their first."""

    def __init__(
        self, variables: Mapping[str, Variable], read_only: frozenset[str], codes: Mapping[str, int]
    ) -> None:
        super().__init__(variables, read_only, [], lambda size: 0)
        self._codes = codes

    def _code(self, name: str, size: int) -> int:
        return self._codes.get(name, 0)
