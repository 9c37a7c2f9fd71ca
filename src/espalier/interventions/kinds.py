"""What can be changed in the middle of a run. Plain data: both machines give it one meaning.

A place is (layer, sub-layer, variable, position): the variable's value at the position after that
sub-layer of that layer. Layer 0 is the start and has only "mlp".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from espalier.language import Value

Sublayer = Literal["attention", "mlp"]


class Node(NamedTuple):
    """The value of `variable` at `position` after `sublayer` of `layer`.

    >>> Node(1, "mlp", "parity", 2).variable
    'parity'
    """

    layer: int
    sublayer: Sublayer
    variable: str
    position: int


class Source(Protocol):
    """A run that values can be copied from: a Trace, or a Run with its cache."""

    @property
    def layers(self) -> int:
        """How many layers it ran."""

    @property
    def cache(self) -> Any:
        """What it went through; its `variable(name, sublayer)` is layer by position."""


@dataclass(frozen=True)
class Set:
    """After that sub-layer the variable is `value`, and all that follows reads it; None is null.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> change = Set("parity", layer=1, position=2, value=1)
    >>> es.interpret(entry.program, entry.encode("101"), interventions=[change]).outputs
    [0, 1, 0, 1]
    """

    variable: str
    _: KW_ONLY
    layer: int
    position: int
    value: Value | None
    sublayer: Sublayer = "mlp"

    def __str__(self) -> str:
        """As text, for those who set it on a page or by `--set`.

        >>> str(Set("parity", layer=1, position=2, value=None))
        'parity = null at position 2 of layer 1, after MLP'
        """
        value = "null" if self.value is None else repr(self.value)
        after = "attention" if str(self.sublayer) == "attention" else "MLP"
        place = f"position {self.position} of layer {self.layer}, after {after}"
        return f"{self.variable} = {value} at {place}"


@dataclass(frozen=True)
class Copy:
    """The same, to what the variable was in another run: at this place, unless said otherwise.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> other = es.interpret(entry.program, entry.encode("111"))
    >>> change = Copy("parity", layer=2, position=2, source=other)
    >>> es.interpret(entry.program, entry.encode("101"), interventions=[change]).outputs
    [0, 1, 0, 1]
    """

    variable: str
    _: KW_ONLY
    layer: int
    position: int
    source: Source = field(repr=False, hash=False)
    sublayer: Sublayer = "mlp"
    source_layer: int | None = None
    source_position: int | None = None
    source_sublayer: Sublayer | None = None


@dataclass(frozen=True)
class Mean:
    """The same, to what a head would report that averages over `over`.

    These are runs, of which the same place counts, or positions of the run itself as the sub-layer
    left them. A categorical value or a set is what all agree on, else null. A number is the mean,
    or what is nearest to it: a declared value, or what the head could report.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> change = Mean("parity", layer=1, position=2, over=[2, 3])
    >>> es.interpret(entry.program, entry.encode("101"), interventions=[change]).outputs
    [0, 1, None, 1]
    """

    variable: str
    _: KW_ONLY
    layer: int
    position: int
    over: Sequence[Source] | Sequence[int] = field(repr=False, hash=False)
    sublayer: Sublayer = "mlp"


@dataclass(frozen=True)
class Cut:
    """`query` does not select `key` in that layer: one attention edge. None stands for all.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> change = Cut("parity_left", layer=2, query=2, key=1)
    >>> es.interpret(entry.program, entry.encode("101"), interventions=[change]).halted
    True
    """

    head: str
    _: KW_ONLY
    layer: int | None = None
    query: int | None = None
    key: int | None = None


@dataclass(frozen=True)
class KnockOut:
    """A rule (by number, or by its unit's label) does not fire, or a head reports null.

    Where `layer` or `position` is None, it is so in all of them.

    >>> KnockOut(rule=3, layer=1)
    KnockOut(rule=3, head=None, unit=None, layer=1, position=None)
    """

    _: KW_ONLY
    rule: int | None = None
    head: str | None = None
    unit: str | None = None
    layer: int | None = None
    position: int | None = None


Intervention = Set | Copy | Mean | Cut | KnockOut
# One list for all inputs, or one for each of them.
Interventions = Sequence[Intervention] | Sequence[Sequence[Intervention]]
