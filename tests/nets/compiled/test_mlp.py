import torch
from torch import nn

from espalier.nets.compiled.mlp import TrainedFeedForward, apply_mlps, random_mlps


def test_stacked_mlps_are_plain_ones():
    weights = random_mlps([3, 5, 4, 2], seeds=(0, 7))
    x = torch.randn(2, 6, 3)
    for member in range(2):
        layers = []
        for layer, (inner, outer) in enumerate(((3, 5), (5, 4), (4, 2))):
            linear = nn.Linear(inner, outer)
            linear.weight.data = weights[f"layer{layer}_weight"][member].T
            linear.bias.data = weights[f"layer{layer}_bias"][member]
            layers += [linear, nn.ReLU()]
        plain = nn.Sequential(*layers[:-1])
        torch.testing.assert_close(apply_mlps(weights, x)[member], plain(x[member]))


def test_a_seed_has_its_own_first_weights():
    both = random_mlps([3, 5, 2], seeds=(0, 7))
    assert torch.equal(
        both["layer1_weight"][1], random_mlps([3, 5, 2], seeds=(7,))["layer1_weight"][0]
    )
    assert not torch.equal(both["layer0_weight"][0], both["layer0_weight"][1])


def test_beside_the_residual_connection():
    weights = random_mlps([3, 4, 3], seeds=(0,))
    z = torch.randn(2, 5, 3)
    added = TrainedFeedForward(weights, None)(z)
    torch.testing.assert_close(added, apply_mlps(weights, z.reshape(1, 10, 3)).view(2, 5, 3))
