"""The authors' protocol in docs/results/composition.md: `python -m docs.pages protocols`.

Reads docs/results/data/composition, where the rows of `bottom-up-figure-N-protocols` are put.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from docs.pages.filling import DOCS, fill, markdown, read_rows
from espalier import experiments
from espalier.experiments.intervals import summarise
from espalier.experiments.protocols import decided
from espalier.files import write_figure, write_text

NAMES = {number: f"bottom-up-figure-{number}-protocols" for number in (9, 12, 7)}


def protocols(docs: Path = DOCS) -> list[str]:
    """Fill the section; return the names of the blocks filled."""
    data, pictures = docs / "results/data/composition", docs / "images/composition"
    pictures.mkdir(parents=True, exist_ok=True)
    rows = {name: read_rows(data, name) for name in NAMES.values()}
    tables = {name: experiments.find(name).tabulate(rows[name]) for name in rows}
    blocks = {"protocols": markdown(turned(list(tables.values())))}
    for name, table in tables.items():
        write_figure(pictures / f"{name}.png", experiments.find(name).draw(rows[name]))
        picture = f"![{experiments.names()[name]}](../images/composition/{name}.png)"
        shown = table.drop(columns=["statement", "turned by"])
        blocks[name] = f"{picture}\n\n{markdown(shown)}"
    blocks["protocols-focus"] = markdown(growing(rows[NAMES[9]]))
    blocks["protocols-along"] = markdown(along(rows[NAMES[12]]))
    blocks["protocols-own-step"] = markdown(own_step(data))
    page = docs / "results/composition.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def growing(rows: pd.DataFrame) -> pd.DataFrame:
    """P(close | open symbol and i tokens), familiar models, scaffolds of training, by epoch."""
    by = ["layout", "reading", "epoch"]
    some = rows[(rows["setting"] == "familiar") & (rows["domain"] == "in_domain")]
    table = summarise(some, "probability", by=[*by, "in_focus"])
    cells = table.assign(cell=table["mean"].map("{:.3f}".format))
    wide = cells.pivot(index=by, columns="in_focus", values="cell")
    wide = wide.rename(columns="i = {}".format).reset_index()
    gains = [
        decided(part, number=9, keys="7b").assign(epoch=e) for e, part in rows.groupby("epoch")
    ]
    gained = pd.concat(gains).assign(holds=lambda d: d["holds"].map({True: "yes", False: "no"}))
    cell = [f"{r.mean:.2g} [{r.low:.2g}, {r.high:.2g}]" for r in gained.itertuples()]
    gained = gained.assign(gain=cell)[[*by, "gain", "holds"]]
    wide = wide.merge(gained, on=by).rename(columns={"gain": "least gain", "holds": "7b holds"})
    return wide.sort_values(by, ascending=[True, False, True])


def own_step(data: Path) -> pd.DataFrame:
    """Gradients at the small scale: of the loss at the close symbol, and of each step's own."""
    rows = read_rows(data, f"{NAMES[12]}-small")
    table = experiments.find(NAMES[12]).tabulate(rows)
    return table[table["claim"] != "5c"].drop(columns=["statement", "turned by"])


def along(rows: pd.DataFrame) -> pd.DataFrame:
    """Each step's own gradients, familiar / unfamiliar, at the scaffold's ends and in between."""
    own = rows[rows["reading"] == "own step"]
    place, last = own["place"], own["length"]
    parts = {
        "0, the open symbol": place == 0,
        "1": place == 1,
        "2 to k - 1": (place > 1) & (place < last),
        "k, before the close symbol": place == last,
    }
    found = []
    for name, here in parts.items():  # a claim is about places 1 to k: what is asked for is one
        table = experiments.find(NAMES[12]).tabulate(own[here].assign(place=1))
        found.append(table.assign(place=name, kind=["embedding", "hidden", "output"]))
    wide = pd.concat(found).sort_values("claim", kind="stable")
    return wide[["kind", "place", *(column for column in wide if column[:3] == "k =")]].fillna("-")


def turned(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """One row a claim: what turns its verdict round, at which lengths."""
    claims = pd.concat(tables).drop_duplicates("claim").sort_values("claim")
    return claims[["claim", "statement", "turned by"]]
