"""A trace as text, in the manner of the ALTA paper's Figure 3, and words that its views share."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from espalier.errors import harmless
from espalier.show.programs import idle_text
from espalier.show.text import count, without_middle

if TYPE_CHECKING:
    from rich.text import Text

    from espalier.interpreter import Moment, Trace

# Traces longer than this show their first and last layers.
SHOWN_LAYERS = 12
# Values of more characters than this lose their middle; all columns are as wide as the widest.
WIDEST = 16


def trace_text(trace: Trace) -> str:
    """One block for each sub-layer: variables down, positions across, `*` where a value changed.

    The middle of a long value, such as a set of many numbers, is left out.
    """
    lines = [headline(trace) + idle_text(trace.idle), ""]
    previous: Moment | None = None
    for moment in trace.moments:
        if _elided(moment, trace.layers):
            if moment.sublayer == "attention" and moment.layer == SHOWN_LAYERS // 2 + 1:
                lines += [f"... {trace.layers - SHOWN_LAYERS} layers ...", ""]
        else:
            lines += [*_block(trace, moment, previous), ""]
        previous = moment
    return "\n".join(lines).rstrip()


def coloured_trace(trace: Trace) -> Text:
    """The text for a terminal: changed values in blue, the output variable in red."""
    from rich.text import Text

    text = Text(harmless(trace_text(trace)))
    text.highlight_regex(r"(?m)^> \S+", "bold red")
    text.highlight_regex(r"\S+\*", "bold blue")
    return text


def headline(trace: Trace) -> str:
    """Input, output and number of layers in one line."""
    outputs = " ".join(output_names(trace))
    return f"{' '.join(token_names(trace))}  ->  {outputs}   ({ending(trace)})"


def output_names(trace: Trace) -> list[str]:
    """The outputs as the program's author writes them; those that the answer leaves out are not."""
    program = trace.program
    kept, text = trace.outputs, program.text
    if text is not None:
        said = [value is None or text.answers[value] is not None for value in kept[text.skip :]]
        kept = list(compress(kept[text.skip :], said)) or kept
    return [_visible(program.write(program.output_name, value)) for value in kept]


def ending(trace: Trace) -> str:
    """Whether the trace halted, and after how many layers."""
    return f"{'halted' if trace.halted else 'stopped'} after {count(trace.layers, 'layer')}"


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


def token_names(trace: Trace) -> list[str]:
    """The input tokens by name, or by number where the program has no vocabulary.

    A line break and its like are written as in Python, since they cannot be seen.
    """
    known = trace.program.vocabulary
    names = [known[token] if known else str(token) for token in trace.tokens]
    return list(map(_visible, names))


def _visible(name: str) -> str:
    return name if name.isprintable() else repr(name)[1:-1]


def _elided(moment: Moment, layers: int) -> bool:
    half = SHOWN_LAYERS // 2
    return layers > SHOWN_LAYERS and half < moment.layer <= layers - half


def _block(trace: Trace, moment: Moment, previous: Moment | None) -> list[str]:
    rows = {
        name: [
            "".join(without_middle(trace.program.write(name, value), WIDEST))
            + ("*" if changed(moment, previous, name, position) else " ")
            for position, value in enumerate(column)
        ]
        for name, column in moment.columns.items()
    }
    width = max((len(cell) for row in rows.values() for cell in row), default=1)
    label = max(map(len, rows)) + 2
    lines = [title(moment)]
    for name, row in rows.items():
        mark = ">" if name == trace.program.output_name else " "
        lines.append(f"{mark} {name:<{label}}" + " ".join(cell.rjust(width) for cell in row))
    return lines
