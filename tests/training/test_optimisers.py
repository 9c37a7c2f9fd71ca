"""Every member of a stack is updated as torch.optim updates it alone."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.errors import ConfigError
from espalier.training import optimisers
from espalier.training.optimisers import optimiser_of

SHAPES = {
    "inner_weight": (3, 4),
    "inner_bias": (4,),
    "layers": (2, 5, 3),
    "layers_scale": (2, 5),
    "outer_weight": (3, 4),  # of the first one's shape, and so
    "outer_bias": (4,),  # these are updated at once
    "vectors": (2, 5),  # a matrix by its name
}


def stacked(seed=0, members=3):
    source = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(members, *shape, generator=source)
        * 10.0 ** -torch.arange(members).view(-1, *[1] * len(shape))
        for name, shape in SHAPES.items()
    }


def apart(weights, member):
    """One member's weights, with stacked layers as tensors of their own, as torch would have."""
    found = {}
    for name, tensor in weights.items():
        if name.startswith("layers"):
            found |= {f"{name}.{n}": layer.clone() for n, layer in enumerate(tensor[member])}
        else:
            found[name] = tensor[member].clone()
    return found


@pytest.mark.parametrize("small", [optimisers._SMALL, 3 * 10, 0])
@pytest.mark.parametrize("name", ["adam", "adafactor"])
@pytest.mark.parametrize("rate", [1e-2, 0.7])
def test_a_member_goes_as_it_would_alone(monkeypatch, name, rate, small):
    monkeypatch.setattr(optimisers, "_SMALL", small)  # all that are alike at once, some, none
    weights = stacked()
    alone = [apart(weights, member) for member in range(3)]
    kind = {"adam": torch.optim.Adam, "adafactor": torch.optim.Adafactor}[name]
    references = [kind(list(own.values()), lr=rate) for own in alone]
    optimiser = optimiser_of(name, weights, rate)
    for step in range(6):
        gradients = stacked(seed=step + 1)
        optimiser.update(list(gradients.values()))
        for member, (own, reference) in enumerate(zip(alone, references, strict=True)):
            theirs = apart(gradients, member)
            for key, parameter in own.items():
                parameter.grad = theirs[key]
            reference.step()
    for member, own in enumerate(alone):
        for key, value in apart(weights, member).items():
            torch.testing.assert_close(value, own[key], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["adam", "adafactor"])
def test_its_tensors_are_all_that_it_remembers(name):
    first = stacked()
    one = optimiser_of(name, first, 0.1)
    one.update(list(stacked(seed=1).values()))
    second = {key: tensor.clone() for key, tensor in first.items()}
    other = optimiser_of(name, second, 0.1)
    for name, tensor in other.tensors().items():
        tensor.copy_(one.tensors()[name])
    for optimiser in (one, other):
        optimiser.update(list(stacked(seed=2).values()))
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", ["adam", "adafactor", "adafactor-absolute"])
def test_gradients_may_be_shorter_than_their_weights(name):
    short = [gradient.bfloat16() for gradient in stacked(seed=1).values()]
    weights, others = stacked(), stacked()
    optimiser_of(name, weights, 0.1).update(short)
    optimiser_of(name, others, 0.1).update([gradient.float() for gradient in short])
    assert all(torch.equal(weights[key], others[key]) for key in weights)


def test_an_unknown_one_is_refused():
    with pytest.raises(ConfigError, match="there is no optimiser 'sgd'; known: 'adafactor'"):
        optimiser_of("sgd", stacked(), 0.1)


def test_absolute_steps_do_not_depend_on_the_size_of_what_they_change():
    """The first step of Adafactor: the gradient over the root of its estimated square, clipped."""
    source = torch.Generator().manual_seed(0)
    weights = {"matrix": torch.randn(2, 3, 4, generator=source)}
    gradient = torch.randn(2, 3, 4, generator=source)
    wanted = weights["matrix"].clone()
    for member in range(2):
        square = gradient[member] ** 2
        estimate = square.mean(1, keepdim=True) * square.mean(0, keepdim=True) / square.mean()
        change = gradient[member] / estimate.sqrt()
        wanted[member] -= 0.3 * change / max(1.0, float(change.square().mean().sqrt()))
    optimiser_of("adafactor-absolute", weights, 0.3).update([gradient])
    torch.testing.assert_close(weights["matrix"], wanted)


@given(st.integers(0, 1 << 30), st.booleans(), st.sampled_from([1e-12, 1e-3, 1.0, 1e6]))
def test_a_step_by_roots_is_the_step(seed, absolute, size):
    """Rows and columns without a gradient, and moments of 0, included."""
    source = torch.Generator().manual_seed(seed)
    gradient = size * torch.randn(2, 3, 4, 5, generator=source)
    gradient[0, 1, 2], gradient[1, 0, :, 3], gradient[1, 2] = 0, 0, 0
    own = torch.randn(2, 3, 4, 5, generator=source)
    moments = [size**2 * torch.rand(2, 3, *one, generator=source) for one in ((4, 1), (1, 5))]
    moments[0][:, 1], moments[1][:, 1] = 0, 0
    share, pace = torch.tensor(0.3), torch.tensor(1e-2)
    found, other = own.clone(), own.clone()
    kept = [one.clone() for one in moments]
    optimisers._matrix_step(found, gradient, *moments, share, pace, absolute)
    roots = optimisers._roots(gradient, *kept, share)
    optimisers._step_by_roots(other, gradient, *roots, pace, absolute)
    torch.testing.assert_close(other, found)
    torch.testing.assert_close(kept, moments)
    assert bool(found.isfinite().all())
