"""Do other networks compose bottom-up? The scaffold experiments with GRUs and Transformers.

Every figure on LSTMs has an entry for each architecture, on the same corpora. A GRU has the LSTM's
recipe; a Transformer has two layers and AdamW with a cosine schedule. The claims and their bounds
are the papers' (`claims`), written down before any of these models was measured; intervals are over
seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.scaffold_claims import Claims, decide, rows_by_figure, verdict
from espalier.experiments.scaffold_figures import (
    CLOSE,
    FREQUENCY,
    FROM_OPEN,
    GRADIENTS,
    GROWING,
    HIDDEN,
)
from espalier.experiments.scaffold_models import ScaffoldModels
from espalier.nets.language import Architecture

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

T = TypeVar("T")
OTHERS: tuple[Architecture, ...] = ("gru", "transformer")
WORDS = {"gru": "GRU", "transformer": "Transformer"}
FIGURES = {7: CLOSE, 8: FROM_OPEN, 9: GROWING, 10: HIDDEN, 11: FREQUENCY, 12: GRADIENTS}


def of_architecture(models: ScaffoldModels, architecture: Architecture) -> ScaffoldModels:
    """The same lengths, settings, seeds and corpora with networks of another architecture.

    >>> of_architecture(ScaffoldModels(), "transformer").recipe.optimiser
    'adamw'
    """
    network, recipe = replace(models.network, architecture=architecture), models.recipe
    if architecture == "transformer":
        heads = next(n for n in (5, 4, 1) if network.hidden % n == 0)
        network = replace(network, layers=2, heads=heads)
        recipe = replace(
            recipe, optimiser="adamw", learning_rate=1e-3, clip=1.0, warm_up=500, weight_decay=0.01
        )
    return replace(models, network=network, recipe=recipe)


def in_architecture(config: T, architecture: Architecture) -> T:
    """A figure's config with all its models in another architecture."""
    if isinstance(config, ScaffoldModels):
        return of_architecture(config, architecture)  # type: ignore[return-value]
    if not is_dataclass(config):
        return config
    named = {one.name: getattr(config, one.name) for one in fields(config)}
    changed = {name: in_architecture(value, architecture) for name, value in named.items()}
    return replace(config, **changed)  # type: ignore[type-var]


@dataclass(frozen=True)
class ClaimsByArchitecture:
    """The claims' models in every architecture."""

    lstm: Claims
    gru: Claims
    transformer: Claims

    @classmethod
    def at(cls, scale: Scale) -> ClaimsByArchitecture:
        """The preset of a scale."""
        usual = Claims.at(scale)
        return cls(usual, *(in_architecture(usual, other) for other in OTHERS))


def measure(config: ClaimsByArchitecture, cache: RunCache) -> list[Row]:
    """One row per architecture, claim and scaffold length."""
    found: list[Row] = []
    for name in ("lstm", *OTHERS):
        own: Claims = getattr(config, name)
        chance = 1 / own.over_epochs.models.corpus.vocabulary_size
        decided = decide(rows_by_figure(own, cache), chance=chance)
        found += [{"architecture": name} | row for row in decided.to_dict("records")]
    return found


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """One row per claim and architecture: its verdict, and the number at every length."""
    import pandas as pd

    found = []
    for (key, name), some in rows.groupby(["claim", "architecture"], sort=True):
        numbers = {
            f"k = {row.length}": f"{row.mean:.3g} [{row.low:.3g}, {row.high:.3g}]"
            for row in some.itertuples()
        }
        holds_if = f"{some['side'].iloc[0]} {some['bound'].iloc[0]:.3g}"
        words = {"claim": key, "statement": some["statement"].iloc[0], "architecture": name}
        found.append(words | {"verdict": verdict(some), "holds if": holds_if} | numbers)
    return pd.DataFrame(found)


def draw(rows: pandas.DataFrame) -> Figure:
    """One panel per claim and architecture."""
    from espalier.show.figures import draw_verdicts

    named = rows.assign(claim=rows["claim"] + " " + rows["architecture"])
    return draw_verdicts(named)


def _at(scale: Scale, *, of: Experiment, architecture: Architecture) -> Any:
    return in_architecture(of.config(scale), architecture)


EXPERIMENTS = {
    f"bottom-up-figure-{number}-{name}": replace(
        figure,
        summary=f"{figure.summary}: {WORDS[name]}",
        config=partial(_at, of=figure, architecture=name),
    )
    for number, figure in FIGURES.items()
    for name in OTHERS
} | {
    "scaffold-claims-by-architecture": Experiment(
        "the papers' claims about scaffolds for LSTMs, GRUs and Transformers",
        ClaimsByArchitecture.at,
        measure,
        tabulate,
        draw,
        needs=("pandas", "scipy"),
    )
}
