from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from espalier.data import Examples
from espalier.errors import ConfigError
from espalier.nets import Noise, mix
from espalier.nets.language import language_model, stacked
from espalier.nets.lstm import members
from espalier.training import (
    EnsembleLearner,
    Member,
    Network,
    Recipe,
    TextLoss,
    TextRun,
    member_gradients,
    train,
)
from espalier.training.ensemble import OUTPUT

CPU = torch.device("cpu")
KINDS = {
    "gru": ({"architecture": "gru", "layers": 2}, {}),
    "transformer": (
        {"architecture": "transformer", "layers": 2, "heads": 2, "longest": 5},
        {"optimiser": "adamw", "learning_rate": 0.01, "warm_up": 4, "weight_decay": 0.1},
    ),
}
KINDS["transformer, more regular"] = (
    KINDS["transformer"][0],
    KINDS["transformer"][1] | {"shifted": True, "output_dropout": True},
)


def learner_of(kind, seeds, *, recipe=None, **more):
    sizes, settings = KINDS[kind]
    recipe = Recipe(**({"epochs": 2, "window": 5, "batch": 3} | settings | (recipe or {})))
    own = {"vocabulary_size": 13, "hidden": 6} | sizes | more
    team = [Member(f"m{s}", language_model(seed=s, **own), s) for s in seeds]
    rng = np.random.default_rng(0)
    streams = torch.from_numpy(rng.integers(13, size=(9, 46, 3)))[list(seeds)]
    held_out = TextLoss.of(np.arange(120) % 13, CPU, window=5)
    return EnsembleLearner(team, streams, recipe, measure=held_out, device=CPU)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("kind", KINDS)
def test_a_member_learns_as_it_would_alone(kind, dropout):
    together = learner_of(kind, (0, 1, 2), dropout=dropout)
    alone = learner_of(kind, (1,), dropout=dropout)
    for one in (together, alone):
        one.advance(11)
    for name, tensor in alone.weights.items():
        assert_close(together.weights[name][1:2], tensor, rtol=1e-4, atol=1e-5)
    assert together.measure()[1]["valid_loss"] == pytest.approx(alone.measure()[0]["valid_loss"])


@pytest.mark.parametrize("kind", KINDS)
def test_going_on_from_a_state_is_going_on(kind):
    one, other = learner_of(kind, (0, 1), dropout=0.3), learner_of(kind, (0, 1), dropout=0.3)
    one.advance(7)
    other.restore(one.state())
    for learner in (one, other):
        learner.advance(5)
    for name, tensor in one.weights.items():
        assert_close(other.weights[name], tensor)


@pytest.mark.parametrize("kind", ["transformer", "transformer, more regular"])
def test_adamw_is_torchs_with_a_warm_up_and_a_cosine(kind):
    learner = learner_of(kind, (3,))
    model = language_model(vocabulary_size=13, hidden=6, seed=3, **KINDS["transformer"][0])
    recipe, total = learner.recipe, 2 * learner.steps_per_epoch
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1.0)
    for step in range(12):
        epoch, window = divmod(step, learner.steps_per_epoch)
        first = window * 5 + (int(mix(torch.tensor(epoch))) % 5 if recipe.shifted else 0)
        tokens = learner.streams[0, first : first + 6].T
        logits = model(tokens[:, :-1])[0]
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        along = max(0.0, (step - 4) / (total - 4))
        rate = 0.01 * min(1.0, (step + 1) / 4) * (1 + np.cos(np.pi * along)) / 2
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        optimiser.zero_grad()
    learner.advance(12)
    for name, parameter in model.named_parameters():
        assert_close(learner.weights[name][0], parameter, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("architecture", ["gru", "transformer"])
def test_text_is_learnt_and_a_run_comes_back(architecture, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a b c d e f g h\n" * 60)
    recipe = Recipe(epochs=3, batch=2, window=8, learning_rate=2.0)
    if architecture == "transformer":
        recipe = replace(recipe, learning_rate=1e-2, optimiser="adamw", clip=1.0, smallest_rate=0.1)
    network = Network(hidden=8, heads=2, architecture=architecture)
    run = TextRun(str(text), network=network, recipe=recipe, engine="batched")
    found = train(run, tmp_path / "run", device="cpu")
    losses = [row["valid_loss"] for row in found.rows]
    assert losses[-1] < losses[0]
    assert found.model.shape.architecture == architecture
    with pytest.raises(ConfigError, match="engine='batched'"):
        replace(run, engine="alone")


def test_outputs_are_dropped_out_where_asked():
    learner = learner_of("transformer, more regular", (4,), dropout=0.5)
    weights = {name: tensor.clone() for name, tensor in learner.weights.items()}
    tokens = learner.streams[:, int(mix(torch.tensor(0))) % 5 :][:, :6]
    noise = Noise(torch.tensor([0.5]), torch.tensor([4]), torch.tensor(0))
    state = stacked.initial_state(weights, learner.shape, 3)
    hidden, _ = stacked.read(weights, learner.shape, tokens[:, :-1], state, noise=noise)
    dropped = noise.drop(hidden, OUTPUT)
    logits = members.decode(weights, dropped.flatten(1, 2))
    learner.advance(1)
    assert_close(learner.loss_sum.float(), members.mean_losses(logits, tokens[:, 1:].flatten(1)))
    assert 0.3 < float((dropped == 0).float().mean()) < 0.7


def test_every_epoch_of_shifted_windows_begins_elsewhere():
    places = {int(mix(torch.tensor(epoch))) % 160 for epoch in range(40)}
    assert len(places) > 30
    assert max(places) < 160


def test_settings_that_belong_together():
    with pytest.raises(ConfigError, match="Transformer's"):
        learner_of("gru", (0,), recipe={"output_dropout": True})
    with pytest.raises(ConfigError, match="two windows"):
        learner_of("gru", (0,), recipe={"shifted": True, "window": 40})
    with pytest.raises(ConfigError, match="engine='batched'"):
        TextRun(recipe=Recipe(shifted=True))
    with pytest.raises(ConfigError, match="optimiser=adamw"):
        Recipe(warm_up=10)
    with pytest.raises(ConfigError, match="cosine"):
        Recipe(optimiser="adamw", anneal=4.0)
    with pytest.raises(ConfigError, match="architecture is 'rnn'"):
        Network(architecture="rnn")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reading", ["before close", "after close", "every step", "own step"])
def test_gradients_along_a_rule_are_autograds(kind, reading):
    sizes = {"vocabulary_size": 13, "hidden": 6} | KINDS[kind][0] | {"longest": 9}
    if kind == "gru":
        sizes.pop("longest")
    model = language_model(seed=2, **sizes)
    for parameter in model.parameters():
        parameter.data.mul_(3.0)
    tokens = torch.randint(13, (4, 9))
    examples = Examples(tokens.numpy(), np.array([2, 3, 1, 4]), 3)
    [rows] = member_gradients(members.stack([model]), model.shape, [examples], reading=reading)
    found = {(row["kind"], row["place"]): row["l2"] for row in rows}
    used = 3 if reading == "after close" else 4  # the last sequence ends with its close symbol
    wanted = torch.zeros(used, 4)
    for number, (row, at) in enumerate(zip(tokens[:used], examples.open_at, strict=False)):
        leaf = model.encoder(row[None]).detach().requires_grad_()
        handle = model.encoder.register_forward_hook(lambda *_, leaf=leaf: leaf)
        logits = model(row[None])[0][0]
        handle.remove()
        losses = torch.nn.functional.cross_entropy(logits[:-1], row[1:], reduction="none")
        for place in range(4):
            steps = {"before close": at + 3, "after close": at + 4, "own step": at + place}
            loss = losses.sum() if reading == "every step" else losses[steps[reading]]
            (slopes,) = torch.autograd.grad(loss, [leaf], retain_graph=True)
            wanted[number, place] = slopes[0, at + place].norm()
    for place in range(4):
        assert found["embedding", place] == pytest.approx(float(wanted[:, place].mean()), rel=1e-4)
    assert found["hidden", 0] > 0
    assert stacked.state_names(model.shape) == (("hidden",) if kind == "gru" else ())
