"""`espalier train`, `sweep`, `runs` and `data`: thin, and torch is imported when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from espalier.runs import Progress
    from espalier.training import Trainable, TrainedRun

Settings = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        negative="",
        consume_multiple=True,
        help="Other settings, as in recipe.learning_rate=0.1 keep=log.",
    ),
]
Config = Annotated[Path | None, Parameter(help="A TOML file of settings; flags override it.")]
Out = Annotated[Path, Parameter(help="The run's folder; an unfinished run there goes on.")]
Device = Annotated[str, Parameter(help="auto, cpu or cuda.")]


def register(app: App) -> None:
    """Add the verbs to a command line."""
    train = App(
        name="train", help="Train language models, or see what training can find; all as runs."
    )
    train.command(train_scaffold, name="scaffold")
    train.command(train_text, name="text")
    data = App(name="data", help="Data sets: where they are, and getting them.")
    data.command(fetch, name="fetch")
    data.command(branching, name="branching")
    app.command(train)
    app.command(data)
    app.command(sweep)
    app.command(runs)


def train_scaffold(
    *,
    out: Out,
    length: Annotated[int | None, Parameter(help="Tokens between open and close.")] = None,
    familiar: Annotated[bool | None, Parameter(help="Scaffolds also occur outside rules.")] = None,
    epochs: int | None = None,
    hidden: int | None = None,
    seed: int | None = None,
    keep: Annotated[
        str | None, Parameter(help="Checkpoints: epoch, epoch:5, log, step:1,10")
    ] = None,
    gradients: Annotated[
        bool | None, Parameter(help="Record magnitudes along the scaffold.")
    ] = None,
    config: Config = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Train one model on a scaffold corpus (lstms-compose-bottom-up, 4.2 and 4.3)."""
    from espalier.training import ScaffoldRun

    setting = None if familiar is None else "familiar" if familiar else "unfamiliar"
    flags = {
        "corpus.length": length,
        "corpus.setting": setting,
        "corpus.seed": seed,
        "recipe.epochs": epochs,
        "network.hidden": hidden,
        "keep": keep,
        "gradients": gradients,
    }
    train_into(out, configured(ScaffoldRun(), config, settings, flags), device=device)


def train_text(
    *,
    out: Out,
    data: Annotated[str | None, Parameter(help="wikitext-2, a text file or a directory.")] = None,
    vocabulary: Annotated[int | None, Parameter(help="Keep the most frequent words.")] = None,
    epochs: int | None = None,
    hidden: int | None = None,
    dropout: float | None = None,
    tied: bool | None = None,
    seed: int | None = None,
    config: Config = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Train one model on text, annealed on its validation loss."""
    from espalier.training import TextRun

    flags = {
        "data": data,
        "vocabulary": vocabulary,
        "recipe.epochs": epochs,
        "network.hidden": hidden,
        "network.dropout": dropout,
        "network.tied": tied,
        "seed": seed,
    }
    train_into(out, configured(TextRun(), config, settings, flags), device=device)


def sweep(
    file: Path,
    /,
    *,
    cluster: Annotated[str | None, Parameter(help="A dask scheduler, tcp://host:port.")] = None,
    workers: Annotated[int | None, Parameter(help="Local processes; 0: as ensembles.")] = None,
    device: Device = "auto",
) -> None:
    """Train every cell of a TOML table of configs; finished cells are skipped."""
    from dataclasses import replace

    from espalier.training import read_sweep, run_sweep
    from espalier.training.sweep import pending

    planned = read_sweep(file)
    if workers is not None:
        planned = replace(planned, workers=workers)
    say(f"{len(planned.cells)} cells in {planned.out}, {len(pending(planned))} to train")
    with reporting() as progress:
        run_sweep(planned, device=device, cluster=cluster, progress=progress)


def runs(folder: Path = Path("runs"), /) -> None:
    """A table of the runs in a folder; measures left as lines are turned into Parquet."""
    from rich.console import Console
    from rich.table import Table

    from espalier.runs import list_runs

    table = Table("run", "kind", "status", "members", "epochs", "last measures", box=None)
    for run in list_runs(folder):
        measures = "  ".join(f"{name} {value:.4g}" for name, value in run.measures.items())
        epochs = f"{run.epoch:g}/{run.epochs}"
        shown = run.trouble or measures
        table.add_row(run.name, run.kind, run.status, str(run.members), epochs, shown)
    Console().print(table if table.row_count else f"no runs in {folder}")


def fetch(name: str, /) -> None:
    """Download a public data set and check it: wikitext-2, ud-english-ewt, scan."""
    from espalier.data import fetch as get

    shown = -1

    def progress(done: int, total: int) -> None:
        nonlocal shown
        share = 100 * done // total if total else 0
        if sys.stderr.isatty() and share != shown:
            shown = share
            sys.stderr.write(f"\r{name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB ({share}%)")
            sys.stderr.flush()

    folder = get(name, progress=progress)
    say(f"{name} is in {folder}")


def branching(
    *,
    out: Annotated[Path, Parameter(help="A folder: text.txt and treebank.conllu are put there.")],
    order: Annotated[str, Parameter(help="left (heads last) or right (heads first).")] = "left",
    sentences: Annotated[int, Parameter(help="Of the text.")] = 5_000,
    tests: Annotated[int, Parameter(help="Sentences of the treebank.")] = 500,
    seed: int = 0,
) -> None:
    """Make up a language that branches to one side: a text, and a treebank of it."""
    from espalier.data import BranchingConfig, branching_corpus

    sizes = {"sentences": sentences, "tests": tests, "seed": seed}
    branching_corpus(BranchingConfig(order, **sizes)).save(out)  # type: ignore[arg-type]
    say(f"text.txt and treebank.conllu are in {out}")


def train_into(out: Path, config: Trainable, *, device: str) -> TrainedRun:
    """What was trained, with progress shown and its folder named."""
    from espalier.training import train

    with reporting() as progress:
        found = train(config, out, device=device, progress=progress)
    say(f"kept in {out}")
    return found


def configured(
    default: Any,
    config: Path | None,
    words: list[str] | None,
    flags: dict[str, Any],
    *,
    implied: dict[str, Any] | None = None,
) -> Any:
    """The settings that hold: defaults, what flags imply, the file, then --set, then flags."""
    from espalier.training import flatten, override, parse_words, read_toml

    from_file = flatten(read_toml(config)) if config is not None else {}
    given = {name: value for name, value in flags.items() if value is not None}
    return override(default, (implied or {}) | from_file | parse_words(words or []) | given)


@contextmanager
def reporting() -> Iterator[Progress]:
    """A bar with measures above it on a terminal; plain lines elsewhere."""
    from espalier.runs import Interrupted, Lines

    try:
        if sys.stderr.isatty():
            with _bar() as show:
                yield show
        else:
            yield Lines(sys.stderr)
    except Interrupted as stopped:
        say(str(stopped))
        raise SystemExit(130) from None


@contextmanager
def _bar() -> Iterator[Callable[[Any], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from espalier.runs import Moment, describe

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("training", total=None)

        def report(moment: Moment) -> None:
            pace = moment.taken / moment.seconds if moment.seconds else 0.0
            text = f"step {moment.step:,}/{moment.total:,}  {pace:.1f} steps/s"
            progress.update(task, completed=moment.step, total=moment.total, description=text)
            if moment.rows:
                progress.console.print(describe(moment), highlight=False)

        yield report


def say(text: str) -> None:
    """One line on stderr, where progress goes: results stay alone on stdout."""
    sys.stderr.write(text + "\n")
