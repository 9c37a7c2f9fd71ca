"""A trace as text, in the manner of the paper's Figure 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from espalier.language import show_value

if TYPE_CHECKING:
    from espalier.interpreter.trace import Moment, Trace

# Traces longer than this show their first and last layers.
SHOWN_LAYERS = 12


def render_text(trace: Trace) -> str:
    """One block for each sub-layer: variables down, positions across, `*` where a value changed."""
    lines = [headline(trace), ""]
    previous: Moment | None = None
    for moment in trace.moments:
        if _elided(moment, trace.layers):
            if moment.sublayer == "attention" and moment.layer == SHOWN_LAYERS // 2 + 1:
                lines += [f"... {trace.layers - SHOWN_LAYERS} layers ...", ""]
        else:
            lines += [*_block(trace, moment, previous), ""]
        previous = moment
    return "\n".join(lines).rstrip()


def headline(trace: Trace) -> str:
    """Input, output and number of layers in one line."""
    tokens = " ".join(token_names(trace))
    ending = "halted" if trace.halted else "stopped"
    layers = "1 layer" if trace.layers == 1 else f"{trace.layers} layers"
    return f"{tokens}  ->  {' '.join(map(str, trace.outputs))}   ({ending} after {layers})"


def title(moment: Moment) -> str:
    """What has just happened."""
    if moment.layer == 0:
        return "before the first layer"
    return f"layer {moment.layer}, after {'attention' if moment.sublayer == 'attention' else 'MLP'}"


def changed(moment: Moment, previous: Moment | None, name: str, position: int) -> bool:
    """Whether this sub-layer changed the value of `name` at `position`."""
    if previous is None:
        return False
    return moment.columns[name][position] != previous.columns[name][position]


def _elided(moment: Moment, layers: int) -> bool:
    half = SHOWN_LAYERS // 2
    return layers > SHOWN_LAYERS and half < moment.layer <= layers - half


def _block(trace: Trace, moment: Moment, previous: Moment | None) -> list[str]:
    names = list(moment.columns)
    cells = [
        [
            show_value(value) + ("*" if changed(moment, previous, name, position) else " ")
            for position, value in enumerate(moment.columns[name])
        ]
        for name in names
    ]
    width = max((len(cell) for row in cells for cell in row), default=1)
    label = max(map(len, names)) + 2
    output = trace.program.output_name
    lines = [title(moment)]
    for name, row in zip(names, cells, strict=True):
        mark = ">" if name == output else " "
        lines.append(f"{mark} {name:<{label}}" + " ".join(cell.rjust(width) for cell in row))
    return lines


def ends(count: int, most: int) -> list[int]:
    """The numbers below `count`, the middle left out where there are more than `most`."""
    if count <= most:
        return list(range(count))
    return [*range(most - most // 2), *range(count - most // 2, count)]


def token_names(trace: Trace) -> list[str]:
    """The input tokens by name, or by number where the program has no vocabulary.

    A line break and its like are written as in Python, since they cannot be seen.
    """
    known = trace.program.vocabulary
    names = [known[token] if known else str(token) for token in trace.tokens]
    return [name if name.isprintable() else repr(name)[1:-1] for name in names]
