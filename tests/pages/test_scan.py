"""Table 6 beside the paper's, for as many of its Transformers as were trained."""

import pandas as pd
import pytest
from docs.pages.scan import (
    DEPTHS,
    TABLE_6,
    after_as_many,
    draw_scan,
    fewer_steps,
    left_out,
    mark_fewer_steps,
    put_the_papers_beside,
    steps_in_words,
    table_6,
    taught,
    twice,
)

from espalier import experiments

MCD = ("mcd1", "mcd2", "mcd3")


@pytest.fixture(scope="module")
def rows():
    """All splits of five Transformers, with an accuracy that tells which; the last step counts."""
    models = [(n, s, p) for n in (2, 6) for s in ("yes", "no") for p in ("relative", "absolute")]
    models = [*models[:4], (6, "yes", "relative")]
    found = []
    for split in ("length", "mcd1", "mcd2", "mcd3"):
        for number, (layers, sharing, positions) in enumerate(models):
            for step in (10, 20):
                kind = {"split": split, "sharing": sharing, "positions": positions}
                share = (number + len(split)) / 100 * (step == 20)
                measured = {"train_loss": 0.1, "train_accuracy": 1.0, "accuracy": share}
                if number:  # the first was measured before there was such a thing
                    measured["end_given"] = 2 * share
                found.append(kind | measured | {"layers": layers, "seed": 0, "step": step})
    return pd.DataFrame(found)


def test_the_table_has_the_papers_numbers_and_ours(rows):
    table = table_6(rows).set_index(["split", "shared", "positions"])
    titles = ("paper", "here", "END given")
    assert list(table) == [f"{depth}, {title}" for depth in (2, 6) for title in titles]
    assert len(table) == len(TABLE_6)
    kept = ["13%", "6.0%", "12.0%", "7%", "-", "-"]
    assert table.loc[("mcd2", "no", "relative")].tolist() == kept
    earlier = ["11%", "6.0%", "-", "10%", "10.0%", "20.0%"]
    assert table.loc[("length", "yes", "relative")].tolist() == earlier
    untold = table_6(rows.drop(columns="end_given")).set_index(["split", "shared", "positions"])
    assert set(untold["2, END given"]) == {"-"}
    assert untold["2, here"].equals(table["2, here"])


def test_fewer_steps_are_marked_and_their_last_counts(rows):
    deep = (rows["layers"] == 6) & (rows["sharing"] == "yes") & (rows["positions"] == "relative")
    few = pd.concat([rows[~deep], rows[deep & (rows["step"] == 20)].assign(step=15)])
    table = table_6(few).set_index(["split", "shared", "positions"])
    kept = ["11%", "6.0%", "-", "10%", "10.0%*", "20.0%*"]
    assert table.loc[("length", "yes", "relative")].tolist() == kept
    assert steps_in_words(few) == "`*`: after 15 steps in place of 20."
    assert steps_in_words(rows) == "All after 20 steps."


def test_every_number_of_steps_has_a_mark_of_its_own(rows):
    deep, sides = rows["layers"] == 6, rows["sharing"] == "no"
    few = rows.assign(step=rows["step"].mask(deep, rows["step"] - 5).mask(sides, rows["step"] - 8))
    table = table_6(few).set_index(["split", "shared", "positions"])
    assert table.loc[("length", "yes", "relative"), "6, here"] == "10.0%†"
    assert table.loc[("length", "no", "relative"), "2, here"] == "8.0%*"
    assert table.loc[("length", "yes", "relative"), "2, here"] == "6.0%"
    assert steps_in_words(few) == "`*`: after 12 steps; `†`: after 15 steps in place of 20."


def test_marks_do_not_run_out(rows):
    many = pd.concat(rows.assign(layers=n, step=n) for n in (2, 6, 16, 32, 64, 128, 256))
    marks = fewer_steps(many)
    assert list(marks) == [2, 6, 16, 32, 64, 128]
    assert len(set(marks.values())) == 6
    assert table_6(many)["128, here"].str.endswith(marks[128]).sum() > 0
    assert steps_in_words(many).endswith(f"`{marks[128]}`: after 128 steps in place of 256.")


def test_rings_in_the_figure_are_for_fewer_steps_alone(rows):
    figure = experiments.find("alta-table-6").draw(rows)
    mark_fewer_steps(figure, rows)
    assert not any("steps" in line.get_label() for line in figure.axes[0].get_lines())
    few = rows[(rows["layers"] == 2) | (rows["step"] == 10)]
    figure = experiments.find("alta-table-6").draw(few)
    mark_fewer_steps(figure, few)
    assert "after 10 steps of 20" in {text.get_text() for text in figure.legends[0].get_texts()}
    marked = [line for panel in figure.axes for line in panel.get_lines()]
    marked = [line.get_xydata().tolist() for line in marked if "steps" in line.get_label()]
    assert marked == [[[6, 0]]] * 4 + [[]] * 4  # relative positions alone have 6 layers


def test_depths_are_compared_after_as_many_steps(rows):
    few = rows[(rows["layers"] == 2) | (rows["step"] == 10)].assign(
        accuracy=lambda all_rows: all_rows["layers"] / 1000 + all_rows["step"] / 100
    )
    table = after_as_many(few).set_index("split")
    assert set(table["steps"]) == {"10"}
    assert table.loc["mcd2", ["2 layers", "6 layers"]].tolist() == ["10.2% (9%)", "10.6% (13%)"]
    apart = few.assign(step=few["step"] + (few["layers"] == 2))
    assert after_as_many(apart).empty


def test_seeds_are_averaged(rows):
    two = pd.concat([rows, rows.assign(seed=1, accuracy=rows["accuracy"] + 0.5)])
    table = after_as_many(two).set_index("split")
    assert table.loc["mcd2", "6 layers"] == "33.0% (13%)"  # 8% and 58%
    assert set(twice(two, two[two["layers"] == 6])["mcd2"]) == {"33.0%"}


def test_what_was_trained_two_times_has_two_lines(rows):
    own = (rows["sharing"] == "no") & (rows["positions"] == "absolute")
    earlier = rows[own].assign(accuracy=rows["accuracy"] + 0.5)
    then, now = twice(rows, earlier).to_dict("records")
    model = {"layers": 2, "shared": "no", "positions": "absolute"}
    assert then == model | {"code": "then", "length": "59.0%"} | dict.fromkeys(MCD, "57.0%")
    assert now == model | {"code": "now", "length": "9.0%"} | dict.fromkeys(MCD, "7.0%")


def test_what_was_left_out_is_named(rows):
    assert left_out(rows).splitlines() == [
        "- shared weights, relative positions: 16, 32, 64, 128, 256 layers",
        "- shared weights, absolute positions: 6, 16, 32, 64, 128, 256 layers",
        "- own weights, relative positions: 6, 16, 32, 64 layers",
        "- own weights, absolute positions: 6, 16, 32, 64 layers",
    ]
    assert {len(printed) for printed in TABLE_6.values()} == {len(DEPTHS), len(DEPTHS) - 2}


def test_the_papers_curves_stand_beside_ours(rows):
    figure = experiments.find("alta-table-6").draw(rows)
    put_the_papers_beside(figure, rows)
    below = figure.axes[4 + 2]  # absolute positions, mcd2
    drawn = {line.get_label(): line.get_xydata().tolist() for line in below.get_lines()}
    percents = dict(zip(DEPTHS[:5], TABLE_6["mcd2", "no", "absolute"], strict=True))
    assert drawn["own weights, paper"] == [[n, p / 100] for n, p in percents.items()]
    assert drawn["own weights"] == [[2, (3 + 4) / 100]]
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == set(drawn)
    alone = experiments.find("alta-figure-18").draw(rows[rows["sharing"] == "yes"])
    assert [text.get_text() for text in alone.legends[0].get_texts()] == ["shared weights"]


def test_figures_are_drawn_and_runs_told(rows, tmp_path):
    draw_scan(rows, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"alta-figure-18.png", "alta-table-6.png"}

    def manifest(layers, shared):
        shape = {"layers": layers, "shared": shared, "positions": "relative"}
        recipe = {"steps": 100_000, "batch": 64, "precision": "bfloat16"}
        told = {"config": {"shape": shape, "recipe": recipe}, "device": "X", "seconds": 50.2}
        return told | {"versions": {"torch": "2"}, "status": "finished"}

    table = taught({"a": manifest(6, True), "b": manifest(2, False), "c": manifest(2, True)})
    assert table[["layers", "shared"]].to_numpy().tolist() == [[2, "yes"], [2, "no"], [6, "yes"]]
    assert set(table["steps/s"]) == {1992}


def test_of_two_runs_the_one_that_went_further_is_told():
    def manifest(steps, seconds, **more):
        shape = {"layers": 32, "shared": True, "positions": "relative"}
        recipe = {"steps": steps, "batch": 64, "precision": "bfloat16"}
        told = {"config": {"shape": shape, "recipe": recipe}, "device": "X", "seconds": seconds}
        return told | {"versions": {"torch": "2"}, "status": "finished"} | more

    stopped = {"reached": 64_000, "status": "interrupted"}
    runs = {"new": manifest(100_000, 32.0, taken=64_640, **stopped), "old": manifest(20_000, 20.0)}
    (line,) = taught(runs).to_dict("records")
    assert (line["steps"], line["seconds"], line["steps/s"]) == ("64,000", 32, 2_020)
    killed = manifest(100_000, 0.0, reached=60_000, status="running")
    (line,) = taught({"killed": killed}).to_dict("records")
    assert (line["steps"], line["seconds"], line["steps/s"]) == ("60,000", "-", "-")
