"""The public ALTA package's example programs as data, with its answers and times; see peers.py.

Run by a Python that has the package's dependencies (tensorflow and beam are not needed), inside
its checkout. Writes to the file named by the argument.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from examples import addition, parity, parity_sparse, subleq
from examples.scan import scan_sparse_program, scan_utils
from framework import program as language
from framework.compiler import compiler_config, compiler_utils
from framework.interpreter import interpreter_utils, program_utils
from framework.transformer import transformer_utils

BITS = 40
SECONDS = 120  # CPU time of one program
MOST_LAYERS = 16  # its weights never halt

Inputs = list[list[int]]
Case = tuple[Callable[[], Any], Inputs, int | None]

# Its dense matrices for 16,000 rules take many gigabytes: run on symbols alone.
NOT_COMPILED = ("SCAN, builder",)


def bits(source: random.Random, before: list[int], after: list[int]) -> list[list[int]]:
    return [before + source.choices((0, 1), k=BITS) + after for _ in range(8)]


def cases(source: random.Random) -> dict[str, Case]:
    """What builds each program, its inputs, and its layers where it does not halt by itself."""
    sums = [(source.randrange(10**9), source.randrange(10**9)) for _ in range(8)]
    adding = [addition.preprocess_input(*pair) for pair in sums]
    commands = ["jump twice after walk"]
    memory = [9, 11, 3, 11, 10, 6, 11, 11, -1, 5, 10, 0]  # adds 5 to 10
    registers = [[*memory[:9], source.randrange(8), source.randrange(8), 0] for _ in range(8)]
    absolute, relative = bits(source, [], []), bits(source, [parity.START], [])
    ended = bits(source, [], [parity.EOS_VALUE])
    return {
        "parity, absolute": (
            lambda: parity.build_sequential_program_absolute(generate_rules=True),
            absolute,
            BITS,
        ),
        "parity, absolute, builder": (
            parity_sparse.build_sequential_program_absolute,
            absolute,
            BITS,
        ),
        "parity, relative": (
            lambda: parity.build_sequential_program_relative(generate_rules=True),
            relative,
            BITS,
        ),
        "parity, sum modulo": (
            lambda: parity.build_sum_mod_2_program_spec(generate_rules=True),
            ended,
            2,  # its interpreter takes no fewer
        ),
        "addition, builder": (addition.build_sparse_program_spec, adding, None),
        "SUBLEQ, builder": (
            subleq.build_program_spec_sparse,
            [subleq.encode_inputs(cells) for cells in registers],
            16,
        ),
        "SCAN, builder": (
            scan_sparse_program.build_program_spec,
            [scan_utils.input_string_to_input_ids(text) for text in commands],
            64,
        ),
    }


def as_data(spec: Any) -> dict[str, Any]:
    """A program without functions: tables, heads and rules."""
    heads = {head.output: head for head in spec.head_specs}
    return {
        "variables": {name: variable(spec, var) for name, var in spec.variables.items()},
        "heads": {
            name: {
                "query": head.query,
                "key": head.key,
                "value": head.value,
                "offsets": sorted(head.relative_position_mask),
            }
            for name, head in heads.items()
        },
        "rules": [
            {
                "if": [[atom.variable, atom.value_idx] for atom in rule.lhs],
                "variable": rule.rhs.variable,
                "old": plain(rule.rhs.old_value),
                "new": plain(rule.rhs.new_value),
            }
            for rule in spec.mlp.get_rules()
        ],
        "output": spec.outputs,
        "input_range": spec.input_range,
        "position_range": spec.position_range,
        "halt": spec.halt_spec and [spec.halt_spec.halt_var, spec.halt_spec.halt_value],
    }


def variable(spec: Any, var: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": type(var).__name__, "default": plain(var.default)}
    if not isinstance(var, language.NumericalVarSpec):
        found["range"] = var.range
    if not isinstance(var, language.CategoricalVarSpec):
        found["values"] = [plain(value) for value in var.values or ()]
    if var.input_init_fn is not None:
        found["by_input"] = [plain(var.input_init_fn(i)) for i in range(spec.input_range)]
    if var.position_init_fn is not None:
        places = range(spec.position_range or 0)
        found["by_position"] = [plain(var.position_init_fn(place)) for place in places]
    return found


def plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return int(value) if isinstance(value, bool) else value


def best(work: Callable[[], Any], times: int = 3) -> tuple[Any, float]:
    seconds, found = [], None
    for _ in range(times):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return found, min(seconds)


def measure(case: Case, *, compiles: bool) -> dict[str, Any]:
    build, inputs, layers = case
    spec, build_seconds = best(build)

    def interpreted(ids: list[int]) -> list[int]:
        state = program_utils.initialize_activations(spec, ids)
        # Its interpreter runs one layer more than requested.
        most = None if layers is None else layers - 1
        return list(interpreter_utils.run_transformer(spec, state, max_layers=most))

    symbols, interpret_seconds = best(lambda: [interpreted(ids) for ids in inputs], 1)
    found = {
        "program": as_data(spec),
        "inputs": inputs,
        "layers": layers,
        "build s": build_seconds,
        "interpret s": interpret_seconds,
        "symbols": [[plain(v) for v in row] for row in symbols],
    }
    return found if not compiles else found | compiled(spec, inputs, layers or MOST_LAYERS)


def compiled(spec: Any, inputs: Inputs, layers: int) -> dict[str, Any]:
    config = compiler_config.Config()
    weights, seconds = best(lambda: compiler_utils.compile_transformer(spec, config), 1)

    def run(ids: list[int]) -> list[int]:
        return list(transformer_utils.run_transformer(weights, None, ids, max_layers=layers))

    outputs, run_seconds = best(lambda: [run(ids) for ids in inputs], 1)
    return {
        "compile s": seconds,
        "run s": run_seconds,
        "width": int(weights.embeddings.input_embeddings.shape[1]),
        "weights": [[round(float(v)) for v in row] for row in outputs],
    }


def too_long(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    answers: dict[str, Any] = {}
    signal.signal(signal.SIGVTALRM, too_long)
    for name, case in cases(random.Random(0)).items():
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            answers[name] = measure(case, compiles=name not in NOT_COMPILED)
        except TimeoutError:
            answers[name] = {"error": f"more than {SECONDS} s"}
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(name, file=sys.stderr, flush=True)
    versions = {name: metadata.version(name) for name in ("jax", "numpy", "scipy")}
    with open(sys.argv[1], "w") as file:
        json.dump({"versions": versions, "answers": answers}, file)


if __name__ == "__main__":
    main()
