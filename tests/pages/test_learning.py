"""The results page is what the committed rows say, also while some Transformers are missing."""

import json
import shutil

import pandas as pd
import pytest
from docs.pages import small
from docs.pages.filling import DOCS, join_rows
from docs.pages.learning import attending, learning, take_in_manifests
from docs.pages.parity import (
    KINDS,
    TABLE_3,
    beyond,
    draw_parity,
    fitting,
    known_cells,
    table_3,
    trained,
)

from espalier.data.parity import ParityConfig, parity_set

DATA = DOCS / "results/data/learning"
SLICES = ("length <= 20", "length > 20", "ones > 20")


@pytest.fixture(scope="module")
def rows():
    """Rows for all of Table 3, each Transformer with an accuracy of its own."""
    strings = pd.DataFrame(
        [(length, ones) for length in (0, 7, 20, 21, 40) for ones in range(0, length + 1, 3)],
        columns=["length", "ones"],
    ).assign(seed=0, trained_to=20, strings=16)
    tables = [
        strings.assign(**dict(zip(KINDS, kind, strict=True)), right=number, odd=16 - number)
        for number, kind in enumerate(TABLE_3)
    ]
    return pd.concat(tables, ignore_index=True)


@pytest.mark.usefixtures("unpainted")
def test_the_page_is_filled_from_the_committed_rows(tmp_path):
    shutil.copytree(DATA, tmp_path / "results/data/learning")
    committed = (DOCS / "results/learning.md").read_text()
    page = tmp_path / "results/learning.md"
    page.write_text(committed)
    blocks = learning(tmp_path)
    assert page.read_text() == committed
    assert all(f"<!-- begin {name} -->" in committed for name in blocks)
    drawn = {file.name for file in (tmp_path / "images/learning").iterdir()}
    figures = {f"alta-figure-{number}.png" for number in (4, 5, 9, 10, 11, 18)}
    further = {"alta-figure-4-seeds.png", "alta-table-6-seeds.png", "alta-length-split-paper.png"}
    further |= {f"alta-figure-{number}-seeds.png" for number in (9, 10, 11)}
    figures |= {f"{name}.png" for name in small.PICTURES.values()}
    assert figures | {"alta-table-6.png", "alta-length-split.png"} == drawn - further
    assert drawn == {file.name for file in (DOCS / "images/learning").iterdir()}


def test_every_committed_row_has_its_manifest_and_was_asked_the_same_strings():
    manifests = json.loads((DATA / "manifests-parity.json").read_text())
    found = pd.read_parquet(DATA / "alta-table-3.parquet")
    told = trained(manifests)[["layers", "shared", "positions"]]
    assert set(told.itertuples(index=False, name=None)) == set(found.groupby(KINDS).groups)
    assert {one["status"] for one in manifests.values()} == {"finished"}
    assert {one["data"]["sha256"] for one in manifests.values()} == {
        parity_set(ParityConfig()).digest
    }
    test = parity_set(ParityConfig(40, 100, seed=1))
    counts = pd.DataFrame({"length": test.lengths, "ones": test.ones}).value_counts().to_dict()
    for _, own in found.groupby([*KINDS, "seed"]):
        assert own.set_index(["length", "ones"])["strings"].to_dict() == counts


def test_the_table_has_every_transformer_and_says_which_are_missing(rows):
    whole = table_3(rows)
    assert "not yet trained" not in whole.to_numpy()
    for number, line in enumerate(whole.to_dict("records")):
        assert {line[f"{name}, here"] for name in SLICES} == {f"{number / 16:.1%}"}
    missing = (40, "yes", "relative")
    gone = (rows[KINDS] == list(missing)).all(axis=1)
    table = table_3(rows[~gone]).set_index(["layers", "shared", "positions"])
    assert {table.loc[missing, f"{name}, here"] for name in SLICES} == {"not yet trained"}
    assert [table.loc[missing, f"{name}, paper"] for name in SLICES] == ["100%", "54%", "48%"]
    same = whole.set_index(["layers", "shared", "positions"])
    assert table.drop(missing).equals(same.drop(missing))
    assert len(beyond(rows)) == 8
    assert len(beyond(rows[~gone])) == 7


@pytest.mark.parametrize("kinds", [[(40, "no", "relative")], list(TABLE_3)], ids=["one", "all"])
def test_figures_are_drawn_of_whatever_is_there(rows, tmp_path, kinds):
    traces = pd.read_parquet(DATA / "alta-figure-4.parquet")
    draw_parity(rows[rows.set_index(KINDS).index.isin(kinds)], traces, tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_rows_join_those_that_are_there_and_take_the_place_of_their_like(rows, tmp_path):
    order = [*KINDS, "seed", "length", "ones"]

    def carry(some):
        some.to_json(tmp_path / "alta-table-3.jsonl", orient="records", lines=True)
        found = join_rows(tmp_path, "alta-table-3", KINDS)
        return found.sort_values(order, ignore_index=True)

    shallow = rows["layers"] == 8
    stale = rows[shallow].assign(right=0)
    assert carry(stale).equals(stale.sort_values(order, ignore_index=True)[stale.columns])
    carry(rows[shallow])
    assert carry(rows[~shallow]).equals(rows.sort_values(order, ignore_index=True))
    assert not (tmp_path / "alta-table-3.jsonl").exists()


def test_fitting_is_what_was_measured_on_training_lengths():
    steps = pd.DataFrame({"step": [20, 10], "short": [0.75, 0.5], "seed": 0})
    told = fitting(steps.assign(learner="parity 40 shared absolute")).to_dict("records")
    assert told == [
        {"layers": 40, "shared": "yes", "positions": "absolute", "10": "50.0%", "20": "75.0%"}
    ]


def test_manifests_join_those_of_their_kind(tmp_path):
    def carry(**manifests):
        told = {name: {"kind": kind, "seconds": s} for name, (kind, s) in manifests.items()}
        (tmp_path / "manifests.json").write_text(json.dumps(told))
        take_in_manifests(tmp_path)

    carry(a=("parity", 1), b=("traces", 2))
    carry(a=("parity", 3), c=("parity", 4))
    take_in_manifests(tmp_path)  # nothing was carried
    files = {file.name: json.loads(file.read_text()) for file in tmp_path.iterdir()}
    assert files == {
        "manifests-traces.json": {"b": {"kind": "traces", "seconds": 2}},
        "manifests-parity.json": {
            "a": {"kind": "parity", "seconds": 3},
            "c": {"kind": "parity", "seconds": 4},
        },
    }


def test_known_cells_have_no_string_that_training_had_not():
    config = ParityConfig(6, 30, seed=3)
    seen = set(parity_set(config).strings())
    every = [f"{n:0{k}b}" if k else "" for k in range(7) for n in range(2**k)]
    cells = {(len(s), s.count("1")) for s in every}
    unseen = {(len(s), s.count("1")) for s in every if s not in seen}
    assert known_cells(config) == cells - unseen
    assert unseen


def test_a_way_to_attend_that_failed_has_a_dash():
    rows = [
        {"size": "parity", "way": "one", "microseconds": 26.5, "error": 0.0056, "refused": ""},
        {"size": "parity", "way": "other", "microseconds": None, "error": None, "refused": "no"},
    ]
    (line,) = attending(rows).to_dict("records")
    assert line["heads in all"] == 64 * 6
    assert [line["one, us"], line["one, error"]] == [26.5, "5.6e-03"]
    assert [line["other, us"], line["other, error"]] == ["-", "-"]
