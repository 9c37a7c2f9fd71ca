"""`espalier reproduce`: a figure of a paper, from training to picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from espalier.commands.output import NAMES, Cluster, Processes
from espalier.commands.progress import Yes, reporting
from espalier.commands.show import console, show_table
from espalier.commands.training import Device

if TYPE_CHECKING:
    import pandas

SMALLER = {
    "paper": "--scale small, which is meant for two cores; or a part of it by --only or --seconds",
    "small": "--scale smoke, which takes seconds and says nothing; or a part of it by --seconds",
}


def reproduce_command(
    name: Annotated[
        str | None,
        Parameter(help="An experiment, as bottom-up-figure-7; without one, all are listed."),
    ] = None,
    /,
    *,
    scale: Annotated[str, Parameter(help="smoke (seconds), small (minutes) or paper (a GPU).")] = (
        "small"
    ),
    out: Annotated[
        Path | None, Parameter(name=NAMES, help="Its folder; else reproductions/NAME-SCALE.")
    ] = None,
    runs: Annotated[Path, Parameter(help="Where trained ensembles are saved and found.")] = Path(
        "runs"
    ),
    only: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="Only models with this whole word in their name; repeated: with all."
        ),
    ] = None,
    seconds: Annotated[
        float | None, Parameter(help="Stop after this many; the same command resumes.")
    ] = None,
    device: Device = "auto",
    workers: Processes = None,
    cluster: Cluster = None,
    yes: Yes = False,
) -> None:
    """Train what is missing, compute a figure's rows, draw it, and save all of it in a folder.

    With --workers or --cluster, models that are trained one by one are shared among processes.
    """
    from espalier import experiments
    from espalier.runs import Workers

    if name is None:
        show_table(("experiment", "what it shows"), list(experiments.names().items()))
        return
    experiments.find(name)  # a misspelt name is answered before anything is made
    bounded = yes or seconds is not None
    with reporting(yes=bounded, smaller=SMALLER.get(scale, "")) as progress:
        found = experiments.reproduce(
            name,
            scale=scale,  # type: ignore[arg-type]
            out=out,
            runs=runs,
            only=only or (),
            seconds=seconds,
            device=device,
            workers=Workers(workers or 0, cluster),
            progress=progress,
        )
    summary = experiments.find(name).summary
    console().print(f"{name} ({scale}): {summary}\n", highlight=False)
    _show(found.table())
    console().print(f"{len(found.rows):,} rows and the figure are in {found.path}", highlight=False)


def _show(table: pandas.DataFrame) -> None:
    cells = ([_written(value) for value in row] for row in table.itertuples(index=False))
    show_table([str(column) for column in table.columns], list(cells))


def _written(value: object) -> str:
    """Four digits; all of them of what was counted."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if value.is_integer() and abs(value) >= 1000 else f"{value:.4g}"
