"""The rules of a function that is only to be run: it is explored when they are first needed.

The interpreter calls the function itself, on what each position holds. The rules are found when
something needs them: compiling, saving the program, naming the rule that held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

from espalier.errors import ProgramError
from espalier.language.determinism import Reading, read_code
from espalier.language.exploration import FfnFunction, call, explore, refuse_drawing
from espalier.language.rounds import RUNS_OF_A_PATH
from espalier.language.rules import Rule, RuleSet
from espalier.language.variables import Value, Variable
from espalier.language.view import View

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
        found = explore(self.function, variables, read_only=self.heads, max_paths=self.max_paths)
        return (*found, *resets(self.variables, self.heads))

    def decide(self, code_of: Callable[[str], int]) -> Decision:
        """What the function does at a position; called as often as where every path is followed."""
        reading = self._reading  # of its tables as they are before it is called
        ask = partial(self._asked, code_of, reading)
        return refuse_drawing(ask) if reading is None else ask()

    def _asked(self, code_of: Callable[[str], int], reading: Reading | None) -> Decision:
        first = self._call(code_of)
        for asked in range(1, RUNS_OF_A_PATH):
            if asked == 2 and reading is not None and reading.unchanged():
                break
            if self._call(code_of) != first:
                raise ProgramError(
                    "ffn_fn does not repeat itself: asked again on the same values, it read or "
                    "wrote differently; it may depend on nothing but what it reads"
                )
        return first

    @cached_property
    def _reading(self) -> Reading | None:
        return read_code(self.function)

    def _call(self, code_of: Callable[[str], int]) -> Decision:
        def choose(_: int) -> int:
            code = code_of(view.reading)
            if code < 0:
                view.until_null = view.until_null or (*view.path, (view.reading, code))
                raise NullRead
            return code

        view = _Position(self.variables, self.heads, [], choose)
        try:
            call(self.function, view)
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


def resets(variables: Mapping[str, Variable], heads: frozenset[str]) -> list[Rule]:
    """One rule for each value of each head's output that sets it back to null."""
    names = [name for name in variables if name in heads]
    return [Rule({}, name, value, None) for name in names for value in variables[name].values]
