"""`espalier train traces`, `readable`, `parity` and `scan`: what can training find? And `ask`.

Thin, and torch is imported when it is needed. The same command resumes a run that was stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from espalier.commands.learnability import (
    DRAWN,
    Inputs,
    Layers,
    Target,
    TrainingSet,
    load_entry,
    training_tokens,
)
from espalier.commands.output import OutFolder
from espalier.commands.progress import Yes, say
from espalier.commands.show import show_table
from espalier.commands.training import Config, Device, Settings, configured, train_into
from espalier.errors import DataError

if TYPE_CHECKING:
    from espalier.runs import Row

Seeds = Annotated[int, Parameter(help="Train this many at once, from seed 0 on.")]
Members = Annotated[int | None, Parameter(help="Train this many at once, from seed 0 on.")]
Steps = Annotated[int | None, Parameter(help="How often the weights are updated.")]
Depth = Annotated[int | None, Parameter(help="Layers of the encoder; a decoder has as many.")]
Shared = Annotated[bool | None, Parameter(help="All layers have the same weights.")]
Positions = Annotated[
    Literal["relative", "absolute"] | None,
    Parameter(help="Relative position biases, or learned absolute embeddings."),
]

FEWER = "fewer --steps, or a narrower network by --set"


def register(app: App) -> None:
    """Add the verbs below `train`, and `ask`."""
    train = app["train"]
    train.command(train_traces, name="traces")
    train.command(train_readable, name="readable")
    train.command(train_parity, name="parity")
    train.command(train_scan, name="scan")
    app.command(ask)


def train_traces(
    target: Target,
    *inputs: Inputs,
    out: OutFolder,
    traces: Annotated[Path | None, Parameter(help="Learn from this file of traces.")] = None,
    training: TrainingSet = DRAWN,
    seeds: Seeds = 1,
    steps: Steps = None,
    config: Config = None,
    settings: Settings = None,
    max_layers: Layers = None,
    device: Device = "auto",
    yes: Yes = False,
) -> None:
    """Train an MLP on a program's traces, in place of the compiled one (the paper's C.1).

    The last column is the share of training inputs for which the Transformer with that MLP gives
    the program's outputs.
    """
    from espalier.learnability import read_traces
    from espalier.learnability.supervision import TraceRun, TraceSettings, agreement
    from espalier.runs import RunFolder

    if traces is not None and (inputs or training != DRAWN):
        raise DataError("give either --traces or inputs to run the program on, not both")
    entry, layers = load_entry(target, max_layers)
    asked = configured(TraceSettings(), config, settings, {"recipe.steps": steps})
    batch = [] if traces else training_tokens(entry, inputs, training, layers)
    given = read_traces(traces, entry.program) if traces else batch
    run = TraceRun(entry.program, given, asked, seeds=seeds, max_layers=layers)
    found = train_into(out, run, device=device, yes=yes, smaller=FEWER)
    say(f"{(RunFolder(out).manifest() or {})['data']['lessons']:,} distinct lessons")
    shares = agreement(entry.program, found.models, batch, max_layers=layers) if batch else None
    _show(found.rows, shares)


def train_readable(
    target: Target,
    *inputs: Inputs,
    out: OutFolder,
    training: TrainingSet = DRAWN,
    seeds: Seeds = 1,
    steps: Steps = None,
    config: Config = None,
    settings: Settings = None,
    max_layers: Layers = None,
    device: Device = "auto",
    yes: Yes = False,
) -> None:
    """Train a whole Transformer from which a program's variables can be read, layer by layer."""
    from espalier.learnability.supervision import ReadableRun, ReadableSettings

    entry, layers = load_entry(target, max_layers)
    asked = configured(ReadableSettings(), config, settings, {"recipe.steps": steps})
    batch = training_tokens(entry, inputs, training, layers)
    run = ReadableRun(entry.program, batch, asked, seeds=seeds, max_layers=layers)
    _show(train_into(out, run, device=device, yes=yes, smaller=FEWER).rows)


def train_parity(
    *,
    out: OutFolder,
    layers: Depth = None,
    shared: Shared = None,
    positions: Positions = None,
    length: Annotated[
        int | None, Parameter(help="Most bits in training; test.longest is twice that if not set.")
    ] = None,
    steps: Steps = None,
    seeds: Members = None,
    config: Config = None,
    settings: Settings = None,
    device: Device = "auto",
    yes: Yes = False,
) -> None:
    """Train Transformers on bit strings and their parity alone (the paper's D.1)."""
    from espalier.training import ParityRun

    flags = _shape(layers, shared, positions) | {
        "train.longest": length,
        "recipe.steps": steps,
        "seeds": seeds,
    }
    implied = {} if length is None else {"test.longest": 2 * length}
    run = configured(ParityRun(), config, settings, flags, implied=implied)
    _show(train_into(out, run, device=device, yes=yes, smaller=FEWER).rows)


def train_scan(
    *,
    out: OutFolder,
    layers: Depth = None,
    shared: Shared = None,
    positions: Positions = None,
    splits: Annotated[
        list[str] | None,
        Parameter(
            name="--split",
            negative="",
            help="length, mcd1, mcd2 or mcd3; upto:8,16 trains on up to 8 actions, tests to 16.",
        ),
    ] = None,
    steps: Steps = None,
    seeds: Members = None,
    config: Config = None,
    settings: Settings = None,
    device: Device = "auto",
    yes: Yes = False,
) -> None:
    """Train Transformers on SCAN's commands and actions alone (the paper's D.4)."""
    from espalier.training import ScanRun

    flags = _shape(layers, shared, positions) | {
        "splits": splits,
        "recipe.steps": steps,
        "seeds": seeds,
    }
    run = configured(ScanRun(), config, settings, flags)
    _show(train_into(out, run, device=device, yes=yes, smaller=FEWER).rows)


def ask(
    run: Annotated[Path, Parameter(help="A folder of `train parity` or `train scan`.")],
    /,
    *inputs: Annotated[str, Parameter(help="Bit strings; or commands, each in quotes.")],
    device: Device = "auto",
) -> None:
    """Ask every Transformer of a finished run, and say whether it is right."""
    from espalier.training import ParityRun, ScanRun, open_run

    asked = open_run(run, kinds=(ParityRun, ScanRun), device=device)
    found = asked.ask(inputs)
    truths = [_truth(asked.kind, given) for given in inputs]
    words = {True: "yes", False: "no"}
    rows = [
        (given, member, "" if truths[n] is None else words[answers[n] == truths[n]], answers[n])
        for n, given in enumerate(inputs)
        for member, answers in zip(asked.members, found, strict=True)
    ]
    show_table(("input", "member", "right", "answer"), rows)


def _truth(kind: str, given: str) -> str | None:
    """The right answer; None where SCAN's grammar has no such command."""
    from espalier.data import translate

    if kind == "parity":
        return str(given.count("1") % 2)
    try:
        return translate(given)
    except DataError:
        return None


def _shape(layers: int | None, shared: bool | None, positions: str | None) -> dict[str, Any]:
    return {"shape.layers": layers, "shape.shared": shared, "shape.positions": positions}


def _show(rows: Sequence[Row], shares: Sequence[float] | None = None) -> None:
    """One line per member: its last measures, and the share of inputs answered as by a program."""
    from espalier.runs import latest

    if not rows:
        say("there are no measures to show: metrics.parquet was removed after the training")
        return
    hidden = ("epoch", "member")
    shown = [{k: v for k, v in row.items() if k not in hidden} for row in latest(rows)]
    if shares is not None:
        shown = [row | {"as the program": s} for row, s in zip(shown, shares, strict=True)]
    cells = [
        [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in shown
    ]
    show_table(list(shown[0]), cells)
    lost = sum(not isfinite(float(row["train_loss"])) for row in shown)
    if lost:
        say(
            f"{lost} of {len(shown)} have a loss that is no number: training diverged; "
            f"start over with a smaller recipe.learning_rate"
        )
