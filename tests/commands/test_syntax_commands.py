import re

import pandas as pd
import pytest

import espalier as es
from espalier.cli import app
from espalier.data.branching import BranchingConfig, branching_corpus
from espalier.errors import DataError, FileError

CONLLU = """\
# sent_id = socrates
1\tSocrates\t_\tPROPN\t_\t_\t2\tnsubj\t_\t_
2\tasked\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tthe\t_\tDET\t_\t_\t4\tdet\t_\t_
4\tstudent\t_\tNOUN\t_\t_\t2\tiobj\t_\t_
5\ttrick\t_\tNOUN\t_\t_\t6\tcompound\t_\t_
6\tquestions\t_\tNOUN\t_\t_\t2\tobj\t_\t_

"""


def run(*words):
    app([str(word) for word in words], result_action="return_value")


@pytest.fixture
def socrates(tmp_path):
    (tmp_path / "socrates.conllu").write_text(CONLLU)
    return tmp_path / "socrates.conllu"


def test_pairs_of_a_treebank_by_the_packages_own_model(socrates, tmp_path, capsys):
    run("pairs", "--treebank", socrates, "--output", tmp_path / "pairs.parquet")
    assert "wrote 15 pairs of 1 sentences" in capsys.readouterr().out
    rows = pd.read_parquet(tmp_path / "pairs.parquet")
    model = es.english_model()
    wanted = es.interdependence(model, "Socrates asked the student trick questions")
    for row in rows.itertuples():
        assert row.di_hidden == pytest.approx(wanted.values[row.left, row.right], rel=1e-4)
    assert rows["left_unknown"].sum() == 5  # Socrates
    assert rows[rows["left_word"] == "the"]["left_frequency"].min() > 10_000
    assert rows["relation"].notna().sum() == 5


def test_the_probe_stands_beside_its_baselines(socrates, capsys):
    run("probe", "--treebank", socrates)
    shown = capsys.readouterr().out
    assert "neighbours" in shown
    assert len(re.findall(r"(?m)^trained .* (noncrossing|spanning) ", shown)) == 8
    assert len(re.findall(r"(?m)^untrained .* (noncrossing|spanning) ", shown)) == 8
    assert "5 edges of 1 sentences, punctuation left out" in shown


def test_what_cannot_be_done_is_said(socrates, tmp_path):
    (tmp_path / "hi.conllu").write_text("1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(DataError, match="hi has no edge to find"):
        run("probe", "-t", tmp_path / "hi.conllu")
    with pytest.raises(FileError, match=r"name a \.parquet file"):
        run("pairs", "-t", socrates, "-o", tmp_path / "pairs.csv")
    with pytest.raises(DataError, match="a sample of -5 sentences"):
        run("pairs", "-t", socrates, "--sample=-5", "-o", tmp_path / "pairs.parquet")
    with pytest.raises(FileError, match="cannot make the folder"):
        run("data", "branching", "--out", socrates)
    assert {file.name for file in tmp_path.iterdir()} == {"hi.conllu", "socrates.conllu"}


def test_a_page_with_arcs_and_dependencies(socrates, tmp_path, capsys):
    sentence = "Socrates asked the student trick questions"
    run("interdependence", sentence, "--parse", socrates, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "asked → questions: obj" in page
    assert page.count('class="pair"') == 15
    run("interdependence", "--parse", socrates)
    assert "15 pairs, hidden, 1 unknown word: Socrates)" in capsys.readouterr().out
    with pytest.raises(DataError, match=r"no sentence of .* reads 'Plato asked'"):
        run("interdependence", "Plato asked", "--parse", socrates)
    with pytest.raises(FileError, match="there is no treebank"):
        run("pairs", "--treebank", tmp_path / "none.conllu", "--output", tmp_path / "p.parquet")


def test_a_made_up_language_goes_the_way_of_any(tmp_path, capsys):
    run("data", "branching", "--out", tmp_path, "--sentences", 120, "--tests", 30)
    bank = es.treebank(tmp_path / "treebank.conllu")
    made = branching_corpus(BranchingConfig("left", sentences=120, tests=30))
    assert list(bank) == list(made.bank)
    run(
        "train", "text", "--data", tmp_path / "text.txt", "--out", tmp_path / "run",
        "--epochs", 1, "--hidden", 6, "--set", "recipe.batch=4", "--set", "seed=5",
        "--device", "cpu",
    )  # fmt: skip
    run("pairs", "--model", tmp_path / "run", "-t", tmp_path, "-o", tmp_path / "p.parquet")
    rows = pd.read_parquet(tmp_path / "p.parquet")
    assert len(rows) == bank.pairs
    assert rows["left_frequency"].notna().all()  # the run knows how often words occur
    run("probe", "--model", tmp_path / "run", "-t", tmp_path / "treebank.conllu", "--sample", 10)
    shown = capsys.readouterr().out
    assert "of 10 sentences" in shown
    assert "drawn with seed 5, the run's own" in shown
