"""Sentences and pairs as the library gives them; whatever is typed is answered or refused."""

import random
import shutil

import numpy as np
import pytest

import espalier as es
from espalier.data import ScaffoldConfig
from espalier.explorer import Session, answer
from espalier.explorer.networks import PACKAGED
from espalier.training import Network, Recipe
from explorer.test_answers import typed

SENTENCE = "the city of London is xyzzy"


@pytest.fixture(scope="module")
def session():
    return Session()


@pytest.mark.parametrize("space", ["hidden", "logits"])
def test_a_matrix_is_that_of_the_library(session, space):
    found = answer(session, "sentence", {"sentence": SENTENCE, "space": space, "method": "murdoch"})
    pairs = es.interdependence(
        es.english_model(), SENTENCE.split(), space=space, allocation="murdoch"
    )
    shown = np.array([[np.nan if x is None else x for x in row] for row in found["values"]])
    np.testing.assert_allclose(shown, pairs.values, rtol=1e-4)
    assert found["unknown"] == [5]
    assert found["words"][5] == "xyzzy"


@pytest.mark.parametrize("model", PACKAGED)
def test_every_model_of_the_package_reads_a_sentence(session, model):
    found = answer(session, "sentence", {"sentence": SENTENCE, "model": model})
    if "holds no checkpoint" in found.get("error", ""):
        pytest.skip("its weights are not in this checkout")
    assert (found["words"][5], found["unknown"]) == ("xyzzy", [5])
    pair = answer(session, "pair", {"sentence": SENTENCE, "model": model, "a": 1, "b": 3})
    assert pair["value"] == pytest.approx(found["values"][1][3], rel=1e-3)
    assert all(isinstance(word, str) and not word.isdecimal() for word, _ in pair["whole"])


def test_a_pair_is_taken_apart_as_the_library_does(session):
    asked = {"sentence": SENTENCE, "a": 1, "b": 3}
    found = answer(session, "pair", asked)
    depend = es.interdependence(es.english_model(), SENTENCE.split(), a=[1], b=[3])
    assert found["value"] == pytest.approx(float(depend), rel=1e-4)
    assert found["interaction"] / found["joint"] == pytest.approx(found["value"], rel=1e-4)
    for part, own in zip(found["parts"], depend.parts, strict=True):
        assert part["norm"] == pytest.approx(float(own.relevant[3].norm()), rel=1e-4)
        assert part["next"][0][1] == pytest.approx(float(own.probabilities()[3].max()), abs=1e-5)
    assert "error" in answer(session, "pair", {**asked, "method": "hessian"})
    assert "error" in answer(session, "pair", {**asked, "b": 1})


def test_whatever_is_typed_as_a_sentence_is_answered_or_refused(session):
    source = random.Random(0)
    words = ["the", "city", "of", "xyzzy"]
    for turn in range(200):
        text = (
            " ".join(source.choices(words, k=source.randrange(4)))
            if turn % 20 == 0
            else typed(source)
        )
        found = answer(session, "sentence", {"sentence": text})
        assert found.get("error") or len(found["words"]) >= 2
    for option in ({"method": "x"}, {"layer": 9}, {"layer": "1"}, {"space": 3}, {"model": "../x"}):
        assert "error" in answer(session, "sentence", {"sentence": SENTENCE, **option})


def test_a_parse_is_shown_with_its_sentence(tmp_path):
    lines = [f"{n}\t{w}\t_\tX\t_\t_\t{h}\tdep\t_\t_" for n, w, h in ((1, "the", 2), (2, "city", 0))]
    (tmp_path / "two.conllu").write_text("\n".join(lines) + "\n\n")
    session = Session(treebank=str(tmp_path / "two.conllu"))
    assert answer(session, "models", {})["sentences"] == ["the city"]
    assert answer(session, "sentence", {"sentence": "the city"})["parse"]["heads"] == [1, -1]
    assert answer(session, "sentence", {"sentence": "the king"})["parse"] is None


def test_weights_of_another_run_are_refused(tmp_path):
    config = es.ScaffoldRun(
        ScaffoldConfig(tokens=720, vocabulary=20, rules=20, scaffolds=5, copies=4, tests=5),
        Network(hidden=6),
        Recipe(epochs=1, batch=6, window=30),
    )
    for run in config.with_seeds((1, 2)):
        es.train(run, tmp_path / f"k{run.corpus.seed}", device="cpu")
    asked = {"model": "run k1", "sentence": "w1 w2 w3"}
    session = Session(runs=str(tmp_path))
    shutil.copy(tmp_path / "k2" / "epoch-1.safetensors", tmp_path / "k1")
    assert "epoch-1.safetensors is another run's" in answer(session, "sentence", asked)["error"]
    assert answer(session, "sentence", asked | {"model": "run k2"})["values"]
