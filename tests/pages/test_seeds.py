"""Five seeds beside single seeds and the paper: what there is, and what is missing."""

import pandas as pd
import pytest
from docs.pages.parity import TABLE_3
from docs.pages.scan import DEPTHS, TABLE_6
from docs.pages.seeds import counted, seeds_blocks, seeds_in_words, translators_ended

MODELS = [(2, "yes", "relative"), (2, "no", "absolute"), (6, "yes", "relative")]


def scan_rows(models, *, seeds, steps, until):
    """Every split of these Transformers; shares are those of the paper, and seeds spread them."""
    found = []
    for layers, sharing, positions in models:
        for split in ("length", "mcd1", "mcd2", "mcd3"):
            paper = TABLE_6[split, sharing, positions][DEPTHS.index(layers)] / 100
            for seed in range(seeds):
                for step in steps:
                    kind = {"layers": layers, "sharing": sharing, "positions": positions}
                    kind |= {"until": until, "split": split, "seed": seed, "step": step}
                    spread = 0.01 * (seed - seeds // 2)
                    fit = 0.5 if step == steps[0] else 1.0
                    measured = {"train_loss": 0.1, "train_accuracy": fit}
                    measured |= {"accuracy": paper + spread, "end_given": 0.5 + spread}
                    found.append(kind | measured)
    return pd.DataFrame(found)


@pytest.fixture(scope="module")
def single():
    models = [*MODELS, (6, "no", "absolute"), (16, "yes", "relative")]
    rows = scan_rows(models, seeds=1, steps=(10_000, 100_000), until="the last step")
    return rows.assign(accuracy=rows["accuracy"].mask(rows["split"] == "mcd3", 0.9))


@pytest.fixture(scope="module")
def five():
    steps = (5_000, 10_000, 15_000, 20_000)
    return scan_rows(MODELS, seeds=5, steps=steps, until="fitted")


def manifest(kind, *, shape=None, settings=None, **more):
    recipe = {"steps": 100_000, "batch": 64, "precision": "bfloat16", "stop_share": 0.99}
    config = {"shape": shape, "recipe": recipe} if shape else {"settings": {"recipe": recipe}}
    about = {"status": "finished", "device": "X", "versions": {"torch": "2"}, "seconds": 50.2}
    return {"kind": kind, "config": config | {"seeds": [0, 1, 2, 3, 4]}} | about | more


def lines_of(block):
    """The lines of a block's first table by their first cells."""
    titles, _, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in block.partition("\n\n")[0].splitlines()
    ]
    return [dict(zip(titles, line, strict=True)) for line in lines]


def test_table_6_has_intervals_beside_single_seeds_and_names_what_is_missing(
    tmp_path, single, five
):
    five.to_json(tmp_path / "alta-table-6-seeds.jsonl", orient="records", lines=True)
    shape = {"layers": 2, "shared": True, "positions": "relative"}
    runs = {
        "a": manifest("scan", shape=shape, reached=20_000),
        "b": manifest("parity", shape=shape),
    }
    singles = {"alta-table-6": single}
    (block,) = seeds_blocks(tmp_path, runs, singles=singles, pictures=tmp_path).values()
    lines = {(line["split"], line["shared"], line["positions"]): line for line in lines_of(block)}
    assert len(lines) == 8  # two kinds of four splits
    both = lines["mcd2", "yes", "relative"]
    assert [both[f"2, {title}"] for title in ("paper", "one seed", "five seeds")] == [
        "9%",
        "9.0%",
        "9.0% ± 2.0%",
    ]
    assert both["6, END given"] == "50.0%"
    assert both["6, steps"] == "20,000"
    alone = lines["mcd3", "no", "absolute"]
    assert (alone["2, one seed"], alone["6, one seed"]) == ("90.0%", "90.0%")
    assert (alone["6, five seeds"], alone["6, steps"]) == ("-", "-")
    said = "share in 9 of 12 cells, and one that rounds to the paper's in 12 of 12."
    assert said in block
    assert "| 2 | yes | relative | 5 | 20,000 | 100,000 | 64 | bfloat16 | X |" in block
    assert "| finished | 50 | 398 |" in block
    missing = [line for line in block.splitlines() if line.startswith("- ")]
    assert missing[:5] == [
        "- 2 layers, shared weights, absolute positions",
        "- 6 layers, shared weights, absolute positions",
        "- 2 layers, own weights, relative positions",
        "- 6 layers, own weights, relative positions",
        "- 6 layers, own weights, absolute positions",
    ]
    assert missing[5] == "- 16 layers, shared weights, absolute positions, one seed"
    assert len(missing) == 5 + 14  # the deeper ones that the single seeds have not either
    assert (tmp_path / "alta-table-6-seeds.png").exists()
    assert len(pd.read_parquet(tmp_path / "alta-table-6-seeds.parquet")) == len(five)


@pytest.mark.parametrize(("away", "held"), [(0.03, (1, 1)), (0.05, (0, 1)), (0.11, (0, 0))])
def test_a_single_training_lies_further_from_the_mean_than_the_mean_from_the_truth(away, held):
    """With three seeds its interval is twice as wide, here 0.08 for 0.04."""
    kind = ("mcd1", "yes", "relative", 2)  # 5% in the paper
    cell = {"mean": 0.05 + away, "low": 0.01 + away, "high": 0.09 + away, "seeds": 3}
    several = pd.DataFrame([cell], index=pd.MultiIndex.from_tuples([kind]))
    said = counted(several, pd.Series([0.05], index=several.index))
    assert f"the single seed's share in {held[0]} of 1 cells" in said
    assert f"the paper's in {held[0]} of 1." in said
    assert said.endswith(f"there are {held[1]} and {held[1]} of them.")


def test_training_that_ended_without_being_fitted_is_marked(five):
    cut = five[(five["layers"] == 2) | (five["step"] < 20_000)]
    assert translators_ended(cut, {}) == {
        (2, "no", "absolute"): "20,000",
        (2, "yes", "relative"): "20,000",
        (6, "yes", "relative"): "15,000, not fitted",
    }


def test_what_is_not_there_is_named_by_its_command(tmp_path, single):
    singles = dict.fromkeys(("alta-table-2", "alta-table-3", "alta-table-6"), single)
    blocks = seeds_blocks(tmp_path, {}, singles=singles, pictures=tmp_path)
    assert list(blocks) == [f"{name}-seeds" for name in singles]
    for name in singles:
        command = f'`espalier reproduce {name} --scale paper --only "until fitted"`'
        assert blocks[f"{name}-seeds"] == f"Not trained yet: {command}."


def answers(seeds, **labels):
    """Right are 8 strings of 16, and with every further seed one more."""
    cells = [(7, 3), (21, 3), (40, 30)]
    return pd.DataFrame(
        labels
        | {"seed": seed, "trained_to": 20, "length": length, "ones": ones}
        | {"strings": 16, "right": 8 + seed, "odd": 0}
        for seed in range(seeds)
        for length, ones in cells
    )


PARITY = {"layers": 8, "shared": True, "positions": "relative"}


def write_answers(folder, *, seeds, step):
    """Rows of so many seeds of both tables under `folder`; those of one seed are returned."""
    rule = {"until": "fitted", "step": step}
    shape = {"layers": 8, "sharing": "yes", "positions": "relative"}
    program = {"program": "sum-modulo", "version": "traces"}
    answers(seeds, **shape, **rule).to_parquet(folder / "alta-table-3-seeds.parquet")
    answers(seeds, **program, **rule).to_parquet(folder / "alta-table-2-seeds.parquet")
    return {"alta-table-2": answers(1, **program), "alta-table-3": answers(1, **shape)}


def test_tables_2_and_3_have_a_line_for_what_was_trained(tmp_path):
    singles = write_answers(tmp_path, seeds=5, step=25_000)
    runs = {
        "traces-sum-modulo-1": manifest("traces", reached=25_000),
        "parity-1": manifest("parity", shape=PARITY),
    }
    blocks = seeds_blocks(tmp_path, runs, singles=singles, pictures=tmp_path)
    (two,), (three,) = (lines_of(blocks[f"alta-table-{n}-seeds"]) for n in (2, 3))
    for line, paper in ((two, "78%"), (three, TABLE_3[8, "yes", "relative"][1])):
        cells = [line[f"length > 20, {title}"] for title in ("paper", "one seed", "five seeds")]
        assert cells == [paper, "50.0%", "62.5% ± 12.3%"]
        assert line["steps"] == "25,000"  # before the recipe's last: the rule ended it
    assert "| Sum + Modulo | 5 | 25,000 | 100,000 |" in blocks["alta-table-2-seeds"]
    assert blocks["alta-table-2-seeds"].endswith(":\n\n- Sequential (Absolute)")
    assert blocks["alta-table-3-seeds"].count("\n- ") == 7


def test_tables_2_and_3_say_how_many_seeds_there_are_and_what_was_not_fitted(tmp_path):
    singles = write_answers(tmp_path, seeds=3, step=100_000)
    runs = {
        "traces-sum-modulo-1": manifest("traces", reached=100_000, fitted=0),
        "parity-1": manifest("parity", shape=PARITY, reached=100_000, fitted=2),
    }
    blocks = seeds_blocks(tmp_path, runs, singles=singles, pictures=tmp_path)
    for block in (blocks["alta-table-2-seeds"], blocks["alta-table-3-seeds"]):
        (line,) = lines_of(block)
        assert line["steps"] == "100,000, not fitted"
        assert line["ones > 20, three seeds"] == "56.2% ± 15.5%"
        assert "five" not in block


def test_seeds_are_counted_in_words(five):
    by = ["layers", "sharing", "positions"]
    assert seeds_in_words(five, by) == "five seeds"
    assert (
        seeds_in_words(five[(five["layers"] == 2) | (five["seed"] < 3)], by)
        == "three to five seeds"
    )
    assert seeds_in_words(five[five["seed"] == 0], by) == "one seed until fitted"


def test_a_single_seed_until_fitted_has_a_column_and_no_interval(tmp_path, single, five):
    five[five["seed"] == 2].to_parquet(tmp_path / "alta-table-6-seeds.parquet")
    singles = {"alta-table-6": single}
    (block,) = seeds_blocks(tmp_path, {}, singles=singles, pictures=tmp_path).values()
    line = lines_of(block)[0]
    assert (line["2, one seed"], line["2, one seed until fitted"]) == ("11.0%", "11.0%")
    assert "interval" not in block
    assert not (tmp_path / "alta-table-6-seeds.png").exists()


def test_deeper_ones_with_one_seed_stand_beside_five_seeds_of_others(tmp_path, single, five):
    deep = scan_rows([(32, "no", "absolute")], seeds=1, steps=(5_000, 20_000), until="fitted")
    pd.concat([five, deep]).to_parquet(tmp_path / "alta-table-6-seeds.parquet")
    singles = {"alta-table-6": single}
    (block,) = seeds_blocks(tmp_path, {}, singles=singles, pictures=tmp_path).values()
    lines = {(line["split"], line["shared"], line["positions"]): line for line in lines_of(block)}
    line = lines["mcd1", "no", "absolute"]
    assert line["2, five seeds"] == "5.0% ± 2.0%"
    assert (line["32, one seed"], line["32, one seed until fitted"]) == ("-", "1.0%")
    assert "in 12 of 12." in block  # cells with five seeds alone
