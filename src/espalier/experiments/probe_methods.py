"""Trees from the pairs of every method, for the package's models of English.

Interdependence and other measures of how two words interact: occlusion, the interaction index,
conditional PMI, perturbed masking and, at the paper's scale alone, Shapley interaction, which takes
hours. The trees are the heaviest ones without crossings, as in `syntax-probe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from espalier.decomposition import Asked, read_method
from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale, check_scale
from espalier.experiments.language_checkpoints import read_bank
from espalier.experiments.languages import Bank, Language, made_up
from espalier.nets.language import AnyModel, english_model
from espalier.syntax import SPACES, baseline_rows, pairs_of, probe, read_treebank

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

METHODS = (
    "interdependence", "occlusion", "interaction-index", "conditional-pmi", "perturbed-masking",
    "shapley",
)  # fmt: skip
Packaged = Literal["lstm", "transformer"]
MODELS: tuple[Packaged, ...] = ("lstm", "transformer")


@dataclass(frozen=True)
class ProbeByMethod:
    """The sentences that are read, and the methods that read them."""

    language: Language
    methods: tuple[str, ...] = METHODS

    @classmethod
    def at(cls, scale: Scale) -> ProbeByMethod:
        """The preset of a scale."""
        match check_scale(scale):
            case "paper":
                return cls(Language(bank=Bank(sentences=500)))
            case "small":
                return cls(Language(bank=Bank(sentences=40)), METHODS[:-1])
            case "smoke":
                return cls(made_up("left", scale), METHODS[:2])


def measure(config: ProbeByMethod, cache: RunCache) -> list[Row]:
    """UUAS of both models by every method, of hidden states and of logits; `model` none first."""
    none: Row = {"model": "none", "method": "none"}
    rows = [none | row for row in baseline_rows(read_bank(config.language))]
    cells = [(name, method, config.language) for name in MODELS for method in config.methods]
    return rows + cache.gather(_method_rows, cells)


def _method_rows(cell: tuple[Packaged, str, Language], cache: RunCache) -> list[Row]:
    """One model's trees by one method."""
    name, method, language = cell
    bank = read_bank(language)
    model: AnyModel = english_model(name).to(cache.device)
    own = None if method == "interdependence" else method
    scores, _ = read_treebank(model, bank, asked=Asked(method=read_method(own)))
    pairs, rows = pairs_of(bank), list[Row]()
    for space in SPACES:
        label: Row = {"model": name, "method": method, "space": space}
        rows += [label | row for row in probe(pairs, getattr(scores, space))]
    return rows


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """One row per model, method and space: the trees without crossings, raw weights."""
    raw = (rows["shape"] == "noncrossing") & ~rows["weights"].str.contains("/", regex=False)
    shown = rows[raw | (rows["model"] == "none")]
    named = shown["weights"].where(shown["model"] == "none", shown["method"])
    columns = ["model", "space", "uuas", "low", "high"]
    return shown[columns].assign(trees=named)[["trees", *columns]].reset_index(drop=True)


def draw(rows: pandas.DataFrame) -> Figure:
    """Points with intervals, a row each."""
    from espalier.show.figures import draw_probe

    table = tabulate(rows)
    return draw_probe(table.rename(columns={"trees": "weights"}).assign(shape=""))


EXPERIMENTS = {
    "syntax-probe-by-method": Experiment(
        "trees from the pairs of every method, LSTM and Transformer",
        ProbeByMethod.at,
        measure,
        tabulate,
        draw,
        needs=("scipy",),
    )
}
