"""The same run through compiled weights: where it differs, its residual stream, its attention."""

from __future__ import annotations

import re
from typing import Any

from espalier.compiler import CompiledModel, compile_program, load_compiled
from espalier.errors import DataError, ProgramError
from espalier.explorer.programs import Answer, answer_of, trace_of
from espalier.explorer.session import Session, number_of
from espalier.interpreter import Trace
from espalier.language import Categorical, Numerical, Program, Run, SetValued

MOST_DIFFERENT = 2000  # values that are named
MOST_COST = 8_000_000  # layers x positions x MLP units whose values are compared by default
MOST_CELLS = 60_000  # of a stream that are shown


def model_of(session: Session, name: str) -> CompiledModel:
    """A program's weights: compiled here, or those of the file that it was read from."""
    if name.endswith(".safetensors"):
        return session.once(("model", name), lambda: load_compiled(name))
    return session.once(("model", name), lambda: compile_program(session.entry(name).program))


def _run(session: Session, asked: Answer) -> tuple[Trace, CompiledModel, Run]:
    """A trace, and the run of the weights that was changed as it was, with all it went through."""
    trace = trace_of(session, asked)
    model = model_of(session, str(asked.get("program")))
    key = ("run", asked.get("program"), asked.get("input"), str(asked.get("sets") or []))
    run = session.once(
        key,
        lambda: model.run(
            trace.tokens,
            max_layers=_limit(trace),
            cache=True,
            interventions=trace.interventions,
        ),
    )
    return trace, model, run


def compare(session: Session, asked: Answer) -> Answer:
    """The answer of the weights, and every value in which they differ from the symbols.

    Where that would take long, values are compared only when asked to be `thorough`.
    """
    trace, model = trace_of(session, asked), model_of(session, str(asked.get("program")))
    cost = trace.layers * len(trace.tokens) * len(model.unit_labels)
    run, different = None, None
    if cost <= MOST_COST or asked.get("thorough") is True:
        run = _run(session, asked)[2]
        different = _different(session, asked, trace, run)
    else:
        run = model.run(
            trace.tokens, max_layers=_limit(trace), interventions=list(trace.interventions)
        )
    entry = session.entry(asked.get("program"))
    return {
        "answer": answer_of(entry, trace.tokens, list(run.outputs)),
        "layers": run.layers,
        "halted": run.halted,
        "different": (different or [])[:MOST_DIFFERENT],
        "differences": None if different is None else len(different),
        "model": {
            "width": model.layout.width,
            "units": len(model.unit_labels),
            "edited": not model.is_as_compiled,
        },
    }


def _different(session: Session, asked: Answer, trace: Trace, run: Run) -> list[list[Any]]:
    """Step, variable, position and what the weights hold there, wherever they disagree."""
    program, found = trace.program, []
    for place, moment in enumerate(trace.moments[: 2 * run.layers + 1]):
        for number, name in enumerate(program.specs):
            held = _column(session, asked, run, name, moment.sublayer)[moment.layer]
            is_number = isinstance(program.specs[name], Numerical)
            for position, pair in enumerate(zip(moment.columns[name], held, strict=True)):
                if not _same(*pair, is_number):
                    found.append([place, number, position, _write(program, name, pair[1])])
    return found


def _limit(trace: Trace) -> int:
    return trace.layers if trace.max_layers is None else trace.max_layers


def _column(session: Session, asked: Answer, run: Run, name: str, sublayer: Any) -> Any:
    key = (str(asked.get("program")), str(asked.get("input")), str(asked.get("sets") or []))
    held = session.once(("columns", *key), dict)
    if (name, sublayer) not in held:
        held[name, sublayer] = run.cache.variable(name, sublayer)
    return held[name, sublayer]


def _same(value: Any, found: Any, is_number: bool) -> bool:
    if not is_number or value is None or found is None:
        return bool(value == found)
    return bool(abs(value - found) <= 1e-3 * max(1.0, abs(value)))


def _write(program: Any, name: str, value: Any) -> str:
    try:
        return str(program.write(name, value))
    except (IndexError, ValueError):
        return "no value"


def residual(session: Session, asked: Answer) -> Answer:
    """The stream after a step, position by labelled dimension; dimensions that are 0 left out."""
    trace, model, run = _run(session, asked)
    step = number_of(asked, "step", most=2 * run.layers)
    stream = run.cache.streams[step] @ model.basis.T
    used = stream.abs().amax(0).gt(1e-6).nonzero()[:, 0].tolist()
    shown = used[: max(1, MOST_CELLS // max(1, len(stream)))]
    return {
        "labels": [label_of(trace.program, model.labels[number]) for number in shown],
        "codes": [model.labels[number] for number in shown],
        "rows": [[round(x, 4) for x in row] for row in stream[:, shown].tolist()],
        "width": model.layout.width,
        "unused": model.layout.width - len(used),
        "left": len(used) - len(shown),
        "positions": len(trace.tokens),
    }


def label_of(program: Program, label: str) -> str:
    """A dimension's label with its value as the program's author writes it."""
    found = re.fullmatch(r"(?P<name>.+) = (?P<code>\d+)|(?P<element>\d+) in (?P<of>.+)", label)
    if found is None:
        return label
    name, code = found["name"] or found["of"], int(found["code"] or found["element"])
    match program.specs.get(name):
        case Categorical():
            return f"{name} = {program.write(name, code)}"
        case SetValued():
            return f"{program.write(name, frozenset([code]))[1:-1]} in {name}"
    return label


def attention(session: Session, asked: Answer) -> Answer:
    """Who attends to whom in a layer, by a head: on symbols and in the weights."""
    trace, _, run = _run(session, asked)
    head, layer = str(asked.get("head")), number_of(asked, "layer", least=1, most=10**6)
    if head not in trace.program.heads:
        raise ProgramError(f"there is no head {head!r}")
    if layer > min(trace.layers, run.layers):
        raise DataError(f"layer {layer} is beyond the end of this run")
    pattern = session.once(
        ("attention", asked.get("program"), asked.get("input"), str(asked.get("sets")), head),
        lambda: (trace.cache.attention(head), run.cache.attention(head)),
    )
    return {
        "text": str(trace.program.heads[head]),
        "symbols": pattern[0][layer].round(4).tolist(),
        "weights": pattern[1][layer].round(4).tolist(),
    }
