"""The device, the precision of products, and a step captured as a CUDA graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from espalier.errors import ConfigError

if TYPE_CHECKING:
    import torch

Precision = Literal["float32", "tf32"]
Step = Callable[[], None]

WARM_UP = 3  # libraries choose kernels and workspaces in the first calls, outside a capture
_CHOICE = threading.RLock()


def choose_device(name: str = "auto", *, elsewhere: bool = False) -> torch.device:
    """The device of a name; `auto` is CUDA where there is one, else the CPU.

    On machines `elsewhere`, whose devices are not known, `auto` is the CPU.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    import torch

    if isinstance(name, str) and name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() and not elsewhere else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"{name!r} is not a device; use 'auto', 'cpu' or 'cuda'") from error
    if device.type not in ("cpu", "cuda") and not elsewhere:
        _try(device)
    if device.type == "cuda" and not elsewhere and not torch.cuda.is_available():
        raise ConfigError(
            f"device {name!r} was asked for, but torch {torch.__version__} finds no CUDA device; "
            f"use 'auto' or 'cpu'"
        )
    return device


def _try(device: torch.device) -> None:
    """Refuse a device that holds no numbers, or that torch was built without."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        found = f"torch {torch.__version__} computes nothing on device '{device}'"
        raise ConfigError(f"{found}; use 'auto', 'cpu' or 'cuda'") from error


@contextmanager
def matmul_precision(precision: Precision) -> Iterator[None]:
    """A block whose products on CUDA are in float32, or have TF32's shorter mantissa.

    The setting is global to the process, so one thread at a time is inside.

    >>> import torch
    >>> with matmul_precision("tf32"):
    ...     torch.get_float32_matmul_precision()
    'high'
    """
    import torch

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


def captured(step: Step, mutable: Sequence[torch.Tensor], device: torch.device) -> Step:
    """A function that does what `step` does. On CUDA it replays a captured graph of it.

    `step` must read and write tensors in place, and must not synchronise with the host. Tensors it
    leaves behind must be detached: a graph of gradients is bound to the stream it was made on.
    `mutable` are the tensors that it changes; warming up and capturing restore them.

    Graphs may be replayed at the same time: each is captured on a stream of its own, because
    products allocate scratch memory by stream, and would share it otherwise.

    >>> import torch
    >>> count = torch.zeros(())
    >>> step = captured(lambda: count.add_(1) and None, [count], count.device)
    >>> step(), step(), count
    (None, None, tensor(2.))
    """
    if device.type != "cuda":
        return step
    import torch

    before = [tensor.detach().clone() for tensor in mutable]
    own = torch.cuda.Stream(device)
    own.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(own):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream(device).wait_stream(own)
    graph = torch.cuda.CUDAGraph()
    # Other threads may be replaying their own graphs: only this one must not synchronise.
    with torch.cuda.graph(graph, stream=own, capture_error_mode="thread_local"):
        step()
    with torch.no_grad():
        for tensor, old in zip(mutable, before, strict=True):
            tensor.copy_(old)
    torch.cuda.synchronize(device)
    return graph.replay
