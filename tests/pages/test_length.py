"""The section on the split by length: every number is one of the rows'."""

import pandas as pd
import pytest
from docs.pages.length import (
    BESIDE,
    VARIANTS,
    at_small_scale,
    length_actions,
    length_at_paper_scale,
    length_blocks,
    length_runs,
    length_steps,
    length_ways,
    with_measures,
)

from espalier import experiments
from espalier.experiments.length_models import length_variants
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
                found.append(line(variant, seed, step, "END given", 24, short, 20, 20))
                found.append(line(variant, seed, step, TRAINING, 0, 1, 5, 5))
            found.append(line(variant, seed, last, BEAMS, 24, short, 1, 2))
    return pd.DataFrame(found)


def tables_of(block):
    """A block's tables: lines by their first cells, and in these the others by their titles."""
    found = []
    for part in block.split("\n\n"):
        if part.startswith("|"):
            lines = [[cell.strip() for cell in row[1:-1].split("|")] for row in part.splitlines()]
            (_, *titles), _, *others = lines
            found.append({first: dict(zip(titles, rest, strict=True)) for first, *rest in others})
    return found


def test_tables_say_what_the_rows_do(rows):
    blocks = length_blocks(rows, {}, scale="small")
    (ways,) = tables_of(blocks["length-ways"])
    assert ways["steps"] == {"reference": "20", "turns in two pieces": "10"}
    assert ways["seeds"] == {"reference": "2", "turns in two pieces": "2"}
    assert ways["greedy"]["reference"] == "**9.0% ± 12.7%**"
    assert ways["END given"]["reference"] == "100.0% ± 0.0%"
    assert ways[BEAMS]["reference"] == "50.0% ± 0.0%"
    (steps,) = tables_of(blocks["length-steps"])
    assert steps["turns in two pieces"] == {"10": "**9.0% ± 12.7%**", "20": "-"}
    (within,) = tables_of(blocks["length-within"])
    assert list(within["reference"].values()) == ["0.0%", "-", "9.0% ± 12.7%"]
    assert within["turns in two pieces"]["of the test"] == "20.0%"
    assert within["turns in two pieces"]["right, no longer"] == "45.0% ± 63.5%"
    (actions,) = tables_of(blocks["length-actions"])
    assert [line["commands"] for line in actions.values()] == ["20", "80"]
    assert [line["reference"] for line in actions.values()] == ["45.0%", "0.0%"]


def test_what_was_not_counted_has_a_dash(rows):
    few = rows[(rows["variant"] == "reference") | (rows["way"] != BEAMS)]
    (table,) = length_ways(few)
    assert table.set_index("counted").loc[BEAMS].tolist() == ["50.0% ± 0.0%", "-"]
    assert VARIANTS[0] == "reference"
    short = rows[(rows["variant"] == "reference") | (rows["actions"] != 25)]
    assert length_actions(short)["turns in two pieces"].tolist() == ["45.0%", "-"]


@pytest.fixture(scope="module")
def many(rows):
    """All that the small scale has, some with five seeds, one with a single one."""
    one, found = rows[rows["variant"] == "reference"], []
    for number, run in enumerate(length_variants("small")):
        own = one.assign(variant=run.name)
        more = [own[own["seed"] == 0].assign(seed=seed) for seed in (2, 3, 4)]
        found.append(pd.concat([own, *more]) if number % 2 else own[own["seed"] < 2 - number // 4])
    return pd.concat(found)


def test_many_variants_are_told_beside_the_reference_whatever_their_seeds(many):
    blocks = length_blocks(many, {}, scale="small")
    ways = tables_of(blocks["length-ways"])
    titles = [list(table["greedy"]) for table in ways]
    assert all(names[0] == "reference" and len(names) <= 1 + BESIDE for names in titles)
    assert sorted(sum((names[1:] for names in titles), ["reference"])) == sorted(
        set(many["variant"])
    )
    seeds = {name: int(count) for table in ways for name, count in table["seeds"].items()}
    assert seeds == many.groupby("variant")["seed"].nunique().to_dict()
    assert set(seeds.values()) == {1, 2, 5}
    greedy = {name: cell for table in ways for name, cell in table["greedy"].items()}
    said = {1: "**8.0%**", 2: "**9.0% ± 12.7%**", 5: "**8.4% ± 1.1%**"}
    assert greedy == {name: said[count] for name, count in seeds.items()}
    for name in ("length-steps", "length-within"):
        assert [*tables_of(blocks[name])[0]] == [one for one in VARIANTS if one in seeds]
    assert {*tables_of(blocks["length-actions"])[0]["24"]} == {"commands", *seeds}
    assert experiments.find("alta-length-split").draw(many).axes


def test_as_many_tables_as_the_page_is_wide_enough_for(many):
    def titles(names):
        some = many[many["variant"].isin(names)]
        return [list(table)[1:] for table in length_ways(some)]

    here = [name for name in VARIANTS if name in set(many["variant"])]
    assert titles(here[:1]) == [here[:1]]
    assert titles(here[: 1 + BESIDE]) == [here[: 1 + BESIDE]]
    assert titles(here[1:3]) == [here[1:3]]  # the reference may be missing
    assert [len(names) for names in titles(here)] == [3, 4]


def test_variants_without_rows_are_named(rows, many):
    block = length_blocks(rows, {}, scale="small")["length-runs"]
    missing = [line[2:] for line in block.splitlines() if line.startswith("- ")]
    small = {run.name for run in length_variants("small")}
    assert sorted(missing) == sorted(small - set(rows["variant"]))
    others = "No part of the small scale: absolute steps, batch of 256."
    assert block.endswith(others)
    assert "(`espalier reproduce alta-length-split --scale small`):" in block
    assert length_blocks(many, {}, scale="small")["length-runs"] == others


def manifest(split, *, seeds=(0, 1), **more):
    recipe = {"steps": 40, "batch": 64, "optimiser": "adafactor", "precision": "bfloat16"}
    config = {"name": "reference", "splits": [split], "seeds": list(seeds), "recipe": recipe}
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
    assert [line[2:] for line in block.splitlines() if line.startswith("- ")] == missing
    assert "No part of" not in block
    assert (tmp_path / "alta-length-split-paper.png").exists()


def test_what_training_measured_stands_where_nothing_else_was_counted(rows, tmp_path):
    own = rows[rows["variant"] == "turns in two pieces"]
    steps = [(name, step) for name in ("turns in two pieces", "dropout") for step in (5, 10)]
    measures = pd.DataFrame(
        {"variant": name, "seed": seed, "step": step, "accuracy": 0.02, "end_given": 0.5}
        for name, step in steps
        for seed in (0, 1)
    )
    (line,) = length_steps(with_measures(own, measures)).to_dict("records")
    assert line == {"variant": own["variant"].iloc[0], "5": "2.0% ± 0.0%", "10": "**9.0% ± 12.7%**"}
    for name, table in (("", own), ("-measures", measures)):
        table.to_parquet(tmp_path / f"alta-length-split-paper{name}.parquet")
    block = length_at_paper_scale(tmp_path, {}, tmp_path)
    assert "| variant | 5 | 10 |" in block
    assert "| 24 | 20 | 45.0% |" in block, "what has no lengths is in no table of these"


def test_an_interrupted_run_says_of_how_many_steps():
    stopped = manifest("length", reached=27) | {"status": "interrupted"}
    (line,) = length_runs({"a": stopped}).to_dict("records")
    assert line["steps"] == "27 of 40"


def test_scales_are_told_apart_by_their_splits():
    scales = {"length": False, "length+turns": False, "upto:22,48": True, "upto:22,48+turns": True}
    assert {split: at_small_scale(manifest(split)) for split in scales} == scales
    (line,) = length_runs({"a": manifest("upto:22,48")}).to_dict("records")
    assert (line["steps"], line["seeds"]) == ("40", 2)


def test_runs_with_other_seeds_of_a_variant_have_lines_of_their_own():
    runs = {"old": manifest("upto:22,48"), "new": manifest("upto:22,48", seeds=(2, 3, 4))}
    assert length_runs(runs)["seeds"].tolist() == [2, 3]
    runs["whole"] = manifest("upto:22,48", seeds=range(5), seconds=0.0)
    (line,) = length_runs(runs).to_dict("records")
    assert (line["seeds"], line["seconds"]) == (5, "-")
    again = runs | {"again": manifest("upto:22,48", seeds=range(5), seconds=7.0)}
    assert length_runs(again)["seconds"].tolist() == [7]
