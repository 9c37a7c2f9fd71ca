"""Every architecture that espalier loads is looked at as the library sees it, layer by layer."""

import numpy as np
import pytest
import torch

import espalier as es
from espalier.explorer import Session, answer
from espalier.explorer.networks import ALLOCATIONS, BASELINES
from espalier.nets.lstm import save_language_model

WORDS = [1, 2, 3, 4, 5]
SENTENCE = " ".join(map(str, WORDS))
KINDS = ("lstm", "gru", "transformer")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Files by architecture; an embedding that is not as wide as the states where there may be."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for kind in KINDS:
        own = {"heads": 2} if kind == "transformer" else {"embedding": 6}
        model = es.language_model(
            vocabulary_size=12, hidden=8, layers=2, seed=1, architecture=kind, **own
        )
        save_language_model(model, folder / f"{kind}.safetensors")
        found[kind] = str(folder / f"{kind}.safetensors")
    return found


@pytest.fixture(scope="module")
def session(models):
    return Session(models=list(models.values()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", [-1, 0, 1, 2])
def test_a_layer_is_that_of_the_library(session, models, kind, layer):
    asked = {"model": models[kind], "sentence": SENTENCE, "layer": layer}
    found = answer(session, "sentence", asked)
    own = {} if layer == -1 else {"layer": layer}
    wanted = es.interdependence(es.load(models[kind]), WORDS, **own).values
    shown = np.array([[np.nan if x is None else x for x in row] for row in found["values"]])
    np.testing.assert_allclose(shown, wanted, rtol=1e-4, atol=1e-6)
    assert found["layers"] == 2
    pair = answer(session, "pair", {**asked, "a": 1, "b": 3})
    assert pair["value"] == pytest.approx(found["values"][1][3], rel=1e-3, abs=1e-6)
    assert all(bool(part["next"]) == (layer in (-1, 2)) for part in pair["parts"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_network_predicts_what_it_does(session, models, kind):
    model = es.load(models[kind])
    with torch.no_grad():
        wanted = model(torch.tensor([WORDS]))[0][0, 3].softmax(-1)
    for space in ("hidden", "logits"):
        asked = {"model": models[kind], "sentence": SENTENCE, "space": space, "a": 1, "b": 3}
        for word, probability in answer(session, "pair", asked)["whole"]:
            assert probability == pytest.approx(float(wanted[int(word)]), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [*ALLOCATIONS, *BASELINES])
def test_a_method_answers_or_says_why_not(session, models, kind, method):
    asked = {"model": models[kind], "sentence": SENTENCE, "method": method}
    found = answer(session, "sentence", asked)
    if method == "hessian" and kind != "lstm":
        assert "an LSTM's last layer" in found["error"]
    else:
        assert len(found["values"]) == len(WORDS)
