"""`espalier demo`: run the main job and write a page about it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from espalier.commands.show import console, show_table


def demo_command(
    *, output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("espalier-demo.html")
) -> None:
    """Build, run, compile and verify three programs, take a sentence apart, write a page of it."""
    from espalier.show import build_report

    began = time.perf_counter()
    out = console()
    results = build_report(output, progress=lambda line: out.print(line, highlight=False))
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
    out.print(f"{time.perf_counter() - began:.0f} s. Open {output.resolve()}", highlight=False)
    out.print("To try inputs of your own, type: espalier explore", highlight=False)
    wrong = any(
        result.disagreements or result.right_in_weights < result.inputs for result in results
    )
    if wrong:
        sys.exit(1)
