"""Weights as named tensors and JSON, and back: a tensor's name is the path to it.

What is read back is checked field by field against the types in `weights`, so that nothing is
built that those types do not allow; every error names the path.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from typing import Any

import torch
from torch import Tensor

from espalier.errors import ModelError
from espalier.nets.compiled.weights import LEFT_OUT, Sparse, Weights
from espalier.nets.tensor_files import checksums, parse_json

_TENSOR = "tensor"


def to_tensors(weights: Weights) -> tuple[dict[str, Tensor], str]:
    """Every tensor by its path, and the rest as JSON."""
    tensors: dict[str, Tensor] = {}
    record = _flatten(weights, "", tensors)
    return tensors, json.dumps(record)


def from_tensors(tensors: dict[str, Tensor], record: str) -> Weights:
    """What `to_tensors` was given; ModelError where the two are not of its making."""
    left = dict(tensors)
    found: Weights = _gather(Weights, parse_json(record), "weights", left)
    if left:
        raise ModelError(f"it has unknown tensors: {', '.join(sorted(left)[:8])}")
    return found


def on_cpu(weights: Weights) -> Weights:
    """The same weights on the CPU; themselves where they are there."""
    if weights.token_embedding.device.type == "cpu":
        return weights
    tensors, record = to_tensors(weights)
    return from_tensors({name: tensor.cpu() for name, tensor in tensors.items()}, record)


def digest_of(weights: Weights) -> str:
    """A hash of all numbers, their types and their places."""
    tensors, record = to_tensors(weights)
    found = json.dumps(checksums(tensors, {"weights": record}))
    return hashlib.sha256(found.encode()).hexdigest()


def _flatten(node: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(node, Tensor):
        tensors[path] = node.detach()
        return _TENSOR
    if dataclasses.is_dataclass(node):
        return {
            field.name: _flatten(
                getattr(node, field.name), f"{path}.{field.name}".lstrip("."), tensors
            )
            for field in dataclasses.fields(node)
            if field.metadata != LEFT_OUT or getattr(node, field.name) is not None
        }
    if isinstance(node, tuple):
        return [_flatten(part, f"{path}.{place}", tensors) for place, part in enumerate(node)]
    return node


def _gather(kind: Any, node: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """A value of type `kind`, as annotated in `weights`."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:  # with None
        return None if node is None else _gather(options[0], node, path, tensors)
    if origin is tuple:
        if not isinstance(node, list) or (options[-1] is not ... and len(node) != len(options)):
            raise ModelError(f"{path} is {_short(node)}; a list is expected")
        parts = enumerate(node)
        return tuple(_gather(options[0], part, f"{path}.{place}", tensors) for place, part in parts)
    if dataclasses.is_dataclass(kind):
        return _gather_fields(kind, node, path, tensors)
    if kind is Tensor:
        name = path.removeprefix("weights.")
        if node != _TENSOR or name not in tensors:
            raise ModelError(f"it lacks the tensor {name!r}")
        return tensors.pop(name)
    if kind is float and type(node) is int:
        node = float(node) if abs(node) < 1 << 53 else node
    if type(node) is not kind or (kind is float and not math.isfinite(node)):
        raise ModelError(f"{path} is {_short(node)}; a finite {kind.__name__} is expected")
    return node


_hints = functools.cache(typing.get_type_hints)


def _gather_fields(kind: Any, node: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    hints = _hints(kind)
    optional = {field.name for field in dataclasses.fields(kind) if field.metadata == LEFT_OUT}
    if not isinstance(node, dict) or not set(hints) - optional <= set(node) <= set(hints):
        raise ModelError(f"{path} is {_short(node)}; {', '.join(hints)} are expected")
    parts = {name: _gather(hints[name], node[name], f"{path}.{name}", tensors) for name in node}
    if kind is Sparse:
        _check_entries(parts, path.removeprefix("weights."))
    return kind(**parts)


def _check_entries(parts: dict[str, Any], path: str) -> None:
    """Entries of a matrix lie in it, one per place, in order."""
    (height, width), rows, columns = parts["shape"], parts["rows"], parts["columns"]
    for name in ("rows", "columns", "values"):
        tensor = parts[name]
        if tensor.shape != rows.shape or tensor.dim() != 1:
            raise ModelError(
                f"tensor '{path}.{name}' has shape {tuple(tensor.shape)}; '{path}.rows' has "
                f"{tuple(rows.shape)}, and both must be one list of equal length"
            )
    for name, places, size in (("rows", rows, height), ("columns", columns, width)):
        if places.dtype != torch.int64:
            raise ModelError(f"tensor '{path}.{name}' is {places.dtype}; torch.int64 is expected")
        if len(places) and not 0 <= int(places.min()) <= int(places.max()) < size:
            raise ModelError(f"tensor '{path}.{name}' has a place outside {height} x {width}")
    if height * width > 1 << 62 or bool((torch.diff(rows * width + columns) <= 0).any()):
        raise ModelError(f"tensor '{path}.rows' is not in the order of rows and columns")


def _short(node: Any) -> str:
    shown = repr(node)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
