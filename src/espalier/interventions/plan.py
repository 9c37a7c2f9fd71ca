"""Interventions on a batch as arrays, place by place: what both machines look up as they run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from espalier.errors import ProgramError
from espalier.interventions.kinds import Intervention, Sublayer
from espalier.interventions.values import average, code_of, value_of
from espalier.language import Program, Run

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Column = NDArray[np.int64] | NDArray[np.float64]
# The codes of a variable at some positions of an input, as they are now.
Look = Callable[[int, str, Sequence[int]], Sequence[float]]


class Rows(NamedTuple):
    """Which intervention of which input (`owner`) changes what at which position.

    `what` is the code or number that is written, the key that is cut (-1: all), or a rule.
    """

    owner: Ints
    input: Ints
    position: Ints
    what: Column

    def take(self, which: Mask | Ints) -> Rows:
        """Some of the rows."""
        where = self.position[which]
        return Rows(self.owner[which], self.input[which], where, self.what[which])

    def found(self, places: Ints, old: Column) -> Column:
        """What each row finds where it writes: `old`, or what the row before it has written."""
        order = np.argsort(places, kind="stable")
        again = places[order][1:] == places[order][:-1]
        found = old.astype(np.result_type(old, self.what))
        found[order[1:][again]] = self.what[order[:-1][again]]
        return found


@dataclass(frozen=True)
class Over:
    """A mean over positions of the run itself, which is known when its layer is reached."""

    owner: int
    input: int
    variable: str
    position: int
    over: tuple[int, ...]


# By layer (None: every layer from 1 on), and by sub-layer or head or nothing.
Place = tuple[int | None, str]


@dataclass
class Plan:
    """All interventions of a batch; `owners` says which input and which of its list each is."""

    program: Program
    lists: list[tuple[Intervention, ...]]
    owners: list[tuple[int, int]] = field(default_factory=list)
    layers: list[int] = field(default_factory=list)  # the layer that each must reach
    writes: dict[Place, dict[str, list[tuple[int, int, int, float]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    cuts: dict[Place, list[tuple[int, int, int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    knocked: dict[int | None, list[tuple[int, int, int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    means: dict[Place, list[Over]] = field(default_factory=lambda: defaultdict(list))
    _arrays: dict[object, Rows] = field(default_factory=dict)
    _both: dict[tuple[str, ...], tuple[int, Rows]] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The last layer that an intervention names."""
        return max(self.layers, default=0)

    def spans(self) -> tuple[Ints, Ints]:
        """For each input the first and the last layer of its interventions; -1 where it has none.

        One that names no layer begins with the first and has no end.
        """
        forever = np.iinfo(np.int64).max
        begin, end = np.full(len(self.lists), forever), np.full(len(self.lists), -1)
        for (number, place), layer in zip(self.owners, self.layers, strict=True):
            last = layer if self.lists[number][place].layer is not None else forever
            begin[number], end[number] = min(begin[number], layer), max(end[number], last)
        return np.where(end < 0, -1, begin), end

    def writes_at(
        self, layer: int, sublayer: Sublayer, look: Look, running: Container[int]
    ) -> dict[str, Rows]:
        """By variable, what is written after a sub-layer; of two at one place the later counts.

        Means over positions are made of what `look` finds in the inputs that are `running`.
        """
        places = [(layer, sublayer), *([(None, sublayer)] if layer else [])]
        names = {name: None for place in places for name in self.writes.get(place, ())}
        found: dict[str, Rows] = {}
        for name in names:
            lists = [self.writes.get(place, {}).get(name) for place in places]
            rows = self._rows(layer, (sublayer, name), lists)
            if rows is not None:
                found[name] = rows
        for one in self.means.get((layer, sublayer), ()):
            if one.input in running:
                before, mean = found.get(one.variable), self._mean(one, look)
                found[one.variable] = mean if before is None else _joined([before, mean])
        return found

    def cuts_at(self, layer: int) -> dict[str, Rows]:
        """By head, the edges that are cut in a layer; a key of -1 means all."""
        heads = {name: None for at, name in self.cuts if at in (layer, None)}
        found = {}
        for name in heads:
            lists = [self.cuts.get((at, name)) for at in (layer, None)]
            found[name] = self._rows(layer, ("cut", name), lists)
        return {name: rows for name, rows in found.items() if rows is not None}

    def knocked_at(self, layer: int) -> Rows | None:
        """The rules that do not fire in a layer."""
        return self._rows(layer, ("rule",), [self.knocked.get(at) for at in (layer, None)])

    def finished(self, runs: dict[int, Run], touched: Mask) -> dict[int, Run]:
        """The runs, each with the interventions that touched nothing, if all were reached."""
        self.refuse_unreached(np.asarray([runs[number].layers for number in range(len(runs))]))
        idle = self.idle(touched)
        return {number: replace(run, idle=idle.get(number, ())) for number, run in runs.items()}

    def refuse_unreached(self, layers: Ints) -> None:
        """Raise for the first intervention on a layer that its input, by number, did not reach."""
        inputs = np.asarray([number for number, _ in self.owners], dtype=np.int64)
        late = np.flatnonzero(np.asarray(self.layers) > layers[inputs])
        if len(late):
            number, place = self.owners[late[0]]
            ran = int(layers[number])
            raise ProgramError(
                f"input {number}: {self.lists[number][place]} is not reached: the run ended after "
                f"{ran} layer{'' if ran == 1 else 's'}; name a layer up to {ran}, or give a larger "
                "max_layers where that ended it"
            )

    def idle(self, touched: Mask) -> dict[int, tuple[Intervention, ...]]:
        """By input, the interventions that touched nothing."""
        found: dict[int, list[Intervention]] = defaultdict(list)
        for owner in np.flatnonzero(~touched):
            number, place = self.owners[owner]
            found[number].append(self.lists[number][place])
        return {number: tuple(some) for number, some in found.items()}

    def _rows(
        self, layer: int, what: tuple[str, ...], lists: Iterable[list[Any] | None]
    ) -> Rows | None:
        """What is done in this layer and what is done in all, in the order of interventions.

        Arrays are made once for each; of both together, only the last are cached.
        """
        parts = []
        for at, rows in zip((layer, None), lists, strict=False):
            if rows:
                if (at, what) not in self._arrays:
                    self._arrays[at, what] = _as_rows(sorted(rows))
                parts.append(self._arrays[at, what])
        if len(parts) < 2:
            return parts[0] if parts else None
        if what not in self._both or self._both[what][0] != layer:
            self._both[what] = layer, _joined(parts)
        return self._both[what][1]

    def _mean(self, one: Over, look: Look) -> Rows:
        program, name = self.program, one.variable
        codes = look(one.input, name, one.over)
        try:
            mean = average(program, name, [value_of(program, name, code) for code in codes])
            code = code_of(program, name, mean)
        except ProgramError as error:
            number, place = self.owners[one.owner]
            raise ProgramError(f"input {number}: {self.lists[number][place]}: {error}") from None
        return _as_rows([(one.owner, one.input, one.position, code)])


def _as_rows(rows: Sequence[tuple[float, ...]]) -> Rows:
    owner, number, position, what = (np.asarray(column) for column in zip(*rows, strict=True))
    return Rows(owner, number, position, what)


def _joined(parts: Sequence[Rows]) -> Rows:
    """Rows in the order of their interventions."""
    together = Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return together.take(np.argsort(together.owner, kind="stable"))
