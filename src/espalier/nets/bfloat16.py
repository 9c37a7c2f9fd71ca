"""Products in bfloat16 on CPUs that have none: in float32, and rounded once.

Few CPUs multiply in bfloat16. On others torch does it number by number, hundreds of times as slow
as in float32, where the same product is exact but for the order of its sum; rounding that once is
what GPUs do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

_PRODUCTS = frozenset(
    getattr(torch.ops.aten, name).default for name in ("mm", "bmm", "addmm", "baddbmm")
)


class RoundedProducts(TorchDispatchMode):
    """A block whose products of bfloat16 matrices on a CPU are float32's, rounded.

    >>> a, b = torch.ones(2, 3, dtype=torch.bfloat16), torch.full((3, 2), 0.1, dtype=torch.bfloat16)
    >>> with RoundedProducts():
    ...     (a @ b).dtype
    torch.bfloat16
    """

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The operation; a product of such matrices by way of float32."""
        given = kwargs or {}
        if func in _PRODUCTS and all(map(_is_bfloat16, args[-2:])):
            longer = tree_map(lambda one: one.float() if _is_bfloat16(one) else one, (args, given))
            return func(*longer[0], **longer[1]).to(torch.bfloat16)
        return func(*args, **given)


def bfloat16_products(device: torch.device) -> AbstractContextManager[object]:
    """A block whose products in bfloat16 are fast, if the device is a CPU that has none."""
    slow = device.type == "cpu" and not has_bfloat16_products()
    return RoundedProducts() if slow else nullcontext()


@cache
def has_bfloat16_products() -> bool:
    """Whether this CPU multiplies in bfloat16."""
    # Builds without oneDNN have no such operation to ask.
    asked = torch.backends.mkldnn.is_available()
    return asked and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _is_bfloat16(one: object) -> bool:
    return (
        isinstance(one, torch.Tensor) and one.dtype == torch.bfloat16 and one.device.type == "cpu"
    )
