"""`espalier demo`: run the main job and write a page about it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from espalier.commands.output import NAMES, Force, refuse_foreign
from espalier.commands.show import console, show_table


def demo_command(
    *,
    out: Annotated[Path, Parameter(name=NAMES, help="The page to write.")] = Path(
        "espalier-demo.html"
    ),
    force: Force = False,
) -> None:
    """Build, run, compile and verify three programs, take a sentence apart, write a page of it."""
    from espalier.show import build_report

    refuse_foreign(out, force=force)
    began = time.perf_counter()
    results = build_report(out, progress=lambda line: console().print(line, highlight=False))
    show_table(
        ("program", "rules", "right on symbols", "right in weights", "values that disagree"),
        [
            (
                result.entry.name,
                f"{result.rules:,}",
                f"{result.right_on_symbols:,} of {result.inputs:,}",
                f"{result.right_in_weights:,} of {result.inputs:,}",
                f"{result.disagreements:,} of {result.values:,}",
            )
            for result in results
        ],
    )
    took = time.perf_counter() - began
    console().print(f"{took:.0f} s. Open {out.resolve()}", highlight=False)
    console().print("To try inputs of your own, type: espalier explore", highlight=False)
    wrong = any(
        result.disagreements or result.right_in_weights < result.inputs for result in results
    )
    if wrong:
        sys.exit(1)
