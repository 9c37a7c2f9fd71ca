"""Tracr's results on its own library's programs; run by a Python that has it, see peers.py.

Reads a request (JSON) from standard input and writes the answer to the file named by the argument.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from importlib import metadata
from typing import Any

from tracr.compiler import compiling, lib
from tracr.rasp import rasp

BOS = compiling.COMPILER_BOS


def program(name: str, longest: int) -> Any:
    """A program of Tracr's library."""
    tokens = rasp.tokens
    makers = {
        "frac_prevs": lambda: lib.make_frac_prevs(tokens == "a"),
        "shift_by": lambda: lib.shift_by(2, tokens),
        "detect_pattern": lambda: lib.detect_pattern(tokens, "abc"),
        "reverse": lambda: lib.make_reverse(tokens),
        "length": lib.make_length,
        "hist": lib.make_hist,
        "count": lambda: lib.make_count(tokens, "a"),
        "count_less_freq": lambda: lib.make_count_less_freq(2),
        "sort_unique": lambda: lib.make_sort_unique(tokens, tokens),
        "sort": lambda: lib.make_sort(tokens, tokens, max_seq_len=longest, min_key=1),
        "sort_freq": lambda: lib.make_sort_freq(longest),
        "pair_balance": lambda: lib.make_pair_balance(tokens, "(", ")"),
        "shuffle_dyck": lambda: lib.make_shuffle_dyck(["()"]),
        "shuffle_dyck2": lib.make_shuffle_dyck2,
    }
    return makers[name]()


def measure(case: dict[str, Any]) -> dict[str, Any]:
    """Sizes, seconds and outputs of one program."""
    began = time.process_time()
    expression = program(case["program"], case["longest"])
    model = compiling.compile_rasp_to_model(
        expression, set(case["vocabulary"]), case["longest"], mlp_exactness=case["exactness"]
    )
    build = time.process_time() - began
    outputs, seconds = [], []
    for word in case["words"]:
        model.apply([BOS, *word])  # warms up
        began = time.process_time()
        found = model.apply([BOS, *word]).decoded[1:]
        seconds.append(time.process_time() - began)
        outputs.append([v if isinstance(v, str | int | float) else None for v in found])
    return {
        "build s": build,
        "run s": min(seconds),
        "layers": model.model_config.num_layers,
        "width": len(model.residual_labels),
        "parameters": sum(array.size for part in model.params.values() for array in part.values()),
        "outputs": outputs,
    }


def too_long(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    request = json.load(sys.stdin)
    signal.signal(signal.SIGVTALRM, too_long)
    versions = {name: metadata.version(name) for name in ("jax", "dm-haiku", "numpy")}
    answers = []
    for case in request["cases"]:
        signal.setitimer(signal.ITIMER_VIRTUAL, request["seconds"])
        try:
            answers.append(measure(case))
        except TimeoutError:
            answers.append({"error": f"more than {request['seconds']} s"})
        except Exception as error:  # any failure of a peer is a row of the table
            answers.append({"error": f"{type(error).__name__}: {error}"[:200]})
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(case["program"], case["longest"], file=sys.stderr, flush=True)
        with open(sys.argv[1], "w") as file:  # the answers so far, in case it is stopped
            json.dump({"versions": versions, "answers": answers}, file)


if __name__ == "__main__":
    main()
