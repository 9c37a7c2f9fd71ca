"""Why a value is what it is, by definition: node by node, and run by run under every intervention.

Slow and obvious on purpose; it shares no code with `espalier.interpreter.explain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from espalier.language import Numerical, Program
from reference import (
    apply_rules,
    attend,
    first_state,
    has_halted,
    holds,
    matches,
    plain,
    seen_by_rules,
)

Node = tuple[int, str, str, int]


def run_with(program: Program, tokens: Sequence[int], sets: dict[Node, object], max_layers):
    """(layers, updated, attended): the states of a run in which values are set."""

    def put(states, layer, sublayer):
        states = [dict(here) for here in states]
        for (when, where, name, position), value in sets.items():
            if (when, where) == (layer, sublayer):
                new = value if value is None else plain(program.specs[name], value)
                states[position][name] = new
        return states

    states = put([first_state(program, t, p) for p, t in enumerate(tokens)], 0, "mlp")
    updated, attended = [states], [[]]
    while len(updated) - 1 != max_layers:
        layer = len(updated)
        resting = [has_halted(program, here) and layer > 1 for here in states]
        middle = [
            old if rests else new
            for rests, old, new in zip(resting, states, attend(program, states), strict=True)
        ]
        middle = put(middle, layer, "attention")
        states = [
            here if rests else apply_rules(program.rules, program.specs, here)
            for rests, here in zip(resting, middle, strict=True)
        ]
        # A head that was set where a position rests is read, and null again after the layer.
        states = [here | dict.fromkeys(program.heads) for here in states]
        states = put(states, layer, "mlp")
        attended.append(middle)
        updated.append(states)
        halt = program.halt
        if halt is not None and all(here[halt.variable] == halt.value for here in states):
            break
    return len(updated) - 1, updated, attended


@dataclass
class History:
    """One value of one run, explained by definition."""

    program: Program
    tokens: Sequence[int]
    max_layers: int | None
    position: int
    variable: str
    layer: int | None  # None: at the end

    def __post_init__(self):
        self.layers, self.updated, self.attended = run_with(
            self.program, self.tokens, {}, self.max_layers
        )
        last = self.layers if self.layer is None else self.layer
        self.target = (last, self.place, self.variable, self.position)

    @property
    def place(self):
        return "attention" if self.variable in self.program.heads else "mlp"

    def outcome(self, sets, limit):
        """What the explained value is when nodes are set."""
        layers, updated, attended = run_with(self.program, self.tokens, sets, limit)
        last = layers if self.layer is None else min(self.layer, layers)
        states = (attended if self.place == "attention" else updated)[last]
        return states[self.position][self.variable]

    def all_nodes(self) -> Iterator[Node]:
        """Every node of the run up to the explained one."""
        for layer in range(self.target[0] + 1):
            for position in range(len(self.tokens)):
                for name in self.program.specs:
                    if layer:
                        yield layer, "attention", name, position
                    if name not in self.program.heads:
                        yield layer, "mlp", name, position

    def value(self, node: Node):
        layer, sublayer, name, position = node
        return (self.attended if sublayer == "attention" else self.updated)[layer][position][name]

    def other_values(self, node: Node) -> list[object]:
        spec, now = self.program.specs[node[2]], self.value(node)
        values = [v for v in spec.values if now is None or plain(spec, v) != now]
        null = node[2] in self.program.heads and now is not None
        return [*values, None] if null else values

    def parents(self, node: Node) -> tuple[set[Node], set[Node]]:
        """What a node was computed from: used, and guards."""
        layer, sublayer, name, position = node
        if layer == 0:
            return set(), set()
        halt, program = self.program.halt, self.program
        before = self.updated[layer - 1]
        rests = layer > 1 and has_halted(program, before[position])
        rest = (
            {(layer - 1, "mlp", halt.variable, position)}
            if halt is not None and program.causal and layer > 1
            else set()
        )
        if sublayer == "mlp":
            kept = {(layer, "attention", name, position)}
            if rests:
                return kept, rest
            seen = seen_by_rules(program.specs, self.attended[layer][position])
            rules = [rule for rule in program.rules if rule.output == name]
            fired = [rule for rule in rules if holds(rule, seen)]

            def reads(some):
                return {
                    (layer, "attention", a.variable, position) for r in some for a in r.antecedent
                }

            return (reads(fired) if fired else kept), reads(rules) | rest
        if name not in program.heads:
            return {(layer - 1, "mlp", name, position)}, set()
        if rests:
            return set(), rest
        return self._head_parents(layer, name, position, rest)

    def _head_parents(self, layer, name, position, rest):
        program, before = self.program, self.updated[layer - 1]
        head = program.heads[name]
        offsets = head.relative_positions
        reach = [
            k
            for k in range(len(before))
            if (offsets is None or k - position in offsets)
            and (not program.causal or k <= position)
        ]
        if head.query is None:
            return {(layer - 1, "mlp", head.value, k) for k in reach}, rest
        chosen = [k for k in reach if matches(before[position][head.query], before[k][head.key])]
        query = {(layer - 1, "mlp", head.query, position)}
        used = {(layer - 1, "mlp", n, k) for k in chosen for n in (head.value, head.key)}
        keys = {(layer - 1, "mlp", head.key, k) for k in reach}
        return used | (query if chosen else set()), keys | (query if reach else set()) | rest

    def sets(self) -> tuple[set[Node], set[Node]]:
        """used and guards."""
        used, queue = {self.target}, [self.target]
        while queue:
            new = self.parents(queue.pop())[0] - used
            used |= new
            queue += new
        halt = self.program.halt
        last = self.target[0] if self.layer is None else self.target[0] - 1
        guards = {
            (layer, "mlp", halt.variable, position)
            for layer in range(1, last + 1)
            for position in range(len(self.tokens))
            if halt is not None
        }
        reached = used | guards
        queue = list(reached)
        while queue:
            new = set().union(*self.parents(queue.pop())) - reached
            reached |= new
            queue += new
        return used, reached - used


def is_same(program: Program, name: str, ours, exact) -> bool:
    """Whether a value in floats is an exact one."""
    if isinstance(program.specs[name], Numerical) and None not in (ours, exact):
        return abs(ours - float(exact)) < 1e-9
    return ours == exact
