"""Safetensors files with checksums of all that is in them, and errors of this package only."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from espalier.errors import FileError, ModelError
from espalier.files import atomic_path, check_readable, folder_beside

Tensors = dict[str, Tensor]

CHECKSUMS = "checksums"
# The key of the metadata's checksum among those of the tensors.
_METADATA = ""
_BEGINNING = '{"": "'  # of a table of checksums


def write_safetensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> None:
    """Write tensors, metadata and the checksums of both, completely or not at all."""
    from safetensors.torch import save_file

    held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    found = json.dumps(checksums(held, metadata))
    with atomic_path(path) as temporary, folder_beside(path) as folder:
        save_file(held, folder / "whole", {**metadata, CHECKSUMS: found})
        (folder / "whole").replace(temporary)


def read_safetensors(path: str | os.PathLike[str]) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of a safetensors file, not yet compared with their checksums."""
    from safetensors import safe_open

    if not Path(path).is_file():
        raise FileError(f"there is no file {path}")
    check_readable(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # the library's own, and those of what it calls
        raise FileError(
            f"{path} is not a safetensors file, or is cut short or damaged: {error}"
        ) from error
    return tensors, metadata


def check_checksums(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Refuse with a ModelError what is not as it was written, by name.

    A file from elsewhere has no checksums, and is taken as it is.
    """
    if CHECKSUMS not in metadata:
        if any(text.startswith(_BEGINNING) for text in metadata.values()):
            raise ModelError(f"its {CHECKSUMS} are under another name than they were written")
        return
    written = parse_json(metadata[CHECKSUMS])
    rest = {name: text for name, text in metadata.items() if name != CHECKSUMS}
    found = checksums(tensors, rest)
    if not isinstance(written, dict):
        raise ModelError(f"its {CHECKSUMS} are not a table of names")
    for name in sorted(written.keys() | found.keys()):
        if written.get(name) != found.get(name):
            raise ModelError(_difference(name, written.get(name), found.get(name)))


def checksums(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> dict[str, str]:
    """For each tensor its type, its shape and a hash of its numbers; and a hash of the metadata."""
    table = json.dumps(dict(metadata), sort_keys=True)
    found = {_METADATA: hashlib.sha256(table.encode()).hexdigest()}
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        numbers = hashlib.sha256(tensor.reshape(-1).view(torch.uint8).numpy().data).hexdigest()
        found[name] = f"{tensor.dtype} {list(tensor.shape)} {numbers}"
    return found


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Refuse NaN and infinite weights; minus infinity in a relative bias is a mask."""
    for name, tensor in tensors.items():
        allowed = tensor.isfinite()
        if name.endswith("relative_bias.table"):
            allowed = allowed | (tensor == -torch.inf)
        if not bool(allowed.all()):
            place = (~allowed).nonzero()[0].tolist()
            raise ModelError(
                f"tensor {name!r} holds {tensor[tuple(place)].item()} at {place}; weights must be "
                f"finite numbers"
            )


def parse_json(text: str) -> Any:
    """What a text of JSON holds; ModelError if it is none, or is nested without end."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"its metadata are not JSON: {error}") from error


def _difference(name: str, written: object, found: object) -> str:
    remedy = "make or copy the file again (to edit a model, load it, change it and save it)"
    if name == _METADATA:
        return f"its metadata are not those that were written; {remedy}"
    if found is None:
        return f"it lacks the tensor {name!r}; {remedy}"
    if written is None:
        return f"tensor {name!r} is none that was written; {remedy}"
    (was, _, _), (now, _, _) = str(written).rpartition(" "), str(found).rpartition(" ")
    what = "holds other numbers than were written"
    return f"tensor {name!r} {what if was == now else f'is {now}, not {was}'}; {remedy}"
