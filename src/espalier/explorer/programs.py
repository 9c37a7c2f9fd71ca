"""Programs for a page: what one is, a trace of it, why a value is what it is, which rules fired."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from espalier.errors import DataError, EspalierError, ProgramError
from espalier.explorer.session import Session, number_of, text_of
from espalier.interpreter import Trace, interpret
from espalier.interventions import Set
from espalier.language import Numerical, Program, Value
from espalier.show import (
    explanation_headline,
    explanation_steps,
    explanation_summary,
    listed_rules,
    token_names,
    trace_data,
    trace_ending,
)
from espalier.targets import tokens_read
from espalier.zoo import Entry

MOST_LAYERS = 1000
MOST_CHOICES = 400  # values that a list offers
MOST_RULES = 200  # rules that one search shows
MOST_STEPS = 60
# Inputs to begin with that show more than the shortest: a loop that counts down, two clauses.
EXAMPLES = {
    "subleq": "9 10 6 11 11 0 11 11 -1 1 8 0",
    "scan": "jump left twice and walk",
    "induction": "abcab",
    "most-frequent": "banana",
    "reverse": "espalier",
}
Answer = dict[str, Any]


def list_programs(session: Session, asked: Answer) -> Answer:
    """Every program's name and what it computes."""
    return {"programs": [{"name": n, "summary": s} for n, s in session.program_names().items()]}


def describe_program(session: Session, asked: Answer) -> Answer:
    """Its variables, heads and number of rules, and an input to begin with."""
    entry = session.entry(asked.get("program"))
    program = entry.program
    rules = listed_rules(program)
    halt = program.halt
    return {
        "name": entry.name,
        "summary": entry.summary,
        "example": example_of(entry),
        "output": program.output_name,
        "causal": program.causal,
        "halts": halt and f"{halt.variable} = {program.write(halt.variable, halt.value)}",
        "rules": None if rules is None else len(rules),
        "resets": None if rules is None else sum(rule.is_reset for rule in rules),
        "variables": [
            {"name": name, "kind": str(spec), "choices": _choices(program, name)}
            for name, spec in program.variables.items()
        ],
        "heads": [
            {"name": name, "text": str(head), "choices": _choices(program, name)}
            for name, head in program.heads.items()
        ],
    }


def example_of(entry: Entry) -> str:
    """An input in the program's own language."""
    if entry.name in EXAMPLES:
        return EXAMPLES[entry.name]
    if entry.program.text is not None and entry.program.text.example:
        return entry.program.text.example
    drawn = entry.samples(1, size=5, seed=3)[0]
    return drawn if isinstance(drawn, str) else " ".join(map(str, drawn))


def _choices(program: Program, name: str) -> list[str] | None:
    """Every value as its author writes it, by code; None where it is a number or there are many."""
    spec = program.specs[name]
    if isinstance(spec, Numerical) or len(spec.values) > MOST_CHOICES:
        return None
    return [program.write(name, value) for value in spec.values]


def trace_of(session: Session, asked: Answer) -> Trace:
    """The trace that a page asks for: a program, an input in its own language, values set."""
    entry = session.entry(asked.get("program"))
    text, sets = text_of(asked, "input"), asked.get("sets") or []
    key = ("trace", entry.name, text, str(sets))
    return session.once(key, lambda: _trace(entry, text, sets))


def _trace(entry: Entry, text: str, sets: list[Any]) -> Trace:
    layers = min(entry.max_layers or MOST_LAYERS, MOST_LAYERS)
    tokens = tokens_read(entry, [text], layers)[0]
    changes = read_sets(entry.program, sets)
    return interpret(entry.program, tokens, max_layers=layers, interventions=changes)


def read_sets(program: Program, sets: object) -> list[Set]:
    """The values that a page set: variable, step of the trace, position and code (or a number)."""
    if not isinstance(sets, list) or len(sets) > 50:
        raise DataError("sets is a list of at most 50 values")
    return [_read_set(program, one) for one in sets]


def _read_set(program: Program, one: Any) -> Set:
    if not isinstance(one, dict) or one.get("variable") not in program.specs:
        raise ProgramError(f"a value is set by variable, step, position and value; found {one!r}")
    name, step = one["variable"], number_of(one, "step")
    spec, value = program.specs[name], one.get("value")
    held: Value | None
    match value:
        case None:
            held = None
        case int() | float() if isinstance(spec, Numerical):
            held = float(value)
        case int() if 0 <= value < len(spec.values):
            held = spec.values[value]
        case _:
            raise ProgramError(f"{name} has no value of code {value!r}")
    return Set(
        name,
        layer=(step + 1) // 2,
        position=number_of(one, "position"),
        value=held,
        sublayer="attention" if step % 2 else "mlp",
    )


def show_trace(session: Session, asked: Answer) -> Answer:
    """Every value of a trace, the answer, and what it was expected to be."""
    began = time.perf_counter()
    entry, trace = session.entry(asked.get("program")), trace_of(session, asked)
    data = trace_data(trace)
    return {
        "data": data,
        "answer": answer_of(entry, trace.tokens, trace.outputs),
        "expected": _expected(entry, text_of(asked, "input")),
        "ending": trace_ending(trace),
        "layers": trace.layers,
        "tokens": token_names(trace),
        "idle": [str(one) for one in trace.idle],
        "seconds": round(time.perf_counter() - began, 3),
    }


def answer_of(entry: Entry, tokens: tuple[int, ...], outputs: list[Any]) -> str:
    """The answer as people write it; what went wrong where there is none."""
    if entry.writing is not None:
        names = entry.program.vocabulary or [str(n) for n in range(entry.program.input_range)]
        start = next((i + 1 for i in range(len(tokens)) if names[tokens[i]] == "="), 0)
        outputs = list(tokens[start:])
    try:
        found = entry.decode(outputs)
    except (EspalierError, TypeError, IndexError, ValueError) as error:
        return f"no answer: {error}"
    return " ".join(map(str, found)) if isinstance(found, list | tuple) else str(found)


def _expected(entry: Entry, text: str) -> str | None:
    if entry.expected is None:
        return None
    try:
        found = entry.expected(text)
    except EspalierError:
        return None
    return " ".join(map(str, found)) if isinstance(found, list | tuple) else str(found)


def explain_cell(session: Session, asked: Answer) -> Answer:
    """Why a value is what it is, in words, back to the tokens."""
    trace = trace_of(session, asked)
    step, variable = number_of(asked, "step", most=2 * trace.layers), asked.get("variable")
    position = number_of(asked, "position", most=len(trace.tokens) - 1)
    if variable not in trace.program.specs:
        raise ProgramError(f"there is no variable {variable!r}")
    why = trace.explain(position, variable, layer=(step + 1) // 2)
    steps = explanation_steps(why)
    return {
        "headline": explanation_headline(why),
        "summary": explanation_summary(why),
        "steps": [{"place": place, "how": how} for place, how in steps[:MOST_STEPS]],
        "left": max(0, len(steps) - MOST_STEPS),
    }


def search_rules(session: Session, asked: Answer) -> Answer:
    """The rules that hold every word of a query, those that fired most often first."""
    trace, words = trace_of(session, asked), text_of(asked, "query", 200).lower().split()
    program, rules = trace.program, listed_rules(trace.program)
    if rules is None:
        raise ProgramError("this program is a function with more rules than can be listed")
    fired: Counter[int] = session.once(
        ("fired", asked.get("program"), asked.get("input"), str(asked.get("sets") or [])),
        lambda: Counter(trace.cache.units.rule.tolist()),
    )
    texts: list[str] = session.once(
        ("rules", asked.get("program")), lambda: [program.write_rule(rule) for rule in rules]
    )
    found = [
        number
        for number, rule in enumerate(rules)
        if not rule.is_reset and all(word in texts[number].lower() for word in words)
    ]
    found.sort(key=lambda number: (-fired[number], number))
    return {
        "found": len(found),
        "fired": sum(fired[number] > 0 for number in found),
        "rules": [[number, texts[number], fired[number]] for number in found[:MOST_RULES]],
    }
