from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from espalier.errors import ModelError
from espalier.nets.lstm import language_model, load_language_model
from espalier.nets.noise import Noise
from espalier.runs import RunFolder
from espalier.training import EnsembleLearner, Member, Recipe, SingleLearner, TextLoss

CPU = torch.device("cpu")


def team_of(count, **sizes):
    shape = {"vocabulary_size": 13, "hidden": 6} | sizes
    return [Member(f"m{s}", language_model(seed=s, **shape), s) for s in range(count)]


def streams_of(count, steps=9, batch=3, window=5):
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.integers(13, size=(count, steps * window + 1, batch)))


@pytest.mark.parametrize("sizes", [{}, {"layers": 2}, {"tied": True}, {"embedding": 4}])
def test_each_member_equals_training_it_alone(sizes):
    recipe = Recipe(epochs=2, window=5, batch=3)
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    streams = streams_of(3)
    together = EnsembleLearner(team_of(3, **sizes), streams, recipe, measure=held_out, device=CPU)
    together.advance(14)
    rows = together.measure()
    for e, one in enumerate(team_of(3, **sizes)):
        alone = SingleLearner(one.model, streams[e], recipe, measure=held_out, device=CPU)
        alone.advance(14)
        assert_close(
            torch.tensor(list(rows[e].values())[1:]),
            torch.tensor(list(alone.measure()[0].values())[1:]),
            rtol=1e-4,
            atol=1e-5,
        )
        for name, parameter in alone.model.named_parameters():
            assert_close(together.weights[name][e], parameter, rtol=1e-4, atol=1e-5)


def test_dropout_of_a_member_does_not_depend_on_the_others():
    recipe = Recipe(window=5, batch=3)
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    streams = streams_of(3)
    together = EnsembleLearner(
        team_of(3, dropout=0.4), streams, recipe, measure=held_out, device=CPU
    )
    single = EnsembleLearner(
        team_of(3, dropout=0.4)[2:], streams[2:], recipe, measure=held_out, device=CPU
    )
    together.advance(12)
    single.advance(12)
    for name, tensor in single.weights.items():
        assert_close(together.weights[name][2:], tensor, rtol=1e-4, atol=1e-5)


def test_members_may_differ_in_dropout(tmp_path):
    recipe = Recipe(window=5, batch=3)
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    given = {"measure": held_out, "device": CPU}
    streams = streams_of(2)
    team = [team_of(1)[0], replace(team_of(2, dropout=0.5)[1])]
    together = EnsembleLearner(team, streams, recipe, **given)
    plain = EnsembleLearner(team_of(1), streams[:1], recipe, **given)
    together.advance(12)
    plain.advance(12)
    for name, tensor in plain.weights.items():
        assert_close(together.weights[name][:1], tensor, rtol=1e-4, atol=1e-5)
    RunFolder.create(tmp_path).save_checkpoint("epoch-1", together.snapshot())
    assert load_language_model(tmp_path, member="m1").shape.dropout == 0.5
    assert load_language_model(tmp_path, member="m0").shape.dropout == 0.0


def test_dropout_keeps_the_mean_and_drops_its_share():
    rates = torch.tensor([0.0, 0.25, 0.6])
    noise = Noise(rates, torch.arange(3), torch.tensor(7))
    values = torch.ones(3, 40, 20, 50)
    dropped = noise.drop(values, 0)
    share = (dropped == 0).float().flatten(1).mean(1)
    assert_close(share, rates, rtol=0, atol=0.01)
    assert_close(dropped.flatten(1).mean(1), torch.ones(3), rtol=0, atol=0.02)
    assert torch.equal(dropped, noise.drop(values, 0))
    assert not torch.equal(dropped, noise.drop(values, 1))
    later = Noise(rates, torch.arange(3), torch.tensor(8)).drop(values, 0)
    assert not torch.equal(dropped, later)


def test_the_rate_settles_in_the_last_epochs():
    recipe = Recipe(window=5, batch=3, anneal=4.0, epochs=6, settle=2)
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    learner = EnsembleLearner(team_of(1), streams_of(1), recipe, measure=held_out, device=CPU)
    rates = []
    for epoch in range(1, 7):
        learner.end_epoch([{"epoch": float(epoch), "valid_loss": 3.0 - epoch / 10}])
        rates.append(learner.rate.item())
    assert rates == pytest.approx([1.0, 1.0, 1.0, 0.1, 0.01, 0.001])


def test_a_clipped_step_moves_each_member_by_the_clip_at_most():
    recipe = Recipe(window=5, batch=3, clip=0.01, learning_rate=2.0)
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    learner = EnsembleLearner(team_of(3), streams_of(3), recipe, measure=held_out, device=CPU)
    before = {name: tensor.detach().clone() for name, tensor in learner.weights.items()}
    learner.advance(1)
    moved = sum(
        (learner.weights[name].detach() - before[name]).flatten(1).square().sum(1)
        for name in before
    ).sqrt()
    assert_close(moved, torch.full((3,), 0.02), rtol=1e-3, atol=0)


def test_members_anneal_by_their_own_validation_loss():
    recipe = Recipe(window=5, batch=3, anneal=4.0)
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    learner = EnsembleLearner(team_of(2), streams_of(2), recipe, measure=held_out, device=CPU)
    learner.end_epoch([{"valid_loss": 3.0}, {"valid_loss": 3.0}])
    learner.end_epoch([{"valid_loss": 2.0}, {"valid_loss": float("nan")}])
    assert learner.rate.tolist() == [1.0, 0.25]


def test_refusals():
    held_out = TextLoss.of(np.arange(120) % 13, CPU)
    given = {"measure": held_out, "device": CPU}
    recipe = Recipe(window=5, batch=3)
    with pytest.raises(ModelError, match="2 members were given 3 streams"):
        EnsembleLearner(team_of(2), streams_of(3), recipe, **given)
    with pytest.raises(ModelError, match="given twice: m0"):
        EnsembleLearner([team_of(1)[0]] * 2, streams_of(2), recipe, **given)
    with pytest.raises(ModelError, match="holds token 99"):
        EnsembleLearner(team_of(1), streams_of(1).fill_(99), recipe, **given)
