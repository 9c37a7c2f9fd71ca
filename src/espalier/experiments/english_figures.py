"""Language models of English: the one that comes with the package, and four rates of dropout.

At the `paper` scale `english-dropout` trains on all words of WikiText-2, and `english-model` what
`espalier.english_model()` loads, up to rounding to float16. `small` has fewer words and epochs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale, check_scale
from espalier.experiments.intervals import summarise
from espalier.experiments.language_training import train_seeds, trained_folder
from espalier.experiments.languages import Language, made_up
from espalier.training import Network, Recipe, TextRun

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MEASURES = ("train_loss", "valid_loss", "valid_perplexity")
COLOURS = ("#1b1f27", "#1f6fb4", "#d02f2f", "#2f8f4e")
DASHES, MARKERS = ("-", "--", ":", "-."), "os^D"


@dataclass(frozen=True)
class ModelsOfText:
    """The models, each trained on its own."""

    languages: tuple[Language, ...]


def packaged(scale: Scale) -> ModelsOfText:
    """The model that comes with the package: 300 units, 10,000 words, dropout 0.3."""
    return _at(scale, Network(hidden=300, tied=True), vocabulary=10_000, epochs=17, rates=(0.3,))


def dropout_rates(scale: Scale) -> ModelsOfText:
    """Four rates of dropout, 400 units, all words."""
    network = Network(hidden=400, tied=True)
    return _at(scale, network, vocabulary=None, epochs=24, rates=(0.0, 0.3, 0.5, 0.6))


def _at(
    scale: Scale, network: Network, *, vocabulary: int | None, epochs: int, rates: tuple[float, ...]
) -> ModelsOfText:
    """The preset of a scale; the rate falls over the last third of the epochs."""
    match check_scale(scale):
        case "paper":
            recipe = Recipe(epochs, learning_rate=20.0, anneal=4.0, settle=epochs // 3)
            run = TextRun("wikitext-2", vocabulary, network, recipe, engine="batched")
            one = Language(run, bank=None)
        case "small":
            recipe = Recipe(epochs=2, learning_rate=20.0, anneal=4.0, settle=1)
            one = Language(TextRun("wikitext-2", 3_000, Network(64, tied=True), recipe), bank=None)
        case "smoke":
            one = made_up("left", scale)
    assert one.run is not None
    runs = [replace(one.run, network=replace(one.run.network, dropout=rate)) for rate in rates]
    return ModelsOfText(tuple(replace(one, run=run) for run in runs))


def measure(config: ModelsOfText, cache: RunCache) -> list[Row]:
    """One row per model and epoch: its dropout and seed, the training loss and validation's."""
    for language in config.languages:
        train_seeds(language, cache)
    return cache.gather(_measures, config.languages)


def _measures(language: Language, cache: RunCache) -> list[Row]:
    assert language.run is not None
    return [
        {"dropout": language.run.network.dropout, "seed": seed, "epoch": row["epoch"]}
        | {name: row[name] for name in MEASURES}
        for seed in range(language.seeds)
        for row in trained_folder(language, seed, cache).measured()
    ]


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """After the last epoch: means over seeds by rate of dropout."""
    last = rows[rows["epoch"] == rows.groupby(["dropout", "seed"])["epoch"].transform("max")]
    found: pandas.DataFrame = last.groupby("dropout", as_index=False)[list(MEASURES)].mean()
    return found


def draw(rows: pandas.DataFrame, *, title: str) -> Figure:
    """Validation perplexity over epochs, one line per rate of dropout."""
    from espalier.show.figures import Facets, Look, draw_bands

    table = summarise(rows, "valid_perplexity", by=["dropout", "epoch"]).assign(model=title)
    rates = zip(sorted(table["dropout"].unique()), COLOURS, DASHES, MARKERS, strict=False)
    looks = {
        rate: Look(colour, dash, marker, f"dropout {rate:g}")
        for rate, colour, dash, marker in rates
    }
    facets = Facets(
        "epoch", "dropout", "model", x_label="epoch", side="validation perplexity", looks=looks
    )
    return draw_bands(table, replace(facets, logarithmic=True))


EXPERIMENTS = {
    "english-model": Experiment(
        "the English model that comes with the package, trained",
        packaged,
        measure,
        tabulate,
        partial(draw, title="300 units, 10,000 words"),
    ),
    "english-dropout": Experiment(
        "four rates of dropout on WikiText-2",
        dropout_rates,
        measure,
        tabulate,
        partial(draw, title="400 units, all words"),
    ),
}
