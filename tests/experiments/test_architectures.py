import numpy as np
import pytest
import torch
from tests.nets.language.test_models import model_of
from torch.testing import assert_close

import espalier as es
from espalier.data import Examples
from espalier.experiments import find
from espalier.experiments.architectures import ClaimsByArchitecture, in_architecture
from espalier.experiments.network_contributions import contributions_of
from espalier.experiments.scaffold_models import ScaffoldModels
from espalier.nets.lstm import members
from espalier.syntax import layer_scores

TOKENS, OPEN_AT, LENGTH = torch.randint(11, (2, 5, 10)).numpy(), [[0, 3, 2, 5, 1]] * 2, 3


@pytest.mark.parametrize("kind", ["gru", "deep gru", "transformer"])
@pytest.mark.parametrize("places", [[0], [1, 2, 3], [0, 1, 2, 3], [2]])
@pytest.mark.parametrize("reading", ["before close", "after close"])
def test_a_rules_contribution_is_what_decompose_gives(kind, places, reading):
    models = [model_of(kind, seed) for seed in range(2)]
    examples = [Examples(t, np.array(at), LENGTH) for t, at in zip(TOKENS, OPEN_AT, strict=True)]
    stacked, read_at = members.stack(models), LENGTH + (reading == "after close")
    found = contributions_of(stacked, models[0].shape, examples, close=10, reading=reading)
    parts = found.contribution(places)
    for e, model in enumerate(models):
        for number, at in enumerate(OPEN_AT[e]):
            ids, focus = TOKENS[e][number].tolist(), [at + place for place in places]
            whole = es.decompose(es.network(model), ids, focus=focus).relevant
            assert_close(parts[e, number], whole[at + read_at], rtol=1e-3, atol=1e-4)  # float32
    chance = found.close_probability(places)
    assert all(0 < p < 1 for p in chance)


@pytest.mark.parametrize("kind", ["deep gru", "transformer"])
def test_scores_of_a_layer_are_those_of_interdependence(kind):
    from espalier.data import BranchingConfig, branching_corpus

    bank = branching_corpus(BranchingConfig("left", sentences=6, tests=6)).bank
    model = model_of(kind, words=["<unk>", *bank.words.names[:10]])
    net, found = es.network(model), layer_scores(model, bank)
    words = [bank.words.names[i] for i in bank.words.ids[bank.starts[0] : bank.starts[1]]]
    for layer, scores in found.items():
        wanted = es.interdependence(net, words, layer=layer).values
        upper = wanted[np.triu_indices(len(words), 1)]
        np.testing.assert_allclose(scores.hidden[: len(upper)], upper, rtol=1e-3, atol=1e-6)
    wanted = es.interdependence(net, words, space="logits").values
    upper = wanted[np.triu_indices(len(words), 1)]
    np.testing.assert_allclose(found[1].logits[: len(upper)], upper, rtol=1e-3, atol=1e-6)


def test_corpora_are_the_same_whatever_the_architecture():
    usual = ScaffoldModels()
    for name in ("gru", "transformer"):
        other = in_architecture(usual, name)
        assert [run.corpus for run in other.runs()] == [run.corpus for run in usual.runs()]
        assert other.network.architecture == name
        assert other.name != usual.name
        config = find(f"bottom-up-figure-11-{name}").config("smoke")
        assert config.usual.network.architecture == config.others.network.architecture == name
    config = ClaimsByArchitecture.at("smoke")
    assert config.transformer.gradients.models == config.transformer.over_epochs.models
