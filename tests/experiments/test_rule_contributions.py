import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import lstm_reference as reference
from espalier.data.scaffold import Examples
from espalier.experiments.rule_contributions import RuleContributions, states_before
from espalier.nets.lstm import members
from lstm_models import random_model

CLOSE = 7


@st.composite
def readers(draw):
    """Two random models, each with test sequences of its own, and the reader of both."""
    layers, length = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**31))
    models = [random_model(seed + e, hidden=5, layers=layers) for e in range(2)]
    rng = np.random.default_rng(seed)
    examples = [
        Examples(rng.integers(8, size=(3, 9)), rng.integers(9 - length - 1, size=3), length)
        for _ in models
    ]
    reader = RuleContributions.of(members.stack(models), models[0].shape, examples, close=CLOSE)
    return models, examples, reader


def parts(model, examples, places, later=0):
    """Relevant hidden states at the last scaffold tokens, from whole sequences, one by one."""
    layers = reference.weights_of(model)
    return np.stack(
        [
            reference.decompose(layers, reference.embed(model, row), [at + p for p in places])[0][
                at + examples.length + later
            ]
            for row, at in zip(examples.tokens, examples.open_at, strict=True)
        ]
    )


@settings(max_examples=15)
@given(readers(), st.data())
def test_starting_at_the_open_symbol_equals_whole_sequences(given_, data):
    models, examples, reader = given_
    places = data.draw(st.sets(st.integers(0, reader.length), min_size=1))
    found = reader.contribution(sorted(places))
    for e, model in enumerate(models):
        assert_close(found[e].numpy(), parts(model, examples[e], places))


@settings(max_examples=15)
@given(readers(), st.data())
def test_one_step_later_the_close_symbol_was_read_and_is_in_no_focus(given_, data):
    models, examples, reader = given_
    places = data.draw(st.sets(st.integers(0, reader.length), min_size=1))
    later = RuleContributions.of(
        members.stack(models), models[0].shape, examples, close=CLOSE, reading="after close"
    )
    found = later.contribution(sorted(places))
    for e, model in enumerate(models):
        assert_close(found[e].numpy(), parts(model, examples[e], places, later=1))


@settings(max_examples=15)
@given(readers())
def test_probabilities_are_a_softmax_without_the_decoders_bias(given_):
    models, examples, reader = given_
    found = reader.close_probability([0])
    for e, model in enumerate(models):
        scores = parts(model, examples[e], [0]) @ model.decoder.weight.detach().numpy().T
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        assert_close(found[e], float(shares[:, CLOSE].mean()))


@settings(max_examples=15)
@given(readers())
def test_interdependence_is_its_definition(given_):
    models, examples, reader = given_
    found = reader.interdependence()
    for e, model in enumerate(models):
        layers, decoder = reference.weights_of(model), model.decoder.weight.detach().numpy()
        for space, matrix in (("hidden", None), ("logits", decoder)):
            each = [
                reference.interdependence(
                    layers,
                    reference.embed(model, row),
                    [at],
                    [at + 1 + p for p in range(reader.length)],
                    decoder=matrix,
                )
                for row, at in zip(examples[e].tokens, examples[e].open_at, strict=True)
            ]
            assert_close(found[space][e], float(np.mean(each)))


@settings(max_examples=15)
@given(readers())
def test_states_before_are_those_of_the_network(given_):
    models, examples, _ = given_
    tokens = torch.from_numpy(np.stack([one.tokens for one in examples])).long()
    at = torch.from_numpy(np.stack([one.open_at for one in examples]))
    hidden, cell = states_before(members.stack(models), models[0].shape, tokens, at=at)
    for e, model in enumerate(models):
        for m in range(tokens.shape[1]):
            state = model.initial_state(1)
            if at[e, m]:
                _, state = model.read(tokens[e, m, : at[e, m]][None], state)
            assert_close(hidden[:, e, m], state[0][:, 0].detach())
            assert_close(cell[:, e, m], state[1][:, 0].detach())
