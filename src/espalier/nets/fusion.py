"""Many small operations as few kernels, where that pays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils._triton import has_triton

Found = TypeVar("Found")


def fused(function: Callable[..., Found], on: Tensor) -> Callable[..., Found]:
    """The function, compiled if `on` is on a CUDA device.

    For what is done thousands of times with tensors of the same shapes: each shape is compiled
    for itself, which takes seconds.
    """
    return _compiled(function) if on.is_cuda and has_triton() else function


@cache
def _compiled(function: Callable[..., Found]) -> Callable[..., Found]:
    # The limit is one process's, and every shape of model that it trains needs its own.
    torch._dynamo.config.recompile_limit = 256
    return torch.compile(function, dynamic=False)
