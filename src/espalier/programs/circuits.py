"""The circuit of a program: which heads, rules and tokens feed an output, over a set of inputs.

A method that looks for circuits should find it. It leaves out what only guards a value:
`Trace.explain` has that, input by input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from espalier.errors import ConfigError, ProgramError
from espalier.interpreter import Explanation, Trace, interpret
from espalier.interventions import Node
from espalier.language import ByInput, Program, as_integer, check_batch, check_layers
from espalier.results import Result

if TYPE_CHECKING:
    import networkx
    import pandas


class Component(NamedTuple):
    """A part that fed an output: a head or a rule at work, a token, or another first value.

    Its name is the head's, the rule's number, or the variable that starts by position or constant.

    >>> Component("head", "parity_left", layer=2, position=3).name
    'parity_left'
    """

    kind: Literal["head", "rule", "token", "start"]
    name: str | int
    layer: int
    position: int


@dataclass(frozen=True, repr=False)
class Circuit(Result):
    """Components and edges, each with the number of inputs in which it fed the output.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> found = es.circuit(entry.program, [entry.encode("11"), entry.encode("00")], position=2)
    >>> found.heads, found.positions
    ({'parity_left': 1, 'done_left': 1}, {0: 1, 1: 1, 2: 2})
    """

    program: Program
    inputs: int
    variable: str
    position: int | None  # None: every position
    components: dict[Component, int]
    edges: dict[tuple[Component, Component], int]
    heads: dict[str, int]
    rules: dict[int, int]
    positions: dict[int, int]
    places: dict[tuple[str, str | int, int], int]  # kind, name and position, at any layer

    def to_frame(self) -> pandas.DataFrame:
        """One row for each component: in how many inputs it is used."""
        import pandas as pd

        rows = [(*part, number) for part, number in sorted(self.components.items())]
        frame = pd.DataFrame(rows, columns=["kind", "name", "layer", "position", "inputs"])
        return frame.astype({"name": str})

    def to_networkx(self) -> networkx.DiGraph:
        """Components and edges as a graph, both with their number of `inputs`."""
        try:
            import networkx as nx
        except ImportError:
            raise ConfigError(
                "a graph needs networkx, which is not installed: pip install 'espalier[graphs]'; "
                "`components` and `edges` have the same"
            ) from None
        graph = nx.DiGraph()
        for part, number in self.components.items():
            graph.add_node(part, inputs=number)
        for (source, target), number in self.edges.items():
            graph.add_edge(source, target, inputs=number)
        return graph


def circuit(
    program: Program,
    inputs: Iterable[Iterable[object]],
    *,
    position: int | None = None,
    variable: str | None = None,
    max_layers: int | None = None,
) -> Circuit:
    """All that fed the output at `position` (or anywhere) in some of the inputs, with counts.

    With `variable` it is that variable at the end of each run.

    >>> import espalier as es
    >>> entry = es.zoo.load("addition")
    >>> sums = [entry.encode(text) for text in ("34+56", "12+34")]
    >>> found = es.circuit(entry.program, sums, position=4)
    >>> found.heads
    {'wave_right': 2, 'turn_right': 2, 'sum': 2}
    """
    max_layers = check_layers(program, max_layers)
    batch = check_batch(program, inputs)
    if not batch:
        raise ProgramError("a circuit is that of some inputs; found none")
    components: Counter[Component] = Counter()
    edges: Counter[tuple[Component, Component]] = Counter()
    names: Counter[tuple[str, str | int]] = Counter()
    places: Counter[tuple[str, str | int, int]] = Counter()
    for number, tokens in enumerate(batch):
        trace = interpret(program, tokens, max_layers=max_layers)
        found = set(_edges(_explanations(trace, number, position, variable)))
        parts = {end for edge in found for end in edge if end is not None}
        components.update(parts)
        edges.update((source, end) for source, end in found if source is not None)
        names.update({(part.kind, part.name) for part in parts})
        names.update({("position", part.position) for part in parts})
        places.update({(part.kind, part.name, part.position) for part in parts})
    return Circuit(
        program,
        len(batch),
        program.output_name if variable is None else variable,
        position,
        dict(sorted(components.items())),
        dict(edges),
        {head: names["head", head] for head in program.heads if names["head", head]},
        _counted(names, "rule"),
        _counted(names, "position"),
        dict(sorted(places.items())),
    )


def _counted(names: Counter[tuple[str, str | int]], kind: str) -> dict[int, int]:
    found = {int(name): number for (of, name), number in names.items() if of == kind}
    return dict(sorted(found.items()))


def _explanations(
    trace: Trace, number: int, position: int | None, variable: str | None
) -> Iterator[Explanation]:
    places: Iterable[int] = range(len(trace.tokens))
    if position is not None:
        places = [as_integer(position, "the position")]
    for place in places:
        try:
            yield trace.explain(place, variable)
        except ProgramError as error:
            raise ProgramError(f"input {number}: {error}") from None


def _edges(explanations: Iterable[Explanation]) -> Iterator[tuple[Component | None, Component]]:
    """Which component fed which; None feeds the first ones."""
    for why in explanations:
        for node, sources in why.links.items():
            target = _component(why, node)
            yield None, target
            for source, _ in sources:
                yield _component(why, source), target


def _component(why: Explanation, node: Node) -> Component:
    program = why.trace.program
    if node.layer == 0:
        by_input = isinstance(program.initial[node.variable], ByInput)
        kind: Literal["token", "start"] = "token" if by_input else "start"
        return Component(kind, "" if by_input else node.variable, 0, node.position)
    if node.variable in program.heads:
        return Component("head", node.variable, node.layer, node.position)
    rule = why.edges_into[node][0].rule
    assert rule is not None
    return Component("rule", rule, node.layer, node.position)
