"""One program in each tool: for how many of its inputs the tool's outputs are the compiled model's.

Each takes a `Case` and a folder for files, and compares the outputs of all positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

import espalier as es
from espalier.compiler import CompiledModel
from espalier.interventions import Copy
from espalier.nets import PlainTransformer


@dataclass
class Case:
    """A compiled program, its inputs, and its outputs after `layers` layers."""

    model: CompiledModel
    plain: PlainTransformer
    batch: list[list[int]]
    tokens: Tensor
    layers: int
    shortest: int  # layers of the input that halts first
    outputs: list[list[int]]
    changed: int = 0  # how many inputs an exchange of heads changes


def rows_equal(case: Case, logits: Tensor) -> int:
    """How many inputs have equal outputs at all positions; a null output is no value at all."""
    found = torch.where(logits.amax(-1) > 0.5, logits.argmax(-1), -1).tolist()
    own = [[-1 if v is None else v for v in row] for row in case.outputs]
    return sum(row[: len(o)] == o for row, o in zip(found, own, strict=True))


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
    whole = [run.outputs for run in case.model.run_many(case.batch)]
    return _runtime(replace(case, outputs=whole), path)


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
    """What all heads of a layer carried in another input, and the interpreter under that change."""
    import pyvene

    layer, partners = min(2, case.shortest), others(case.batch)
    block = case.plain.config.block_labels.index(
        next(n for n in case.plain.config.block_labels if n.startswith(f"layer {layer - 1}: heads"))
    )
    swap = pyvene.VanillaIntervention(embed_dim=case.plain.config.d_model)
    model = pyvene.IntervenableModel(
        {"component": f"blocks[{block}].attn.output", "intervention": swap}, model=case.plain
    )
    places = [[list(range(case.tokens.shape[1] + 1))] * len(case.batch)]
    source = {"tokens": case.tokens[torch.tensor(partners)]}
    _, logits = model({"tokens": case.tokens}, [source], {"sources->base": (places, places)})
    program = case.model.program
    traces = [es.interpret(program, row, max_layers=case.layers) for row in case.batch]
    changes = [
        [
            Copy(head, layer=layer, position=place, source=traces[partner], sublayer="attention")
            for head in program.heads
            for place in range(len(case.batch[partner]))
        ]
        for partner in partners
    ]
    runs = es.interpret_many(program, case.batch, max_layers=case.layers, interventions=changes)
    found = [run.outputs for run in runs]
    case.changed = sum(one != other for one, other in zip(found, case.outputs, strict=True))
    return rows_equal(replace(case, outputs=found), logits)


def by_captum(case: Case, folder: Path) -> int:
    """All outputs, weighed at random: the effect of either half, and parts that add up to all."""
    from captum.attr import FeatureAblation, ShapleyValueSampling

    weights = torch.rand(case.tokens.shape[1], case.plain.config.d_vocab_out, dtype=torch.float64)
    lengths = torch.tensor([len(row) for row in case.batch])
    valid = torch.arange(case.tokens.shape[1]) < lengths[:, None]

    def weigh(logits: Tensor) -> Tensor:
        return ((logits.double() * weights).sum(-1) * valid).sum(-1)

    def expected(tokens: Tensor) -> Tensor:
        given = tokens.masked_fill(tokens >= case.model.program.input_range, 0)
        return weigh(case.model(given, lengths, max_layers=case.layers))

    base = case.tokens[torch.tensor(others(case.batch))]
    half = (torch.arange(case.tokens.shape[1]) >= lengths[:, None] // 2).long()
    settings = {"baselines": base, "feature_mask": half}

    def forward(tokens: Tensor) -> Tensor:
        return weigh(case.plain(tokens))

    ablated = FeatureAblation(forward).attribute(case.tokens, **settings)
    parts = ShapleyValueSampling(forward).attribute(case.tokens, n_samples=1, **settings)
    whole = expected(case.tokens)
    rows, right = torch.arange(len(lengths)), torch.ones(len(lengths), dtype=torch.bool)
    shares = torch.zeros(len(lengths), dtype=torch.float64)
    for number in (0, 1):
        first = (half == number).long().argmax(-1)
        there = (half == number).any(-1)
        changed = whole - expected(torch.where(half == number, base, case.tokens))
        right &= ~there | ((ablated[rows, first] - changed).abs() < 1e-3)
        shares += torch.where(there, parts[rows, first], 0).double()
    return int((right & ((shares - (whole - expected(base))).abs() < 1e-3)).sum())


def others(batch: list[list[int]]) -> list[int]:
    """For each input the next one of its length, which is itself where there is no other."""
    found = []
    for place, row in enumerate(batch):
        later = [*range(place + 1, len(batch)), *range(place)]
        found.append(next((n for n in later if len(batch[n]) == len(row)), place))
    return found


def with_bos(case: Case) -> Tensor:
    return torch.nn.functional.pad(case.tokens, (1, 0), value=case.plain.config.bos_id)


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
