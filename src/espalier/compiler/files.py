"""Compiled models on disk: one safetensors file that holds tensors and JSON, and runs no code.

The metadata holds the program and what every residual dimension means; the tensors hold the rest.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from espalier.compiler.layout import Layout, lay_out
from espalier.compiler.model import CompiledModel
from espalier.errors import CompileError, FileError
from espalier.files import atomic_path
from espalier.language.conflicts import find_conflict
from espalier.language.records import from_record, to_record
from espalier.nets.compiled import (
    ExpansionWeights,
    FeedForwardWeights,
    HaltWeights,
    HeadWeights,
    MeanWeights,
    RelativeBias,
    Sparse,
    Weights,
)

FORMAT = "espalier-compiled"
VERSION = 1

_KINDS = {
    kind.__name__: kind
    for kind in (
        ExpansionWeights,
        FeedForwardWeights,
        HaltWeights,
        HeadWeights,
        MeanWeights,
        RelativeBias,
        Sparse,
        Weights,
    )
}


def save_compiled(model: CompiledModel, path: str | os.PathLike[str]) -> None:
    """Write `model` to `path`, whole or not at all."""
    if model.dtype != model.weights.token_embedding.dtype:
        raise CompileError(
            f"this model was compiled for {model.weights.token_embedding.dtype} and moved to "
            f"{model.dtype}; to save it so, compile the program with dtype={model.dtype}"
        )
    clash = find_conflict(model.program.rules)
    if clash is not None:
        raise CompileError(
            f"cannot write {path}: [{clash[0]}] and [{clash[1]}] can hold together, as in a "
            f"minimal version that lost conditions, and no such program is read back; save the "
            f"program that keeps them"
        )
    tensors: dict[str, Tensor] = {}
    weights = _flatten(model.weights, "", tensors)
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "program": json.dumps(to_record(model.program)),
        "layout": json.dumps(model.labels),
        "vocabulary": json.dumps(model.program.vocabulary),
        "weights": json.dumps(weights),
    }
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata)


def load_compiled(path: str | os.PathLike[str]) -> CompiledModel:
    """The model that was saved to `path`."""
    if not isinstance(path, str | os.PathLike) or not Path(path).is_file():
        raise FileError(f"there is no file {path}; `espalier compile NAME -o FILE` writes one")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FileError(f"{path} is not a safetensors file: {error}") from error
    if metadata.get("format") != FORMAT or metadata.get("version") != str(VERSION):
        found = f"{metadata.get('format')!r}, version {metadata.get('version')!r}"
        raise FileError(
            f"{path} holds {found}; load_compiled reads {FORMAT!r}, version '{VERSION}'"
        )
    try:
        weights = _gather(json.loads(metadata["weights"]), tensors)
        program = from_record(json.loads(metadata["program"]))
        layout = lay_out(program, weights.token_embedding.dtype)
        _check_fit(weights, layout)
        return CompiledModel(layout, weights)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise FileError(f"{path} is damaged: {error}") from error


def _check_fit(weights: object, layout: Layout) -> None:
    """Refuse weights that are not of a Transformer for this program."""
    if not isinstance(weights, Weights):
        raise ValueError("its weights are not those of a Transformer")
    width, mlp = layout.width, weights.feedforward
    units = len(mlp.b1)
    fits = (
        weights.token_embedding.shape == (layout.program.input_range, width)
        and len(weights.heads) == len(layout.program.heads)
        and mlp.w1.shape == (units, width + layout.features)
        and mlp.w2.shape == (width, units)
        and weights.unembedding.shape == (layout.program.output.size, width)
        and all(isinstance(head.sink, float) for head in weights.heads)
        and all(head.output.shape[0] == width for head in weights.heads)
        and weights.causal is layout.program.causal
    )
    if not fits:
        raise ValueError("its weights do not fit its program")


def _flatten(node: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """A tree of dataclasses as JSON, with every tensor set aside under its path."""
    if isinstance(node, Tensor):
        tensors[path] = node.detach().cpu().contiguous()
        return {"tensor": path}
    if dataclasses.is_dataclass(node):
        fields = {
            field.name: _flatten(
                getattr(node, field.name), f"{path}.{field.name}".lstrip("."), tensors
            )
            for field in dataclasses.fields(node)
        }
        return {"kind": type(node).__name__, "fields": fields}
    if isinstance(node, tuple):
        return {"tuple": [_flatten(part, f"{path}.{i}", tensors) for i, part in enumerate(node)]}
    return node


def _gather(node: Any, tensors: dict[str, Tensor]) -> Any:
    match node:
        case {"tensor": name}:
            return tensors[name]
        case {"kind": kind, "fields": fields}:
            parts = {name: _gather(part, tensors) for name, part in fields.items()}
            if kind == "Sparse":
                parts["shape"] = tuple(parts["shape"])
            return _KINDS[kind](**parts)
        case {"tuple": parts}:
            return tuple(_gather(part, tensors) for part in parts)
        case _:
            return node
