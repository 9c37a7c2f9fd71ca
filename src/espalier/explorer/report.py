"""One page that shows both sides at work, made by really running them.

Every program is built, interpreted, compiled and verified while the page is made, and a sentence
is taken apart; nothing on it is written by hand but the words.
"""

from __future__ import annotations

import html
import io
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files

import torch
from matplotlib.figure import Figure

from espalier import zoo
from espalier.compiler import compile_program
from espalier.errors import ProgramError
from espalier.explorer.sentence import sentence_block
from espalier.files import write_text
from espalier.interpreter import interpret
from espalier.plots import draw_weights
from espalier.programs.generation import Answer, ask
from espalier.programs.verification import verify
from espalier.version import __version__
from espalier.zoo import Entry

# The page is about counting ones modulo two, in three ways.
PROGRAMS = ("parity-sequential-absolute", "parity-sequential-relative", "parity-sum-modulo")
EXAMPLE = "1101"
SHOWN_RULES = 8
WRITTEN_SIZE = 20


@dataclass(frozen=True)
class Checked:
    """What was measured of one program."""

    entry: Entry
    rules: int
    width: int
    inputs: int
    right_on_symbols: int
    right_in_weights: int
    values: int
    disagreements: int
    interpreter_seconds: float
    compiled_seconds: float


def check(entry: Entry, *, longest: int, random_inputs: int, random_size: int) -> Checked:
    """Run random inputs, and every bit string up to `longest` if it takes them, through both.

    What is written takes a pass a token, so the inputs of programs that write are shorter.
    """
    texts = ["".join(bits) for bits in _all_strings(longest)] if _takes_bits(entry) else []
    size = random_size if entry.writing is None else min(random_size, WRITTEN_SIZE)
    texts += entry.samples(random_inputs, size=size)
    model = compile_program(entry.program)
    assert entry.expected is not None
    wanted = [entry.expected(text) for text in texts]

    began = time.perf_counter()
    symbols = ask(entry, texts)
    between = time.perf_counter()
    weights = ask(entry, texts, model=model)
    ended = time.perf_counter()
    read = [answer.read for answer in symbols[::16]]
    found = verify(entry.program, read, model=model, max_layers=entry.max_layers)
    return Checked(
        entry=entry,
        rules=len(entry.program.rules),
        width=model.layout.width,
        inputs=len(texts),
        right_on_symbols=_right(symbols, wanted),
        right_in_weights=_right(weights, wanted),
        values=found.values,
        disagreements=found.count + len(found.errors),
        interpreter_seconds=between - began,
        compiled_seconds=ended - between,
    )


def build_report(
    path: str | os.PathLike[str],
    *,
    longest: int = 10,
    random_inputs: int = 64,
    random_size: int = 200,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Checked]:
    """Write the page to `path` and return what was measured; `progress` hears of each program."""
    results = []
    for name in PROGRAMS:
        progress(f"{name}: building, interpreting, compiling, verifying")
        entry = zoo.load(name)
        results.append(
            check(entry, longest=longest, random_inputs=random_inputs, random_size=random_size)
        )
    write_text(path, render(results))
    return results


def render(results: list[Checked]) -> str:
    """The page itself."""
    sections = "\n".join(_section(result) for result in results)
    weights = draw_weights(compile_program(zoo.load("parity-sequential-relative").program))
    template = files("espalier.explorer").joinpath("report.html").read_text(encoding="utf-8")
    filled = {
        "version": __version__,
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
        "table": _table(results),
        "sections": sections,
        "weights": svg(weights),
        "sentence": sentence_block(),
    }
    for name, text in filled.items():
        template = template.replace(f"<!--{name}-->", text)
    return template


def svg(figure: Figure) -> str:
    """A figure as an inline SVG element."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    text = buffer.getvalue()
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def _all_strings(longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(1, longest + 1):
        yield from itertools.product("01", repeat=length)


def _takes_bits(entry: Entry) -> bool:
    try:
        return bool(entry.encode(EXAMPLE))
    except ProgramError:
        return False


def _right(answers: list[Answer], wanted: list[object]) -> int:
    return sum(answer.value == want for answer, want in zip(answers, wanted, strict=True))


def _table(results: list[Checked]) -> str:
    rows = [
        [
            result.entry.name,
            f"{result.rules:,}",
            f"{result.width:,}",
            f"{result.right_on_symbols:,} of {result.inputs:,}",
            f"{result.right_in_weights:,} of {result.inputs:,}",
            f"{result.disagreements:,} of {result.values:,}",
            f"{result.interpreter_seconds:.2f} s",
            f"{result.compiled_seconds:.2f} s",
        ]
        for result in results
    ]
    cells = (f"<tr>{''.join(f'<td>{html.escape(c)}</td>' for c in row)}</tr>" for row in rows)
    return "\n".join(cells)


def _section(result: Checked) -> str:
    entry = result.entry
    program = entry.program
    rules = [str(rule) for rule in program.rules[:SHOWN_RULES]]
    if len(program.rules) > SHOWN_RULES:
        rules.append(f"... and {len(program.rules) - SHOWN_RULES:,} more")
    example = EXAMPLE if _takes_bits(entry) else entry.samples(1, size=2)[0]
    trace = interpret(program, ask(entry, [example])[0].read, max_layers=entry.max_layers)
    return (
        f"<section><h2>{html.escape(entry.name)}</h2><p>{html.escape(entry.summary)}.</p>"
        f"<details><summary>{len(program.rules):,} rules, found by following the function's own "
        f"paths</summary><pre>{html.escape(chr(10).join(rules))}</pre></details>"
        f"<h3>What happens to {html.escape(str(example))}</h3>{trace._repr_html_()}</section>"
    )
