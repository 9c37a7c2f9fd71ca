"""Elementary functions that round alike from the first call on.

oneMKL 2024.2, which computes torch's elementary functions on x86 CPUs, chooses a kernel for each
when it is first called. Where two threads both make that call, one of them now and then gets a less
exact kernel, for that call only (github.com/pytorch/pytorch/issues/188792): in 9 of 1,461 new
processes `tanh` of 400,000 numbers by two threads was not what it was in the others, and in none of
1,516 that had called it by one thread before.
"""

from __future__ import annotations

import torch

_FUNCTIONS = "acos asin atan cos cosh erf erfc erfinv exp expm1 lgamma log log10 log1p log2 rsqrt"
_FUNCTIONS += " sigmoid sin sinh sqrt tan tanh"


def ready_functions() -> None:
    """Have one thread make the first call of each, in either precision."""
    for dtype in (torch.float32, torch.float64):
        one = torch.full((1,), 0.5, dtype=dtype, device="cpu")  # whatever the default is
        for name in _FUNCTIONS.split():
            getattr(torch, name)(one)
