import torch

from espalier.nets.noise import Dice


def dice(*seeds, step=3):
    return Dice(torch.tensor(seeds), torch.tensor(step))


def test_a_member_draws_what_it_would_draw_alone():
    both, below = dice(5, 9), torch.tensor([7, 11])
    for member, seed in enumerate((5, 9)):
        alone = dice(seed)
        assert torch.equal(both.gaussians(1, 50)[member], alone.gaussians(1, 50)[0])
        chosen = alone.choices(0, 50, below[member : member + 1])
        assert torch.equal(both.choices(0, 50, below)[member], chosen[0])


def test_steps_and_places_differ():
    drawn = [dice(1).uniforms(0, 20), dice(1).uniforms(1, 20), dice(1, step=4).uniforms(0, 20)]
    assert len({tuple(row.flatten().tolist()) for row in drawn}) == 3


def test_numbers_are_spread_as_they_should_be():
    normal = dice(0).gaussians(0, 40_000)[0].double()
    moments = torch.stack([normal.mean(), normal.var(), normal.pow(3).mean(), normal.pow(4).mean()])
    expected = torch.tensor([0.0, 1.0, 0.0, 3.0], dtype=torch.float64)
    assert torch.allclose(moments, expected, atol=0.1)
    counts = dice(0).choices(0, 40_000, torch.tensor([8]))[0].bincount()
    assert counts.shape == (8,)
    assert (counts - 5_000).abs().max() < 5 * 5_000**0.5
