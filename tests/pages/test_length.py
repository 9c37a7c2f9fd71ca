"""The section on the split by length: every number is one of the rows'."""

import pandas as pd
import pytest
from docs.pages.length import (
    VARIANTS,
    at_small_scale,
    length_at_paper_scale,
    length_blocks,
    length_runs,
    length_ways,
)

from espalier.experiments.length_split import BEAMS, TRAINING


def line(variant, seed, step, way, actions, within, right, commands):
    label = {"variant": variant, "seed": seed, "step": step, "way": way}
    return label | {"actions": actions, "within": within, "right": right, "commands": commands}


@pytest.fixture(scope="module")
def rows():
    """Two variants, two seeds: shares that tell which; none of the others was trained."""
    found = []
    for variant, last in (("reference", 20), ("turns in two pieces", 10)):
        short = int(variant != "reference")
        for seed in (0, 1):
            for step in range(10, last + 1, 10):
                found.append(line(variant, seed, step, "greedy", 24, short, 8 + 2 * seed, 20))
                found.append(line(variant, seed, step, "greedy", 25, 0, 0, 80))
                found.append(line(variant, seed, step, "END told", 24, short, 20, 20))
                found.append(line(variant, seed, step, TRAINING, 0, 1, 5, 5))
            found.append(line(variant, seed, last, BEAMS, 24, short, 1, 2))
    return pd.DataFrame(found)


def test_tables_say_what_the_rows_do(rows):
    tables = length_blocks(rows, {})
    ways = tables["length-ways"].set_index("counted")
    assert list(ways) == ["reference, 20", "turns in two pieces, 10"]
    assert ways.loc["greedy", "reference, 20"] == "**9.0% ± 12.7%**"
    assert ways.loc["END told", "reference, 20"] == "100.0% ± 0.0%"
    assert ways.loc[BEAMS, "reference, 20"] == "50.0% ± 0.0%"
    steps = tables["length-steps"].set_index("variant")
    assert steps.loc["turns in two pieces"].tolist() == ["**9.0% ± 12.7%**", "-"]
    within = tables["length-within"].set_index("variant")
    assert within.loc["reference"].tolist() == ["0.0%", "-", "9.0% ± 12.7%"]
    assert within.loc["turns in two pieces", "of the test"] == "20.0%"
    assert within.loc["turns in two pieces", "right, no longer"] == "45.0% ± 63.5%"
    actions = tables["length-actions"]
    assert actions["commands"].tolist() == [20, 80]
    assert actions["reference"].tolist() == ["45.0%", "0.0%"]


def test_what_was_not_counted_has_a_dash(rows):
    few = rows[(rows["variant"] == "reference") | (rows["way"] != BEAMS)]
    table = length_ways(few).set_index("counted")
    assert table.loc[BEAMS].tolist() == ["50.0% ± 0.0%", "-"]
    assert VARIANTS[0] == "reference"


def manifest(split, **more):
    recipe = {"steps": 40, "batch": 64, "optimiser": "adafactor", "precision": "bfloat16"}
    config = {"name": "reference", "splits": [split], "seeds": [0, 1], "recipe": recipe}
    about = {"device": "X", "versions": {"torch": "2"}, "seconds": 5.0, "config": config}
    return about | {"status": "finished"} | more


def test_the_papers_scale_has_the_same_tables_and_names_what_is_missing(rows, tmp_path):
    said = length_at_paper_scale(tmp_path, {}, tmp_path)
    assert said == "Not trained yet: `espalier reproduce alta-length-split --scale paper`."
    rows.to_json(tmp_path / "alta-length-split-paper.jsonl", orient="records", lines=True)
    block = length_at_paper_scale(tmp_path, {"a": manifest("length", reached=20)}, tmp_path)
    assert "| reference | length | 2 | 20 | 64 | adafactor | bfloat16 | X | 2 | 5 |" in block
    assert "| greedy | **9.0% ± 12.7%** | **9.0% ± 12.7%** |" in block
    assert "100 test commands, 2 by beams, after each one's last step:" in block
    missing = [name for name in VARIANTS if name not in set(rows["variant"])]
    assert block.endswith(f"--scale paper`): {', '.join(missing)}.")
    assert (tmp_path / "alta-length-split-paper.png").exists()


def test_scales_are_told_apart_by_their_splits():
    scales = {"length": False, "length+turns": False, "upto:22,48": True, "upto:22,48+turns": True}
    assert {split: at_small_scale(manifest(split)) for split in scales} == scales
    (line,) = length_runs({"a": manifest("upto:22,48")}).to_dict("records")
    assert (line["steps"], line["seeds"]) == ("40", 2)
