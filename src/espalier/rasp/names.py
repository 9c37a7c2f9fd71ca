"""Unique names for the variables and heads of a translation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from espalier.rasp.expressions import Expression

RESERVED = ("step", "is_bos")


class Names:
    """A name for each expression, and for each part of one, such as its head.

    Names that the user gave are taken first and unchanged; others that would be the same get a
    number.
    """

    def __init__(self, nodes: Iterable[Expression]) -> None:
        self._taken = set(RESERVED)
        self._given: dict[tuple[Expression, str], str] = {}
        others = []
        for node in nodes:
            if node.label and node.label not in self._taken:
                self._given[node, ""] = self._take(iter([node.label]))
            else:
                others.append(node)
        for node in others:
            stem = node.label or type(node).__name__.lower()
            self._given[node, ""] = self._take(_counted(stem))

    def of(self, node: Expression, part: str = "") -> str:
        """The name of an expression or of a part of it, the same every time."""
        if (node, part) not in self._given:
            stem = f"{self.of(node)}_{part}"
            self._given[node, part] = self._take(itertools.chain([stem], _counted(stem)))
        return self._given[node, part]

    def _take(self, candidates: Iterator[str]) -> str:
        name = next(name for name in candidates if name not in self._taken)
        self._taken.add(name)
        return name


def _counted(stem: str) -> Iterator[str]:
    return (f"{stem}_{number}" for number in itertools.count(1))
