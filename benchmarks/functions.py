"""How long it takes to make rules: of functions with many paths, and 67,240 rules in three ways.

With `ALTA=folder` of a checkout of the public ALTA package its builder makes the same rules, and
its SUBLEQ and SCAN functions are explored, or refused. Seconds are of processor time: nothing here
runs in parallel or waits.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.harness import report
from espalier.errors import ProgramError
from espalier.language import Rule, RuleBuilder, Variable, program_spec, v_relative, var

SIZE = 41  # 41 * 41 * 40 rules


def unrelated_updates(count: int) -> dict[str, Any]:
    """`count` variables of four values, each counted up in one function."""
    variables = {f"v{n}": var(4) for n in range(count)}

    def step(z: Any) -> None:
        for n in range(count):
            z[f"v{n}"] = (z[f"v{n}"] + 1) % 4

    return build(f"{count} unrelated updates", f"4^{count}", variables, ffn_fn=step)


def build(what: str, paths: str, variables: dict[str, Variable], **how: Any) -> dict[str, Any]:
    """Rules and seconds of a program, or why it is refused."""
    output = how.pop("output", next(iter(variables)))
    began = time.process_time()
    try:
        program = program_spec(variables, **how, output_name=output, input_range=2)
        found = f"{len(program.rules.transitions):,}"
    except ProgramError as error:
        found = f"refused: {str(error)[:70]}"
    return {"what": what, "paths": paths, "rules": found, "s": time.process_time() - began}


def processor_seconds(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def sums() -> dict[str, Variable]:
    return {"a": var(SIZE), "b": var(SIZE), "out": var(SIZE)}


def with_builder(make: Callable[..., Any], variables: Any) -> Any:
    builder = make(variables, {})
    for a, b in builder.get("a", "b"):
        builder.set("out", (a + b) % SIZE)
    return builder


def ours_with_builder() -> None:
    variables = sums()
    rules = with_builder(RuleBuilder, variables)
    program_spec(variables, rules=rules, output_name="out", input_range=2)


def ours_with_list() -> None:
    numbers = range(SIZE)
    rules = [
        Rule({"a": a, "b": b, "out": old}, "out", old, (a + b) % SIZE)
        for a in numbers
        for b in numbers
        for old in numbers
        if old != (a + b) % SIZE
    ]
    program_spec(sums(), rules=rules, output_name="out", input_range=2)


def ours_with_function() -> None:
    def step(z: Any) -> None:
        z["out"] = (z["a"] + z["b"]) % SIZE

    program_spec(sums(), ffn_fn=step, output_name="out", input_range=2)


def theirs() -> None:
    pb = import_module("framework.program_builder")
    variables = {name: pb.var(SIZE) for name in ("a", "b", "out")}
    rules = with_builder(pb.MLPBuilder, variables).rules
    pb.program_spec_from_rules(
        variables=variables, heads={}, rules=rules, output_name="out", input_range=2
    )


def their_functions() -> list[dict[str, Any]]:
    """SUBLEQ and SCAN's parser as the public package writes them; what overflows saturates."""
    subleq = import_module("examples.subleq")
    scan = import_module("examples.scan.scan_parser_program")
    n = subleq.MAX_VALUE - subleq.MIN_VALUE + 1

    def clipped(size: int) -> Variable:
        return var(size, out_of_range="saturate")

    memory = {name: clipped(n) for name in ("mem", "position_a", "position_b", "position_c")}
    memory |= {"position": var(n), "state": var(subleq.NUM_STATES), "jump": var(2)}
    places = ("a", "b", "c", "mem_a", "mem_b")
    pointers = [*(f"stack_pointer_{k}" for k in range(4)), "tree_pointer", "input_pointer"]
    parser = {name: clipped(scan.NUM_POSITIONS) for name in pointers}
    parser |= {"token": var(scan.NUM_INPUT_TOKENS), "position": var(scan.NUM_POSITIONS)}
    parser |= {"rule_id": var(scan.NUM_RULES + 1), "symbol_id": var(scan.NUM_SYMBOLS + 1)}
    parser |= {"done": var(2)}
    symbols = {f"stack_symbol_{k}": v_relative("symbol_id", k) for k in (1, 2, 3)}
    word = {"input_pointer_token_id": v_relative("token", 1)}
    return [
        build(
            "ALTA's SUBLEQ",
            "1.19M",
            memory,
            heads={name: v_relative("mem", place) for place, name in enumerate(places)},
            ffn_fn=subleq._ffn_fn,
        ),
        build(
            "ALTA's SCAN parser",
            "710M",
            parser,
            heads={**symbols, **word},
            ffn_fn=scan.ffn_fn,
            output="done",
        ),
    ]


def main() -> None:
    rows = [unrelated_updates(count) for count in (8, 10, 40)]
    ways = {
        "RuleBuilder": ours_with_builder,
        "a list of Rule": ours_with_list,
        "a function": ours_with_function,
    }
    if "ALTA" in os.environ:
        sys.path.insert(0, os.environ["ALTA"])
        rows += their_functions()
        ways["ALTA's builder"] = theirs
    for way, work in ways.items():
        seconds = min(processor_seconds(work) for _ in range(3))
        rows.append({"what": way, "paths": "", "rules": f"{SIZE**3 - SIZE**2:,}", "s": seconds})
    report("functions", rows)


if __name__ == "__main__":
    main()
