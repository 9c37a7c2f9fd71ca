import itertools

import pandas as pd
import pytest

from espalier.experiments.claims import claims
from espalier.experiments.scaffold_claims import decide, draw, tabulate, verdict

CHANCE = 0.001
OTHER = {"familiar": "unfamiliar", "unfamiliar": "familiar"}


def world(*, lengths=(4, 8)):
    """Rows in which every claim holds: familiar models learn at epoch 2, the others at 6."""
    tables = {7: [], 8: [], 10: [], 12: []}
    keys = itertools.product(lengths, OTHER, range(3), range(1, 9))
    for length, setting, seed, epoch in keys:
        familiar = setting == "familiar"
        key = {"length": length, "setting": setting, "seed": seed, "epoch": epoch}
        learnt = epoch >= (2 if familiar else 6) + seed % 2
        for domain in ("in_domain", "out_of_domain"):
            fails = familiar and domain == "out_of_domain"
            place = key | {"domain": domain}
            tables[7].append(place | {"probability": 0.01 if fails or not learnt else 0.9})
            tables[8].append(place | {"probability": 0.3 if learnt else CHANCE})
            tables[10].append(place | {"hidden": 0.1 * epoch * (1 + familiar), "logits": 0.5})
        for kind, d in itertools.product(("embedding", "hidden", "output"), range(length + 1)):
            l2 = (0.5 if familiar else 1.0) / (1 + d)
            tables[12].append(key | {"kind": kind, "place": d, "l2": l2, "largest": l2})
    return {figure: pd.DataFrame(rows) for figure, rows in tables.items()}


def test_every_claim_holds_in_a_world_made_for_it():
    decided = decide(world(), chance=CHANCE)
    assert set(decided["claim"]) == {"1", "2", "3a", "3b", "4a", "4b", "5a", "5b", "5c"}
    assert len(decided) == 2 * 9
    assert decided["holds"].all()
    assert set(tabulate(decided)["verdict"]) == {"holds"}
    numbers = decided[decided["length"] == 8].set_index("claim")["mean"]
    assert numbers["1"] == pytest.approx(4)
    assert numbers["2"] == pytest.approx(0.01 / 0.9)
    assert numbers["4b"] == pytest.approx(0.2 * 8 - 0.2)
    assert numbers["5c"] == pytest.approx(0.5)


def test_claims_that_compare_settings_fail_where_these_are_swapped():
    swapped = {
        figure: rows.assign(setting=rows["setting"].map(OTHER)) for figure, rows in world().items()
    }
    decided = decide(swapped, chance=CHANCE)
    held = {claim for claim, some in decided.groupby("claim") if some["holds"].any()}
    assert held == {"3a", "4b"}  # of one setting each, and true of both


def test_a_rule_that_is_never_learnt_counts_as_learnt_after_the_end():
    tables = world()
    never = (tables[7]["setting"] == "unfamiliar") & (tables[7]["seed"] == 0)
    tables[7].loc[never, "probability"] = 0.001
    decided = decide(tables, chance=CHANCE)
    first = decided[decided["claim"] == "1"]
    assert first["mean"].tolist() == pytest.approx([(7 + 4 + 4) / 3] * 2)


def test_the_open_symbol_must_do_ten_times_better_than_chance():
    assert decide(world(), chance=0.02)["holds"].all()
    decided = decide(world(), chance=0.04)
    assert not decided[decided["claim"] == "3a"]["holds"].any()


def test_a_verdict_names_the_lengths_at_which_a_claim_holds():
    tables = world()
    short = (tables[7]["length"] == 4) & (tables[7]["domain"] == "out_of_domain")
    tables[7].loc[short, "probability"] = 0.9
    decided = decide(tables, chance=CHANCE)
    assert verdict(decided[decided["claim"] == "2"]) == "holds at length 8 only"
    none = decided[decided["claim"] == "2"].assign(holds=False)  # below 0.5, it is reported
    assert verdict(none.assign(low=0.4, high=0.6)) == "not decided"
    assert verdict(none.assign(low=[0.4, 0.5], high=0.6)) == "does not hold"


def test_the_figure_has_a_panel_a_claim_and_fills_what_holds():
    decided = decide(world(), chance=CHANCE)
    figure = draw(decided.assign(holds=decided["length"] == 8))
    drawn = [panel for panel in figure.axes if panel.axison]
    assert len(drawn) == len(claims())
    for panel in drawn:
        marks = [line for line in panel.lines if line.get_marker() == "o"]
        assert [mark.get_markerfacecolor() == "white" for mark in marks] == [True, False]
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["4", "8"]
    title = drawn[0].get_title(loc="left").replace("\n", " ")  # in lines as wide as its panel
    assert title == "1. familiar scaffolds are learnt earlier"
