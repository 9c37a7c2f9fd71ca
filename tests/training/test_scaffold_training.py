from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from espalier.data import ScaffoldConfig, scaffold_corpus
from espalier.errors import ConfigError
from espalier.nets.lstm import language_model, load_language_model, members
from espalier.runs import RunFolder
from espalier.training import Network, Recipe, ScaffoldRun, train
from espalier.training.gradients import gradients_at, member_gradients

SMALL = ScaffoldConfig(
    length=2, tokens=3_000, vocabulary=20, rules=100, scaffolds=10, copies=20, tests=30
)
RUN = ScaffoldRun(SMALL, Network(hidden=16), Recipe(epochs=2, batch=5, window=10))


def test_members_of_an_ensemble_equal_their_own_runs(tmp_path):
    runs = [
        replace(RUN, corpus=replace(SMALL, length=k, setting=setting))
        for k in (2, 3)
        for setting in ("familiar", "unfamiliar")
    ]
    rows = train(runs, tmp_path / "all").rows
    assert len(rows) == 4 * 2
    for run in runs:
        own = train(run).rows
        same = [row for row in rows if row["member"] == run.corpus.name]
        for mine, theirs in zip(own, same, strict=True):
            assert mine.keys() == theirs.keys()
            for name in ("train_loss", "in_domain", "out_of_domain"):
                assert mine[name] == pytest.approx(theirs[name], rel=1e-4)
    manifest = RunFolder(tmp_path / "all").manifest()
    assert manifest["status"] == "finished"
    assert manifest["data"]["counts"]["k3-familiar-n100-s0"]["rules"] == 100
    assert (tmp_path / "all" / "metrics.parquet").exists()
    lm = load_language_model(tmp_path / "all" / "epoch-2", member="k3-familiar-n100-s0")
    assert lm.vocabulary.words[-2:] == ("<open>", "<close>")


def test_the_measure_is_the_probability_of_the_close_symbol(tmp_path):
    row = train(RUN, tmp_path).rows[-1]
    lm = load_language_model(tmp_path)
    corpus = scaffold_corpus(SMALL)
    for name in ("in_domain", "out_of_domain"):
        examples = getattr(corpus, name)
        logits, _ = lm(torch.from_numpy(examples.tokens).long())
        there = logits[torch.arange(SMALL.tests), torch.from_numpy(examples.last)]
        assert row[name] == pytest.approx(there.softmax(-1)[:, SMALL.close].mean().item(), rel=1e-5)


def test_a_rule_is_learnt():
    config = replace(SMALL, length=1, rules=500, tokens=6_000)
    recipe = Recipe(epochs=2, batch=5, window=10, learning_rate=8.0)
    run = ScaffoldRun(config, Network(hidden=32), recipe, keep="step:1")
    rows = train(run).rows
    assert rows[0]["in_domain"] < 0.2
    assert rows[-1]["in_domain"] > 0.8
    assert rows[-1]["out_of_domain"] > 0.8


def test_a_folder_of_another_run_is_refused(tmp_path):
    train(RUN, tmp_path)
    other = replace(RUN, network=Network(hidden=17))
    with pytest.raises(ConfigError, match=r"holds another run: network\.hidden 16 -> 17"):
        train(other, tmp_path)
    longer = replace(RUN, recipe=replace(RUN.recipe, epochs=3))
    assert len(train(longer, tmp_path).rows) == 3


def test_what_cannot_be_one_ensemble_is_refused():
    with pytest.raises(ConfigError, match="nothing to train"):
        train([])
    with pytest.raises(ConfigError, match="share their network"):
        train([RUN, replace(RUN, network=Network(hidden=17))])
    with pytest.raises(ConfigError, match=r"agree in corpus\.tokens; found \[3000, 4000\]"):
        train([RUN, replace(RUN, corpus=replace(SMALL, tokens=4_000, seed=1))])


@pytest.mark.parametrize("layers", [1, 2])
def test_gradients_along_the_scaffold_are_derivatives(layers):
    lm = language_model(vocabulary_size=22, hidden=5, layers=layers).double()
    corpus = scaffold_corpus(SMALL)
    tokens = torch.from_numpy(corpus.in_domain.tokens[:1]).long()
    places = torch.from_numpy(corpus.in_domain.open_at[:1, None] + np.arange(3))
    other = language_model(vocabulary_size=22, hidden=5, layers=layers, seed=1).double()
    stacked = members.stack([other, lm])
    both = gradients_at(
        stacked, lm.shape, tokens.expand(2, -1, -1), places=places.expand(2, -1, -1)
    )
    found = {kind: slopes[1] for kind, slopes in both.items()}

    def loss(embedded):
        hidden, _ = lm.rnn(embedded)
        logits = lm.decoder(hidden[:, places[0, -1]])
        return torch.nn.functional.cross_entropy(logits, tokens[:, places[0, -1] + 1])

    embedded = lm.encoder(tokens).detach().requires_grad_()
    (grad,) = torch.autograd.grad(loss(embedded), embedded)
    assert_close(found["embedding"][0], grad[0, places[0]])
    logits, _ = lm(tokens)
    last = logits[0, places[0, -1]].softmax(-1)
    last[SMALL.close] -= 1
    assert_close(found["output"][0, -1], last)
    assert_close(found["hidden"][0, -1], lm.decoder.weight.T @ last)  # nothing later is asked


def test_gradients_are_recorded_on_request(tmp_path):
    run = replace(RUN, gradients=True)
    with pytest.raises(ConfigError, match="say where with out="):
        train(run)
    train(run, tmp_path)
    rows = RunFolder(tmp_path).rows("gradients")
    assert len(rows) == 2 * 3 * 3  # epochs, kinds, places
    assert {row["kind"] for row in rows} == {"embedding", "hidden", "output"}
    model, examples = load_language_model(tmp_path), scaffold_corpus(SMALL).in_domain
    [direct] = member_gradients(members.stack([model]), model.shape, [examples])
    assert rows[-1]["l2"] == pytest.approx(direct[-1]["l2"])
