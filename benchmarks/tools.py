"""Every program of the zoo in every tool: equal outputs on 100 inputs, or not.

python -m benchmarks.tools [--programs NAME ...] writes results/tools.json and the page
docs/results/tools.md.
A cell compares the outputs of all positions of all inputs with those of the compiled model.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import espalier as es
from benchmarks.harness import RESULTS, machine
from espalier.compiler import CompiledModel
from espalier.nets import PlainTransformer

INPUTS, SIZE, SEED = 100, 4, 0
# Deeper ones are cut here: all cells compare what is there after so many layers.
MOST_LAYERS = {"scan": 12}
# A machine of 32 cells has 6,691 units in each of its dense blocks.
SETTINGS: dict[str, dict[str, Any]] = {
    "scan": {"outputs": 24},
    "subleq": {"lowest": -8, "highest": 7, "memory": 8},
}
PAGE = Path(__file__).parents[1] / "docs" / "results" / "tools.md"
PACKAGES = {
    "torch": "torch",
    "ONNX": "onnx",
    "onnxruntime": "onnxruntime",
    "transformers": "transformers",
    "TransformerLens": "transformer-lens",
    "nnsight": "nnsight",
    "pyvene": "pyvene",
    "captum": "captum",
}


@dataclass
class Case:
    """A compiled program, its inputs, and what it answers after `layers` layers."""

    model: CompiledModel
    plain: PlainTransformer
    batch: list[list[int]]
    tokens: Tensor
    layers: int
    outputs: list[list[int]]


def load(name: str) -> Case:
    entry = es.zoo.load(name, **SETTINGS.get(name, {}))
    model = es.compile_program(entry.program)
    batch = [entry.encode(given) for given in entry.samples(INPUTS, size=SIZE, seed=SEED)]
    runs = model.run_many(batch, max_layers=entry.max_layers)
    layers = min(max(run.layers for run in runs), MOST_LAYERS.get(name, 10**6))
    plain = model.unroll(layers, max(map(len, batch))).eval()
    outputs = [run.outputs for run in model.run_many(batch, max_layers=layers)]
    return Case(model, plain, batch, plain.pad(batch), layers, outputs)


def rows_equal(case: Case, logits: Tensor) -> int:
    """How many inputs have equal outputs at all positions."""
    found = logits.argmax(-1).tolist()
    return sum(row[: len(own)] == own for row, own in zip(found, case.outputs, strict=True))


def by_torch(case: Case, folder: Path) -> int:
    return rows_equal(case, case.plain(case.tokens))


def by_export(case: Case, folder: Path) -> int:
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim.AUTO}
    exported = torch.export.export(case.plain, (case.tokens,), dynamic_shapes=(sizes,))
    return rows_equal(case, exported.module()(case.tokens))


def by_onnx(case: Case, folder: Path) -> int:
    return _runtime(case, es.to_onnx(case.plain, folder / "fixed.onnx"))


def by_onnx_loop(case: Case, folder: Path) -> int | str:
    if case.model.program.halt is None:
        return "does not halt"
    positions = case.tokens.shape[1]
    path = es.to_onnx(case.model, folder / "loop.onnx", positions=positions)
    whole = case.model.run_many(case.batch)
    return _runtime(Case(**vars(case) | {"outputs": [run.outputs for run in whole]}), path)


def _runtime(case: Case, path: Path) -> int:
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    (logits,) = session.run(None, {"tokens": case.tokens.numpy()})
    return rows_equal(case, torch.tensor(logits))


def by_transformers(case: Case, folder: Path) -> int:
    from transformers import AutoModel

    positions = case.tokens.shape[1]
    es.to_transformers(case.model, folder / "hf", layers=case.layers, positions=positions)
    loaded = AutoModel.from_pretrained(folder / "hf")
    return rows_equal(case, loaded(input_ids=with_bos(case)).logits[:, 1:])


def by_lens(case: Case, folder: Path) -> int:
    bridge = es.to_transformer_lens(case.plain)
    logits, _ = bridge.run_with_cache(with_bos(case), names_filter="blocks.0.hook_resid_pre")
    return rows_equal(case, logits[:, 1:])


def by_nnsight(case: Case, folder: Path) -> int:
    import nnsight

    model = nnsight.NNsight(case.plain)
    with model.trace(case.tokens):
        logits = model.output.save()
    return rows_equal(case, logits)


def by_pyvene(case: Case, folder: Path) -> int:
    """A sub-layer's output, exchanged for the same of the same input."""
    import pyvene

    swap = pyvene.VanillaIntervention(embed_dim=case.plain.config.d_model)
    model = pyvene.IntervenableModel(
        {"component": "blocks[0].attn.output", "intervention": swap}, model=case.plain
    )
    places = [[list(range(case.tokens.shape[1] + 1))] * INPUTS]
    given = {"tokens": case.tokens}
    _, logits = model(given, [given], {"sources->base": (places, places)})
    return rows_equal(case, logits)


def by_captum(case: Case, folder: Path) -> int:
    """Ablating a first token is what the compiled model says of the input with token 0 there."""
    from captum.attr import FeatureAblation

    def last(tokens: Tensor) -> Tensor:
        ends = torch.tensor([len(row) - 1 for row in case.batch])
        return case.plain(tokens)[torch.arange(len(tokens)), ends].amax(-1)

    def expected(batch: list[list[int]]) -> Tensor:
        tokens, lengths = case.plain.pad(batch), torch.tensor([len(row) for row in batch])
        tokens = tokens.masked_fill(tokens == case.plain.config.pad_id, 0)
        logits = case.model(tokens, lengths, max_layers=case.layers)
        return logits[torch.arange(len(batch)), lengths - 1].amax(-1)

    mask = torch.zeros_like(case.tokens)
    mask[:, 1:] = 1
    found = FeatureAblation(last).attribute(case.tokens, baselines=0, feature_mask=mask)[:, 0]
    wanted = expected(case.batch) - expected([[0, *row[1:]] for row in case.batch])
    return int(((found - wanted).abs() < 1e-6).sum())


TOOLS: dict[str, Callable[[Case, Path], int | str]] = {
    "plain module": by_torch,
    "torch.export": by_export,
    "ONNX": by_onnx,
    "ONNX loop": by_onnx_loop,
    "transformers": by_transformers,
    "TransformerLens": by_lens,
    "nnsight": by_nnsight,
    "pyvene": by_pyvene,
    "captum": by_captum,
}


def with_bos(case: Case) -> Tensor:
    return torch.nn.functional.pad(case.tokens, (1, 0), value=case.plain.config.bos_id)


def measure(name: str) -> dict[str, Any]:
    case = load(name)
    config = case.plain.config
    row: dict[str, Any] = {
        "program": name,
        "layers": case.layers,
        "blocks": len(config.plan),
        "width": config.d_model,
        "units": config.d_mlp,
        "longest": case.tokens.shape[1],
    }
    for tool, work in TOOLS.items():
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            try:
                row[tool] = work(case, Path(folder))
            except ImportError as error:
                row[tool] = f"not installed ({error.name})"
            except Exception as error:
                row[tool] = f"{type(error).__name__}: {str(error)[:80]}"
        print(f"{name}, {tool}: {row[tool]} ({time.process_time() - began:.1f} s)", flush=True)
        gc.collect()
    return row


def write(rows: list[dict[str, Any]]) -> None:
    versions = {name: version(package) for name, package in PACKAGES.items()}
    found = {"machine": machine(), "versions": versions, "inputs": INPUTS, "rows": rows}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "tools.json").write_text(json.dumps(found, indent=1))
    head = ["program", "layers", "blocks", "width", "units", *TOOLS]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(str(row[name]) for name in head) + " |" for row in rows]
    shown = ", ".join(f"{name} {number}" for name, number in versions.items())
    PAGE.write_text(_TEXT.format(inputs=INPUTS, size=SIZE, versions=shown, table="\n".join(lines)))


_TEXT = """# Programs in other tools

```
python -m benchmarks.tools
```

For each program of the zoo {inputs} random inputs (of size up to {size}, seed 0) are run by the
compiled model and by each tool on what [espalier exports to it](../tools.md). A cell says for how
many inputs the outputs of all positions are equal. All tools run as many layers as the longest of
the inputs needs, but SCAN 12, where outputs are compared as they are then; the loop runs until all
have halted. SCAN has room for 24 actions, SUBLEQ 8 cells of -8 to 7. For pyvene a sub-layer's
output is exchanged for the same input's; for captum the effect of ablating the first token is
compared with the compiled model's on the two inputs. Width and units are those of the textbook
form, whose blocks are all alike. circuitsvis computes nothing; its test draws a pattern.

{versions}; two x86-64 cores.

{table}

Relative heads are one-hot positions and halting is a head, so no tool has to know of either.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", nargs="*", default=list(es.zoo.names()))
    chosen = parser.parse_args().programs
    warnings.simplefilter("ignore")
    rows = []
    for name in chosen:
        rows.append(measure(name))
        write(rows)


if __name__ == "__main__":
    main()
