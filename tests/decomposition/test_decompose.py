import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import espalier as es
import lstm_reference as reference
from espalier.decomposition import (
    AsPrinted,
    Generalised,
    Murdoch,
    Papers,
    decompose_batch,
    decompose_many,
    propagate,
)
from espalier.errors import ConfigError, DataError, ModelError
from espalier.nets.lstm import language_model, members, stacked_layers
from lstm_models import focused, models, random_model, sentences

EXACT = [
    Papers(),
    Murdoch(),
    Generalised(),
    Generalised(frozenset({"rel-rel"}), "never"),
    Generalised(frozenset({"rel-rel", "rel-bias", "rel-irrel"}), "always", split_output=True),
    Generalised(frozenset(), "focus", split_output=True),
]


@given(models(), focused(), st.sampled_from(["focus", "never"]))
def test_it_is_the_recursion_step_by_step(lm, given_, bias_bias):
    tokens, focus = given_
    parts = es.decompose(
        lm, tokens, focus=focus, allocation=Papers() if bias_bias == "focus" else Murdoch()
    )
    wanted = reference.decompose(
        reference.weights_of(lm), reference.embed(lm, tokens), focus, bias_bias=bias_bias
    )
    assert_close(parts.relevant.numpy(), wanted[0], rtol=0, atol=1e-12)
    assert_close(parts.irrelevant.numpy(), wanted[1], rtol=0, atol=1e-12)


@given(models(), focused(), st.sampled_from(EXACT))
def test_parts_sum_to_the_models_own_state(lm, given_, allocation):
    tokens, focus = given_
    parts = es.decompose(lm, tokens, focus=focus, allocation=allocation)
    seen, _ = lm.read(torch.tensor([tokens]))
    assert_close(parts.hidden, seen[0].detach(), rtol=0, atol=1e-12)
    assert_close(parts.relevant + parts.irrelevant, parts.hidden, rtol=0, atol=1e-12)
    assert parts.error * least_share(parts) < 1e-12


def least_share(parts):
    """How small the state gets next to its parts: where they cancel, digits are lost with them."""
    halves = parts.logits("relevant").norm(dim=-1) + parts.logits("irrelevant").norm(dim=-1)
    return float((parts.logits("hidden").norm(dim=-1) / halves).min())


def test_a_gate_that_is_all_but_closed_keeps_its_digits():
    lm = random_model(hidden=1)
    with torch.no_grad():
        for weights in (lm.encoder.weight, lm.rnn.weight_hh_l0, lm.rnn.bias_hh_l0):
            weights.fill_(1.0)
        lm.rnn.weight_ih_l0.copy_(torch.tensor([-32.0, -32.0, 1.0, 1.0]).unsqueeze(1))
        lm.rnn.bias_ih_l0.fill_(1.0)
    parts = es.decompose(lm, [1, 2, 3], focus=[0, 1])
    assert parts.hidden.abs().max() < 1e-12
    assert parts.error < 1e-12


@given(models(), focused())
def test_an_initial_state_is_irrelevant(lm, given_):
    tokens, focus = given_
    state = tuple(
        torch.randn(lm.shape.layers, 1, lm.shape.hidden, dtype=torch.float64) for _ in range(2)
    )
    parts = es.decompose(lm, tokens, focus=focus, state=state)
    wanted = reference.decompose(
        reference.weights_of(lm),
        reference.embed(lm, tokens),
        focus,
        state=[part[:, 0].numpy() for part in state],
    )
    assert_close(parts.relevant.numpy(), wanted[0], rtol=0, atol=1e-12)
    assert_close(parts.hidden, lm.read(torch.tensor([tokens]), state)[0][0].detach())
    assert not parts.relevant[: focus[0]].any()


@settings(max_examples=30)
@given(models(), st.lists(focused(), min_size=1, max_size=5))
def test_a_ragged_batch_equals_its_members(lm, some):
    together = decompose_many(lm, [tokens for tokens, _ in some], focus=[f for _, f in some])
    for parts, (tokens, focus) in zip(together, some, strict=True):
        alone = es.decompose(lm, tokens, focus=focus)
        assert_close(parts.relevant, alone.relevant, rtol=0, atol=1e-13)
        assert_close(parts.irrelevant, alone.irrelevant, rtol=0, atol=1e-13)
        assert parts.words == alone.words
        assert parts.focus == alone.focus


@pytest.mark.parametrize("layers", [1, 2])
def test_stacked_models_equal_each_alone(layers):
    team = [random_model(seed, layers=layers) for seed in range(3)]
    tokens = torch.randint(8, (3, 4, 6), generator=torch.Generator().manual_seed(0))
    focus = torch.zeros(3, 4, 6, dtype=torch.bool)
    focus[:, :, 1] = True
    focus[1, 2, 4] = True
    weights = members.stack(team)
    inputs = torch.stack([lm.encoder(t).detach() for lm, t in zip(team, tokens, strict=True)])
    together = propagate(stacked_layers(weights), inputs, focus)
    for e, lm in enumerate(team):
        alone = decompose_batch(lm, tokens[e], focus[e])
        assert_close(together.relevant[e], alone.relevant, rtol=0, atol=1e-12)
        assert_close(together.irrelevant[e], alone.irrelevant, rtol=0, atol=1e-12)


@given(models(), sentences())
def test_everything_in_focus_leaves_only_what_no_word_gave(lm, tokens):
    parts = es.decompose(lm, tokens, focus=range(len(tokens)))
    assert_close(parts.irrelevant, torch.zeros_like(parts.hidden), rtol=0, atol=1e-13)


@given(models(), focused())
def test_as_printed_the_shares_neither_sum_nor_know_the_focus(lm, given_):
    tokens, focus = given_
    parts = es.decompose(lm, tokens, focus=focus, allocation=AsPrinted())
    other = es.decompose(lm, tokens, focus=[0], allocation=AsPrinted())
    assert_close(parts.relevant, other.relevant, rtol=0, atol=1e-12)
    assert parts.error > 1e-3


def test_single_precision_is_accurate_at_the_size_of_the_papers():
    lm = language_model(vocabulary_size=1002, hidden=200, layers=2, seed=1)
    tokens = torch.randint(1002, (35,), generator=torch.Generator().manual_seed(0))
    parts = es.decompose(lm, tokens, focus=[3, 9])
    assert parts.relevant.dtype == torch.float32
    assert 0 < parts.error < 1e-5
    assert es.decompose(lm.double(), tokens, focus=[3, 9]).error < 1e-12


def test_dropout_never_acts():
    lm = random_model(layers=2, dropout=0.5)
    calm = es.decompose(lm, [1, 2, 3], focus=[1])
    lm.train()
    assert_close(es.decompose(lm, [1, 2, 3], focus=[1]).relevant, calm.relevant)
    assert es.decompose(lm, [1, 2, 3], focus=[1]).error < 1e-12


def test_logits_and_probabilities_leave_out_the_decoders_bias():
    lm = random_model()
    parts = es.decompose(lm, "the cat sat", focus=[1])
    weight = lm.decoder.weight.detach()
    assert_close(parts.logits(), parts.relevant @ weight.T)
    assert_close(parts.probabilities(), (parts.relevant @ weight.T).softmax(-1))
    both = parts.logits() + parts.logits("irrelevant") + lm.decoder.bias.detach()
    assert_close(both, lm(torch.tensor([[1, 2, 3]]))[0][0].detach())


def test_words_numbers_and_the_unknown():
    lm = random_model()
    parts = es.decompose(lm, ["the", "zebra", "sat"], focus=[1])
    assert parts.unknown == 1
    assert parts.words == ("the", "zebra", "sat")
    assert_close(parts.relevant, es.decompose(lm, [1, 0, 3], focus=[1]).relevant)
    assert es.decompose(lm, torch.tensor([1, 0, 3]), focus=[1]).words == ("the", "<unk>", "sat")


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_state_must_fit():
    lm = random_model(layers=2)
    good = lm.initial_state(1)
    whole = es.decompose(lm, [1, 2], focus=[0], state=good)
    assert_close(whole.relevant, es.decompose(lm, [1, 2], focus=[0]).relevant)
    with pytest.raises(DataError, match=r"hidden state has shape \(2, 1, 6\).* are \(2, 2, 6\)"):
        decompose_many(lm, [[1], [2]], focus=[[0], [0]], state=good)
    for shape in ((2, 2, 6), (3, 1, 6), (2, 1, 5)):
        with pytest.raises(DataError, match="cell state has shape"):
            es.decompose(lm, [1, 2], focus=[0], state=(good[0], torch.zeros(shape)))
    with pytest.raises(DataError, match="state is a Tensor"):
        es.decompose(lm, [1, 2], focus=[0], state=good[0])
    with pytest.raises(DataError, match="hidden state has NaN"):
        es.decompose(lm, [1, 2], focus=[0], state=(good[0] + torch.nan, good[1]))


def test_refusals_name_the_culprit():
    lm = random_model()
    with pytest.raises(DataError, match="focus is empty"):
        es.decompose(lm, [1, 2], focus=[])
    with pytest.raises(DataError, match=r"word 2, which is outside the sentence: it has 0\.\.1"):
        es.decompose(lm, [1, 2], focus=[0, 2])
    with pytest.raises(DataError, match="word -1"):
        es.decompose(lm, [1, 2], focus=[-1])
    assert es.decompose(lm, [1, 2], focus="cat").focus == (1,)
    with pytest.raises(DataError, match="focus names 'dog', which is not in 'the cat'"):
        es.decompose(lm, [1, 2], focus="dog")
    for mask in ([False, True], torch.tensor([False, True])):
        with pytest.raises(DataError, match="must be a list of places"):
            es.decompose(lm, [1, 2], focus=mask)
    with pytest.raises(DataError, match="sentence is empty"):
        es.decompose(lm, [], focus=[0])
    with pytest.raises(DataError, match="2 axes"):
        es.decompose(lm, torch.ones(1, 2, dtype=torch.long), focus=[0])
    for tokens in (5, None, b"the cat"):
        with pytest.raises(DataError, match="must be a string, or a list of words or numbers"):
            es.decompose(lm, tokens, focus=[0])
    for tokens in ([1.5], torch.tensor([1.7]), [None]):
        with pytest.raises(ModelError, match="neither a word nor a whole number"):
            es.decompose(lm, tokens, focus=[0])
    with pytest.raises(ConfigError, match="no allocation 'paper'; did you mean 'papers'"):
        es.decompose(lm, [1, 2], focus=[0], allocation="paper")
    with pytest.raises(ConfigError, match=r"allocation is 3; give Papers\(\)"):
        es.decompose(lm, [1, 2], focus=[0], allocation=3)
    with pytest.raises(ConfigError, match="no part 'relevent'; did you mean 'relevant'"):
        es.decompose(lm, [1, 2], focus=[0]).logits("relevent")
    with pytest.raises(ModelError, match=r"weights are torch.float16.*model\.float\(\)"):
        es.decompose(random_model(dtype=torch.float16), [1, 2], focus=[0])
    with pytest.raises(DataError, match="1 sentences, but 2 focus sets"):
        decompose_many(lm, [[1, 2]], focus=[[0], [1]])
    with pytest.raises(ModelError, match="a bare GRU needs what is around it"):
        es.decompose(torch.nn.GRU(2, 2), [1], focus=[0])
    with pytest.raises(ConfigError, match="'rel-bias'"):
        Generalised(frozenset({"rel-bais"}))
    with pytest.raises(ConfigError, match="bias_bias is 'sometimes'"):
        Generalised(bias_bias="sometimes")
    with torch.no_grad():
        lm.rnn.weight_hh_l0[0, 0] = float("nan")
    with pytest.raises(ModelError, match=r"NaN or infinite weights in rnn\.weight_hh_l0"):
        es.decompose(lm, [1, 2], focus=[0])
