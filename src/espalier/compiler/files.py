"""Compiled models on disk: one safetensors file that holds tensors and JSON, and runs no code.

The metadata holds the program and what every residual dimension means; the tensors hold the rest.
What is written is what the model holds, edited or not; `compiled` is the digest of what the
program compiled to, which tells the two apart.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import torch

from espalier.compiler.fit import dtype_named, misfits
from espalier.compiler.layout import Layout, lay_out
from espalier.errors import CompileError, FileError, ModelError, ProgramError
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
    """Write a model as it is to `path`, whole or not at all."""
    program = stored.layout.program
    clash = find_conflict(program.rules)
    if clash is not None:
        raise CompileError(
            f"cannot write {path}: [{clash[0]}] and [{clash[1]}] can hold together, as in a "
            f"minimal version that lost conditions, and no such program is read back; save the "
            f"program that keeps them"
        )
    tensors, weights = to_tensors(stored.weights)
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
    write_safetensors(path, tensors, metadata)


def read_compiled(path: str | os.PathLike[str]) -> Stored:
    """What was written to `path`, if all of it is whole and fits together."""
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
        weights = from_tensors(tensors, metadata["weights"])
        program = from_record(parse_json(metadata["program"]))
        layout = lay_out(program, dtype_named(metadata["dtype"]))
        for fault in misfits(weights, layout):
            raise ModelError(f"its weights do not fit its program: {fault}")
    except (CompileError, ModelError, ProgramError) as error:
        raise FileError(f"{path} is damaged: {error}") from error
    return Stored(layout, weights, metadata["compiled"], dtype_named(metadata["dtype"]))
