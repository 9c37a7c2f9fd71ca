import subprocess
import sys

import pandas as pd
import pytest
from cyclopts import App

import espalier as es
from espalier.commands.decomposition import register
from espalier.errors import DataError, FileError
from espalier.nets.lstm import load_language_model, save_language_model
from lstm_models import random_model


@pytest.fixture
def app():
    made = App(name="espalier")
    register(made)
    return lambda *words: made([*words], exit_on_error=False, result_action="return_value")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    save_language_model(random_model(), path)
    return path


def test_interdependence_is_a_heat_map_in_the_terminal(app, model, capsys):
    app("interdependence", "--model", str(model), "the cat sat on the mat")
    said = capsys.readouterr().out
    lm = load_language_model(model)
    assert said.rstrip() == str(es.interdependence(lm, "the cat sat on the mat"))


def test_two_sets_are_one_number(app, model, capsys):
    words = ["the", "cat", "sat", "on", "mat", "--a", "0", "--b", "1", "2", "--at", "4"]
    app("interdependence", "-m", str(model), *words, "--space", "logits")
    lm = load_language_model(model)
    wanted = es.interdependence(lm, words[:5], a=[0], b=[1, 2], at=4, space="logits")
    assert capsys.readouterr().out.strip() == str(wanted)


@pytest.mark.parametrize("suffix", ["png", "svg", "html", "csv", "json", "parquet"])
def test_every_kind_of_file(app, model, tmp_path, capsys, suffix):
    out = tmp_path / f"out.{suffix}"
    app("interdependence", "-m", str(model), "the cat sat", "-o", str(out))
    assert out.stat().st_size > 50
    assert f"wrote {out}" in capsys.readouterr().out.replace("\n", "")


def test_decompose_shows_parts_and_what_the_focus_predicts(app, model, tmp_path, capsys):
    app("decompose", "-m", str(model), "the cat sat", "--focus", "0", "2", "--top", "3")
    said = capsys.readouterr().out
    parts = es.decompose(load_language_model(model), "the cat sat", focus=[0, 2])
    assert str(parts) in said
    best = parts.model.vocabulary.words[int(parts.probabilities()[-1].argmax())]
    assert f"predicted by the focus alone: {best} " in said
    app("decompose", "-m", str(model), "the cat sat", "--focus", "the", "sat", "--top", "3")
    assert capsys.readouterr().out == said
    app("decompose", "-m", str(model), "the cat", "--focus", "0", "-o", str(tmp_path / "p.csv"))
    assert len(pd.read_csv(tmp_path / "p.csv")) == 2


def test_a_model_without_words_takes_numbers(app, tmp_path, capsys):
    path = tmp_path / "plain.safetensors"
    save_language_model(es.language_model(vocabulary_size=9, hidden=3), path)
    app("decompose", "-m", str(path), "1", "2", "8", "--focus", "1")
    assert "focus: 2" in capsys.readouterr().out


def test_refusals_reach_the_shell(app, model, tmp_path):
    with pytest.raises(FileError, match="there is no model at"):
        app("interdependence", "-m", str(tmp_path / "nowhere"), "the cat")
    with pytest.raises(DataError, match="b is empty"):
        app("interdependence", "-m", str(model), "the cat", "--a", "0")
    with pytest.raises(DataError, match="sentence is empty"):
        app("interdependence", "-m", str(model))
    with pytest.raises(FileError, match=r"cannot save a Dependence as '\.doc'"):
        app("interdependence", "-m", str(model), "the cat", "--a", "0", "--b", "1", "-o", "x.doc")
    with pytest.raises(DataError, match="outside the sentence"):
        app("decompose", "-m", str(model), "the cat", "--focus", "7")


def test_the_verbs_load_without_torch():
    code = (
        "import sys; from cyclopts import App; "
        "from espalier.commands.decomposition import register; "
        "register(App()); assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
