"""Where to compute, and how exactly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from espalier.errors import ConfigError
from espalier.training.recipe import Precision

_CHOICE = threading.RLock()


def choose_device(name: str = "auto") -> torch.device:
    """`auto` is CUDA where there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"{name!r} is not a device; use 'auto', 'cpu' or 'cuda'") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            f"device {name!r} was asked for, but torch {torch.__version__} finds no CUDA device; "
            f"use 'auto' or 'cpu'"
        )
    return device


@contextmanager
def precise(precision: Precision) -> Iterator[None]:
    """Products on CUDA in float32, or with TF32's shorter mantissa; then as it was before.

    The choice is the whole process's: one thread at a time is inside.
    """
    with _CHOICE:
        before = torch.get_float32_matmul_precision()
        cudnn = torch.backends.cudnn.allow_tf32
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
            torch.backends.cudnn.allow_tf32 = cudnn
