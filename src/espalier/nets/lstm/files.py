"""Language models on disk: safetensors with the sizes and the words inside, and other people's.

A file holds one model, or an ensemble: the same names with a first axis of members. A file from
outside (a word language model of encoder, rnn and decoder) has no sizes written down; they are
read off its tensors.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from espalier.errors import FileError, ModelError, nearest
from espalier.files import atomic_path
from espalier.nets.lstm.model import LanguageModel, LSTMShape
from espalier.nets.lstm.vocabulary import Vocabulary

Tensors = dict[str, Tensor]
ENGLISH = Path(__file__).parent / "pretrained" / "english.safetensors"


def save_language_model(
    model: LanguageModel, path: str | os.PathLike[str], *, dtype: torch.dtype | None = None
) -> None:
    """Write weights, sizes and words as one safetensors file; tied weights are stored once.

    `dtype` is what weights are stored in, their own by default; torch.float16 takes half the
    room.
    """
    from safetensors.torch import save_file

    tensors = {
        name: p.detach().cpu().to(dtype or p.dtype).contiguous()
        for name, p in model.named_parameters()
    }
    metadata = {"shape": json.dumps(model.shape.to_dict())}
    if model.vocabulary is not None:
        metadata |= model.vocabulary.to_metadata()
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata=metadata)


def load_language_model(
    source: str | os.PathLike[str] | nn.Module | Mapping[str, Tensor] | None = None,
    *,
    member: str | int | None = None,
    words: Sequence[str] | None = None,
) -> LanguageModel:
    """A language model from a checkpoint, a run (its last one), a module or a state dict.

    Without a source it is the small English one that the package brings along.

    The suffix may be left out, as in `runs/k8/epoch-40`. `member` names one of an ensemble;
    `words` gives a model from outside its vocabulary.
    """
    metadata: dict[str, str] = {}
    if isinstance(source, nn.Module):
        tensors, origin = dict(source.state_dict()), type(source).__name__
    elif isinstance(source, Mapping):
        tensors, origin = dict(source), "the state dict"
    else:
        file = ENGLISH if source is None else find_checkpoint(source)
        tensors, metadata = read_tensors(file)
        origin = str(file)
    if "members" in metadata:
        names = json.loads(metadata["members"])
        index = _choose_member(names, member, origin)
        tensors, metadata = _member_of(tensors, metadata, index)
    elif member is not None:
        raise ModelError(f"{origin} holds one model, not an ensemble; leave out member={member!r}")
    given = Vocabulary.from_metadata(metadata) if words is None else Vocabulary(tuple(words))
    return _build(tensors, metadata, given, origin)


def models_of(tensors: Tensors, metadata: Mapping[str, str]) -> tuple[LanguageModel, ...]:
    """Every model that a checkpoint holds: an ensemble's members, or one model alone."""
    vocabulary, origin = Vocabulary.from_metadata(metadata), "the checkpoint"
    if "members" not in metadata:
        return (_build(tensors, metadata, vocabulary, origin),)
    count = len(json.loads(metadata["members"]))
    return tuple(
        _build(*_member_of(tensors, metadata, index), vocabulary, origin) for index in range(count)
    )


def english_model() -> LanguageModel:
    """The small model of English that comes with the package, trained on WikiText-2."""
    return load_language_model()


def member_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The members that a checkpoint holds; none for a model alone."""
    _, metadata = read_tensors(find_checkpoint(path))
    return tuple(json.loads(metadata.get("members", "[]")))


def find_checkpoint(path: str | os.PathLike[str]) -> Path:
    """The file meant by a path: itself, with its suffix added, or the last of a run."""
    asked = Path(path)
    if asked.is_file():
        return asked
    suffixed = asked.with_name(asked.name + ".safetensors")
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
    """The checkpoints of a run in the order of training."""
    files = [file for file in Path(folder).glob("*.safetensors") if _place(file) is not None]
    last_of_epochs = [file for file in files if file.stem.startswith("epoch-")]
    early = [file for file in files if file.stem.startswith("step-")]
    return [*sorted(early, key=_number), *sorted(last_of_epochs, key=_number)]


def read_tensors(file: Path) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of a safetensors file, or the tensors of a PyTorch one."""
    from safetensors import SafetensorError, safe_open

    if file.suffix in (".pt", ".pth", ".bin"):
        return _unpickled(file), {}
    if not file.is_file():
        raise FileError(f"there is no file {file}")
    try:
        with safe_open(file, framework="pt") as opened:
            names = list(opened.keys())
            return {name: opened.get_tensor(name) for name in names}, opened.metadata() or {}
    except SafetensorError as error:
        raise FileError(f"{file} is not a safetensors file, or is cut short: {error}") from error


def infer_shape(tensors: Mapping[str, Tensor], origin: str = "the model") -> LSTMShape:
    """The sizes of a language model in the common layout: encoder, rnn, decoder."""
    needed = ("encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0", "decoder.bias")
    absent = [name for name in needed if name not in tensors]
    if absent:
        raise ModelError(
            f"{origin} is not an LSTM language model of encoder, rnn and decoder: it lacks "
            f"{', '.join(absent)}; it has {', '.join(sorted(tensors)[:8])}"
        )
    size, width = tensors["encoder.weight"].shape
    rows, hidden = tensors["rnn.weight_hh_l0"].shape
    if rows != 4 * hidden:
        raise ModelError(
            f"{origin}: rnn.weight_hh_l0 is {rows} x {hidden}; an LSTM has 4 gates, "
            f"{4 * hidden} x {hidden}. Is its rnn a GRU or a plain RNN?"
        )
    layers = sum(bool(re.fullmatch(r"rnn\.weight_hh_l\d+", name)) for name in tensors)
    decoder = tensors.get("decoder.weight")
    tied = decoder is None or decoder.data_ptr() == tensors["encoder.weight"].data_ptr()
    return LSTMShape(size, hidden, layers, None if width == hidden else width, tied)


def _member_of(
    tensors: Tensors, metadata: Mapping[str, str], index: int
) -> tuple[Tensors, dict[str, str]]:
    """One member's tensors, and the metadata with its own dropout."""
    own, found = {name: tensor[index].clone() for name, tensor in tensors.items()}, dict(metadata)
    if "dropout" in metadata:
        shape = json.loads(metadata["shape"])
        shape["dropout"] = json.loads(metadata["dropout"])[index]
        found["shape"] = json.dumps(shape)
    return own, found


def _build(
    tensors: Tensors, metadata: Mapping[str, str], vocabulary: Vocabulary | None, origin: str
) -> LanguageModel:
    own = {name.removeprefix("module."): tensor for name, tensor in tensors.items()}
    stored = metadata.get("shape")
    shape = LSTMShape(**json.loads(stored)) if stored else infer_shape(own, origin)
    model = LanguageModel(shape, vocabulary=vocabulary)
    own = {name: own[name].float() for name in own if name in model.state_dict()}
    if shape.tied:
        own["decoder.weight"] = own["encoder.weight"]
    try:
        model.load_state_dict(own)
    except RuntimeError as error:
        raise ModelError(f"{origin} does not fit its own sizes {shape}: {error}") from error
    broken = [name for name, tensor in own.items() if not tensor.isfinite().all()]
    if broken:
        raise ModelError(f"{origin} has NaN or infinite weights in {', '.join(broken)}")
    return model.eval()


def _choose_member(names: Sequence[str], member: str | int | None, origin: str) -> int:
    if member is None and len(names) == 1:
        member = 0
    if isinstance(member, str) and member in names:
        member = names.index(member)
    if not isinstance(member, int) or not 0 <= member < len(names):
        asked = "say which with member=" if member is None else f"none is {member!r}"
        raise ModelError(f"{origin} holds {len(names)} models, {asked}; {nearest(member, names)}")
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


def _number(file: Path) -> int:
    return int(file.stem.rpartition("-")[2])
