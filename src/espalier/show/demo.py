"""One page that shows both sides of the library, made by running them.

Every program is built, interpreted, compiled and verified while the page is made, and a sentence
is taken apart; nothing on it is written by hand but the words.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from espalier import zoo
from espalier.compiler import compile_program
from espalier.data import ROOT, Parsed
from espalier.decomposition import interdependence
from espalier.errors import ProgramError
from espalier.files import write_text
from espalier.interpreter import interpret
from espalier.nets.language import english_model
from espalier.programs import Answer, ask, verify
from espalier.show.figures import draw_weights, svg
from espalier.show.pages import fill, page, plain
from espalier.show.text import count, first_lines
from espalier.version import __version__
from espalier.zoo import Entry

# The page is about counting ones modulo two, in three ways.
PROGRAMS = ("parity-sequential-absolute", "parity-sequential-relative", "parity-sum-modulo")
EXAMPLE = "1101"
SHOWN_RULES = 8
WRITTEN_SIZE = 20
# The LSTM papers' own example, with its dependencies.
SOCRATES = Parsed(
    "Alexander",
    ("Alexander", "asked", "the", "student", "trick", "questions"),
    ("PROPN", "VERB", "DET", "NOUN", "NOUN", "NOUN"),
    (1, ROOT, 3, 1, 5, 1),
    ("nsubj", "root", "det", "iobj", "compound", "obj"),
)


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

    Writing takes one pass per token, so the inputs of programs that write are shorter.
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
    """Write the page to `path` and return what was measured; `progress` is called per program."""
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
    weights = draw_weights(compile_program(zoo.load("parity-sequential-relative").program))
    pairs = interdependence(english_model(), SOCRATES.words).beside(SOCRATES)
    body = fill(
        "demo.html",
        version=__version__,
        torch=torch.__version__,
        threads=count(torch.get_num_threads(), "thread"),
        table="\n".join(map(_row, results)),
        sections="\n".join(map(_section, results)),
        weights=svg(weights),
        sentence=pairs._repr_html_() or "",
    )
    title = "espalier: programs into Transformers, networks into parts"
    return page(title, body, styles=["demo.css"])


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


def _row(result: Checked) -> str:
    cells = [
        result.entry.name,
        f"{result.rules:,}",
        f"{result.width:,}",
        f"{result.right_on_symbols:,} of {result.inputs:,}",
        f"{result.right_in_weights:,} of {result.inputs:,}",
        f"{result.disagreements:,} of {result.values:,}",
        f"{result.interpreter_seconds:.2f} s",
        f"{result.compiled_seconds:.2f} s",
    ]
    return f"<tr>{''.join(f'<td>{plain(cell)}</td>' for cell in cells)}</tr>"


def _section(result: Checked) -> str:
    entry, program = result.entry, result.entry.program
    example = EXAMPLE if _takes_bits(entry) else entry.samples(1, size=2)[0]
    trace = interpret(program, ask(entry, [example])[0].read, max_layers=entry.max_layers)
    rules = "\n".join(plain(line) for line in first_lines(map(str, program.rules), SHOWN_RULES))
    return (
        f"<section><h2>{plain(entry.name)}</h2><p>{plain(entry.summary)}.</p>"
        f"<details><summary>{len(program.rules):,} rules, found by following the function's own "
        f"paths</summary><pre>{rules}</pre></details>"
        f"<h3>What happens to {plain(str(example))}</h3>{trace._repr_html_()}</section>"
    )
