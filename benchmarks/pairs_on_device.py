"""Every pair of a treebank on one CUDA device: checked against the CPU in double precision, timed.

    python benchmarks/accelerator.py pairs --out DIR

Needs torch, numpy and jaxtyping only. Lengths are those of UD English-EWT; words and weights are
random, 400 units.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.lengths import random_sentences, treebank_lengths
from espalier.decomposition import interdependence_corpus
from espalier.nets.lstm import language_model

TYPES = 12_277


def values(model, sentences, **settings) -> np.ndarray:
    blocks = list(interdependence_corpus(model, sentences, **settings))
    return np.concatenate([block.value for block in blocks])


def check(device: torch.device, hidden: int, layers: int) -> dict[str, float]:
    """The largest difference from the CPU in double precision, in either precision."""
    model = language_model(vocabulary_size=TYPES, hidden=hidden, layers=layers, seed=0).double()
    some = random_sentences(treebank_lengths()[:40], TYPES)
    found = {}
    for space in ("hidden", "logits"):
        wanted = values(model, some, space=space)
        for dtype in (torch.float64, torch.float32):
            moved = language_model(vocabulary_size=TYPES, hidden=hidden, layers=layers, seed=0)
            got = values(moved.to(device, dtype), some, space=space)
            apart = np.abs(got - wanted) / np.maximum(wanted, 1e-3)
            found[f"{space} {layers} {str(dtype)[6:]}"] = float(apart.max())
    return found


def pairs(device: torch.device, out: Path | None, *, hidden: int) -> dict[str, object]:
    """Check, then time the whole treebank: once to warm up, then three times."""
    result: dict[str, object] = {"device": str(device), "torch": torch.__version__}
    if device.type == "cuda":
        result["name"] = torch.cuda.get_device_name()
    for layers in (1, 2):
        result |= check(device, min(hidden, 100), layers)
    model = language_model(vocabulary_size=TYPES, hidden=hidden, seed=0).to(device)
    sentences = random_sentences(treebank_lengths(), TYPES)
    for space in ("hidden", "logits"):
        seconds = []
        for _ in range(4):
            began = time.perf_counter()
            count = len(values(model, sentences, space=space))
            seconds.append(time.perf_counter() - began)
        result |= {f"{space} pairs": count, f"{space} seconds": seconds[1:]}
        result[f"{space} us/pair"] = 1e6 * min(seconds[1:]) / count
    if device.type == "cuda":
        result["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    print(json.dumps(result, indent=1), flush=True)
    if out is not None:
        (out / "pairs.json").write_text(json.dumps(result, indent=1))
    return result
