"""The page of claims says of each what the pages of results say."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from docs.pages.filling import DOCS

from espalier.experiments.claims import claims
from espalier.experiments.further_claims import further_claims
from espalier.experiments.scaffold_claims import decide, verdict

DATA = DOCS / "results" / "data"
CHANCE = 1 / 1002


def rows(text: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


def test_verdicts_on_scaffolds_are_those_of_the_results():
    results = rows((DOCS / "results" / "composition.md").read_text())
    wanted = {row[0]: row[1:3] for row in reversed(results)}  # claims come before other tables
    found = [
        row for row in rows((DOCS / "results" / "claims.md").read_text())
        if re.fullmatch(r"\d[a-d]?", row[0])
    ]  # fmt: skip
    assert len(found) == 18
    for claim, statement, said, *_ in found:
        assert [statement, said.strip("*")] == wanted[claim]


def verdicts(tables: dict[int, pd.DataFrame], *, logs: bool) -> dict[str, str]:
    """Of the claims that are about ratios, by intervals of the ratios or of their logarithms."""
    ratios = [
        one for one in (*claims(), *further_claims())
        if one.figure in tables and one.key in ("2", "5a", "5b", "5c", "8c", "8d")
    ]  # fmt: skip
    if logs:
        ratios = [
            replace(
                one,
                values=lambda pair, one=one: np.log(one.values(pair)),
                bound=lambda pair, one=one: float(np.log(one.bound(pair))),
            )
            for one in ratios
        ]
    found = decide(tables, chance=CHANCE, chosen=ratios)
    return {claim: verdict(some) for claim, some in found.groupby("claim")}


def test_verdicts_on_ratios_are_those_of_their_logarithms():
    """The pages say so, and that one about a second close symbol is not."""
    folders = {"lstm": "composition", "gru": "architectures", "transformer": "architectures"}
    for name, folder in folders.items():
        suffix = "" if name == "lstm" else f"-{name}"
        tables = {
            number: pd.read_parquet(DATA / folder / f"bottom-up-figure-{number}{suffix}.parquet")
            for number in (7, 11, 12)
        }
        if name != "lstm":
            del tables[11]  # no claims of the page
        assert verdicts(tables, logs=True) == verdicts(tables, logs=False)
    changed = set()
    for number in (7, 12):
        every = pd.read_parquet(DATA / f"composition/bottom-up-figure-{number}-protocols.parquet")
        for place, some in every.groupby(["layout", "reading"]):
            usual, logs = (verdicts({number: some}, logs=logs) for logs in (False, True))
            changed |= {(claim, *place) for claim in usual if usual[claim] != logs[claim]}
    assert changed == {("2", "apart", "after close")}
