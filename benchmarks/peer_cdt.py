"""The parts of a small BERT by our rules and by the authors' code of CD-T, on the same weights.

    git clone https://github.com/adelaidehsu/CD_Circuit PATH
    python -m benchmarks.peer_cdt PATH

The authors' functions are called from their checkout; imports that are not needed here
(transformer_lens, fancy_einsum) are stubbed. Compared with and without their setting of the smaller
of two opposite parts to zero, `ZeroOpposites` of ours.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import torch
import transformers.modeling_utils

import espalier as es
from espalier.decomposition import KeepOpposites, Rules, ZeroOpposites
from espalier.decomposition.network_parts import divide

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from any_networks import module


def authors(path: str):
    """Their module with BERT's decomposition."""
    sys.path.insert(0, path)
    for name in ("fancy_einsum", "transformer_lens"):
        sys.modules.setdefault(name, ModuleType(name)).einsum = None
    if not hasattr(transformers.modeling_utils, "ModuleUtilsMixin"):
        transformers.modeling_utils.ModuleUtilsMixin = object
    from pyfunctions import cdt_basic

    return cdt_basic


def largest(theirs, dtype: torch.dtype, *, zeroing: bool) -> float:
    """The largest difference of a relevant part, relative to its state."""
    model = module("bert").to(dtype).eval()
    net, heads = es.network(model), model.config.num_attention_heads
    for layer in model.bert.encoder.layer:
        layer.attention.self.num_attention_heads = heads
        layer.attention.self.attention_head_size = model.config.hidden_size // heads
        layer.attention.self.all_head_size = model.config.hidden_size
    kept = theirs.normalize_rel_irrel
    if not zeroing:
        theirs.normalize_rel_irrel = lambda *_: None
    worst = 0.0
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        inputs = net.embed(torch.randint(10, (1, 7), generator=generator))[0]
        focus = torch.rand(4, 7, generator=generator) < 0.4
        here, mask = focus[..., None].to(dtype), torch.zeros(1, 1, 1, 7, dtype=dtype)
        with torch.no_grad():
            relevant, _ = theirs.prop_encoder(
                inputs * here, inputs * (1 - here), mask, [None] * 2, model.bert.encoder
            )
        rules = Rules(opposites=ZeroOpposites() if zeroing else KeepOpposites())
        ours = divide(net, inputs, focus, rules=rules)
        apart = (relevant - ours.relevant).norm(dim=-1) / ours.whole.norm(dim=-1)
        worst = max(worst, float(apart.max()))
    theirs.normalize_rel_irrel = kept
    return worst


def main() -> None:
    theirs = authors(sys.argv[1])
    for dtype in (torch.float32, torch.float64):
        for zeroing in (False, True):
            found = largest(theirs, dtype, zeroing=zeroing)
            print(f"{dtype}, {'with' if zeroing else 'without'} their zeroing: {found:.1e}")


if __name__ == "__main__":
    main()
