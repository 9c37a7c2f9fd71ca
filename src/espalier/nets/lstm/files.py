"""Language models on disk: safetensors with the sizes and the words inside, and other people's.

A file holds one model, or an ensemble: the same names with a first axis of members. A file from
outside (a word language model of encoder, rnn and decoder) has no sizes written down; they are
read off its tensors.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from espalier.errors import FileError, ModelError, is_number, nearest
from espalier.nets.lstm.model import LanguageModel, LSTMShape
from espalier.nets.lstm.outside import check_logits, fill, infer_shape, tensors_of
from espalier.nets.lstm.vocabulary import Vocabulary
from espalier.nets.tensor_files import (
    CHECKSUMS,
    check_checksums,
    check_finite,
    parse_json,
    read_safetensors,
    write_safetensors,
)

Tensors = dict[str, Tensor]
# Makes a model of tensors, what the metadata say of them, and words.
Build = Callable[[Tensors, dict[str, Any], Vocabulary | None], Any]
# What the metadata say about the tensors, as JSON; a vocabulary reads its own part.
_RECORDED = ("shape", "members", "dropout")
ENGLISH = Path(__file__).parent / "pretrained" / "english.safetensors"


def save_language_model(
    model: LanguageModel, path: str | os.PathLike[str], *, dtype: torch.dtype | None = None
) -> None:
    """Write weights, sizes and words as one safetensors file; tied weights are stored once.

    `dtype` is what weights are stored in, their own by default; torch.float16 takes half the
    room.
    """
    tensors = {name: p.detach().to(dtype or p.dtype) for name, p in model.named_parameters()}
    metadata = {"shape": json.dumps(model.shape.to_dict())}
    if model.vocabulary is not None:
        metadata |= model.vocabulary.to_metadata()
    write_safetensors(path, tensors, metadata)


def load_language_model(
    source: str | os.PathLike[str] | nn.Module | Mapping[str, Tensor] | None = None,
    *,
    member: str | int | None = None,
    words: Sequence[str] | Mapping[str, int] | Vocabulary | None = None,
    build: Build | None = None,
) -> LanguageModel:
    """A language model from a checkpoint, a run (its last one), a module or a state dict.

    Without a source it is the small English one that comes with the package.

    The suffix may be left out, as in `runs/k8/epoch-40`. `member` names one of an ensemble;
    `words` gives a model from outside its vocabulary, in the order of its numbers or with them.
    Of a module or a file from outside every tensor is used or refused by name, and a module's own
    logits on random tokens are compared with ours (`nets.lstm.outside`). `build` makes the model of
    what is stored, by default an LSTM.
    """
    metadata: dict[str, str] = {}
    if isinstance(source, nn.Module):
        tensors, origin = {}, type(source).__name__
    elif isinstance(source, Mapping):
        tensors, origin = dict(source), "the state dict"
    else:
        file = ENGLISH if source is None else find_checkpoint(source)
        tensors, metadata = read_tensors(file)
        origin = str(file)
    tensors = _checked(tensors, origin)
    try:
        if isinstance(source, nn.Module):
            tensors = tensors_of(source)
        record = _record(metadata)
        if "members" in record:
            index = _choose_member(_member_names(record["members"]), member)
            tensors, record = _member_of(tensors, record, index)
        elif member is not None:
            raise ModelError(f"it holds one model, not an ensemble; leave out member={member!r}")
        given = Vocabulary.from_metadata(metadata) if words is None else Vocabulary.of(words)
        model = (build or build_lstm)(tensors, record, given)
        if isinstance(source, nn.Module) and not isinstance(source, LanguageModel):
            device = next(source.parameters()).device
            tokens = torch.randint(model.shape.vocabulary_size, (2, 5))
            check_logits(source, model(tokens)[0].to(device), tokens.to(device))
        return model
    except ModelError as error:
        raise ModelError(f"{origin}: {error}") from error


def models_of(
    tensors: Tensors, metadata: Mapping[str, str], *, build: Build | None = None
) -> tuple[LanguageModel, ...]:
    """Every model that a checkpoint holds: an ensemble's members, or one model alone."""
    record, vocabulary = _record(metadata), Vocabulary.from_metadata(metadata)
    build = build or build_lstm
    if "members" not in record:
        return (build(tensors, record, vocabulary),)
    count = len(_member_names(record["members"]))
    return tuple(build(*_member_of(tensors, record, index), vocabulary) for index in range(count))


def member_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The members that a checkpoint holds; none for a model alone."""
    _, metadata = read_tensors(find_checkpoint(path))
    return tuple(_member_names(parse_json(metadata.get("members", "[]"))))


def find_checkpoint(path: str | os.PathLike[str]) -> Path:
    """The file meant by a path: itself, with its suffix added, or the last of a run."""
    asked = Path(path)
    if asked.is_file():
        return asked
    suffixed = Path(f"{asked}.safetensors")  # of . it is a file that is not there
    if suffixed.is_file():
        return suffixed
    if asked.is_dir():
        found = checkpoints(asked)
        if found:
            return found[-1]
        raise FileError(f"{asked} holds no checkpoint (epoch-*.safetensors); was it trained?")
    there = [file.stem for file in checkpoints(asked.parent)] if asked.parent.is_dir() else []
    hint = nearest(asked.name, there) if there else f"{asked.parent} holds no checkpoint"
    raise FileError(f"there is no model at {asked}, nor at {suffixed.name}; {hint}")


def checkpoints(folder: str | os.PathLike[str]) -> list[Path]:
    """The checkpoints of a run in the order of training: by the step that each of them says."""
    files = [file for file in Path(folder).glob("*.safetensors") if _place(file) is not None]
    return sorted(files, key=_step)


def read_tensors(file: Path) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of a safetensors file as it was written, or a PyTorch file's tensors."""
    if file.suffix in (".pt", ".pth", ".bin"):
        return _unpickled(file), {}
    tensors, metadata = read_safetensors(file)
    try:
        check_checksums(tensors, metadata)
    except ModelError as error:
        raise FileError(f"{file} is damaged: {error}") from error
    metadata.pop(CHECKSUMS, None)
    return tensors, metadata


def _checked(tensors: Mapping[Any, Any], origin: str) -> Tensors:
    """The tensors of a model, under names without what data-parallel training puts before them."""
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            found = f"{name!r} is a {type(tensor).__name__}"
            raise ModelError(f"{origin}: {found}; a state dict of names and tensors is expected")
        if not tensor.is_floating_point():
            raise ModelError(f"{origin}: {name} is {tensor.dtype}; weights are real numbers")
    return {name.removeprefix("module."): tensor for name, tensor in tensors.items()}


def _stored_shape(record: object, found: LSTMShape) -> LSTMShape:
    """The sizes that were written, if they are those of the tensors."""
    expected = found.to_dict()
    if not isinstance(record, dict) or not record.keys() <= expected.keys():
        raise ModelError(f"its sizes are not those of a language model: {str(record)[:60]}")
    given: dict[str, Any] = {field.name: field.default for field in fields(LSTMShape)}
    given |= record
    for name in ("vocabulary_size", "hidden", "layers", "embedding", "tied"):
        wanted = found.width if name == "embedding" else expected[name]
        value = wanted if name == "embedding" and given[name] is None else given[name]
        if type(value) is not type(wanted) or value != wanted:
            raise ModelError(
                f"its {name} is {str(value)[:40]}, but its tensors say {wanted}: it does not fit "
                f"its own sizes; save it again with save_language_model"
            )
    if not is_number(given["dropout"]):
        raise ModelError(f"its dropout is {str(given['dropout'])[:40]}; a number is expected")
    return replace(found, embedding=given["embedding"], dropout=float(given["dropout"]))


def _record(metadata: Mapping[str, str]) -> dict[str, Any]:
    """What the metadata say about the tensors."""
    return {name: parse_json(metadata[name]) for name in _RECORDED if name in metadata}


def build_lstm(
    tensors: Tensors, record: dict[str, Any], vocabulary: Vocabulary | None
) -> LanguageModel:
    """The LSTM that was stored, or one from outside."""
    shape = infer_shape(tensors)
    if "shape" in record:
        shape = _stored_shape(record["shape"], shape)
    check_finite(tensors)
    return fill(LanguageModel(shape, vocabulary=vocabulary), tensors)


def _member_of(
    tensors: Tensors, record: dict[str, Any], index: int
) -> tuple[Tensors, dict[str, Any]]:
    """One member's tensors, and what is said about them, with its own dropout."""
    count = len(record["members"])
    for name, tensor in tensors.items():
        if tensor.dim() < 1 or len(tensor) != count:
            found = tuple(tensor.shape)
            raise ModelError(f"{name} has shape {found}, but there are {count} members")
    alone = {name: tensor[index].clone() for name, tensor in tensors.items()}
    dropout, shape = record.get("dropout"), record.get("shape")
    if dropout is None or not isinstance(shape, dict):
        return alone, record
    if not isinstance(dropout, list) or len(dropout) != count:
        raise ModelError(f"its dropout is {str(dropout)[:60]}; one for each member is expected")
    return alone, record | {"shape": shape | {"dropout": dropout[index]}}


def _member_names(names: object) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"its members are {str(names)[:60]}; a list of names is expected")
    return names


def _choose_member(names: Sequence[str], member: str | int | None) -> int:
    if member is None and len(names) == 1:
        member = 0
    if isinstance(member, str) and member in names:
        member = names.index(member)
    if not isinstance(member, int) or not 0 <= member < len(names):
        asked = "say which with member=" if member is None else f"none is {member!r}"
        raise ModelError(f"it holds {len(names)} models, {asked}; {nearest(member, names)}")
    return member


def _unpickled(file: Path) -> Tensors:
    try:
        loaded: Any = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise FileError(
            f"{file} cannot be read without running code stored in it; save the model's "
            f"state_dict() instead: torch.save(model.state_dict(), path)"
        ) from error
    if isinstance(loaded, Mapping) and isinstance(loaded.get("state_dict"), Mapping):
        loaded = loaded["state_dict"]
    if not isinstance(loaded, Mapping):
        raise FileError(f"{file} holds a {type(loaded).__name__}; a state dict was expected")
    return dict(loaded)


def _place(file: Path) -> re.Match[str] | None:
    return re.fullmatch(r"(epoch|step)-(\d+)", file.stem)


def _step(file: Path) -> tuple[float, int]:
    """After how many steps it was made; epochs of a file that does not say are taken for late."""
    kind, _, number = file.stem.partition("-")
    try:
        with safe_open(file, framework="pt") as opened:
            step = float((opened.metadata() or {})["step"])
    except (OSError, SafetensorError, KeyError, ValueError):
        step = float(number) if kind == "step" else math.inf
    return step, int(number)
