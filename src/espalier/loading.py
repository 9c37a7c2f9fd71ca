"""`load` opens whatever espalier wrote, by its contents.

The one module that knows every kind of file and folder; each room reads its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from espalier.errors import FileError, ModelError, listed, nearest
from espalier.files import as_path, check_readable
from espalier.runs import MANIFEST, RunFolder


def load(path: str | os.PathLike[str], *, device: str = "auto") -> Any:
    """Load what espalier wrote to `path`: a model, a run, traces, a reproduction or a treebank.

    A compiled program (.safetensors) comes back as a `CompiledModel`, a language model or a
    checkpoint of one as a `LanguageModel`, a run's folder as the `TrainedRun` that `train`
    returned, recorded traces (.parquet) as `Traces`, a reproduction's folder as a `Reproduction`, a
    saved treebank (.npz) or CoNLL-U as a `Treebank`; a folder of a `transformers` model as a
    `Network` with its tokenizer. Loading runs no code that is in the file.

    >>> import espalier as es
    >>> model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    >>> folder = getfixture("tmp_path")
    >>> model.save(folder / "parity.safetensors")
    >>> es.load(folder / "parity.safetensors").run([2, 1, 0, 1]).outputs
    [0, 1, 1, 0]
    """
    place = as_path(path)
    if place.is_dir():
        return _folder(place, device)
    if not place.exists():
        raise FileError(f"there is nothing at {place} to load; {_beside(place)}")
    suffixes: dict[str, Callable[[Path], Any]] = {
        ".safetensors": _safetensors,
        ".parquet": _traces,
        ".npz": _treebank,
        ".conllu": _treebank,
    }
    open_file = suffixes.get(place.suffix.lower())
    if open_file is None:
        raise FileError(f"{place} is none of the files that espalier writes and reads: {_KINDS}")
    return open_file(place)


_KINDS = (
    "compiled programs and language models are .safetensors, traces .parquet, treebanks .npz or "
    ".conllu, runs and reproductions folders with a manifest.json, models of transformers folders "
    "with a config.json"
)


TRANSFORMER = "english-transformer"  # the second of the package's models, by its name


def load_network(path: str | os.PathLike[str] | None, *, member: str | None = None) -> Any:
    """The network at a path, to take apart: a language model, a `Network` or a `CompiledModel`.

    Without a path it is the LSTM of English that comes with the package; `english-transformer`
    is the Transformer, if there is no such file. `member` names one of an ensemble. A compiled
    program has no depth until it is given an input.

    >>> import espalier as es
    >>> load_network(None).shape.hidden
    300
    """
    from espalier.nets.language import english_model, load_language_model
    from espalier.networks import is_pretrained, network

    if path is None or (str(path) == TRANSFORMER and not Path(path).exists()):
        if member is not None:
            raise ModelError(f"the package's model of English is one; leave out member={member!r}")
        return english_model("lstm" if path is None else "transformer")
    place = Path(path)
    manifest = RunFolder(place).manifest() if place.is_dir() else None
    if isinstance(manifest, dict) and manifest.get("kind") not in ("text", "scaffold"):
        run = load(place)
        if not hasattr(run, "models"):
            raise FileError(f"{place} holds a {type(run).__name__}, which is no network")
        return network(run.models[_member(run.members, member, place)])
    if member is not None or not (is_pretrained(place) or _is_compiled(place)):
        if manifest is not None:
            RunFolder(place).check_last_checkpoint()
        return load_language_model(place, member=member)
    return load(place)


def _member(names: tuple[str, ...], member: str | None, place: Path) -> int:
    if member is None and len(names) == 1:
        return 0
    if member not in names:
        asked = "say which with member=" if member is None else f"none is {member!r}"
        raise FileError(f"{place} holds {len(names)} models, {asked}; {nearest(member, names)}")
    return names.index(member)


def _is_compiled(file: Path) -> bool:
    from safetensors import SafetensorError, safe_open

    from espalier.compiler import FORMAT

    if file.suffix != ".safetensors" or not file.is_file():
        return False
    try:
        with safe_open(file, "pt") as opened:
            return bool((opened.metadata() or {}).get("format") == FORMAT)
    except (OSError, SafetensorError):
        return False


def _safetensors(file: Path) -> Any:
    from safetensors import safe_open

    from espalier.compiler import FORMAT, load_compiled
    from espalier.nets.language import load_language_model

    check_readable(file)
    try:
        with safe_open(file, "pt") as opened:
            metadata, names = opened.metadata() or {}, sorted(opened.keys())
    except Exception as error:  # the library's own, and those of what it calls
        raise FileError(f"{file} is not a safetensors file, or damaged: {error}") from error
    if metadata.get("format") == FORMAT:
        return load_compiled(file)
    if "encoder.weight" in names:
        return load_language_model(file)
    raise FileError(
        f"{file} is neither a compiled program nor a language model: its tensors are "
        f"{listed(names, most=8)}; a run is opened by its folder"
    )


def _traces(file: Path) -> Any:
    from espalier.learnability import read_traces

    return read_traces(file)


def _treebank(file: Path) -> Any:
    from espalier.data import treebank

    return treebank(file)


def _folder(place: Path, device: str) -> Any:
    from espalier import training
    from espalier.experiments import read_reproduction
    from espalier.learnability import supervision
    from espalier.networks import is_pretrained, load_pretrained

    manifest = RunFolder(place).manifest()
    if manifest is None and is_pretrained(place):
        return load_pretrained(place)
    if manifest is None:
        raise FileError(f"{place} has no {MANIFEST}, so it is no run; {_beside(place / '*')}")
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if kind == "reproduction":
        return read_reproduction(place)
    kinds: list[type[training.Trainable]] = [*training.KINDS, *supervision.KINDS]
    if kind in {one.kind for one in kinds}:
        return training.open_run(place, kinds=kinds, device=device)
    raise FileError(
        f"{place} holds a run of kind {kind!r}, which is not loaded; known: "
        f"{listed(sorted(one.kind for one in kinds))}, reproduction"
    )


def _beside(path: Path) -> str:
    """A hint for an error: what can be loaded in the same folder."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    runs = [one.parent for one in path.parent.glob(f"*/{MANIFEST}")]
    files = [
        one
        for suffix in ("safetensors", "parquet", "npz", "conllu")
        for one in path.parent.glob(f"*.{suffix}")
    ]
    models = [one.parent for one in path.parent.glob("*/config.json")]
    found = sorted(one.name for one in (*runs, *models, *files))
    return f"{path.parent} holds {listed(found, most=12) if found else 'nothing that is loaded'}"
