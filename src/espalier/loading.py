"""`load`: whatever espalier wrote, opened by what is in it.

The one place that knows every kind of file and folder; each room reads its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from espalier.errors import FileError, listed
from espalier.runs import MANIFEST, RunFolder


def load(path: str | os.PathLike[str], *, device: str = "auto") -> Any:
    """What espalier wrote to `path`: a model, a run, traces, a reproduction or a treebank.

    A compiled program (.safetensors) comes back as a `CompiledModel`, a language model or a
    checkpoint of one as a `LanguageModel`, a run's folder as the `TrainedRun` that `train`
    returned, recorded traces (.parquet) as `Traces`, a reproduction's folder as a `Reproduction`, a
    saved treebank (.npz) or CoNLL-U as a `Treebank`. Loading runs no code that is in the file.

    >>> import espalier as es
    >>> model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    >>> folder = getfixture("tmp_path")
    >>> model.save(folder / "parity.safetensors")
    >>> es.load(folder / "parity.safetensors").run([2, 1, 0, 1]).outputs
    [0, 1, 1, 0]
    """
    place = Path(path)
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
    ".conllu, runs and reproductions folders with a manifest.json"
)


def _safetensors(file: Path) -> Any:
    from safetensors import safe_open

    from espalier.compiler import FORMAT, load_compiled
    from espalier.nets.language import load_language_model

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

    manifest = RunFolder(place).manifest()
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
    """What could have been meant: what can be loaded in the same folder."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    runs = [one.parent for one in path.parent.glob(f"*/{MANIFEST}")]
    files = [
        one
        for suffix in ("safetensors", "parquet", "npz", "conllu")
        for one in path.parent.glob(f"*.{suffix}")
    ]
    found = sorted(one.name for one in (*runs, *files))
    return f"{path.parent} holds {listed(found, most=12) if found else 'nothing that is loaded'}"
