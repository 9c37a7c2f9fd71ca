"""Rules written by looping over values, as in the paper's Figure 6.

    builder = RuleBuilder(variables, heads)
    for done, done_left in builder.get("done", "done_left"):
        if not done and done_left:
            for left, parity in builder.get("parity_left", "parity"):
                builder.set("parity", left ^ parity)
            builder.set("done", 1)

The loops that are open when `set` is called are the antecedent of the rules it writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from espalier.errors import ProgramError, nearest
from espalier.language.heads import Head
from espalier.language.rules import Atoms, Rule
from espalier.language.variables import Value, Variable
from espalier.language.wiring import all_variables


class RuleBuilder:
    """Collects the rules that `set` writes under the loops of `get`."""

    def __init__(
        self, variables: Mapping[str, Variable], heads: Mapping[str, Head] | None = None
    ) -> None:
        self._heads = dict(heads or {})
        self._variables = all_variables(variables, self._heads)
        self._atoms = Atoms()
        self._open: list[dict[str, Value]] = []
        self._rules: list[Rule] = []

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule written so far."""
        return tuple(self._rules)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """The variables, the outputs of heads included, whose values the rules were checked for."""
        return self._variables

    @property
    def scope(self) -> dict[str, Value]:
        """The variables that the open loops have fixed, and their values."""
        return {name: value for loop in self._open for name, value in loop.items()}

    def get(self, *names: str) -> Iterable[Any]:
        """Loop over the values of `names`: bare values for one name, tuples for several.

        A name that an outer loop has fixed already gives that one value.
        """
        if not names:
            raise ProgramError("get needs the name of at least one variable")
        for name in names:
            self._known("reads", name)
        return _Loop(self, names)

    def _loop(self, names: tuple[str, ...]) -> Iterator[Any]:
        fixed, different = self.scope, tuple(dict.fromkeys(names))
        choices = [(fixed[n],) if n in fixed else self._variables[n].values for n in different]
        mine: dict[str, Value] = {}
        self._open.append(mine)
        try:
            for values in itertools.product(*choices):
                mine.update(zip(different, values, strict=True))
                found = tuple(mine[name] for name in names)
                yield found if len(found) > 1 else found[0]
        finally:
            # By identity: a loop left early closes when Python drops it, in no certain order.
            self._open = [loop for loop in self._open if loop is not mine]

    def set(self, name: str, value: object) -> None:
        """Write `value` to `name` wherever the open loops' values hold."""
        self._known("writes", name)
        if name in self._heads:
            raise ProgramError(
                f"RuleBuilder writes {name!r}, the output of a head, which is null at the end of "
                "every layer; write a variable of its own"
            )
        scope = self.scope
        try:
            new = self._variables[name].check_written(value)
        except ProgramError as error:
            where = ", ".join(f"{key} = {held}" for key, held in scope.items()) or "everywhere"
            raise ProgramError(f"RuleBuilder writes {name!r}: {error} ({where})") from None
        atom = self._atoms
        atoms = tuple([atom(key, held) for key, held in scope.items()])
        if name in scope:
            if scope[name] != new:
                self._rules.append(Rule.of_atoms(atoms, name, scope[name], new))
            return
        for old in self._variables[name].values:
            if old != new:
                self._rules.append(Rule.of_atoms((*atoms, atom(name, old)), name, old, new))

    def _known(self, verb: str, name: str) -> None:
        if not isinstance(name, str) or name not in self._variables:
            raise ProgramError(
                f"RuleBuilder {verb} {name!r}, which is not a variable; "
                f"{nearest(name, self._variables)}"
            )


class _Loop:
    """What `get` returns. Only the `for` statement holds the running loop, so leaving ends it."""

    def __init__(self, builder: RuleBuilder, names: tuple[str, ...]) -> None:
        self._builder, self._names = builder, names

    def __iter__(self) -> Iterator[Any]:
        return self._builder._loop(self._names)
