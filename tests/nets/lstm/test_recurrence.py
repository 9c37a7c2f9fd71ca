import pytest
import torch
from torch.testing import assert_close

from espalier.nets.lstm import LSTMShape, language_model, members, recur, recurrence
from espalier.nets.lstm.recurrence import _Plain


def test_the_derivative_written_out_is_the_derivative():
    torch.manual_seed(0)
    sizes = [(2, 3, 2, 12), (2, 12, 3), (2, 2, 3), (2, 2, 3)]
    leaves = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    assert torch.autograd.gradcheck(_Plain.apply, leaves)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tied", [False, True])
def test_members_read_as_nn_lstm_does(layers, tied):
    models = [
        language_model(vocabulary_size=11, hidden=5, layers=layers, tied=tied, seed=seed).double()
        for seed in range(3)
    ]
    weights = members.stack(models)
    tokens = torch.randint(11, (3, 7, 4))
    state = members.initial_state(weights, models[0].shape, 4)
    hidden, (last, cell) = members.read(weights, tokens, state)
    logits = members.decode(weights, hidden.flatten(1, 2)).unflatten(1, (7, 4))
    for e, model in enumerate(models):
        own, (own_last, own_cell) = model(tokens[e].T)
        assert_close(logits[e].transpose(0, 1), own)
        assert_close(last[:, e], own_last)
        assert_close(cell[:, e], own_cell)


def test_the_loss_by_member_and_its_derivative_are_cross_entropy():
    torch.manual_seed(1)
    logits = torch.randn(3, 6, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(5, (3, 6))
    losses = members.mean_losses(logits, targets)
    plain = [torch.nn.functional.cross_entropy(x, y) for x, y in zip(logits, targets, strict=True)]
    assert_close(losses, torch.stack(plain))
    assert torch.autograd.gradcheck(lambda x: members.mean_losses(x, targets), [logits])


def test_looking_up_and_its_derivative_are_an_embedding():
    torch.manual_seed(2)
    table = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    tokens = torch.randint(5, (2, 4, 3))
    assert_close(members._Lookup.apply(table, tokens)[1], table[1][tokens[1]])
    assert torch.autograd.gradcheck(lambda x: members._Lookup.apply(x, tokens), [table])


def test_no_steps_between_members():
    """A member's result does not depend on the others in the ensemble."""
    weights = members.stack([language_model(vocabulary_size=7, hidden=4, seed=s) for s in (0, 1)])
    tokens = torch.randint(7, (2, 5, 2))
    shape = LSTMShape(7, 4)
    both, _ = members.read(weights, tokens, members.initial_state(weights, shape, 2))
    one = {name: tensor[1:] for name, tensor in weights.items()}
    single, _ = members.read(one, tokens[1:], members.initial_state(one, shape, 2))
    assert_close(both[1:], single)


def test_recurring_over_one_step_keeps_the_state():
    zeros = torch.zeros(1, 1, 1, 8), torch.zeros(1, 8, 2)
    hidden, cell = recur(*zeros, (torch.zeros(1, 1, 2), torch.ones(1, 1, 2)))
    assert_close(cell, torch.full((1, 1, 2), 0.5))
    assert_close(hidden[:, 0], torch.full((1, 1, 2), 0.5 * torch.tanh(torch.tensor(0.5)).item()))


def test_aligned_logits_have_the_same_loss_and_derivative():
    models = [language_model(vocabulary_size=11, hidden=5, seed=s).double() for s in range(2)]
    weights = {name: w.requires_grad_() for name, w in members.stack(models).items()}
    hidden, targets = torch.randn(2, 6, 5, dtype=torch.float64), torch.randint(11, (2, 6))
    leaves = [weights["decoder.weight"], weights["decoder.bias"]]
    found = []
    for decode in (members.decode, members.decode_aligned):
        logits = decode(weights, hidden)
        losses = members.mean_losses(logits, targets)
        found.append([losses, *torch.autograd.grad(losses.sum(), leaves)])
    assert logits.shape == (2, 6, 16)
    assert_close(found[0], found[1])


def test_the_fused_path_equals_the_plain_one(monkeypatch):
    """The kernels run on CUDA only; their documentation in code lets the rest be tested here."""

    def cell(from_input, from_hidden, before):
        i, f, g, o = (from_input + from_hidden).chunk(4, dim=-1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        after = f * before + i * g
        return o * after.tanh(), after, torch.cat([i, f, g, o], dim=-1)

    def backward(to_hidden, to_cell, before, after, gates):
        i, f, g, o = gates.chunk(4, dim=-1)
        to_cell = to_cell + to_hidden * o * (1 - after.tanh() ** 2)
        slopes = [
            to_cell * g * i * (1 - i),
            to_cell * before * f * (1 - f),
            to_cell * i * (1 - g**2),
            to_hidden * after.tanh() * o * (1 - o),
        ]
        return torch.cat(slopes, dim=-1), to_cell * f

    monkeypatch.setattr(recurrence, "_cell", cell)
    monkeypatch.setattr(recurrence, "_cell_backward", backward)
    for members_, steps in ((1, 4), (3, 4), (2, 1)):
        sizes = [(members_, steps, 2, 12), (members_, 12, 3), (members_, 2, 3), (members_, 2, 3)]
        leaves = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
        found = []
        for function in (recurrence._Plain, recurrence._Fused):
            hiddens, last = function.apply(*leaves)
            loss = hiddens.sin().sum() + last.square().sum()
            found.append([hiddens, last, *torch.autograd.grad(loss, leaves)])
        assert_close(found[0], found[1])
