"""How a small BERT mixes words by our ALTI and by the authors' code, on the same weights.

    git clone https://github.com/mt-upc/transformer-contributions PATH
    python -m benchmarks.peer_alti PATH

Their contributions of every layer are clipped, normalised and multiplied as their notebooks do,
with and without the 1e-6 that torch's pairwise_distance adds to every difference. Imports of their
modules that are not needed here are stubbed.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import torch
import yaml

import espalier as es
from espalier.decomposition.rollout import nearness, roll_out

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from any_networks import module


def authors(path: str):
    """Their modules of contributions."""
    reader = ModuleType("pyaml_env")
    reader.parse_config = lambda file: yaml.safe_load(Path(file).read_text())  # type: ignore[attr-defined]
    sys.modules["pyaml_env"] = reader
    for name in ("datasets", "ipywidgets", "dotenv", "captum", "captum.attr"):
        sys.modules[name] = MagicMock()
    sys.path.insert(0, path)
    os.chdir(path)
    return import_module("src.contributions"), import_module("src.utils_contributions")


def largest(contributions, utilities, dtype: torch.dtype) -> float:
    """The largest difference of a share, of 20 random sentences."""
    model = module("bert").to(dtype).eval()
    model.set_attn_implementation("eager")
    net, worst = es.network(model), 0.0
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(1, 10, (1, 7), generator=generator)
        found = contributions.ModelWrapper(model)({"input_ids": tokens})[-1]
        layers = utilities.normalize_contributions(
            found["contributions"],
            scaling="min_sum",
            resultant_norm=found["resultants"].norm(p=1, dim=-1),
        )
        theirs = utilities.compute_joint_attention(layers)[-1]
        with torch.no_grad():
            ours = roll_out(net, net.embed(tokens)[0], nearness)
        worst = max(worst, float((theirs - ours).abs().max()))
    return worst


def main() -> None:
    contributions, utilities = authors(sys.argv[1])
    added = contributions.F.pairwise_distance
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)  # theirs makes its matrices in it
        for eps in (1e-6, 0.0):
            contributions.F.pairwise_distance = partial(added, eps=eps)
            found = largest(contributions, utilities, dtype)
            print(f"{dtype}, {eps} added: shares differ by at most {found:.1e}")


if __name__ == "__main__":
    main()
