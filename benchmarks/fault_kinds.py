"""Every kind of run at smoke scale, as a command or a call that resumes when repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import espalier as es
from espalier.cli import main
from espalier.data import BranchingConfig, branching_corpus
from espalier.nets import read_safetensors
from espalier.programs import Case, Interpreter
from espalier.runs import LOCK, EveryEpoch, Plan, RunFolder

SMALL_TEXT = ("--epochs", "4", "--hidden", "8", "--set", "recipe.batch=4", "--set", "keep=log")
SMALL_CORPUS = (
    *("corpus.tokens=3000", "corpus.vocabulary=20", "corpus.rules=60", "corpus.scaffolds=10"),
    *("corpus.copies=20", "corpus.tests=20", "recipe.batch=5", "recipe.window=10"),
    *("gradients=true", "keep=epoch+log"),
)
SMALL_SHAPE = (
    *("shape.width=8", "shape.hidden=8", "shape.heads=2", "shape.head_width=4"),
    *("recipe.batch=8", "recipe.precision=float32", "recipe.measures=4"),
)
SWEEP = """
out = "{out}"
[corpus]
tokens = 1500
vocabulary = 20
rules = 50
scaffolds = 10
copies = 20
tests = 20
[network]
hidden = 8
[recipe]
epochs = 3
batch = 5
window = 10
[grid]
corpus.length = [2, 3]
corpus.seed = [0, 1]
"""


@dataclass(frozen=True)
class Kind:
    """A name, and the work that leaves its result in a folder."""

    name: str
    work: Callable[[Path], None]


def save_often() -> None:
    """Save the point to resume from after every few steps, so that kills fall among saves."""
    Plan.__init__.__defaults__ = ((EveryEpoch(),), 0.0, 0.005)  # type: ignore[misc]
    import espalier.runs.loop as loop

    loop.SAVING = 0


def kinds(data: Path) -> tuple[Kind, ...]:
    """All kinds; what they read is in `data`, which is filled first."""
    branching_corpus(BranchingConfig("left", sentences=200, tests=30)).save(data)
    text = ("train", "text", "--data", str(data / "text.txt"), *SMALL_TEXT)
    parity = ("train", "parity", "--length", "4", "--layers", "1", "--seeds", "2")
    scan = ("train", "scan", "--layers", "1", "--split", "upto:4,8", "--seeds", "1")
    traces = ("train", "traces", "parity-sequential-relative", "--steps", "60", "--seeds", "2")
    return (
        _trained("scaffold", "train", "scaffold", "--length", "2", "--epochs", "4", "--hidden", "8",
                 "--set", *SMALL_CORPUS),
        _trained("text", *text),
        _trained("traces", *traces, "--set", "recipe.measures=4", "recipe.batch=16"),
        _trained("parity", *parity, "--steps", "80", "--set", *SMALL_SHAPE, "test.per_count=4"),
        _trained("scan", *scan, "--steps", "12", "--set", *SMALL_SHAPE, "tests=20"),
        Kind("sweep", _sweep),
        Kind("pairs", lambda out: _pairs(out, data / "treebank.conllu")),
        Kind("evaluate", _evaluate),
        Kind("reproduce", _reproduce),
    )  # fmt: skip


def _trained(name: str, *words: str) -> Kind:
    def work(out: Path) -> None:
        main([*words, "--out", str(out / "run"), "--device", "cpu"])

    return Kind(name, work)


def _sweep(out: Path) -> None:
    file = out.parent / f"{out.name}.toml"
    file.write_text(SWEEP.format(out=(out / "sweep").as_posix()))
    main(["sweep", str(file), "--device", "cpu"])


def _pairs(out: Path, bank: Path) -> None:
    main(["pairs", "-t", str(bank), "-o", str(out / "pairs.parquet")])


def _evaluate(out: Path) -> None:
    entry = es.zoo.load("parity-sequential-relative")
    bits = [format(number, "011b") for number in range(2048)]
    cases = [Case(given, given.count("1") % 2, len(given)) for given in bits]
    try:
        es.evaluate(entry, cases, engine=Interpreter(workers=1), out=out / "run")
    except es.EspalierError as error:
        with suppress(OSError):  # the disk that is full has this output too
            print(f"espalier: {error}", flush=True)
        raise SystemExit(2) from error


def _reproduce(out: Path) -> None:
    words = ["--scale", "smoke", "--out", str(out / "figure"), "--runs", str(out / "runs")]
    main(["reproduce", "scaffold-claims", *words, "--device", "cpu"])


def content(out: Path) -> dict[str, Any]:
    """All that a folder holds but times: tables, tensors with metadata, manifests, pictures.

    Locks are left out: one that a kill leaves after the last file was written is stale.
    """
    found: dict[str, Any] = {}
    for file in sorted(one for one in out.rglob("*") if one.name != LOCK):
        name = str(file.relative_to(out))
        if file.suffix == ".safetensors":
            tensors, metadata = read_safetensors(file)
            held = {key: (t.shape, _bytes(t)) for key, t in sorted(tensors.items())}
            found[name] = held, sorted(metadata.items())
        elif file.name == "manifest.json":
            about = json.loads(file.read_text())
            found[name] = {k: about[k] for k in ("kind", "status", "config", "data")}
        elif file.suffix in (".parquet", ".jsonl"):
            # Rows by a name that does not depend on whether they were turned into Parquet.
            found[str(Path(name).with_suffix(""))] = RunFolder(file.parent).rows(file.stem)
        elif file.is_file() and file.suffix != ".svg":  # figures in SVG have random names
            found[name] = file.read_bytes()
    return found


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
