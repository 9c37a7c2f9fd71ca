from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

import espalier as es
import lstm_reference as reference
from espalier.decomposition import AllPairs, Generalised, Murdoch, dependence
from espalier.decomposition.all_pairs.word_states import lengths, lower_triangle
from espalier.errors import ConfigError, DataError
from lstm_models import models, random_model, sentences


def by_definition(lm, tokens, space):
    decoder = lm.decoder.weight.detach().numpy() if space == "logits" else None
    return reference.all_pairs(
        reference.weights_of(lm), reference.embed(lm, tokens), decoder=decoder
    )


@settings(max_examples=60)
@given(models(), sentences(most=7), st.sampled_from(["hidden", "logits"]))
def test_the_fast_path_is_the_definition_pair_by_pair(lm, tokens, space):
    pairs = es.interdependence(lm, tokens, space=space)
    wanted = by_definition(lm, tokens, space)
    np.testing.assert_allclose(pairs.values, wanted, rtol=1e-10, atol=1e-10)
    assert np.isnan(pairs.values[np.tril_indices(len(tokens))]).all()


@settings(max_examples=30)
@given(
    models(),
    st.lists(sentences(most=6), min_size=1, max_size=5),
    st.tuples(st.integers(2, 20), st.integers(1, 12)),
    st.booleans(),
)
def test_neither_grouping_nor_memory_changes_a_number(lm, some, held, kept):
    some = sorted(some, key=len, reverse=True)
    all_pairs = AllPairs(lm)
    all_pairs.grouped, all_pairs.carried = held
    all_pairs.expect(words=1000 * kept)
    states = lm.encoder.weight.new_empty(len(some[0]), len(some), lm.shape.hidden)
    found = all_pairs.of(some, hidden_states=states)
    for tokens, values, hidden in zip(some, found, states.transpose(0, 1), strict=True):
        wanted = by_definition(lm, tokens, "hidden")
        np.testing.assert_allclose(values[0].numpy(), wanted, rtol=1e-10, atol=1e-10)
        read = lm.eval().read(torch.tensor([tokens]))[0][0]
        torch.testing.assert_close(hidden[: len(tokens)], read, rtol=1e-10, atol=1e-10)


def test_memory_that_is_used_again_changes_no_number():
    """A thread's sentences share memory; whatever it held before, and whatever other threads do."""
    lms = [random_model(seed, hidden=6, layers=layers) for seed, layers in ((1, 1), (2, 2), (3, 1))]
    large = random_model(4, hidden=6, scale=1e30)
    some = [[(7 * place + n) % 8 for place in range(n)] for n in (5, 40, 2, 31, 33, 7, 100, 12)]
    asked = [(lm, tokens) for tokens in some for lm in (*lms, large)]
    found = [es.interdependence(*one).values for one in asked]
    with ThreadPoolExecutor(3) as pool:
        others = list(pool.map(lambda one: es.interdependence(*one).values, asked))
    for mine, other in zip(found, others, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-9)
    for (lm, tokens), values in zip(asked, found, strict=True):
        with ThreadPoolExecutor(1) as alone:  # a thread of its own has new memory
            fresh = alone.submit(es.interdependence, lm, tokens).result()
        np.testing.assert_allclose(values, fresh.values, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("sizes", [[5], [5, 3], [40, 40, 40]])
def test_everything_is_where_the_weights_are(layers, sizes):
    """On CUDA, as far as that can be tested without one: mixing devices is an error here too."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = es.language_model(vocabulary_size=50, hidden=16, layers=layers)
        for weights in model.parameters():
            weights.data = torch.empty(weights.shape, device="cuda")
        all_pairs = AllPairs(model, spaces=["hidden", "logits"])
        all_pairs.expect(words=1_000)
        found = all_pairs.of([list(range(length)) for length in sizes])
    assert [tuple(one.shape) for one in found] == [(2, n, n) for n in sizes]


@pytest.mark.parametrize(
    ("scale", "dtype"), [(20, torch.float32), (50, torch.float32), (300, torch.float64)]
)
def test_weights_of_any_size_are_answered(scale, dtype):
    lm = random_model(3, hidden=5, layers=2, scale=scale, dtype=dtype)
    tokens = [1, 2, 3, 4, 5, 6, 7, 1]
    found = es.interdependence(lm, tokens).values
    with np.errstate(over="ignore"):
        wanted = by_definition(lm, tokens, "hidden")
    large = wanted < 10  # beyond it the joint contribution is all but rounded away
    assert large.sum() > 15
    close = 1e-9 if dtype == torch.float64 else 2e-3
    np.testing.assert_allclose(found[large], wanted[large], rtol=close, atol=close)


@pytest.mark.parametrize("layers", [1, 2])
def test_saturated_gates_of_a_trained_size_in_single_precision(layers):
    lm = random_model(3, hidden=16, layers=layers, scale=1)
    with torch.no_grad():
        largest = (lm.encoder.weight @ lm.rnn.weight_ih_l0.T).abs().max()
        lm.encoder.weight.mul_(22 / largest)  # as training on WikiText-2 does
    tokens = [1, 2, 3, 4, 5, 6]
    wanted = by_definition(lm, tokens, "hidden")
    found = es.interdependence(lm.float(), tokens).values
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3, 0.1])
def test_what_is_small_keeps_its_digits_in_single_precision(scale):
    """DI of a network of small weights is small, and no noise."""
    lm = random_model(5, hidden=16, scale=1)
    with torch.no_grad():
        lm.encoder.weight.mul_(scale)
    tokens = [1, 2, 3, 4, 5, 6, 7]
    wanted = by_definition(lm, tokens, "hidden")
    found = es.interdependence(lm.float(), tokens).values
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-7)


@given(st.integers(0, 2**31), st.integers(1, 130), st.integers(1, 5))
def test_lengths_by_a_triangle_are_those_of_the_decoder_up_to_a_factor(seed, hidden, count):
    torch.manual_seed(seed)
    decoder, vectors = torch.randn(150, hidden).double(), torch.randn(count, 2, hidden).double()
    found = lengths(vectors, lower_triangle(decoder))
    wanted = (vectors @ decoder.T).norm(dim=-1)
    torch.testing.assert_close(found / found[0, 0], wanted / wanted[0, 0])


@given(models(), sentences(most=6))
def test_both_spaces_by_one_pass(lm, tokens):
    [both] = AllPairs(lm, spaces=("hidden", "logits")).of([tokens])
    for values, space in zip(both, ("hidden", "logits"), strict=True):
        alone = es.interdependence(lm, tokens, space=space).values
        np.testing.assert_array_equal(values.numpy(), alone)


def test_single_precision_at_the_size_of_the_papers():
    lm = es.language_model(vocabulary_size=500, hidden=400, seed=0)
    tokens = torch.randint(500, (12,), generator=torch.Generator().manual_seed(0)).tolist()
    single = es.interdependence(lm, tokens)
    assert single.values.dtype == np.float32
    double = es.interdependence(lm.double(), tokens)
    np.testing.assert_allclose(single.values, double.values, rtol=0, atol=2e-7)
    assert single.words == double.words


def test_allocations_without_a_short_cut_go_by_the_definition():
    lm = random_model(layers=2)
    tokens = [1, 2, 3, 4]
    short, long = (
        es.interdependence(lm, tokens, allocation=kind) for kind in ("papers", Generalised())
    )
    np.testing.assert_allclose(short.values, long.values, rtol=1e-10)
    other = es.interdependence(lm, tokens, allocation="murdoch")
    alone = es.interdependence(lm, tokens, a=[1], b=[3], allocation=Murdoch())
    assert other.values[1, 3] == pytest.approx(float(alone), rel=1e-10)
    assert not np.allclose(other.values[1, 3], short.values[1, 3])


def test_a_pair_has_its_vectors():
    pairs = es.interdependence(random_model(), "the cat sat on the mat")
    one = pairs.interaction(1, 4)
    assert float(one) == pytest.approx(pairs.values[1, 4], rel=1e-10)
    assert one.interaction.shape == one.joint.shape == (6,)
    assert one.at == 4


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("scale", ["untrained", 0.01, 1.0, 3.0])
def test_single_precision_has_no_noise_floor(layers, scale):
    """Every pair keeps its digits, however small, under fresh, small, usual and large weights."""
    tokens = torch.randint(8, (40,), generator=torch.Generator().manual_seed(1)).tolist()
    if scale == "untrained":
        lm = es.language_model(vocabulary_size=8, hidden=64, layers=layers, seed=0)
    else:
        lm = random_model(2, hidden=32, layers=layers, scale=scale, dtype=torch.float32)
    found = es.interdependence(lm, tokens)
    wanted = dependence.by_definition(lm.double(), tokens, space="hidden")
    above = np.triu_indices(40, 1)
    large = wanted[above] > 1e-11  # below it the definition's own difference is rounding
    np.testing.assert_allclose(found.values[above][large], wanted[above][large], rtol=2e-3)
    if scale == "untrained":
        assert wanted[above].min() < 1e-9


def test_the_packaged_model_keeps_its_digits():
    lm = es.english_model()
    pairs = es.interdependence(lm, ["the", "city", "of", "London"] * 5)
    assert pairs.error < 1e-4
    assert pairs.undefined == 0


def test_the_error_is_that_of_the_values_shown():
    lm, tokens = random_model(), [1, 2, 3, 4, 5, 6]
    assert 0 < es.interdependence(lm, tokens).error < 1e-12
    pairs = es.interdependence(lm.float(), tokens)
    assert 1e-9 < pairs.error < 1e-4
    pairs.values[1, 4] *= 1.5
    assert pairs.error < 1e-4  # computed once
    off = replace(pairs, values=pairs.values)
    assert off.error == pytest.approx(0.5, rel=1e-3)


def test_undefined_pairs_are_counted_without_a_warning():
    lm = random_model()
    with torch.no_grad():
        for name, weights in lm.named_parameters():
            if name.startswith("rnn."):
                weights.zero_()
    for space in ("hidden", "logits"):
        pairs = es.interdependence(lm, [1, 2, 3], space=space)
        assert np.isnan(pairs.values).all()
        assert pairs.undefined == 3
        assert "3 undefined" in str(pairs)
    assert es.interdependence(random_model(), [1, 2, 3]).undefined == 0
    assert es.interdependence(lm, [1]).undefined == 0


def test_refusals_name_the_culprit():
    lm = random_model()
    with pytest.raises(DataError, match="sentence is empty"):
        es.interdependence(lm, "")
    with pytest.raises(DataError, match="a without b"):
        es.interdependence(lm, [1, 2], a=[0])
    with pytest.raises(DataError, match="at without a"):
        es.interdependence(lm, [1, 2], at=1)
    with pytest.raises(ConfigError, match="no allocation 'murdok'; did you mean 'murdoch'"):
        es.interdependence(lm, [1, 2], allocation="murdok")
    with pytest.raises(ConfigError, match="memory is 100 bytes"):
        AllPairs(lm, memory=100)
