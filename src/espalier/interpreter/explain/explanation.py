"""Why one value of a trace is what it is: what fed it, what guarded it, what would change it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from espalier.errors import ConfigError, ProgramError, nearest
from espalier.interpreter.explain.changes import other_values, same
from espalier.interpreter.explain.history import (
    Edge,
    Kind,
    closure_of,
    edges_of,
    tokens_of,
    used_by,
)
from espalier.interpreter.explain.interaction import Interaction, find_interaction
from espalier.interpreter.explain.moments import moment_of, node_at
from espalier.interpreter.explain.replay import Masks, Replay, from_code
from espalier.interpreter.explain.sweep import Question, outcomes
from espalier.interventions import Node, Sublayer
from espalier.language import Value, as_integer, show_value
from espalier.results import Result

if TYPE_CHECKING:
    import networkx
    import pandas

    from espalier.interpreter.trace import Trace

# Where the trace was not stopped, runs under interventions may take this many layers: a multiple of
# the trace's, and some more.
PATIENCE, MORE = 4, 64


@dataclass(frozen=True)
class Counterexample:
    """Had a node held `value`, the explained value would have been `outcome`.

    >>> Counterexample(value=1, outcome=0)
    Counterexample(value=1, outcome=0)
    """

    value: Value | None
    outcome: Value | None


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """The history of one value of a trace, its `target`.

    A node (layer, sublayer, variable, position) is a variable's value after that sub-layer.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> why = es.interpret(entry.program, entry.encode("101")).explain(3)
    >>> why.value, len(why.used), len(why.guards), len(why.matters)
    (0, 35, 27, 34)
    """

    trace: Trace
    target: Node
    to_end: bool  # explained is the value at the end of the run, not that after a given layer
    replay: Replay = field(repr=False, compare=False)

    @property
    def value(self) -> Value | None:
        """The value that is explained."""
        return self.value_of(self.target)

    def value_of(self, node: Node) -> Value | None:
        """What a node held in the trace."""
        return self.replay.value(node.variable, moment_of(node), node.position)

    @cached_property
    def used(self) -> frozenset[Node]:
        """What fed the value, by the rules that fired and the positions that heads selected."""
        return frozenset(self._nodes(self._used))

    @cached_property
    def guards(self) -> frozenset[Node]:
        """What had to stay as it was for that to happen, and all that these depended on.

        What the rules that did not fire would have read, keys that did not match, the halting
        variable. Nothing outside `used` and `guards` can change the value on its own.
        """
        return frozenset(self._nodes(self._closure & ~self._used))

    @property
    def sizes(self) -> tuple[int, int]:
        """How many nodes are in `used` and in `guards`, counted without making these."""
        used = int(self._used.sum())
        return used, int((self._closure & ~self._used).sum())

    @cached_property
    def matters(self) -> frozenset[Node]:
        """The nodes of which some other value in range would change the explained one."""
        return frozenset(self.counterexamples)

    @cached_property
    def counterexamples(self) -> dict[Node, Counterexample]:
        """For each node that matters, a value in range that changes the explained one, and to what.

        Found by trying all values of all nodes in `used` and `guards`, when first asked for.
        """
        changes = other_values(self.replay, self._closure)
        found = outcomes(self.question, changes)
        specs = self.trace.program.specs
        result: dict[Node, Counterexample] = {}
        for number in np.flatnonzero(~same(found, self.question.before)).tolist():
            name = self.replay.names[changes.variables[number]]
            node = node_at(int(changes.moments[number]), name, int(changes.positions[number]))
            if node not in result:
                value = from_code(specs[name], changes.values[number])
                outcome = from_code(specs[self.target.variable], found[number])
                result[node] = Counterexample(value, outcome)
        return result

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """How used values fed each other, the last step first."""
        return tuple(edges_of(self.replay, self._used))

    @cached_property
    def edges_into(self) -> dict[Node, list[Edge]]:
        """The edges by their targets."""
        found: dict[Node, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            found[edge.target].append(edge)
        return dict(found)

    @cached_property
    def links(self) -> dict[Node, list[tuple[Node, Kind]]]:
        """The used values that were new, and the new values that each was made of.

        The last come first; values of the start, which were made of nothing, come at the end.
        """
        made: dict[Node, list[tuple[Node, Kind]]] = {
            node: [(self.origin(edge.source), edge.kind) for edge in edges]
            for node, edges in self.edges_into.items()
            if edges[0].kind != "kept"
        }
        return made | {node: [] for node in sorted(self.used) if node not in self.edges_into}

    def origin(self, node: Node) -> Node:
        """The node where a used value was new, before it was kept as it was."""
        while (edges := self.edges_into.get(node)) and edges[0].kind == "kept":
            node = edges[0].source
        return node

    @cached_property
    def tokens(self) -> frozenset[int]:
        """The positions whose input tokens fed the value."""
        return tokens_of(self.replay, self._used)

    @property
    def max_layers(self) -> int:
        """Where a run under an intervention is stopped if it has not halted."""
        if not self.trace.halted:
            return self.trace.layers
        given = self.trace.max_layers
        return PATIENCE * self.trace.layers + MORE if given is None else given

    @property
    def question(self) -> Question:
        """The explained value and where a run is stopped, as the sweep takes them."""
        return Question(self.replay, self.target, self.to_end, self.max_layers)

    def interacts(self, one: Node, other: Node) -> Interaction | None:
        """Values of two nodes under which the explained value is not what each alone adds up to.

        With e(y) the one-hot vector of an outcome (a number itself; null is 0), y the value, y_a
        and y_b the outcomes of setting one node and y_ab that of setting both:
        e(y_ab) - e(y) differs from (e(y_a) - e(y)) + (e(y_b) - e(y)). None if there are no such.

        >>> import espalier as es
        >>> entry = es.zoo.load("parity-sequential-relative")
        >>> why = es.interpret(entry.program, entry.encode("101")).explain(3)
        >>> bool(why.interacts((0, "mlp", "parity", 2), (0, "mlp", "parity", 1)))
        True
        """
        return find_interaction(self.question, self._check(one), self._check(other))

    def to_networkx(self) -> networkx.DiGraph:
        """The history as a graph: nodes with their values, edges with `kind`, `rule` and `head`.

        >>> import espalier as es
        >>> entry = es.zoo.load("parity-sequential-relative")
        >>> graph = es.interpret(entry.program, entry.encode("101")).explain(3).to_networkx()
        >>> graph.edges[(0, "mlp", "parity", 1), (1, "attention", "parity", 1)]["kind"]
        'kept'
        """
        try:
            import networkx as nx
        except ImportError:
            raise ConfigError(
                "a graph needs networkx, which is not installed: pip install 'espalier[graphs]'; "
                "`edges` has the same as tuples"
            ) from None
        graph = nx.DiGraph()
        for node in sorted(self.used):
            graph.add_node(tuple(node), value=self.value_of(node))
        for edge in self.edges:
            ends = tuple(edge.source), tuple(edge.target)
            # A head may carry the very variable that it matches.
            kinds = [graph.edges[ends]["kind"]] if graph.has_edge(*ends) else []
            kind = " and ".join([*kinds, edge.kind])
            graph.add_edge(*ends, kind=kind, rule=edge.rule, head=edge.head)
        return graph

    def to_frame(self) -> pandas.DataFrame:
        """One row for each node of `used` and `guards`, with its counterexample if it matters."""
        import pandas as pd

        rows = []
        for role, nodes in (("used", self.used), ("guard", self.guards)):
            for node in sorted(nodes):
                found = self.counterexamples.get(node)
                other = ("", "") if found is None else (_text(found.value), _text(found.outcome))
                rows.append((*node, _text(self.value_of(node)), role, found is not None, *other))
        names = "layer sublayer variable position value role matters instead outcome"
        return pd.DataFrame(rows, columns=names.split())

    @cached_property
    def _used(self) -> Masks:
        return used_by(self.replay, self.target)

    @cached_property
    def _closure(self) -> Masks:
        layers = self.target.layer if self.to_end else max(0, self.target.layer - 1)
        return closure_of(self.replay, self.target, halting_layers=layers)

    def _nodes(self, masks: Masks) -> Iterator[Node]:
        for moment, place, position in np.argwhere(masks).tolist():
            yield node_at(moment, self.replay.names[place], position)

    def _check(self, node: object) -> Node:
        """A node that is there; ProgramError otherwise."""
        if not isinstance(node, tuple) or len(node) != 4:
            raise ProgramError(f"a node is (layer, sublayer, variable, position); found {node!r}")
        layer, sublayer, variable, position = node
        _check_variable(self.trace, variable)
        self.trace.state(layer, position, sublayer)
        if variable in self.trace.program.heads and sublayer == "mlp":
            raise ProgramError(
                f"{variable!r} is the output of a head, null after an MLP; say 'attention'"
            )
        if layer > self.target.layer:
            raise ProgramError(
                f"{node} comes after the value that is explained, {tuple(self.target)}; ask for "
                "one before it"
            )
        return Node(int(layer), sublayer, variable, int(position))


def explain(
    trace: Trace, replay: Replay, position: object, *, variable: object, layer: object
) -> Explanation:
    """The history of a value, by default of the output at the end."""
    if trace.interventions:
        raise ProgramError(
            f"this trace was made under interventions (the first of {len(trace.interventions)} is "
            f"{trace.interventions[0]}); explain a run of the program itself"
        )
    position = as_integer(position, "the position")
    if position < 0:
        raise ProgramError(
            f"position {position} is negative; positions count from 0, and the last of this trace "
            f"is {len(trace.tokens) - 1}"
        )
    name = trace.program.output_name if variable is None else _check_variable(trace, variable)
    after: Sublayer = "attention" if name in trace.program.heads else "mlp"
    last = trace.layers if layer is None else as_integer(layer, "the layer")
    trace.state(last, position, after)  # refuses what is outside
    return Explanation(trace, Node(last, after, name, position), layer is None, replay)


def _text(value: Value | None) -> str:
    return repr(value) if isinstance(value, float) else show_value(value)


def _check_variable(trace: Trace, variable: object) -> str:
    if not isinstance(variable, str) or variable not in trace.program.specs:
        raise ProgramError(f"there is no {variable!r}; {nearest(variable, trace.program.specs)}")
    return variable
