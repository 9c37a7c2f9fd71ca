"""Why a value is what it is, in words: the steps by which it came about, the last one first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from espalier.language import ByInput, ByPosition
from espalier.show.pages import plain as html
from espalier.show.pages import row, table
from espalier.show.text import count, first_lines, shorten, without_middle
from espalier.show.trace_text import token_names

if TYPE_CHECKING:
    from espalier.interpreter import Edge, Explanation
    from espalier.interventions import Node
    from espalier.programs import Circuit

SHOWN_STEPS = 40
LONGEST_RULE = 120


class Step(NamedTuple):
    """Something that happened to a used value, other than being kept as it was."""

    node: Node
    how: str


def explanation_text(why: Explanation) -> str:
    """The value, how much fed it, and the steps by which it came about."""
    lines = [f"{step_place(step.node)}: {step.how}" for step in steps(why)]
    return "\n".join([headline(why), summary(why), *first_lines(lines, SHOWN_STEPS, "steps")])


def explanation_tables(why: Explanation) -> str:
    """The steps as a table."""
    listed = steps(why)
    rows = [row(map(html, (step_place(step.node), step.how))) for step in listed[:SHOWN_STEPS]]
    left = len(listed) - SHOWN_STEPS
    note = f"<p>… and {count(left, 'more step')}; edges has all.</p>" if left > 0 else ""
    return table(["where", "what happened"], rows) + note


def headline(why: Explanation) -> str:
    """The value that is explained, in one line."""
    node = why.target
    when = "at the end" if why.to_end else f"after layer {node.layer}"
    value = f"{node.variable} = {why.trace.program.write(node.variable, why.value)}"
    return f"why {value} at position {node.position}, {when}"


def summary(why: Explanation) -> str:
    """How much fed the value and guarded it, and from which tokens it came."""
    names = token_names(why.trace)
    found = [f"{names[p]} at {p}" for p in sorted(why.tokens)]
    tokens = ", ".join(without_middle(found, 8)) if found else "none"
    used, guards = why.sizes
    return f"{count(used, 'value')} used, {count(guards, 'guard')}; tokens: {tokens}"


def steps(why: Explanation) -> list[Step]:
    """What happened to used values, the last first; values kept as they were are left out."""
    happened = [Step(n, _how(why, e)) for n, e in why.edges_into.items() if e[0].kind != "kept"]
    starts = [Step(node, _start(why, node)) for node in sorted(why.used) if node.layer == 0]
    return [*happened, *starts]


def step_place(node: Node) -> str:
    """Where a step happened."""
    when = f"layer {node.layer}, {'attention' if node.sublayer == 'attention' else 'MLP'}"
    return f"{when if node.layer else 'start'}, position {node.position}"


def placed_steps(why: Explanation) -> list[tuple[str, str]]:
    """The same steps as words alone: where, and what happened."""
    return [(step_place(step.node), step.how) for step in steps(why)]


def _how(why: Explanation, edges: list[Edge]) -> str:
    target, first = edges[0].target, edges[0]
    now = _shown(why, target)
    if first.rule is not None:
        program = why.trace.program
        rule = shorten(program.write_rule(program.rules[first.rule]), LONGEST_RULE)
        return f"{now} by rule {first.rule} [{rule}]"
    carried = [edge.source for edge in edges if edge.kind == "carried"]
    places = ", ".join(without_middle([str(node.position) for node in carried], 8))
    return f"{now} carried from {carried[0].variable} at {places}{''.join(_match(why, edges))}"


def _shown(why: Explanation, node: Node) -> str:
    value = why.trace.program.write(node.variable, why.value_of(node))
    return f"{node.variable} = {value}"


def _match(why: Explanation, edges: list[Edge]) -> Iterator[str]:
    """The query that selected, and its key."""
    keys = [edge.source for edge in edges if edge.kind == "key"]
    for edge in edges:
        if edge.kind == "query":
            yield f", where {keys[0].variable} matches {_shown(why, edge.source)}"


def _start(why: Explanation, node: Node) -> str:
    value = _shown(why, node)
    match why.trace.program.initial[node.variable]:
        case ByInput():
            return f"{value} from the token {token_names(why.trace)[node.position]}"
        case ByPosition():
            return f"{value} from the position"
        case _:
            return f"{value}, as everywhere"


def circuit_text(found: Circuit) -> str:
    """How many heads, rules and positions are used, then each with its number of inputs."""
    program = found.program
    where = "every position" if found.position is None else f"position {found.position}"
    written = {n: program.write_rule(program.rules[n]) for n in found.rules}
    rules = [
        f"  rule {number} [{shorten(written[number], LONGEST_RULE)}]: {inputs}"
        for number, inputs in found.rules.items()
    ]
    return "\n".join(
        [
            f"circuit of {found.variable} at {where} over {count(found.inputs, 'input')}",
            f"{len(found.heads)} of {count(len(program.heads), 'head')}, {len(found.rules)} of "
            f"{count(len(program.rules), 'rule')}; how many inputs use each:",
            *(f"  head {name} [{program.heads[name]}]: {n}" for name, n in found.heads.items()),
            *first_lines(rules, SHOWN_STEPS, "rules"),
            f"  positions: {', '.join(f'{p}: {n}' for p, n in found.positions.items())}",
        ]
    )
