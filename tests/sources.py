"""Random Python functions as source: branches, loops, temporaries, helpers, comprehensions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping

from dice import Dice
from espalier.language import Variable

HELPERS = """
TABLE = {0: 1, 1: 2, 2: 0}
LIST = [2, 0, 1]

def plain(a, b=1):
    total = 0
    for n in range(a + b):
        total += n
    return total

def touch(z, name, by=1):
    if z[name] > 0:
        z[name] = (z[name] + by) % SIZES[name]
        return 1
    return 0
"""


class Writer:
    """Writes statements over categorical variables `sizes` and the temporaries t0, t1, t2."""

    def __init__(self, dice: Dice, sizes: Mapping[str, int]) -> None:
        self.dice, self.sizes, self.names = dice, sizes, list(sizes)
        self.loops = 0

    def number(self, depth: int = 2) -> str:
        """An expression that is a small non-negative integer."""
        dice = self.dice
        name, one = dice.pick(self.names), lambda: self.number(depth - 1)
        if depth == 0:
            return dice.pick([f"z[{name!r}]", f"z[{name!r}]", "t0", "t1", "t2", "1", "2"])
        return dice.pick(
            [
                one,
                lambda: f"({one()} + {one()})",
                lambda: f"({one()} * {one()} % 5)",
                lambda: f"abs({one()} - {one()})",
                lambda: f"({one()} if {self.test(depth - 1)} else {one()})",
                lambda: f"({one()} or {one()})",
                lambda: f"int({self.test(depth - 1)})",
                lambda: f"plain({one()} % 3)",
                lambda: f"plain(b={one()} % 3, a=1)",
                lambda: f"TABLE[{one()} % 3]",
                lambda: f"LIST[{one()} % 3]",
                lambda: f"({one()}, {one()})[{one()} % 2]",
                lambda: f"sum(z[k] for k in {dice.some(self.names, least=1, most=2)})",
                lambda: f"len([k for k in {self.names[:2]} if z[k] > {one()} % 2])",
                lambda: f"max({one()}, {one()})",
                lambda: f"z.get({name!r})",
                lambda: f"{{0: {one()}, 1: 2}}[{one()} % 2]",
            ]
        )()

    def test(self, depth: int) -> str:
        """An expression that is used as a truth value."""
        dice, one = self.dice, lambda: self.number(max(depth - 1, 0))
        return dice.pick(
            [
                lambda: f"{one()} == {one()}",
                lambda: f"{one()} > {one()}",
                lambda: f"0 < {one()} <= 2",
                lambda: f"({one()} and not {one()})",
                lambda: f"({one()} > 1 or {one()} == 0)",
                lambda: f"{one()} in (0, 2)",
                lambda: f"any(z[k] == 1 for k in {dice.some(self.names, least=1, most=3)})",
                lambda: f"all([z[k] for k in {dice.some(self.names, least=1, most=2)}])",
            ]
        )()

    def block(self, depth: int, *, looping: bool = False) -> str:
        """One to three statements."""
        count = self.dice.number(1, 3)
        return "\n".join(self.statement(depth, looping=looping) for _ in range(count))

    def statement(self, depth: int, *, looping: bool) -> str:
        dice = self.dice
        name, temporary = dice.pick(self.names), dice.pick(["t0", "t1", "t2"])
        other, size = dice.pick(self.names), self.sizes[name]
        simple = [
            lambda: f"z[{name!r}] = {self.number()} % {size}",
            lambda: f"z[{name!r}] = {self.number()} % {size}",
            lambda: f"{temporary} = {self.number()} % 7",
            lambda: f"{temporary} += {self.number(1)}",
            lambda: f"t0, t1 = t1, {self.number(1)}",
            lambda: f"{temporary} = touch(z, {name!r})",
            lambda: f"touch(z, {name!r}, by={self.number(1)})",
            lambda: f"z.update({name}={self.number(1)} % {size})",
            lambda: (
                f"z[{name!r} if {self.test(1)} else {other!r}] = t0 % {min(self.sizes.values())}"
            ),
        ]
        if looping:
            simple += [lambda: f"if {self.test(1)}:\n    break"]
            simple += [lambda: f"if {self.test(1)}:\n    continue"]
        if depth == 0:
            return dice.pick(simple)()
        return dice.pick([*simple, *[lambda: self.compound(depth, looping=looping)] * 8])()

    def compound(self, depth: int, *, looping: bool) -> str:
        dice = self.dice
        kind = dice.pick(["if", "else", "elif", "for", "while", "return", "names"])
        if kind == "return":
            return f"if {self.test(1)}:\n    return"
        body = self.indented(depth, looping=looping or kind in ("for", "while", "names"))
        if kind == "while":
            self.loops += 1
            count = f"w{self.loops}"
            return f"{count} = {self.number(0)} % 3\nwhile {count}:\n    {count} -= 1\n{body}"
        if kind == "for":
            return f"for t2 in range({dice.pick(['2', self.number(0) + ' % 3'])}):\n{body}"
        if kind == "names":
            return f"for n, k in enumerate({self.names[:2]}):\n    t1 = z[k] + n\n{body}"
        text = f"if {self.test(1)}:\n{body}"
        if kind == "elif":
            text += f"\nelif {self.test(1)}:\n{self.indented(depth, looping=looping)}"
        if kind != "if":
            text += f"\nelse:\n{self.indented(depth, looping=looping)}"
        return text

    def indented(self, depth: int, *, looping: bool) -> str:
        return textwrap.indent(self.block(depth - 1, looping=looping), "    ")


def random_source(dice: Dice, variables: Mapping[str, Variable], *, depth: int = 2) -> str:
    """The source of a function `step(z)` that reads and writes categorical variables."""
    writer = Writer(dice, {name: spec.size for name, spec in variables.items()})
    body = textwrap.indent(writer.block(depth) + "\n" + writer.block(depth), "    ")
    return f"{HELPERS}\ndef step(z):\n    t0 = t1 = t2 = 0\n{body}\n"


def compiled(source: str, variables: Mapping[str, Variable]) -> Callable[..., object]:
    """The function of a source."""
    names: dict[str, object] = {"SIZES": {name: spec.size for name, spec in variables.items()}}
    exec(compile(source, "<random source>", "exec"), names)
    return names["step"]
