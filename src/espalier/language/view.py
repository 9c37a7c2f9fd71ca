"""What an explored function sees: variables that are looked up only when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import NoReturn

from espalier.errors import ProgramError, nearest
from espalier.language.variables import Value, Variable, show_value


class View(MutableMapping[str, Value]):
    """What the function sees: reads follow `path` and extend it, writes are kept aside."""

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
            code = self._choose(len(values))
            self.path.append((name, code))
        self._replayed += 1
        self._seen[name] = values[code]
        return values[code]

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
        try:
            self.writes[name] = self._variables[name].check_written(value)
        except ProgramError as error:
            self._fail(f"ffn_fn writes {name!r}: {error} ({self.where()})")

    def __delitem__(self, name: str) -> None:
        self._fail(f"ffn_fn deletes {name!r}; a variable always has a value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def where(self) -> str:
        """The values read so far, for errors."""
        read = ", ".join(f"{name} = {show_value(value)}" for name, value in self._seen.items())
        return f"where {read}" if read else "before reading anything"

    def _fail(self, message: str) -> NoReturn:
        # Kept as well as raised, so that a function that catches everything cannot swallow it.
        self.error = self.error or ProgramError(message)
        raise self.error
