"""The papers' experiments, one file a figure: `Config`, `run(config, shelf)`, `draw(rows)`.

Modules are imported when asked for. `reproduce` runs one and keeps it as a folder; the ensembles
behind the figures are trained once, on a `Shelf`, and shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from espalier.errors import ConfigError, nearest

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.models import Scale
    from espalier.experiments.reproduction import Reproduction, reproduce
    from espalier.experiments.shelf import Shelf

# name -> what it shows; the module is called the same, with underscores
_EXPERIMENTS = {
    "bottom-up-figure-3": "interdependence by sequential distance, English",
    "bottom-up-figure-4": "interdependence by distance in the tree, by class, English",
    "bottom-up-figure-7": "P(close) over training, scaffolds of training and random ones",
    "bottom-up-figure-8": "P(close | open symbol alone) over training, by decomposition",
    "bottom-up-figure-9": "P(close | open symbol and i scaffold tokens), by decomposition",
    "bottom-up-figure-10": "interdependence of open symbol and scaffold, hidden states",
    "bottom-up-figure-11": "P(close | open) and P(close | scaffold) by rule frequency and length",
    "bottom-up-figure-12": "gradient magnitudes along the scaffold",
    "interdependence-figure-3": "the earlier paper's P(close) over training",
    "interdependence-figure-4": "the earlier paper's P(close | open symbol alone)",
    "interdependence-figure-5": "the earlier paper's P(close | open symbol and i tokens)",
    "interdependence-figure-6": "interdependence of open symbol and scaffold, logits",
    "interdependence-figure-8": "the earlier paper's sequential distance",
    "interdependence-figure-9": "the earlier paper's distance in the tree, logits",
    "interdependence-figure-10": "the earlier paper's rule frequency and length",
    "interdependence-figure-11": "the earlier paper's gradient magnitudes",
    "alta-figure-4": "parity by length and ones: programs, minimal versions, trained on traces",
    "alta-figure-5": "parity by length and ones: trained on traces and end to end",
    "alta-readable": "parity, all weights trained on traces that need only be linearly readable",
    "alta-table-2": "parity beyond training's lengths, MLPs trained on traces",
    "alta-table-3": "parity beyond training's lengths, Transformers trained end to end",
    "alta-figure-9": "parity by length, trained end to end",
    "alta-figure-10": "parity by number of ones, trained end to end, relative positions",
    "alta-figure-11": "average prediction by number of ones, trained end to end",
    "alta-table-6": "SCAN's splits by number of layers, trained end to end",
    "alta-figure-18": "SCAN's splits by number of layers, shared weights, relative positions",
    "scaffold-claims": "the papers' five claims about scaffolds, decided with numbers",
    "syntax-effect": "what an edge of the tree does to interdependence, and frequency",
    "syntax-over-training": "when syntax appears",
    "syntax-probe": "trees grown from interdependence alone, beside baselines",
    "syntax-branching": "made-up languages that branch to the left or to the right",
}


@dataclass(frozen=True)
class Experiment:
    """One figure of a paper: its settings by scale, its rows, its table and its picture."""

    name: str
    summary: str
    config: Callable[[Scale], Any]
    run: Callable[[Any, Shelf], pandas.DataFrame]
    tabulate: Callable[[pandas.DataFrame], pandas.DataFrame]
    draw: Callable[[pandas.DataFrame], Figure]


def names() -> dict[str, str]:
    """Every experiment's name and what it shows, without importing any."""
    return dict(_EXPERIMENTS)


def load(name: str) -> Experiment:
    """The experiment called `name`."""
    if not isinstance(name, str) or name not in _EXPERIMENTS:
        raise ConfigError(f"there is no experiment {name!r}; {nearest(name, _EXPERIMENTS)}")
    module = import_module(f"espalier.experiments.{name.replace('-', '_')}")
    return Experiment(
        name, _EXPERIMENTS[name], module.Config.at, module.run, module.tabulate, module.draw
    )


def __getattr__(name: str) -> Any:
    homes = {"Reproduction": "reproduction", "reproduce": "reproduction", "Shelf": "shelf"}
    if name not in homes:
        raise AttributeError(f"module 'espalier.experiments' has no attribute {name!r}")
    return getattr(import_module(f"espalier.experiments.{homes[name]}"), name)


__all__ = ["Experiment", "Reproduction", "Shelf", "load", "names", "reproduce"]
