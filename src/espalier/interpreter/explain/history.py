"""Where a value came from: a walk back through the rules that fired and what heads selected.

`used` follows what fed the value. The *closure* follows all that could have fed it otherwise as
well: what any rule of a variable reads, every key in reach, the halting variable. Every value in
the closure is a function of values in the closure, so nothing outside it can change the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from espalier.interpreter.explain.moments import moment_of, node_at
from espalier.interpreter.explain.replay import NO_RULE, Masks, Replay
from espalier.interventions import Node
from espalier.language import ByInput, Head

Kind = Literal["read", "carried", "query", "key", "kept"]


class Edge(NamedTuple):
    """`source` fed `target`: read by a rule, carried or matched by a head, or kept as it was."""

    source: Node
    target: Node
    kind: Kind
    rule: int | None = None
    head: str | None = None

    def __str__(self) -> str:
        match self.kind:
            case "read":
                return f"rule {self.rule} read"
            case "carried":
                return f"head {self.head} carried"
            case "query" | "key":
                return f"head {self.head} selected by {self.kind}"
            case "kept":
                return "kept as it was"


def used_by(replay: Replay, target: Node) -> Masks:
    """(moments, variables, positions): what fed the target, the target among it."""
    found = _nothing(replay, target)
    for moment in range(len(found) - 1, 0, -1):
        for name, positions in _marked(replay, found[moment]):
            for source, where in _sources(replay, name, moment=moment, positions=positions):
                found[moment - 1, replay.place[source], where] = True
    return found


def closure_of(replay: Replay, target: Node, *, halting_layers: int) -> Masks:
    """(moments, variables, positions): all that the target may depend on.

    The halting variable decides, in the first `halting_layers` layers, when the run ends.
    """
    program, found = replay.program, _nothing(replay, target)
    halt = program.halt
    if halt is not None:
        found[2 : 2 * halting_layers + 1 : 2, replay.place[halt.variable]] = True
    for moment in range(len(found) - 1, 0, -1):
        layer = (moment + 1) // 2
        for name, positions in _marked(replay, found[moment]):
            is_head = name in program.heads
            may_rest = halt is not None and program.causal and layer > 1
            if halt is not None and may_rest and (moment % 2 == 0 or is_head):
                found[2 * layer - 2, replay.place[halt.variable]] |= positions
            if is_head:
                _ask(replay, found, name, layer=layer, positions=positions)
                continue
            found[moment - 1, replay.place[name]] |= positions
            if moment % 2 == 0:
                awake = positions & ~replay.resting[layer]
                for read in replay.reads.get(name, ()):
                    found[moment - 1, replay.place[read]] |= awake
    return found


def edges_of(replay: Replay, used: Masks) -> Iterator[Edge]:
    """Every step by which a used value fed another, the last first."""
    for moment in range(len(used) - 1, 0, -1):
        for name, positions in _marked(replay, used[moment]):
            yield from _edges_into(replay, name, moment, np.flatnonzero(positions).tolist())


def tokens_of(replay: Replay, used: Masks) -> frozenset[int]:
    """The positions whose tokens fed the value."""
    by_input = [
        replay.place[name]
        for name, initial in replay.program.initial.items()
        if isinstance(initial, ByInput)
    ]
    return frozenset(np.flatnonzero(used[0, by_input].any(0)).tolist())


def _nothing(replay: Replay, target: Node) -> Masks:
    found = np.zeros((2 * target.layer + 1, len(replay.names), replay.length), dtype=bool)
    found[moment_of(target), replay.place[target.variable], target.position] = True
    return found


def _marked(replay: Replay, state: Masks) -> Iterator[tuple[str, Masks]]:
    for place in np.flatnonzero(state.any(1)):
        yield replay.names[place], state[place]


def _ask(replay: Replay, found: Masks, name: str, *, layer: int, positions: Masks) -> None:
    """What a head's output may depend on: the query, keys in reach, values that were selected."""
    head, state = replay.program.heads[name], found[2 * layer - 2]
    asking = positions & ~replay.resting[layer]
    reach = replay.reach(name)
    selected = replay.selected(name, layer) & asking[:, None]
    state[replay.place[head.value]] |= reach.chosen(selected)
    if head.query is not None and head.key is not None:
        state[replay.place[head.query]] |= asking & reach.allowed.any(1)
        state[replay.place[head.key]] |= reach.chosen(reach.allowed & asking[:, None])


def _sources(
    replay: Replay, name: str, *, moment: int, positions: Masks
) -> Iterator[tuple[str, Masks]]:
    """What fed a variable at some positions, and where."""
    layer = (moment + 1) // 2
    if moment % 2:
        head = replay.program.heads.get(name)
        if head is None:
            yield name, positions
            return
        selected = replay.selected(name, layer) & positions[:, None]
        there = replay.reach(name).chosen(selected)
        yield head.value, there
        if head.query is not None and head.key is not None:
            yield head.key, there
            yield head.query, np.asarray(selected.any(1))
        return
    fired = np.where(positions, _fired(replay, name, layer), NO_RULE)
    yield name, positions & (fired == NO_RULE)
    for number in np.unique(fired[fired != NO_RULE]).tolist():
        for atom in replay.program.rules[number].antecedent:
            yield atom.variable, fired == number


def _fired(replay: Replay, name: str, layer: int) -> np.ndarray:
    fired = replay.fired.get(name)
    return np.full(replay.length, NO_RULE) if fired is None else fired[layer]


def _edges_into(replay: Replay, name: str, moment: int, positions: list[int]) -> Iterator[Edge]:
    """The edges into one variable of one moment."""
    head, layer = replay.program.heads.get(name), (moment + 1) // 2
    if moment % 2 and head is not None:
        selected, keys = replay.selected(name, layer), replay.reach(name).keys
        for position in positions:
            there = keys[position][selected[position]].tolist()
            yield from _edges_into_head(head, node_at(moment, name, position), there)
        return
    fired = _fired(replay, name, layer) if moment % 2 == 0 else np.full(replay.length, NO_RULE)
    for position in positions:
        target, number = node_at(moment, name, position), int(fired[position])
        if number == NO_RULE:
            yield Edge(node_at(moment - 1, name, position), target, "kept")
            continue
        for atom in replay.program.rules[number].antecedent:
            yield Edge(node_at(moment - 1, atom.variable, position), target, "read", number)


def _edges_into_head(head: Head, target: Node, there: list[int]) -> Iterator[Edge]:
    layer, name = target.layer - 1, target.variable
    for position in there:
        yield Edge(Node(layer, "mlp", head.value, position), target, "carried", head=name)
        if head.key is not None:
            yield Edge(Node(layer, "mlp", head.key, position), target, "key", head=name)
    if head.query is not None and there:
        yield Edge(Node(layer, "mlp", head.query, target.position), target, "query", head=name)
