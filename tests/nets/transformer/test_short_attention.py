import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from espalier.nets.transformer import short_attention
from espalier.nets.transformer.short_attention import is_short
from nets.transformer.interpreting import interpret, needs_triton


@needs_triton
def test_kernels_attend_by_the_formula():
    interpret("interpreted_attention.py")


@pytest.fixture
def made(monkeypatch):
    """Tensors of a CUDA device that need not be there."""
    monkeypatch.setattr(short_attention, "has_kernels", lambda capability: True)
    with FakeTensorMode():
        yield lambda *size, dtype=torch.bfloat16, device="cuda": torch.empty(
            *size, dtype=dtype, device=device
        )


def test_kernels_take_what_they_can_do(made):
    assert is_short(made(4, 22, 49, 3 * 8 * 128), None, 8)
    assert is_short(made(4, 22, 49, 8 * 128), made(4, 22, 27, 2 * 8 * 128), 8)
    assert is_short(made(1, 1, 64, 16, dtype=torch.float16), made(1, 1, 1, 32).half(), 1)


@pytest.mark.parametrize(
    ("why", "asking", "asked", "heads"),
    [
        ("many positions", {"size": (1, 2, 65, 48)}, None, 1),
        ("many are seen", {"size": (1, 2, 5, 16)}, {"size": (1, 2, 65, 32)}, 1),
        ("none are seen", {"size": (1, 2, 5, 16)}, {"size": (1, 2, 0, 32)}, 1),
        ("a narrow head", {"size": (1, 2, 5, 24)}, None, 1),
        ("heads that do not divide", {"size": (1, 2, 5, 150)}, None, 3),
        ("no three parts", {"size": (1, 2, 5, 50)}, None, 1),
        ("no two parts", {"size": (1, 2, 5, 16)}, {"size": (1, 2, 5, 48)}, 1),
        ("long numbers", {"size": (1, 2, 5, 48), "dtype": torch.float32}, None, 1),
        ("two types", {"size": (1, 2, 5, 16)}, {"size": (1, 2, 5, 32), "dtype": torch.half}, 1),
        ("two devices", {"size": (1, 2, 5, 16)}, {"size": (1, 2, 5, 32), "device": "cpu"}, 1),
        ("a CPU", {"size": (1, 2, 5, 48), "device": "cpu"}, None, 1),
        ("many numbers", {"size": (1, 1 << 16, 64, 3 * 32 * 16)}, None, 32),
        ("many biases", {"size": (1, 1 << 16, 64, 3 * 8 * 16)}, None, 8),
    ],
)
def test_and_nothing_else(made, why, asking, asked, heads):
    def tensor(size, **more):
        return made(*size, **more)

    assert not is_short(tensor(**asking), asked and tensor(**asked), heads), why
