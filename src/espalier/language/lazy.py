"""The rules of a function that is only to be run: it is explored when they are first needed.

The interpreter calls the function itself, on what each position holds. The rules are found when
something needs them: compiling, saving the program, naming the rule that held.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

from espalier.errors import ProgramError
from espalier.language.beginnings import Beginning, BeginningError
from espalier.language.determinism import Reading, read_code
from espalier.language.exploration import FfnFunction, call, explore, refuse_drawing
from espalier.language.rounds import RUNS_OF_A_PATH
from espalier.language.rules import Rule, RuleSet
from espalier.language.variables import Value, Variable
from espalier.language.view import View

# Copies of the function may take half as long as the function, and this much longer.
SECONDS_FROM_THE_START = 0.05

# Which variables were read, in this order, and the code of each.
Path = tuple[tuple[str, int], ...]


class NullRead(BaseException):
    """The function read a variable that is null; not an Exception, so that it cannot catch it."""


@dataclass(frozen=True)
class Decision:
    """What the function did: what it read, and the codes that it wrote.

    `writes` is None where it read a null variable, the last of `path`, with the code -1.
    """

    path: Path
    writes: Mapping[str, int] | None


class LazyRules(RuleSet):
    """The rules of `function` and the resets of `heads`, explored when they are first needed."""

    def __init__(
        self,
        function: FfnFunction,
        variables: Mapping[str, Variable],
        heads: frozenset[str],
        max_paths: int,
    ) -> None:
        self.function, self.variables = function, variables
        self.heads, self.max_paths = heads, max_paths
        # How long it took to call the function, and copies of it as it was before.
        self._seconds = self._seconds_from_the_start = 0.0

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:  # type: ignore[override]
        return self.after(())

    def after(self, path: Path) -> tuple[Rule, ...]:
        """The rules for positions at which the variables of `path` have these codes."""
        fixed = {name: (self.variables[name].values[code],) for name, code in path}
        variables = {
            name: cast(Variable, _Fixed(spec, fixed[name])) if name in fixed else spec
            for name, spec in self.variables.items()
        }
        found = explore(
            self.function,
            variables,
            read_only=self.heads,
            max_paths=self.max_paths,
            beginning=self._beginning,
        )
        return (*found, *resets(self.variables, self.heads))

    def decide(self, code_of: Callable[[str], int]) -> Decision:
        """What the function does at a position; called as often as where every path is followed."""
        reading = self._reading  # of its tables as they are before it is called
        ask = partial(self._asked, code_of, reading, self._beginning)
        return refuse_drawing(ask) if reading is None else ask()

    def _asked(
        self, code_of: Callable[[str], int], reading: Reading | None, beginning: Beginning
    ) -> Decision:
        began, first = time.monotonic(), self._call(code_of)
        for asked in range(1, RUNS_OF_A_PATH):
            if asked == 2 and reading is not None and reading.unchanged():
                return first
            if self._call(code_of) != first:
                raise _does_not_repeat()
        asked_until = time.monotonic()
        self._seconds += asked_until - began
        if self._seconds_from_the_start < SECONDS_FROM_THE_START + self._seconds / 2:
            self._check_from_the_start(code_of, beginning, first)
            self._seconds_from_the_start += time.monotonic() - asked_until
        return first

    def _check_from_the_start(
        self, code_of: Callable[[str], int], beginning: Beginning, decision: Decision
    ) -> None:
        """Refuse a function that decides otherwise if it was never called before."""
        if not beginning.is_past():
            return
        try:
            found = self._call(code_of, beginning.again())
        except (BeginningError, ProgramError):  # of what it shares with the function itself
            return
        if found != decision:
            raise _does_not_repeat()

    @cached_property
    def _reading(self) -> Reading | None:
        return read_code(self.function)

    @cached_property
    def _beginning(self) -> Beginning:
        return Beginning(self.function)

    def __getstate__(self) -> dict[str, object]:
        """Without what holds for one process."""
        kept = vars(self).items()
        return {name: one for name, one in kept if name not in ("_beginning", "_reading")}

    def _call(self, code_of: Callable[[str], int], function: FfnFunction | None = None) -> Decision:
        def choose(_: int) -> int:
            code = code_of(view.reading)
            if code < 0:
                view.until_null = view.until_null or (*view.path, (view.reading, code))
                raise NullRead
            return code

        view = _Position(self.variables, self.heads, [], choose)
        try:
            call(function or self.function, view)
        except (NullRead, ProgramError):
            if view.until_null is None:
                raise
        if view.until_null is not None:
            return Decision(view.until_null, None)
        writes = {name: self.variables[name].code(new) for name, new in view.writes.items()}
        return Decision(tuple(view.path), writes)

    @property
    def summary(self) -> str:
        """How many rules there are, if they were needed already."""
        return super().summary if "_rules" in vars(self) else "a function, rules not explored yet"

    def __repr__(self) -> str:
        return super().__repr__() if "_rules" in vars(self) else f"RuleSet of {self.summary}"


class _Position(View):
    """What the function sees at one position, by the codes that are there."""

    reading = ""
    until_null: Path | None = None

    def __getitem__(self, name: str) -> Value:
        self.reading = name
        return super().__getitem__(name)


@dataclass(frozen=True)
class _Fixed:
    """A variable that has one value, and may be given any of its own."""

    spec: Variable
    values: tuple[Value, ...]

    def __getattr__(self, name: str) -> object:
        return getattr(self.spec, name)


def _does_not_repeat() -> ProgramError:
    return ProgramError(
        "ffn_fn does not repeat itself: asked again on the same values, it read or "
        "wrote differently; it may depend on nothing but what it reads"
    )


def resets(variables: Mapping[str, Variable], heads: frozenset[str]) -> list[Rule]:
    """One rule for each value of each head's output that sets it back to null."""
    names = [name for name in variables if name in heads]
    return [Rule({}, name, value, None) for name in names for value in variables[name].values]
