"""`espalier train`, `sweep`, `runs` and `data`: thin, and torch is imported when it is needed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from espalier.commands.output import NAMES, Cluster, Force, OutFolder, Processes
from espalier.commands.progress import TooLongError, Yes, counting, reporting, say
from espalier.commands.show import console, show_table
from espalier.errors import ConfigError, FileError

if TYPE_CHECKING:
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
Device = Annotated[str, Parameter(help="auto, cpu or cuda; auto is cuda where there is one.")]
Epochs = Annotated[int | None, Parameter(help="Passes over the training text.")]
Hidden = Annotated[int | None, Parameter(help="Units of each layer.")]


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
    out: OutFolder,
    length: Annotated[int | None, Parameter(help="Tokens between open and close.")] = None,
    familiar: Annotated[bool | None, Parameter(help="Scaffolds also occur outside rules.")] = None,
    epochs: Epochs = None,
    hidden: Hidden = None,
    seed: Annotated[int | None, Parameter(help="Of the corpus and of the first weights.")] = None,
    keep: Annotated[
        str | None,
        Parameter(help="When checkpoints are saved: epoch, epoch:5, log, step:1,10."),
    ] = None,
    gradients: Annotated[
        bool | None, Parameter(help="Record magnitudes of gradients along the scaffold.")
    ] = None,
    config: Config = None,
    settings: Settings = None,
    device: Device = "auto",
    yes: Yes = False,
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
    run = configured(ScaffoldRun(), config, settings, flags)
    train_into(out, run, device=device, yes=yes, smaller="fewer --epochs, or --hidden 64")


def train_text(
    *,
    out: OutFolder,
    data: Annotated[str | None, Parameter(help="wikitext-2, a text file or a directory.")] = None,
    vocabulary: Annotated[int | None, Parameter(help="Keep the most frequent words.")] = None,
    epochs: Epochs = None,
    hidden: Hidden = None,
    dropout: Annotated[
        float | None, Parameter(help="Of the embedding, the output and between layers.")
    ] = None,
    tied: Annotated[
        bool | None, Parameter(help="The decoder has the weights of the embedding.")
    ] = None,
    seed: Annotated[int | None, Parameter(help="Of the first weights and of dropout.")] = None,
    config: Config = None,
    settings: Settings = None,
    device: Device = "auto",
    yes: Yes = False,
) -> None:
    """Train one model on text, annealed on its validation loss.

    All of WikiText-2 takes minutes on a GPU and days on two cores.
    """
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
    run = configured(TextRun(), config, settings, flags)
    smaller = "--vocabulary 2000 --hidden 64 --epochs 2, or a smaller --data"
    train_into(out, run, device=device, yes=yes, smaller=smaller)


def sweep(
    file: Annotated[Path, Parameter(help="The TOML file: out, settings, and a [grid] of them.")],
    /,
    *,
    workers: Processes = None,
    cluster: Cluster = None,
    device: Device = "auto",
    yes: Yes = False,
) -> None:
    """Train every cell of a TOML table of configs; finished cells are skipped.

    Without workers or a cluster (0), cells that can be are trained as ensembles.
    """
    from dataclasses import replace

    from espalier.runs import Workers
    from espalier.training import read_sweep, run_sweep
    from espalier.training.sweep import pending

    planned = read_sweep(file)
    if workers is not None:
        Workers(workers, cluster)  # refused, if they do not go together
        planned = replace(planned, workers=workers)
    say(f"{len(planned.cells)} cells in {planned.out}, {len(pending(planned))} to train")
    with reporting(yes=yes, smaller="fewer recipe.epochs in the table") as progress:
        run_sweep(planned, device=device, cluster=cluster, progress=progress)


def runs(
    folder: Annotated[Path, Parameter(help="Where the folders of runs are.")] = Path("runs"), /
) -> None:
    """A table of the runs in a folder; measures left as lines are turned into Parquet."""
    from espalier.runs import list_runs

    rows = []
    for run in list_runs(folder):
        measures = "  ".join(f"{name} {value:.4g}" for name, value in run.measures.items())
        epochs = f"{run.epoch:g}/{run.epochs}" if run.epochs else "-"  # not all runs train
        shown = run.trouble or measures
        rows.append((run.name, run.kind, run.status, str(run.members), epochs, shown))
    if rows:
        head = ("run", "kind", "status", "members", "epochs", "last measures")
        show_table(head, rows)
    else:
        console().print(f"no runs in {folder}", highlight=False)


def fetch(name: Annotated[str, Parameter(help="wikitext-2, ud-english-ewt or scan.")], /) -> None:
    """Download a public data set and check it: wikitext-2, ud-english-ewt, scan.

    It is put into ESPALIER_DATA, or into the user's cache where that is not set.
    """
    from espalier.data import fetch as get

    with counting(f"bytes of {name}") as progress:
        folder = get(name, progress=progress)
    say(f"{name} is in {folder}")


def branching(
    *,
    out: Annotated[
        Path, Parameter(name=NAMES, help="A folder: text.txt and treebank.conllu are put there.")
    ],
    order: Annotated[str, Parameter(help="left (heads last) or right (heads first).")] = "left",
    sentences: Annotated[int, Parameter(help="How many sentences the text has.")] = 5_000,
    tests: Annotated[int, Parameter(help="How many sentences the treebank has.")] = 500,
    seed: Annotated[int, Parameter(help="Of the language and its sentences.")] = 0,
    force: Force = False,
) -> None:
    """Make up a language that branches to one side: a text, and a treebank of it."""
    from espalier.data import BranchingConfig, branching_corpus

    sizes = {"sentences": sentences, "tests": tests, "seed": seed}
    corpus = branching_corpus(BranchingConfig(order, **sizes))  # type: ignore[arg-type]
    there = [name for name in ("text.txt", "treebank.conllu") if (out / name).exists()]
    if there and not force:
        raise FileError(f"{out} has a {there[0]}; choose another folder, or add --force")
    corpus.save(out)
    say(f"text.txt and treebank.conllu are in {out}")


def train_into(out: Path, config: Trainable, *, device: str, yes: bool, smaller: str) -> TrainedRun:
    """Train with progress shown, and name the folder at the end."""
    from espalier.training import train

    fresh = not out.exists()
    try:
        with reporting(yes=yes, smaller=smaller) as progress:
            found = train(config, out, device=device, progress=progress)
    except TooLongError:
        if fresh:  # so that something smaller can be trained in the same place
            shutil.rmtree(out)
        raise
    say(f"saved in {out}")
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

    if words == []:
        raise ConfigError("--set is given without a setting; write --set recipe.learning_rate=0.1")
    from_file = flatten(read_toml(config)) if config is not None else {}
    given = {name: value for name, value in flags.items() if value is not None}
    said = parse_words(words or [])
    for name in given.keys() & said.keys():
        if given[name] != said[name]:
            raise ConfigError(
                f"{name} is {given[name]!r} by its flag and {said[name]!r} by --set; give one"
            )
    return override(default, (implied or {}) | from_file | said | given)
