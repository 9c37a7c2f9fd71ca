"""How scaffold models learn: the close symbol's probability over training, in and out of domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    import pandas

STYLES = {"unfamiliar": ("#1b1f27", "-"), "familiar": ("#d02f2f", "--")}
MEASURES = {"in_domain": "scaffolds of the training set", "out_of_domain": "new scaffolds"}


def draw_learning(rows: pandas.DataFrame) -> Figure:
    """A column a scaffold length, a row a test set; mean over seeds, the band from worst to best.

    `rows` has a row for each member and epoch, with length, setting, epoch, in_domain and
    out_of_domain: the metrics of a scaffold run.
    """
    lengths = sorted(rows["length"].unique())
    figure = Figure(figsize=(2.6 * len(lengths) + 0.6, 4.6), layout="constrained")
    panels = figure.subplots(2, len(lengths), sharex=True, sharey=True, squeeze=False)
    for across, length in enumerate(lengths):
        for down, (measure, title) in enumerate(MEASURES.items()):
            panel = panels[down][across]
            _draw(panel, rows[rows["length"] == length], measure)
            panel.set_ylim(-0.02, 1.02)
            if down == 0:
                panel.set_title(f"scaffold length {length}", fontsize=10)
            else:
                panel.set_xlabel("epoch")
            if across == 0:
                panel.set_ylabel(f"P(close)\n{title}", fontsize=9)
    panels[0][0].legend(fontsize=8, loc="lower right", frameon=False)
    return figure


def _draw(panel: Any, rows: pandas.DataFrame, measure: str) -> None:
    for setting, (color, line) in STYLES.items():
        some = rows[rows["setting"] == setting].groupby("epoch")[measure]
        mean = some.mean()
        panel.fill_between(mean.index, some.min(), some.max(), color=color, alpha=0.15, lw=0)
        panel.plot(mean.index, mean, line, color=color, lw=1.6, label=setting)
