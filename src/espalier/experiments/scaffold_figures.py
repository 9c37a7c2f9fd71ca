"""The scaffold experiments of both LSTM papers as tables and pictures.

The earlier paper's figures show the later one's quantities, with one exception: its Figure 6 is of
logits where the later paper's Figure 10 is of hidden states. A conduit is a scaffold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from espalier.experiments.experiment import Experiment
from espalier.experiments.intervals import summarise
from espalier.experiments.scaffold_rows import (
    Gradients,
    GrowingFocus,
    OverEpochs,
    RuleFrequency,
    by_rule_frequency,
    close_probabilities,
    from_growing_focus,
    from_open_symbol,
    gradients,
    interdependence,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

TITLES = "scaffold length {}"


def at_last_epoch(
    rows: pandas.DataFrame, value: str = "probability", *, by: Sequence[str] = ("length",)
) -> pandas.DataFrame:
    """Means at the last epoch by setting and test set, with intervals over seeds."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return summarise(last, value, by=[*by, "setting", "domain"])


def draw(table: pandas.DataFrame, **facets: Any) -> Figure:
    """Curves with intervals, in panels."""
    from espalier.show.figures import Facets, draw_bands

    return draw_bands(table, Facets(**facets))


def draw_over_epochs(
    rows: pandas.DataFrame, value: str = "probability", *, sides: dict[str, str], **facets: Any
) -> Figure:
    """Curves of both settings over epochs: one column per scaffold length, one row per test set."""
    shown = rows[rows["domain"].isin(list(sides))]
    table = summarise(shown, value, by=["length", "setting", "domain", "epoch"])
    grid = {"x": "epoch", "line": "setting", "across": "length", "down": "domain"}
    return draw(table, x_label="epoch", titles=TITLES, sides=sides, **grid, **facets)


def draw_growing_focus(rows: pandas.DataFrame) -> Figure:
    """One column per epoch, one row per test set."""
    return draw(
        summarise(rows, "probability", by=["setting", "domain", "epoch", "in_focus"]),
        x="in_focus",
        line="setting",
        across="epoch",
        down="domain",
        x_label=f"i, scaffold tokens in focus beside the open symbol (k = {rows['length'].max()})",
        titles="epoch {}",
        sides={
            "in_domain": "P(close | open + i tokens)\nscaffolds of training",
            "out_of_domain": "P(close | open + i tokens)\nrandom scaffolds",
        },
        limits=(-0.02, 1.02),
    )


def on_random_scaffolds(rows: pandas.DataFrame) -> pandas.DataFrame:
    """By number of rules, length and focus, with intervals over seeds."""
    shown = rows[rows["domain"] == "out_of_domain"]
    return summarise(shown, "probability", by=["rules", "length", "focus"])


def draw_rule_frequency(rows: pandas.DataFrame) -> Figure:
    """One column per number of rules; the probability on a logarithmic axis."""
    from espalier.show.figures import Look

    return draw(
        on_random_scaffolds(rows),
        x="length",
        line="focus",
        across="rules",
        x_label="scaffold length k",
        titles="{} rules",
        side="P(close | focus)\nrandom scaffolds",
        looks={
            "open": Look("#1b1f27", "-", "o", "open symbol in focus"),
            "scaffold": Look("#1f62d0", "--", "^", "scaffold in focus"),
        },
        logarithmic=True,
    )


def mean_gradients(rows: pandas.DataFrame) -> pandas.DataFrame:
    """L2 norms averaged over epochs and the places of the scaffold, with intervals over seeds."""
    return summarise(rows[rows["place"] > 0], "l2", by=["length", "kind", "setting"])


def draw_gradients(rows: pandas.DataFrame) -> Figure:
    """One column per scaffold length, one row per magnitude; L2 norms on a logarithmic axis."""
    return draw(
        summarise(rows, "l2", by=["length", "kind", "setting", "place"]),
        x="place",
        line="setting",
        across="length",
        down="kind",
        x_label="d, place in the rule (0: open symbol; the close symbol follows the last)",
        titles=TITLES,
        sides={
            "embedding": "embedding\n|dE(close)/dx|",
            "hidden": "hidden state\n|dE(close)/dh|",
            "output": "output\n|dE(next)/dlogits|",
        },
        logarithmic=True,
    )


def _interdependence_in(space: Literal["hidden", "logits"], summary: str) -> Experiment:
    name = {"hidden": "hidden states", "logits": "logits"}[space]
    side = f"DI(open, scaffold), {name}\nscaffolds of training"
    return Experiment(
        summary,
        OverEpochs.at,
        interdependence,
        partial(at_last_epoch, value=space),
        partial(draw_over_epochs, value=space, sides={"in_domain": side}),
    )


CLOSE = Experiment(
    "P(close) over training, scaffolds of training and random ones",
    OverEpochs.at,
    close_probabilities,
    at_last_epoch,
    partial(
        draw_over_epochs,
        sides={
            "in_domain": "P(close)\n(a) scaffolds of training",
            "out_of_domain": "P(close)\n(b) random scaffolds",
        },
        limits=(-0.02, 1.02),
    ),
)
FROM_OPEN = Experiment(
    "P(close | open symbol alone) over training, by decomposition",
    OverEpochs.at,
    from_open_symbol,
    at_last_epoch,
    partial(
        draw_over_epochs,
        sides={"out_of_domain": "P(close | open)\nrandom scaffolds"},
        limits=(-0.02, 1.02),
    ),
)
GROWING = Experiment(
    "P(close | open symbol and i scaffold tokens), by decomposition",
    GrowingFocus.at,
    from_growing_focus,
    partial(at_last_epoch, by=["in_focus"]),
    draw_growing_focus,
)
HIDDEN = _interdependence_in("hidden", "interdependence of open symbol and scaffold, hidden states")
LOGITS = _interdependence_in("logits", "interdependence of open symbol and scaffold, logits")
FREQUENCY = Experiment(
    "P(close | open) and P(close | scaffold) by rule frequency and length",
    RuleFrequency.at,
    by_rule_frequency,
    on_random_scaffolds,
    draw_rule_frequency,
)
GRADIENTS = Experiment(
    "gradient magnitudes along the scaffold",
    Gradients.at,
    gradients,
    mean_gradients,
    draw_gradients,
)


def _earlier(experiment: Experiment, summary: str) -> Experiment:
    return replace(experiment, summary=f"the earlier paper's {summary}")


EXPERIMENTS = {
    "bottom-up-figure-7": CLOSE,
    "bottom-up-figure-8": FROM_OPEN,
    "bottom-up-figure-9": GROWING,
    "bottom-up-figure-10": HIDDEN,
    "bottom-up-figure-11": FREQUENCY,
    "bottom-up-figure-12": GRADIENTS,
    "interdependence-figure-3": _earlier(CLOSE, "P(close) over training"),
    "interdependence-figure-4": _earlier(FROM_OPEN, "P(close | open symbol alone)"),
    "interdependence-figure-5": _earlier(GROWING, "P(close | open symbol and i tokens)"),
    "interdependence-figure-6": LOGITS,
    "interdependence-figure-10": _earlier(FREQUENCY, "rule frequency and length"),
    "interdependence-figure-11": _earlier(GRADIENTS, "gradient magnitudes"),
}
