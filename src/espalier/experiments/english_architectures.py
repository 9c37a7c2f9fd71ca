"""A GRU and a causal Transformer of English, to compare with the LSTM: trained and decomposed.

The GRU has the LSTM's recipe at a lower rate; the Transformer has 6 layers of 400, AdamW, warm-up
and a cosine, windows that begin elsewhere in every epoch, and dropout of its outputs. Both are on
all words of WikiText-2 at the `paper` scale. Interdependence is that of every layer; a treebank is
read as it is for the LSTM, by the same measures and baselines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from espalier.experiments.architectures import WORDS
from espalier.experiments.cache import RunCache
from espalier.experiments.english_figures import ModelsOfText, draw, measure, tabulate
from espalier.experiments.experiment import Experiment, Scale, check_scale
from espalier.experiments.intervals import over_models
from espalier.experiments.language_checkpoints import read_bank
from espalier.experiments.language_training import train_seeds, trained_folder
from espalier.experiments.languages import Bank, Language, made_up
from espalier.experiments.syntax_figures import both_measures, draw_measures
from espalier.nets.language import Architecture, load_language_model
from espalier.nets.lstm import checkpoints
from espalier.syntax import (
    Row,
    baseline_rows,
    describe_words,
    layer_scores,
    pairs_of,
    summarise,
)
from espalier.training import Network, Recipe, TextRun

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

SENTENCES = 1_500  # of English-EWT that are read


def network_of(architecture: Architecture) -> Network:
    """The network at the paper's scale."""
    usual = Network(hidden=400, tied=True, dropout=0.5, architecture=architecture)
    if architecture == "transformer":
        return replace(usual, layers=6, heads=10, dropout=0.3)
    return usual


def recipe_of(architecture: Architecture, epochs: int) -> Recipe:
    """A recipe of so many epochs; a Transformer reads 160 words at once, which is any sentence."""
    if architecture == "transformer":
        return Recipe(
            epochs, learning_rate=1e-3, clip=1.0, batch=20, window=160,
            optimiser="adamw", warm_up=600, weight_decay=0.1, shifted=True, output_dropout=True,
        )  # fmt: skip
    return Recipe(epochs, learning_rate=10.0, anneal=4.0, settle=epochs // 3)


def language_of(scale: Scale, architecture: Architecture) -> Language:
    """English, or at the smoke scale a made-up language."""
    match check_scale(scale):
        case "paper":
            recipe = recipe_of(architecture, 24)
            run = TextRun("wikitext-2", None, network_of(architecture), recipe, engine="batched")
            return Language(replace(run, keep=f"epochs:{recipe.epochs}"), Bank(sentences=SENTENCES))
        case "small":
            network = replace(network_of(architecture), hidden=64, heads=4, layers=1, dropout=0.1)
            recipe = replace(recipe_of(architecture, 2), settle=0)
            run = TextRun("wikitext-2", 3_000, network, recipe, engine="batched")
            return Language(replace(run, keep=f"epochs:{recipe.epochs}"), Bank(sentences=200))
        case "smoke":
            found = made_up("left", scale)
            assert found.run is not None
            network = Network(hidden=8, heads=2, layers=2, architecture=architecture)
            recipe = found.run.recipe
            if architecture == "transformer":
                recipe = replace(recipe, learning_rate=1e-3, optimiser="adamw", window=40)
            run = replace(found.run, network=network, recipe=recipe, engine="batched")
            return replace(found, run=run)


@dataclass(frozen=True)
class ByLayer:
    """A language whose model is decomposed at every layer."""

    language: Language


def trained(scale: Scale, architecture: Architecture) -> ModelsOfText:
    """The model alone."""
    return ModelsOfText((replace(language_of(scale, architecture), bank=None),))


def packaged(scale: Scale) -> ModelsOfText:
    """The Transformer that comes with the package: 4 layers of 120, 10,000 words, dropout 0.2."""
    found = replace(language_of(scale, "transformer"), bank=None)
    assert found.run is not None
    if scale == "paper":
        network = replace(found.run.network, hidden=120, layers=4, heads=6, dropout=0.2)
        recipe = replace(found.run.recipe, epochs=40, learning_rate=2e-3)
        recipe = replace(recipe, shifted=False, output_dropout=False)
        run = replace(found.run, network=network, recipe=recipe, vocabulary=10_000)
        found = replace(found, run=replace(run, keep="epochs:40"))
    return ModelsOfText((found,))


def read(scale: Scale, architecture: Architecture) -> ByLayer:
    """The model and its treebank."""
    return ByLayer(language_of(scale, architecture))


def syntax_by_layer(config: ByLayer, cache: RunCache) -> list[Row]:
    """`summarise` of every layer of every seed's last checkpoint; baselines have layer -1."""
    baselines = baseline_rows(read_bank(config.language))
    rows: list[Row] = [{"seed": -1, "layer": -1} | row for row in baselines]
    train_seeds(config.language, cache)
    return rows + cache.gather(_seed_rows, [(config, s) for s in range(config.language.seeds)])


def _seed_rows(of_seed: tuple[ByLayer, int], cache: RunCache) -> list[Row]:
    config, seed = of_seed
    folder, bank = trained_folder(config.language, seed, cache), read_bank(config.language)
    folder.check_last_checkpoint()
    model = load_language_model(checkpoints(folder.path)[-1])
    pairs, words = pairs_of(bank), describe_words(model, bank)
    return [
        {"seed": seed, "layer": layer} | row
        for layer, scores in layer_scores(model.to(cache.device), bank).items()
        for row in summarise(pairs, scores, words)
    ]


def by_layer(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The effect of an edge and UUAS by layer, with intervals."""
    import pandas as pd

    found = pd.DataFrame(_measures(rows))
    keys = ["measure", "space", "layer"]
    return over_models(found.sort_values(keys), keys, "value")


def draw_layers(rows: pandas.DataFrame) -> Figure:
    """One panel per measure, over layers."""
    return draw_measures(by_layer(rows).rename(columns={"layer": "epoch"}).assign(seed=0))


def _measures(rows: pandas.DataFrame) -> list[Row]:
    """Both measures of every layer, as `both_measures` has them of every checkpoint."""
    read_ = [row for row in rows.to_dict("records") if row["layer"] >= 0]
    given = [{**row, "epoch": row["layer"]} for row in read_]
    return [{**row, "layer": row["epoch"]} for row in both_measures(given)]


EXPERIMENTS = (
    {
        f"english-{name}": Experiment(
            f"a {WORDS[name]} of WikiText-2, trained",
            partial(trained, architecture=name),
            measure,
            tabulate,
            partial(draw, title=WORDS[name]),
        )
        for name in ("gru", "transformer")
    }
    | {
        "english-model-transformer": Experiment(
            "the Transformer of English that comes with the package, trained",
            packaged,
            measure,
            tabulate,
            partial(draw, title="Transformer"),
        )
    }
    | {
        f"syntax-{name}": Experiment(
            f"interdependence and syntax in a {WORDS[name]}, layer by layer",
            partial(read, architecture=name),
            syntax_by_layer,
            by_layer,
            draw_layers,
            needs=("scipy",),
        )
        for name in ("gru", "transformer")
    }
)
