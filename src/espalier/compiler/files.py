"""Compiled models on disk: one safetensors file that holds tensors and JSON, and runs no code.

The metadata holds the program and what every residual dimension means; the tensors hold the rest.
The file holds the model as it is, edited or not; `compiled` is the digest of what the program
compiled to, which shows whether it was edited.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from espalier.compiler.basis import Basis, Realism
from espalier.compiler.fit import dtype_named, misfits
from espalier.compiler.layout import Layout, lay_out
from espalier.errors import CompileError, FileError, ModelError, ProgramError
from espalier.files import suggest_name
from espalier.language import find_conflict, from_record, to_record
from espalier.nets import (
    CHECKSUMS,
    check_checksums,
    check_finite,
    parse_json,
    read_safetensors,
    write_safetensors,
)
from espalier.nets.compiled import Weights, from_tensors, to_tensors

FORMAT = "espalier-compiled"
VERSION = 2


@dataclass(frozen=True)
class Stored:
    """What a file holds of a compiled model: `digest` and `dtype` are of what was compiled."""

    layout: Layout
    weights: Weights
    digest: str
    dtype: torch.dtype


def write_compiled(stored: Stored, path: str | os.PathLike[str]) -> None:
    """Write a model as it is to `path`, completely or not at all."""
    if Path(path).suffix != ".safetensors":
        raise FileError(
            f"cannot write {path}: a compiled program is a safetensors file, and is loaded by that "
            f"name; call it {suggest_name(path, '.safetensors')}"
        )
    program = stored.layout.program
    clash = find_conflict(program.rules)
    if clash is not None:
        raise CompileError(
            f"cannot write {path}: [{clash[0]}] and [{clash[1]}] can hold together, as in a "
            f"minimal version that lost conditions, and no such program is read back; save the "
            f"program that keeps them"
        )
    tensors, weights = to_tensors(stored.weights)
    tensors |= _basis_tensors(stored.layout)
    try:
        check_finite(tensors)
    except ModelError as error:
        raise ModelError(f"cannot write {path}: {error}") from error
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "program": json.dumps(to_record(program)),
        "layout": json.dumps(stored.layout.labels),
        "vocabulary": json.dumps(program.vocabulary),
        "weights": weights,
        "compiled": stored.digest,
        "dtype": str(stored.dtype),
    }
    if stored.layout.realism is not None:
        metadata["realism"] = json.dumps(_realism_record(stored.layout))
    write_safetensors(path, tensors, metadata)


def _basis_tensors(layout: Layout) -> dict[str, torch.Tensor]:
    basis = layout.basis
    if basis is None:
        return {}
    return {"basis.directions": basis.directions, "basis.readout": basis.readout}


def _realism_record(layout: Layout) -> dict[str, Any]:
    assert layout.realism is not None
    assert layout.basis is not None
    return dataclasses.asdict(layout.realism) | {"proven_layers": layout.basis.layers}


def _read_realism(
    tensors: dict[str, torch.Tensor], metadata: dict[str, str]
) -> tuple[Realism | None, Basis | None]:
    """The realism of a file and its basis, whose tensors are taken out; None where it is clean."""
    if "realism" not in metadata:
        return None, None
    record = parse_json(metadata["realism"])
    names = {field.name for field in dataclasses.fields(Realism)} | {"proven_layers"}
    if not isinstance(record, dict) or set(record) != names:
        raise ModelError(f"its realism is not a table of {', '.join(sorted(names))}")
    layers = record.pop("proven_layers")
    if layers is not None and type(layers) is not int:
        raise ModelError(f"its proven_layers are {layers!r}; a whole number is expected")
    found = [tensors.pop(f"basis.{name}", None) for name in ("directions", "readout")]
    if any(t is None or t.dim() != 2 or t.dtype != torch.float64 for t in found):
        raise ModelError("it lacks 'basis.directions' or 'basis.readout', matrices of float64")
    directions, readout = found
    assert directions is not None
    assert readout is not None
    if directions.shape != readout.t().shape:
        raise ModelError(
            f"'basis.directions' has shape {tuple(directions.shape)}, which does not fit "
            f"'basis.readout', {tuple(readout.shape)}"
        )
    return Realism(**record), Basis(directions, readout, layers)


def read_compiled(path: str | os.PathLike[str]) -> Stored:
    """What was written to `path`, if it is complete and consistent."""
    if not isinstance(path, str | os.PathLike) or not Path(path).is_file():
        raise FileError(f"there is no file {path}; `espalier compile NAME -o FILE` writes one")
    tensors, metadata = read_safetensors(path)
    if metadata.get("format") != FORMAT or metadata.get("version") != str(VERSION):
        found = f"{metadata.get('format')!r}, version {metadata.get('version')!r}"
        raise FileError(
            f"{path} holds {found}; load_compiled reads {FORMAT!r}, version '{VERSION}'"
        )
    absent = {"program", "weights", "compiled", "dtype", CHECKSUMS} - set(metadata)
    if absent:
        raise FileError(f"{path} is damaged: its metadata lack {', '.join(sorted(absent))}")
    try:
        check_finite(tensors)
        check_checksums(tensors, metadata)
        realism, basis = _read_realism(tensors, metadata)
        weights = from_tensors(tensors, metadata["weights"])
        program = from_record(parse_json(metadata["program"]))
        layout = lay_out(program, dtype_named(metadata["dtype"]), realism)
        if basis is not None and len(basis.directions) != layout.width:
            raise ModelError(f"its basis has {len(basis.directions)} rows, not {layout.width}")
        layout = dataclasses.replace(layout, basis=basis)
        for fault in misfits(weights, layout):
            raise ModelError(f"its weights do not fit its program: {fault}")
    except (CompileError, ModelError, ProgramError) as error:
        raise FileError(f"{path} is damaged: {error}") from error
    return Stored(layout, weights, metadata["compiled"], dtype_named(metadata["dtype"]))
