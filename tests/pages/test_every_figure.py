"""The one table of the papers' figures and tables: nothing is missing, and every command exists."""

import re
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from docs.pages.filling import DOCS

from code_blocks import check
from espalier import experiments
from espalier.learnability.supervision import TraceSettings

PAGE = (DOCS / "results" / "index.md").read_text(encoding="utf-8")
LINES = [
    re.split(r"(?<!\\) \| ", line.strip("| ")) for line in PAGE.splitlines() if line[:2] == "| "
]
ITEMS = [dict(zip(LINES[0], line, strict=True)) for line in LINES if len(line) == len(LINES[0])][1:]
NUMBERED = {
    "ALTA": [f"Figure {n}" for n in range(1, 19)] + [f"Table {n}" for n in range(1, 7)],
    "bottom-up": [f"Figure {n}" for n in range(1, 13)],
    "interdependence": [f"Figure {n}" for n in range(1, 12)],
}


def single(item: str) -> list[str]:
    """`Figures 12, 13` as two."""
    kind, *numbers = re.findall(r"\w+", item)
    return [f"{kind.rstrip('s')} {number}" for number in numbers]


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_figure_and_table_of_a_paper_is_there_once(paper):
    found = [name for row in ITEMS if row["paper"] == paper for name in single(row["item"])]
    assert [name for name in found if not name.startswith("Theorem")] == NUMBERED[paper]


def test_every_experiment_is_there_and_every_command_exists():
    named = set(re.findall(r"`(?:espalier reproduce )?([\w-]+)(?: --scale \w+)?`", PAGE))
    assert named == experiments.names().keys()
    for command in re.findall(r"`(espalier [^`]*)`", PAGE):
        check(command, "docs/results/index.md")


def test_what_is_not_measured_in_full_has_a_reason_and_a_cost():
    for row in ITEMS:
        assert re.match(
            "measured|built|in part: |drawing: nothing to measure|proved", row["status"]
        )
        if row["status"].startswith("in part"):
            assert re.search(r"what is missing: .* (h|min)\b", row["cost"]), row
        assert (row["command"] == "-") == row["status"].startswith("drawing")
        assert (row["seeds"] == "-") != row["status"].startswith(("measured", "in part"))


def test_table_1s_settings_are_those_of_training_on_traces():
    relative, absolute, modulo = (one.settings for one in experiments.traced("paper")[:3])
    assert relative == TraceSettings()
    assert (relative.hidden_layers, relative.hidden, relative.noise) == (2, 128, 0.1)
    assert (absolute.hidden_layers, absolute.hidden, absolute.noise) == (4, 4096, 0.1)
    assert replace(modulo, recipe=absolute.recipe) == absolute
    for settings, steps, rate, optimiser in (
        (relative, 50_000, 1e-2, "adafactor"),
        (absolute, 50_000, 1e-4, "adam"),
        (modulo, 400_000, 1e-4, "adam"),
    ):
        recipe = settings.recipe
        assert (recipe.batch, recipe.steps) == (256, steps)
        assert (recipe.learning_rate, recipe.optimiser) == (rate, optimiser)


@pytest.mark.parametrize("number", range(7, 13))
def test_seeds_are_those_of_the_rows(number):
    rows = pd.read_parquet(DOCS / f"results/data/composition/bottom-up-figure-{number}.parquet")
    counts = rows.groupby("rules")["seed"].nunique()
    (row,) = [r for r in ITEMS if (r["paper"], r["item"]) == ("bottom-up", f"Figure {number}")]
    assert {int(n) for n in re.findall(r"\b\d\b", row["seeds"].replace(",000", ""))} >= set(counts)


@pytest.mark.parametrize(
    ("item", "files"),
    [
        ("Figure 4", ["alta-figure-4", "alta-table-2-seeds"]),
        ("Table 2", ["alta-figure-4", "alta-table-2-seeds"]),
        ("Table 3", ["alta-table-3", "alta-table-3-seeds"]),
        ("Table 6", ["alta-table-6", "alta-table-6-seeds"]),
    ],
)
def test_seeds_of_altas_figures_are_those_of_the_rows(item, files):
    most = Counter()  # of each model, in whichever file it has more
    for name in files:
        rows = pd.read_parquet(DOCS / f"results/data/learning/{name}.parquet")
        rows = rows[rows["version"] == "traces"] if "version" in rows else rows
        kinds = [of for of in ("program", "layers", "sharing", "positions") if of in rows]
        most |= Counter(rows.groupby(kinds)["seed"].nunique().to_dict())
    counts = set(most.values())
    (row,) = [r for r in ITEMS if (r["paper"], r["item"]) == ("ALTA", item)]
    assert {int(n) for n in re.findall(r"\d+", row["seeds"])} >= counts
    assert max(counts) == max(int(n) for n in re.findall(r"^\d+", row["seeds"]))
