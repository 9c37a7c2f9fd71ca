"""What it costs to ask why: `used` and `guards`, and every other value of each of their nodes.

python -m benchmarks.explain        prints a table and writes it; times are CPU seconds
"""

from __future__ import annotations

import time
from typing import Any

import espalier as es
from benchmarks.harness import report
from espalier.interpreter import Explanation

# A program, an input, and the position whose output is explained.
CASES = (
    ("parity-sequential-relative", "1011011010", 10),
    ("addition", "34+56", 4),
    ("addition", "31415926+27182818", 12),
    ("dyck", "([()])[]", 8),
    ("scan", "jump twice", 1),
    ("scan", "jump left and walk twice", 2),
    ("scan", "jump around left twice and walk opposite right thrice", 8),
)


def measure(name: str, text: str, position: int) -> dict[str, Any]:
    """Processor seconds of each of the three sets."""
    entry = es.zoo.load(name)
    trace = es.interpret(entry.program, entry.encode(text), max_layers=entry.max_layers)
    why = trace.explain(position)
    began = time.process_time()
    size = len(why.used), len(why.guards)
    closed = time.process_time()
    matters = len(why.matters)
    done = time.process_time()
    return {
        "program": name,
        "input": text,
        "layers": trace.layers,
        "positions": len(trace.tokens),
        "used": size[0],
        "guards": size[1],
        "values tried": _tried(why),
        "matters": matters,
        "used and guards s": round(closed - began, 2),
        "matters s": round(done - closed, 2),
    }


def _tried(why: Explanation) -> int:
    sizes = {name: len(spec.values) for name, spec in why.trace.program.specs.items()}
    heads = why.trace.program.heads
    tried = 0
    for node in why.used | why.guards:
        is_null = why.value_of(node) is None
        tried += sizes[node.variable] - (not is_null) + (node.variable in heads and not is_null)
    return tried


def main() -> None:
    report("explain", [measure(*case) for case in CASES])


if __name__ == "__main__":
    main()
