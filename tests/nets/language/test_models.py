import pytest
import torch
from torch.testing import assert_close

import espalier as es
from espalier.errors import ModelError
from espalier.nets.language import CausalShape, load_language_model, member, read_shape, stacked
from espalier.nets.language.gru import _Plain
from espalier.nets.lstm import members, save_language_model
from espalier.networks import member_body, plain

WORDS = ["<unk>", *(f"w{number}" for number in range(10))]
KINDS = {
    "gru": {"architecture": "gru"},
    "deep gru": {"architecture": "gru", "layers": 2, "tied": True},
    "transformer": {"architecture": "transformer", "layers": 2, "heads": 2, "longest": 12},
    "waves": {"architecture": "transformer", "heads": 4, "positions": "sinusoidal", "tied": True},
    "lstm": {"architecture": "lstm", "layers": 2},
}


def model_of(kind, seed=0, **more):
    sizes = {"vocabulary_size": 11, "hidden": 8, "words": WORDS} | KINDS[kind] | more
    model = es.language_model(seed=seed, **sizes)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        drawn = torch.randn(parameter.shape, generator=generator) * 0.4
        parameter.data.copy_(drawn + (parameter.dim() == 1))
    return model.eval()


def test_the_derivative_of_a_gru_written_out_is_the_derivative():
    torch.manual_seed(0)
    sizes = [(2, 3, 2, 9), (2, 9, 3), (2, 9), (2, 2, 3)]
    leaves = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    assert torch.autograd.gradcheck(_Plain.apply, leaves)


@pytest.mark.parametrize("kind", KINDS)
def test_stacked_models_read_and_differentiate_as_the_modules_do(kind):
    models = [model_of(kind, seed).double() for seed in range(2)]
    weights = {n: w.requires_grad_() for n, w in members.stack(models).items()}
    shape, tokens = models[0].shape, torch.randint(11, (2, 7, 3))
    hidden, _ = stacked.read(weights, shape, tokens, stacked.initial_state(weights, shape, 3))
    logits = members.decode(weights, hidden.flatten(1, 2)).unflatten(1, (7, 3))
    logits.square().sum().backward()
    for e, model in enumerate(models):
        own = model.train()(tokens[e].T)[0]
        assert_close(logits[e].transpose(0, 1), own)
        own.square().sum().backward()
        for name, parameter in model.named_parameters():
            assert_close(weights[name].grad[e], parameter.grad)


@pytest.mark.parametrize("kind", KINDS)
def test_reading_in_two_windows_is_reading_at_once(kind):
    weights, shape = members.stack([model_of(kind)]), model_of(kind).shape
    tokens = torch.randint(11, (1, 10, 2))
    whole, _ = stacked.read(weights, shape, tokens, stacked.initial_state(weights, shape, 2))
    state = stacked.initial_state(weights, shape, 2)
    first, state = stacked.read(weights, shape, tokens[:, :6], state)
    second, _ = stacked.read(weights, shape, tokens[:, 6:], state)
    assert_close(torch.cat([first, second], dim=1), whole)


def test_a_transformer_forgets_what_there_is_no_room_for():
    weights = members.stack([model_of("transformer")])
    shape, tokens = model_of("transformer").shape, torch.randint(11, (1, 20, 2))
    state = stacked.initial_state(weights, shape, 2)
    _, state = stacked.read(weights, shape, tokens[:, :12], state)
    found, _ = stacked.read(weights, shape, tokens[:, 12:], state)
    alone = stacked.initial_state(weights, shape, 2)
    near, _ = stacked.read(weights, shape, tokens[:, 8:], alone)
    assert_close(found, near[:, 4:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_comes_back_and_is_taken_apart(kind, tmp_path):
    model = model_of(kind)
    save_language_model(model, tmp_path / "m.safetensors")
    loaded = es.load(tmp_path / "m.safetensors")
    tokens = torch.randint(11, (2, 6))
    assert type(loaded) is type(model)
    assert loaded.shape == model.shape
    assert_close(loaded(tokens)[0], model(tokens)[0])
    parts = es.decompose(loaded, "w1 w2 w3", focus=["w2"])
    assert parts.error < 1e-5
    assert es.interdependence(es.network(loaded), "w1 w2 w3").values.shape == (3, 3)


@pytest.mark.parametrize("kind", ["deep gru", "transformer", "waves"])
def test_the_body_of_a_member_is_what_is_read_off_the_module(kind):
    models = [model_of(kind, seed) for seed in range(2)]
    net, weights = es.network(models[1]), members.stack(models)
    body = member_body(weights, models[0].shape, 1)
    inputs = torch.randn(2, 5, 8)
    found = plain.run(type(net)("m", net.embed, body, net.head, 11), inputs)
    for ours, theirs in zip(found, plain.run(net, inputs), strict=True):
        assert_close(ours, theirs)
    alone = member(weights, 1, models[0].shape)
    assert_close(alone(torch.ones(1, 3).long())[0], models[1](torch.ones(1, 3).long())[0])


def test_first_weights_are_the_seeds():
    first, again, other = (model_of("transformer", seed).shape for seed in (1, 1, 2))
    assert first == again == other
    sizes = {"vocabulary_size": 9, "hidden": 10, "architecture": "transformer", "layers": 2}
    one, two, three = (es.language_model(seed=seed, **sizes) for seed in (1, 1, 2))
    assert_close(one.state_dict(), two.state_dict())
    assert not torch.equal(one.encoder.weight, three.encoder.weight)


def test_what_does_not_fit_is_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match="multiple of heads"):
        CausalShape(9, hidden=8, heads=3)
    with pytest.raises(ModelError, match="no heads"):
        es.language_model(vocabulary_size=9, hidden=8, architecture="gru", heads=2)
    with pytest.raises(ModelError, match="architecture is 'mamba'"):
        es.language_model(vocabulary_size=9, hidden=8, architecture="mamba")
    with pytest.raises(ModelError, match="reads 12 at once"):
        model_of("transformer")(torch.zeros(1, 13).long())
    with pytest.raises(ModelError, match="not those of a language model"):
        read_shape({"hidden": 3})
    model = model_of("gru")
    model.rnn.weight_hh_l0 = torch.nn.Parameter(torch.zeros(24, 7))
    save_language_model(model, tmp_path / "m.safetensors")
    with pytest.raises(ModelError, match=r"rnn.weight_hh_l0 is \(24, 7\)"):
        load_language_model(tmp_path / "m.safetensors")
