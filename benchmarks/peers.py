"""The same programs in Tracr, in the public ALTA package and here: answers, sizes and times.

python -m benchmarks.peers --python PEERS/bin/python --tracr CHECKOUT --alta CHECKOUT

The peers run in a Python of their own (jax, dm-haiku, networkx, einops, chex, scipy, absl-py), by
--python or ESPALIER_PEERS_PYTHON; their checkouts by --tracr and --alta or ESPALIER_TRACR and
ESPALIER_ALTA. A peer that is not there is skipped. Times are CPU seconds of one thread, so that
other work on the machine counts little. Tracr's programs are its library's, and the truth is
`espalier.rasp.evaluate`. ALTA's programs are read as data, rules included, and run here unchanged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from torch.nn import Module

import espalier as es
from benchmarks import rasp_library as library
from benchmarks.harness import report
from espalier import rasp
from espalier.language import (
    Program,
    Rule,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    var,
    without_functions,
)
from espalier.rasp import tokens

Result = TypeVar("Result")
Row = dict[str, Any]

SHORT, LONG = 8, 32
EXACTNESS = 100, 1000  # how steep Tracr's ramps are: its default, and one for long inputs
SECONDS = 60  # CPU time that Tracr may take for one program
WORDS = 4  # all of the greatest length: Tracr's runtime recompiles for each length

LETTERS, BRACKETS, NUMBERS = list("abcd"), list("ab()"), [1, 2, 3, 4]
TRACR: dict[str, tuple[Callable[[int], rasp.Expression], list[Any]]] = {
    "frac_prevs": (lambda n: library.fraction_before(tokens == "a"), LETTERS),
    "shift_by": (lambda n: rasp.shift(tokens, 2), LETTERS),
    "detect_pattern": (lambda n: library.detect(tokens, "abc"), LETTERS),
    "reverse": (lambda n: library.reverse, LETTERS),
    "length": (lambda n: rasp.length, LETTERS),
    "hist": (lambda n: library.hist, LETTERS),
    "count": (lambda n: library.count("a"), LETTERS),
    "count_less_freq": (lambda n: library.count_less_frequent(2), LETTERS),
    "sort_unique": (lambda n: library.sort_unique(tokens, tokens), NUMBERS),
    "sort": (lambda n: library.sort(tokens, tokens, n), NUMBERS),
    "sort_freq": (library.sort_by_frequency, NUMBERS),
    "pair_balance": (lambda n: library.pair_balance("(", ")"), BRACKETS),
    "shuffle_dyck": (lambda n: library.shuffle_dyck("()"), list("()")),
    "shuffle_dyck2": (lambda n: library.shuffle_dyck("()", "{}"), list("(){}")),
}


def tracr_cases() -> list[Row]:
    """The programs at each length, with random inputs."""
    source, cases = random.Random(0), []
    some = ("hist", "reverse", "sort_freq", "pair_balance")
    for name, longest in [*((name, SHORT) for name in TRACR), *((name, LONG) for name in some)]:
        words = list(range(1, longest + 1)) if name == "sort_unique" else TRACR[name][1]
        pick = source.sample if name == "sort_unique" else source.choices
        inputs = [pick(words, k=longest) for _ in range(WORDS)]
        cases.append({"program": name, "longest": longest, "vocabulary": words, "words": inputs})
    return [
        case | {"exactness": exactness}
        for exactness in EXACTNESS
        for case in cases
        if exactness == EXACTNESS[0] or case["longest"] == LONG
    ]


def tracr_row(case: Row, theirs: Row) -> Row:
    """One program at one length, here and in Tracr."""
    make, _ = TRACR[case["program"]]
    longest, words = case["longest"], case["words"]
    expression = make(longest)
    (found, model), build = timed(lambda: _built(expression, case["vocabulary"], longest))
    batch = [found.encode(word) for word in words]
    truth = [rasp.evaluate(expression, word) for word in words]
    ours = [found.decode(run.outputs) for run in model.run_many(batch)]
    symbols = [found.decode(run.outputs) for run in es.interpret_many(found.program, batch)]
    run = min(timed(lambda: model.run(batch[0]))[1] for _ in range(5))
    places = [(w, p) for w, word in enumerate(truth) for p in range(len(word))]
    known = [(w, p) for w, p in places if truth[w][p] is not None]
    row = {"program": case["program"], "longest": longest, "exactness Tracr": case["exactness"]}
    right = "-" if "outputs" not in theirs else _share(theirs["outputs"], truth, known)
    row |= {"Tracr right": right, "here right": _share(ours, truth, places, exact=True)}
    row |= {"symbols = weights": "yes" if ours == symbols else "NO"}
    row |= {"rules": len(found.program.rules)}
    row |= {"width Tracr": theirs.get("width", "-"), "width here": model.layout.width}
    row |= {"layers Tracr": theirs.get("layers", "-"), "layers here": found.layers}
    textbook = model.unroll(found.layers, longest)
    row |= {"parameters Tracr": theirs.get("parameters", "-"), "parameters here": size(model)}
    row |= {"parameters textbook": size(textbook)}
    row |= {"build s Tracr": theirs.get("build s", theirs.get("error")), "build s here": build}
    seconds = theirs.get("run s")
    row |= {"run ms Tracr": 1e3 * seconds if seconds else "-", "run ms here": 1e3 * run}
    return row


def size(model: Module) -> int:
    """The numbers in its matrices; what blocks share is counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _built(expression: rasp.Expression, vocabulary: list[Any], longest: int) -> tuple[Any, Any]:
    found = rasp.translate(expression, vocabulary=vocabulary, longest=longest)
    return found, es.compile_program(found.program)


def _share(found: list, truth: list, places: list, *, exact: bool = False) -> str:
    """How many values are the true ones; a peer's numbers within half a percent, as it tests."""
    right = sum(_same(found[w][p], truth[w][p], exact) for w, p in places)
    return f"{right}/{len(places)}"


def _same(found: object, true: object, exact: bool) -> bool:
    if exact or isinstance(true, str) or isinstance(found, str) or found is None:
        return found == true
    return abs(float(found) - float(true)) <= 1e-7 + 0.005 * abs(float(true))  # type: ignore[arg-type]


COLUMNS = (
    "same symbols",
    "weights = symbols theirs",
    "weights = symbols here",
    "width theirs",
    "width here",
    "build s theirs",
    "build s here",
    "compile s theirs",
    "compile s here",
    "interpret ms theirs",
    "interpret ms here",
    "run ms theirs",
    "run ms here",
)


def alta_row(name: str, theirs: Row) -> Row:
    """One program of the ALTA package, its rules run here."""
    if "error" in theirs:
        return {"program": name, "rules": theirs["error"], **dict.fromkeys(COLUMNS, "-")}
    data, inputs, layers = theirs["program"], theirs["inputs"], theirs["layers"]
    row = {"program": name, "rules": len(data["rules"])}
    try:
        program, build = timed(lambda: as_program(data))
    except es.ProgramError as error:
        return {**row, **dict.fromkeys(COLUMNS, "-"), COLUMNS[0]: f"refused here: {error}"}
    model, compiling = timed(lambda: es.compile_program(program))
    es.interpret_many(program, inputs, max_layers=layers)
    runs, interpreting = timed(lambda: es.interpret_many(program, inputs, max_layers=layers))
    model.run_many(inputs, max_layers=layers)
    compiled, running = timed(lambda: model.run_many(inputs, max_layers=layers))
    symbols = [list(run.outputs) for run in runs]
    weights = [list(run.outputs) for run in compiled]
    count, per_input = len(inputs), 1e3 / len(inputs)
    known = "weights" in theirs
    cells = (
        f"{_equal(symbols, theirs['symbols'])}/{count}",
        f"{_equal(theirs['weights'], theirs['symbols'])}/{count}" if known else "-",
        f"{_equal(weights, symbols)}/{count}",
        theirs.get("width", "-"),
        model.layout.width,
        theirs["build s"],
        build,
        theirs.get("compile s", "-"),
        compiling,
        per_input * theirs["interpret s"],
        per_input * interpreting,
        per_input * theirs["run s"] if known else "-",
        per_input * running,
    )
    return {**row, **dict(zip(COLUMNS, cells, strict=True))}


def _equal(one: list, other: list) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


def as_program(data: Row) -> Program:
    """A program of the ALTA package, from its data."""
    specs = {name: _variable(found) for name, found in data["variables"].items()}
    heads = {
        name: qkv(
            head["query"],
            head["key"],
            head["value"],
            head["offsets"] or None,
            output_spec=without_functions(specs[name]),
        )
        for name, head in data["heads"].items()
    }
    rules = [
        Rule(
            [(name, specs[name].values[code]) for name, code in rule["if"]],
            rule["variable"],
            _value(rule["old"]),
            _value(rule["new"]),
        )
        for rule in data["rules"]
    ]
    return program_spec(
        {name: spec for name, spec in specs.items() if name not in heads},
        heads,
        rules=rules,
        output_name=data["output"],
        input_range=data["input_range"],
        position_range=data["position_range"],
        halt_spec=halt_spec(*data["halt"]) if data["halt"] else None,
    )


def _variable(found: Row) -> Any:
    first: Row = {"default": _value(found["default"])}
    if "by_input" in found:
        first = {"input_init_fn": [*map(_value, found["by_input"])].__getitem__}
    elif "by_position" in found:
        first = {"position_init_fn": [*map(_value, found["by_position"])].__getitem__}
    match found["kind"]:
        case "CategoricalVarSpec":
            # SUBLEQ writes beyond its range, which its weights clip.
            return var(found["range"], out_of_range="saturate", **first)
        case "NumericalVarSpec":
            return numerical_var(found["values"] or (0, 1), **first)
        case _:
            return set_var([*map(_value, found["values"])], found["range"], **first)


def _value(value: Any) -> Any:
    return frozenset(value) if isinstance(value, list) else value


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What work gives, and its CPU seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


def ask(python: str, peer: str, checkout: str, *, answers: str | None, request: Row) -> Row:
    """The answers of peer_PEER.py in the peer's checkout, or those saved earlier."""
    environment = {**os.environ, "PYTHONPATH": checkout, "OMP_NUM_THREADS": "1"}
    environment |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(answers or folder) / f"{peer}.json"
        answer.parent.mkdir(parents=True, exist_ok=True)
        if not answer.exists():
            script = Path(__file__).with_name(f"peer_{peer}.py")
            command = [python, str(script), str(answer.resolve())]
            text = json.dumps(request)
            subprocess.run(
                command, input=text, text=True, check=True, cwd=checkout, env=environment
            )
        return json.loads(answer.read_text())


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("python", "tracr", "alta"):
        variable = "ESPALIER_PEERS_PYTHON" if name == "python" else f"ESPALIER_{name.upper()}"
        parser.add_argument(f"--{name}", default=os.environ.get(variable))
    parser.add_argument("--answers", help="a folder that stores the peers' answers")
    given = parser.parse_args()
    python, cases = given.python or sys.executable, tracr_cases()
    requests = {"tracr": {"cases": cases, "seconds": SECONDS}, "alta": {}}
    for peer, request in requests.items():
        checkout = getattr(given, peer)
        if not checkout:
            print(f"{peer} is not here: skipped; give its checkout with --{peer}")
            continue
        found = ask(python, peer, checkout, answers=given.answers, request=request)
        print(peer, "with", found["versions"])
        if peer == "tracr":
            rows = [tracr_row(*pair) for pair in zip(cases, found["answers"], strict=False)]
        else:
            rows = [alta_row(*item) for item in found["answers"].items()]
        report(f"peer-{peer}", rows)


if __name__ == "__main__":
    main()
