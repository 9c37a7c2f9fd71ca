"""A training step as one CUDA graph; elsewhere, just the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Step = Callable[[], None]

WARM_UP = 3  # libraries choose kernels and workspaces in the first calls, outside a capture


def captured(step: Step, mutable: Sequence[Tensor], device: torch.device) -> Step:
    """Something that does what `step` does. On CUDA it replays a recording of it.

    `step` must read and write tensors that stay where they are, and ask nothing of the host. What
    it leaves behind must be detached: a graph of gradients is bound to the stream it was made on.
    What it changes is `mutable`; warming up and recording leave it as it was.

    Graphs may be replayed at the same time: each is recorded on a stream of its own, because
    products keep their scratch memory by stream, and would share it otherwise.
    """
    if device.type != "cuda":
        return step
    before = [tensor.detach().clone() for tensor in mutable]
    own = torch.cuda.Stream(device)
    own.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(own):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream(device).wait_stream(own)
    graph = torch.cuda.CUDAGraph()
    # Other threads may be replaying graphs of their own: only this one must ask nothing.
    with torch.cuda.graph(graph, stream=own, capture_error_mode="thread_local"):
        step()
    with torch.no_grad():
        for tensor, old in zip(mutable, before, strict=True):
            tensor.copy_(old)
    torch.cuda.synchronize(device)
    return graph.replay
