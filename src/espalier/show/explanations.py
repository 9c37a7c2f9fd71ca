"""Why a value is what it is, in words: the steps by which it came about, the last one first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from espalier.language import ByInput, ByPosition, show_value
from espalier.show.pages import plain as html
from espalier.show.pages import row, table
from espalier.show.text import count, first_lines, shorten, without_middle
from espalier.show.trace_text import token_names

if TYPE_CHECKING:
    from espalier.interpreter import Edge, Explanation
    from espalier.interventions import Node

SHOWN_STEPS = 40
LONGEST_RULE = 120


class Step(NamedTuple):
    """Something that happened to a used value: not that it was kept."""

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
    value = f"{node.variable} = {show_value(why.value)}"
    return f"why {value} at position {node.position}, {when}"


def summary(why: Explanation) -> str:
    """How much fed the value and guarded it, and from which tokens it came."""
    names = token_names(why.trace)
    found = [f"{names[p]} at {p}" for p in sorted(why.tokens)]
    tokens = ", ".join(without_middle(found, 8)) if found else "none"
    sizes = f"{count(len(why.used), 'value')} used, {count(len(why.guards), 'guard')}"
    return f"{sizes}; tokens: {tokens}"


def steps(why: Explanation) -> list[Step]:
    """What happened to used values, the last first; what is kept is left out."""
    into = _edges_into(why)
    happened = [Step(node, _how(why, edges)) for node, edges in into.items() if _is_news(edges)]
    starts = [Step(node, _start(why, node)) for node in sorted(why.used) if node.layer == 0]
    return [*happened, *starts]


def links(why: Explanation) -> dict[Node, list[tuple[Node, str]]]:
    """Every used value that was new, and what it was made of: where that was new, and how."""
    into = _edges_into(why)
    made: dict[Node, list[tuple[Node, str]]] = {
        node: [(_origin(into, edge.source), edge.kind) for edge in edges]
        for node, edges in into.items()
        if _is_news(edges)
    }
    starts: dict[Node, list[tuple[Node, str]]] = {n: [] for n in why.used if n not in into}
    return made | starts


def origin(why: Explanation, node: Node) -> Node:
    """Where a used value was new."""
    return _origin(_edges_into(why), node)


def _origin(into: dict[Node, list[Edge]], node: Node) -> Node:
    while node in into and into[node][0].kind == "kept":
        node = into[node][0].source
    return node


def step_place(node: Node) -> str:
    """Where a step happened."""
    when = f"layer {node.layer}, {'attention' if node.sublayer == 'attention' else 'MLP'}"
    return f"{when if node.layer else 'start'}, position {node.position}"


def _edges_into(why: Explanation) -> dict[Node, list[Edge]]:
    found: dict[Node, list[Edge]] = defaultdict(list)
    for edge in why.edges:
        found[edge.target].append(edge)
    return found


def _is_news(edges: list[Edge]) -> bool:
    return edges[0].kind != "kept"


def _how(why: Explanation, edges: list[Edge]) -> str:
    target, first = edges[0].target, edges[0]
    now = f"{target.variable} = {show_value(why.value_of(target))}"
    if first.rule is not None:
        rule = shorten(str(why.trace.program.rules[first.rule]), LONGEST_RULE)
        return f"{now} by rule {first.rule} [{rule}]"
    carried = [edge.source for edge in edges if edge.kind == "carried"]
    places = ", ".join(without_middle([str(node.position) for node in carried], 8))
    return f"{now} carried from {carried[0].variable} at {places}{''.join(_match(why, edges))}"


def _match(why: Explanation, edges: list[Edge]) -> Iterator[str]:
    """The query that selected, and its key."""
    keys = [edge.source for edge in edges if edge.kind == "key"]
    for edge in edges:
        if edge.kind == "query":
            query = edge.source.variable
            shown = show_value(why.value_of(edge.source))
            yield f", where {keys[0].variable} matches {query} = {shown}"


def _start(why: Explanation, node: Node) -> str:
    value = f"{node.variable} = {show_value(why.value_of(node))}"
    match why.trace.program.initial[node.variable]:
        case ByInput():
            return f"{value} from the token {token_names(why.trace)[node.position]}"
        case ByPosition():
            return f"{value} from the position"
        case _:
            return f"{value}, as everywhere"
