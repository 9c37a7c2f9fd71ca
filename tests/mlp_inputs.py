"""What the MLP sees while a program runs, by definition."""

from __future__ import annotations

import reference
from strategies import Case


def seen_by_mlp(case: Case) -> list[reference.Assignment]:
    """Every assignment at the input of the MLP, positions that rest aside, with repetitions."""
    found = []
    for tokens in case.batch:
        run = reference.run_by_definition(case.program, tokens, max_layers=case.max_layers)
        for layer in range(1, run.layers + 1):
            for before, here in zip(run.updated[layer - 1], run.attended[layer], strict=True):
                if layer == 1 or not reference.has_halted(case.program, before):
                    found.append(here)
    return found
