"""Ways to attend, at the sizes that are trained: `python -m benchmarks.attention [--out DIR]`.

Microseconds forward and backward, gradients of the biases included where they are learned, and the
largest error of each way against float64, as a share of the largest number. A way that this device
does not have for those sizes has none. Needs torch alone, as `benchmarks.learn` does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.harness import best_of
from espalier.errors import EspalierError, ModelError
from espalier.files import write_text
from espalier.nets import fused
from espalier.nets.transformer.short_attention import is_short, short_attention
from espalier.nets.transformer.sublayers import in_full, on_cuda
from espalier.runs import captured, choose_device


@dataclass(frozen=True)
class Size:
    """E members, B rows, H heads of width K; N positions see M.

    Biases are learned where they see themselves.
    """

    name: str
    members: int
    rows: int
    heads: int
    width: int
    asking: int
    asked: int
    learned: bool

    def values(self, device: torch.device, dtype: torch.dtype) -> list[Tensor | None]:
        """Random queries, keys and values as a layer has them, and biases; the same everywhere."""
        source, inner = torch.Generator().manual_seed(0), self.heads * self.width

        def made(*size: int) -> Tensor:
            return torch.randn(self.members, self.rows, *size, generator=source).to(device)

        asking = made(self.asking, inner * (3 if self.learned else 1)).to(dtype).requires_grad_()
        asked = None
        if not self.learned:
            asked = made(self.asked, 2 * inner).to(dtype).requires_grad_()
        bias = made(self.heads if self.learned else 1, self.asking, self.asked)
        return [asking, asked, bias.requires_grad_(self.learned)]


SIZES = (
    Size("parity", 1, 64, 6, 64, 21, 21, learned=True),
    Size("scan encoder", 4, 66, 8, 128, 9, 9, learned=True),
    Size("scan decoder", 4, 22, 8, 128, 49, 49, learned=True),
    Size("scan across", 4, 22, 8, 128, 49, 27, learned=False),
)
SMALL = Size("small", 2, 3, 2, 8, 5, 5, learned=True)

Way = Callable[..., Tensor]
Context = Callable[[], AbstractContextManager[None]]


def reference(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Attention by its formula."""
    logits = query @ key.mT / query.shape[-1] ** 0.5 + bias
    return torch.softmax(logits, -1) @ value


def apart(way: Way, heads: int) -> Way:
    """Heads apart, what a way makes of them, and heads side by side again."""

    def attend(asking: Tensor, asked: Tensor | None, bias: Tensor) -> Tensor:
        parts = asking.chunk(3, -1) if asked is None else (asking, *asked.chunk(2, -1))
        own = (part.unflatten(-1, (heads, -1)).transpose(2, 3) for part in parts)
        return way(*own, bias).transpose(2, 3).flatten(3)

    return attend


def together(way: Way, heads: int) -> Way:
    """What a way makes of heads that lie side by side."""

    def attend(asking: Tensor, asked: Tensor | None, bias: Tensor) -> Tensor:
        if not is_short(asking, asked, heads):
            raise ModelError("this needs Triton, a CUDA device and few positions")
        return way(asking, asked, bias, heads)

    return attend


WAYS: dict[str, tuple[Callable[[Way, int], Way], Way, Context]] = {
    "a program a head": (together, short_attention, nullcontext),
    "product by product": (apart, in_full, nullcontext),
    "torch's choice": (apart, on_cuda, nullcontext),
    "efficient": (apart, on_cuda, lambda: sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)),
    "cudnn": (apart, on_cuda, lambda: sdpa_kernel(SDPBackend.CUDNN_ATTENTION)),
    "math": (apart, on_cuda, lambda: sdpa_kernel(SDPBackend.MATH)),
}


def both_ways(attend: Way, values: list[Tensor | None]) -> list[Tensor]:
    """What is carried, and the gradients of the sum of its squares; all detached."""
    carried = attend(*values)
    learned = [one for one in values if one is not None and one.requires_grad]
    return [carried.detach(), *torch.autograd.grad(carried.square().sum(), learned)]


def measured(size: Size, name: str, device: torch.device) -> dict[str, object]:
    """One row of the table."""
    (arrange, way, context), row = WAYS[name], {"size": size.name, "way": name}
    values = size.values(device, torch.bfloat16 if device.type == "cuda" else torch.float32)
    exact = [
        None if one is None else one.detach().cpu().double().requires_grad_(one.requires_grad)
        for one in values
    ]
    wanted = both_ways(apart(reference, size.heads), exact)
    attend = fused(arrange(way, size.heads), values[0])
    found: list[Tensor] = []

    def step() -> None:
        found[:] = both_ways(attend, values)

    try:
        with context():
            step()
            replay = captured(step, [], device)
            seconds = best_of(5, lambda: [replay() for _ in range(20)]) / 20
    except (RuntimeError, EspalierError) as error:
        return row | {"microseconds": None, "error": None, "refused": str(error).splitlines()[0]}
    worst = max(map(share, found, wanted))
    return row | {"microseconds": round(1e6 * seconds, 1), "error": worst, "refused": ""}


def share(found: Tensor, wanted: Tensor) -> float:
    """The largest difference over the largest number."""
    found, wanted = found.detach().double().cpu(), wanted.detach()
    return float((found - wanted).abs().max() / wanted.abs().max())


def rows(sizes: tuple[Size, ...], ways: list[str], device: torch.device) -> Iterator[dict]:
    """The table, printed as it comes."""
    for size in sizes:
        for way in ways:
            row = measured(size, way, device)
            told = f"{row['error']:.1e}" if row["error"] is not None else row["refused"][:80]
            print(f"{size.name:14} {way:20} {row['microseconds']!s:>9} us  {told}", flush=True)
            yield row


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--small", action="store_true", help="one small size, to try the script")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args(words)
    table = list(rows((SMALL,) if args.small else SIZES, args.ways, choose_device(args.device)))
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        write_text(args.out / "attention.json", json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
