"""Commands of the first pillar: list, run, trace, compile and verify programs."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from espalier.commands.output import (
    NAMES,
    Cluster,
    Force,
    OutFile,
    Processes,
    check_page,
    refuse_foreign,
    save,
)
from espalier.commands.progress import counting
from espalier.commands.show import console, show_pairs, show_table
from espalier.errors import FileError
from espalier.targets import load_target, parse_set, tokens_read, with_writing

if TYPE_CHECKING:
    import torch

    from espalier.compiler import CompiledModel
    from espalier.programs import Answer
    from espalier.zoo import Entry

Target = Annotated[str, Parameter(help="A zoo name, FILE.safetensors, or FILE.py:NAME.")]
Layers = Annotated[int | None, Parameter(help="Stop after this many layers.")]
Dtype = Literal["float32", "float64", "bfloat16"]


def programs_command() -> None:
    """List the programs of the zoo."""
    from espalier import zoo

    show_table(("program", "what it computes"), list(zoo.names().items()))


def run_command(
    target: Target,
    *tokens: Annotated[str, Parameter(help="The input, as one word or many.")],
    engine: Literal["interpreter", "compiled"] | None = None,
    max_layers: Layers = None,
    max_tokens: int | None = None,
    stop: str | None = None,
) -> None:
    """Run a program on one input and print its answer.

    Parameters
    ----------
    engine
        Run on symbols, or through compiled Transformer weights; by default a .safetensors file is
        run by its weights, and anything else on symbols.
    max_tokens
        Take the input as a prompt, and let a causal program write at most this many tokens.
    stop
        The token after which nothing is written.
    """
    from espalier.programs import ask

    entry = with_writing(load_target(target), max_tokens, stop)
    is_file = target.endswith(".safetensors")
    engine = engine or ("compiled" if is_file else "interpreter")
    model = _model(target, entry) if engine == "compiled" else None
    answer = ask(entry, [" ".join(tokens)], model=model, max_layers=max_layers)[0]
    value, layers = answer.value, " ".join(map(str, answer.layers))
    if not answer.finished and entry.writing is None:
        layers += " (stopped, not halted)"
    show_pairs(
        {
            "answer": " ".join(map(str, value)) if isinstance(value, list) else str(value),
            ("written" if entry.writing else "outputs"): _outputs(entry, answer),
            "layers": layers,
            "engine": _engine(target if is_file else "", model),
        }
    )


def _engine(file: str, model: CompiledModel | None) -> str:
    """What computed an answer, and whether it still is what the program compiled to."""
    if model is None:
        return "interpreter" + (f" (the program in {file}, not its weights)" if file else "")
    edited = "" if model.is_as_compiled else ", edited since compiled"
    return f"the weights in {file}{edited}" if file else "compiled"


def _outputs(entry: Entry, answer: Answer) -> str:
    """Values as the program's author writes them, or the tokens that were written."""
    program, writing = entry.program, entry.writing
    names = program.vocabulary
    if writing is None:
        return " ".join(program.write(program.output_name, value) for value in answer.outputs)
    if names is None:
        return " ".join(map(str, answer.outputs))
    cut = "" if answer.finished or writing.stop is None else " (cut off)"
    return " ".join(names[token] for token in answer.outputs) + cut


def trace_command(
    target: Target,
    *tokens: Annotated[str, Parameter(help="The input, as one word or many.")],
    html: Path | None = None,
    out: OutFile = None,
    force: Force = False,
    max_layers: Layers = None,
    changes: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
) -> None:
    """Show every variable at every position, layer by layer, as the paper's Figure 3 does.

    A program that writes is shown reading its input and then what it wrote.

    Parameters
    ----------
    html
        Write one self-contained page to step through.
    changes
        Change the run: VARIABLE@LAYER,POSITION=VALUE, as often as wanted.
    """
    from espalier.interpreter import interpret

    check_page(html)
    entry = load_target(target)
    layers = entry.max_layers if max_layers is None else max_layers
    read = tokens_read(entry, [" ".join(tokens)], layers)[0]
    sets = [parse_set(entry.program, text) for text in changes or ()]
    found = interpret(entry.program, read, max_layers=layers, interventions=sets)
    if not [path for path in (html, out) if save(found, path, force=force)]:
        from espalier.show import coloured_trace

        console().print(coloured_trace(found))


def compile_command(
    target: Target,
    *,
    out: Annotated[Path, Parameter(name=NAMES, help="The .safetensors file to write.")],
    sharpness: float | None = None,
    dtype: Dtype = "float32",
    merge: bool = False,
    force: Force = False,
) -> None:
    """Compile a program to Transformer weights in one safetensors file.

    Parameters
    ----------
    sharpness
        The logit of a match; by default large enough that the rest gets a weight of exactly 0.
    dtype
        The numbers of the weights.
    merge
        Join rules into "x in S" first, for a narrower MLP.
    """
    from espalier.compiler import compile_program

    refuse_foreign(out, force=force)
    entry = load_target(target)
    program = entry.program.merged() if merge else entry.program
    began = time.perf_counter()
    model = compile_program(program, sharpness=sharpness, dtype=_dtype(dtype))
    took = time.perf_counter() - began
    model.save(out)
    show_pairs(
        {
            "rules": f"{len(program.rules):,}",
            "heads": f"{len(program.heads)}",
            "residual width": f"{model.layout.width}",
            "MLP width": f"{len(model.weights.feedforward.b1):,}",
            "compiled in": f"{took:.3f} s",
            "wrote": f"{out} ({out.stat().st_size:,} bytes)",
        }
    )


def verify_command(
    target: Target,
    *,
    cases: int = 200,
    size: int = 40,
    seed: int = 0,
    dtype: Dtype | None = None,
    max_layers: Layers = None,
    workers: Processes = None,
    cluster: Cluster = None,
) -> None:
    """Compare interpreter and compiled weights, value by value, on random inputs.

    A program that writes is compared on what it wrote as well.

    Parameters
    ----------
    cases
        How many inputs.
    size
        How large an input may be.
    seed
        The seed of the random inputs.
    dtype
        The numbers that a program is compiled to; float32 by default.
    """
    from espalier.programs import ask, verify
    from espalier.runs import Workers

    entry = load_target(target)
    model = _model(target, entry, dtype)
    layers = entry.max_layers if max_layers is None else max_layers
    inputs = entry.samples(cases, size=size, seed=seed)
    batch = tokens_read(entry, inputs, layers)
    others = Workers(workers or 0, cluster)
    with counting("inputs") as progress:
        found = verify(
            entry.program,
            batch,
            model=model,
            max_layers=layers,
            workers=others,
            progress=progress,
        )
    console().print(str(found), highlight=False)
    wrong = 0
    if entry.expected is not None:
        answers = ask(entry, inputs, model=model, max_layers=layers, workers=others)
        pairs = zip(answers, inputs, strict=True)
        wrong = sum(answer.value != entry.expected(given) for answer, given in pairs)
        console().print(f"{len(inputs) - wrong:,} of {len(inputs):,} answers are right")
    if wrong or not found.ok:
        sys.exit(1)


def _model(target: str, entry: Entry, dtype: Dtype | None = None) -> CompiledModel:
    """The weights in a compiled file, or those of a program."""
    from espalier.compiler import compile_program, load_compiled

    if not target.endswith(".safetensors"):
        return compile_program(entry.program, dtype=_dtype(dtype or "float32"))
    if dtype is not None:
        raise FileError(f"{target} is compiled already; --dtype is for programs")
    return load_compiled(target)


def _dtype(name: Dtype) -> torch.dtype:
    import torch

    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found
