"""Statements on Figures 7, 9 and 11: rows for which they hold, and for which they do not."""

import itertools

import pandas as pd
import pytest

from espalier.experiments.further_claims import further_claims
from espalier.experiments.scaffold_claims import decide, tabulate

CHANCE = 0.001
DOMAINS = ("in_domain", "out_of_domain")
LENGTHS, RULES, SEEDS = (2, 8), (30, 100, 300), range(3)


def world(*, agrees: bool) -> dict[int, pd.DataFrame]:
    """Rows in which the papers' statements all hold, or none does."""
    tables: dict[int, list] = {7: [], 9: [], 11: []}
    for length, seed, domain in itertools.product(LENGTHS, SEEDS, DOMAINS):
        key = {"length": length, "seed": seed, "domain": domain}
        noise = 0.001 * seed
        for setting, epoch in itertools.product(("familiar", "unfamiliar"), range(1, 6)):
            lower = agrees and setting == "familiar"
            value = (0.7 - 0.1 * epoch if lower else 0.95) + noise * (1 if lower else 2)
            tables[7].append(key | {"setting": setting, "epoch": epoch, "probability": value})
        for rules in RULES:
            needs = {2: 100, 8: 300 if agrees else 100}[length]
            rare = 0.004 if agrees or length == 2 else 0.001
            of_open = 0.9 if rules >= needs else rare
            of_scaffold = (0.0008 / length if agrees else 0.1) + noise / 1000
            for focus, value in (("open", of_open), ("scaffold", of_scaffold)):
                row = key | {"setting": "unfamiliar", "rules": rules, "epoch": 40, "focus": focus}
                tables[11].append(row | {"probability": value})
    for seed, domain, focus in itertools.product(SEEDS, DOMAINS, range(9)):
        key = {"length": 8, "seed": seed, "domain": domain, "epoch": 5, "in_focus": focus}
        value = 0.1 + 0.05 * focus + 0.001 * seed
        familiar, unfamiliar = (value, 0.9) if agrees else (1 - value, 0.3)
        tables[9] += [
            key | {"setting": "familiar", "probability": familiar},
            key | {"setting": "unfamiliar", "probability": unfamiliar},
        ]
    return {figure: pd.DataFrame(rows) for figure, rows in tables.items()}


@pytest.mark.parametrize("agrees", [True, False])
def test_verdicts_in_worlds_made_for_them(agrees):
    decided = decide(world(agrees=agrees), chance=CHANCE, chosen=further_claims())
    table = tabulate(decided)
    assert table["claim"].tolist() == ["6a", "6b", "7a", "7b", "7c", "8a", "8b", "8c", "8d"]
    assert set(table["verdict"]) == {"holds" if agrees else "does not hold"}
    lengths = decided.groupby("claim")["length"].apply(list)
    assert lengths["6a"] == [2, 8]
    assert lengths["7b"] == [8]
    assert lengths["8a"] == [0]


def test_only_seeds_that_every_number_of_rules_has_are_compared():
    tables = world(agrees=True)
    more = tables[11][tables[11]["rules"] == 300].assign(seed=9, probability=0.0)
    tables[11] = pd.concat([tables[11], more])
    decided = decide(tables, chance=CHANCE, chosen=further_claims()).set_index("claim")
    assert decided.loc["8a", "seeds"] == len(SEEDS)
    assert decided.loc["8a", "mean"] == pytest.approx(0.4771, abs=1e-4)
