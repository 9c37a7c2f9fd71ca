"""The learning page's Transformers trained end to end: Table 3 and Figures 5, 9, 10 and 11.

What has been trained is shown; of the rest of Table 3's
Transformers the table says that they are not trained yet.
"""

from __future__ import annotations

from collections import Counter
from math import comb
from pathlib import Path

import pandas as pd

from docs.pages.runs import kind_of, named, pace, seconds_of, steps_of
from espalier import experiments
from espalier.data import ParityConfig, parity_set
from espalier.experiments import KINDS, beside
from espalier.files import write_figure

# Shares of right answers in the ALTA paper's Table 2: up to 20 bits, more bits, more ones.
TABLE_2 = {
    "sequential-relative": ("100%", "100%", "100%"),
    "sequential-absolute": ("100%", "52%", "51%"),
    "sum-modulo": ("100%", "78%", "50%"),
}
# The same in Table 3.
TABLE_3 = {
    (8, "no", "relative"): ("100%", "60%", "51%"),
    (8, "yes", "relative"): ("100%", "65%", "52%"),
    (40, "no", "relative"): ("100%", "55%", "51%"),
    (40, "yes", "relative"): ("100%", "54%", "48%"),
    (8, "no", "absolute"): ("100%", "49%", "50%"),
    (8, "yes", "absolute"): ("100%", "50%", "52%"),
    (40, "no", "absolute"): ("100%", "50%", "51%"),
    (40, "yes", "absolute"): ("100%", "52%", "51%"),
}
TRAINED_TO = ParityConfig().longest  # bits, and so ones
SLICES = [f"length <= {TRAINED_TO}", f"length > {TRAINED_TO}", f"ones > {TRAINED_TO}"]
FEW, MANY = ((0, 4), (5, 10), (11, 20), (0, 20)), ((21, 30), (31, 40))


def draw_parity(rows: pd.DataFrame, traces: pd.DataFrame, pictures: Path) -> None:
    """The four figures; `traces` are Figure 4's rows."""
    taught = traces[traces["version"] == "traces"]
    shallow = rows[(rows["layers"] == 8) & (rows["positions"] == "relative")]
    both = beside(taught.to_dict("records"), shallow.to_dict("records"))
    drawn = dict.fromkeys((9, 10, 11), rows) | {5: pd.DataFrame(both)}
    for number, some in drawn.items():
        name = f"alta-figure-{number}"
        write_figure(pictures / f"{name}.png", experiments.find(name).draw(some))


def trained(manifests: dict[str, dict]) -> pd.DataFrame:
    """What was trained, where, and for how long, in Table 3's order."""
    found = {}
    for one in manifests.values():
        shape, recipe = one["config"]["shape"], one["config"]["recipe"]
        if shape.get("first_biases") is not None:
            continue  # not Table 3's
        found[kind_of(shape)] = {
            "seeds": one["config"]["seeds"],
            "steps": steps_of(one),
            "batch": recipe["batch"],
            "products": recipe["precision"],
            "optimiser": f"{recipe['optimiser']}, {recipe['learning_rate']:g}",
            "device": one["device"],
            "torch": one["versions"]["torch"],
            "seconds": seconds_of(one),
            "steps/s": pace(one),
            "data": one["data"]["sha256"][:12],
        }
    return pd.DataFrame([named(kind) | found[kind] for kind in TABLE_3 if kind in found])


def table_3(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's numbers beside ours, or beside the news that there are none yet."""
    table = experiments.find("alta-table-3").tabulate(rows).set_index(KINDS)
    found = []
    for kind, printed in TABLE_3.items():
        row = named(kind)
        for name, paper in zip(SLICES, printed, strict=True):
            here = f"{table.loc[kind, name]:.1%}" if kind in table.index else "not yet trained"
            row |= {f"{name}, paper": paper, f"{name}, here": here}
        found.append(row)
    return pd.DataFrame(found)


def fitting(curves: pd.DataFrame) -> pd.DataFrame:
    """Right answers on training's lengths in the course of training."""
    found = []
    for kind in TABLE_3:
        layers, shared, positions = kind
        name = f"parity {layers} {'shared' if shared == 'yes' else 'own'} {positions}"
        own = curves[curves["learner"] == name].sort_values("step")
        if len(own):
            steps = {f"{row.step:,}": f"{row.short:.1%}" for row in own.itertuples()}
            found.append(named(kind) | steps)
    return pd.DataFrame(found)


def beyond(rows: pd.DataFrame) -> pd.DataFrame:
    """What was kept of training, what is right past it, and how often 1 is the answer to many ones.

    `trained on` counts test strings that are training strings without doubt: see `known_cells`.
    """
    known = pd.MultiIndex.from_frame(rows[["length", "ones"]]).isin(known_cells(ParityConfig()))
    found = []
    for kind in TABLE_3:
        own = (rows[KINDS] == list(kind)).all(axis=1)
        if own.any():
            taught, long = rows[own & known], rows[own & (rows["length"] > TRAINED_TO)]
            kept = f"{taught['right'].sum()} of {taught['strings'].sum()}"
            few = {f"right, {a} to {b} ones": _share(long, "right", a, b) for a, b in FEW}
            many = {f"answer 1, {a} to {b} ones": _share(long, "odd", a, b) for a, b in MANY}
            found.append(named(kind) | {"right, trained on": kept} | few | many)
    return pd.DataFrame(found)


def known_cells(config: ParityConfig) -> set[tuple[int, int]]:
    """Lengths and numbers of ones of which there is no string that training did not have."""
    strings = Counter((len(s), s.count("1")) for s in set(parity_set(config).strings()))
    return {cell for cell, found in strings.items() if found == comb(*cell)}


def _share(rows: pd.DataFrame, of: str, low: int, high: int) -> str:
    some = rows[rows["ones"].between(low, high)]
    if some.empty:
        return "-"
    return f"{some[of].sum() / some['strings'].sum():.1%}"
