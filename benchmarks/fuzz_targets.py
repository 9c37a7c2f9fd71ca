"""What is fuzzed: for each format some good files and what reads them; and command lines."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import espalier as es
from espalier.cli import main
from espalier.data import BranchingConfig, branching_corpus, text_corpus, treebank
from espalier.learnability import read_traces, record_traces
from espalier.nets.lstm import save_language_model
from espalier.runs import RESUME, RunFolder, list_runs
from espalier.training import ScaffoldRun, flatten, override, read_sweep, read_toml

SWEEP = """
kind = "scaffold"
out = "runs/table"
workers = 2
keep = "epoch+log:2"
[corpus]
tokens = 3_000
rules = 100
setting = "familiar"
[network]
hidden = 16
dropout = 0.5
tied = false
[recipe]
epochs = 4
learning_rate = 1e-1
[grid]
corpus.length = [2, 3]
corpus.seed = [0, 1]
"""
COMMANDS = (
    "run parity-sequential-relative 1011",
    "trace parity-sum-modulo 101 --layers 2",
    "programs",
    "compile parity-sum-modulo -o model.safetensors",
    "verify parity-sequential-relative --cases 2 --size 3",
    "decompose the cat sat --focus 0,1 --top 3",
    "interdependence the cat sat --space logits --a 0 --b 1,2 --at 2",
    "interdependence --parse bank.conllu -o pairs.csv",
    "pairs -t bank.conllu -o pairs.parquet --sample 2",
    "probe -t bank.conllu --sample 3",
    "runs .",
    "sweep table.toml --workers 0 --device cpu",
    "train parity --out run --length 3 --steps 4 --set recipe.measures=2 seeds=1 shape.layers=1",
    "train scaffold --out run --length 2 --epochs 1 --set corpus.tokens=200",
    "ask run 101",
    "reproduce figure-3 --scale smoke",
    "data fetch nothing",
    "minimal parity-sequential-relative 101 1",
    "traces parity-sequential-relative 101 -o traces.parquet",
)


@dataclass(frozen=True)
class Target:
    """A format: good files by their suffix, and what reads a file of that suffix."""

    name: str
    good: Sequence[tuple[str, bytes]]
    read: Callable[[Path], Any]
    change: Callable[[bytes, random.Random], bytes] | None = None  # by default of its bytes


def targets(place: Path) -> dict[str, Target]:
    """Every format; good files are made in a folder."""
    made = branching_corpus(BranchingConfig("left", sentences=30, tests=6))
    made.save(place)
    text, bank = (place / "text.txt").read_bytes(), (place / "treebank.conllu").read_bytes()
    some = text[:400]
    treebank(place / "treebank.conllu").save(place / "treebank.npz")
    prepared = (place / "treebank.npz").read_bytes()
    return {
        one.name: one
        for one in (
            Target("safetensors", _tensor_files(place), _read_tensors),
            Target("parquet", _parquet_files(place), _read_parquet),
            Target("toml", [(".toml", SWEEP.encode())], _read_toml),
            Target("conllu", [(".conllu", bank[:3_000]), (".conllu", bank[:600])], treebank),
            Target("npz", [(".npz", prepared)], treebank),
            Target("text", [(".txt", some), (".txt", "é ü 漢字 x\n".encode() * 30)], text_corpus),
            Target("commands", [(".words", one.encode()) for one in COMMANDS], _run),
        )
    }


def _tensor_files(place: Path) -> list[tuple[str, bytes]]:
    file = place / "model.safetensors"
    es.compile_program(es.zoo.load("parity-sum-modulo", buckets=4).program).save(file)
    found = [file.read_bytes()]
    words = ["<unk>", "<eos>", "the", "cat", "ünï"]
    save_language_model(es.language_model(vocabulary_size=5, hidden=3, words=words), file)
    found.append(file.read_bytes())
    folder = RunFolder.create(place / "state")
    folder.save_resume({"weights": torch.arange(12.0), "taken": torch.tensor(3)}, 3)
    found.append((folder.path / RESUME).read_bytes())
    return [(".safetensors", one) for one in found]


def _read_tensors(file: Path) -> None:
    folder = RunFolder(file.parent)
    try:
        es.load(file)
    except es.EspalierError:
        (file.parent / RESUME).write_bytes(file.read_bytes())
        folder.resume_step()
        folder.load_resume()


def _parquet_files(place: Path) -> list[tuple[str, bytes]]:
    folder = RunFolder.create(place / "rows")
    folder.write_rows([{"step": n, "epoch": n / 4, "member": "a", "loss": 0.5} for n in range(20)])
    folder.tidy()
    entry = es.zoo.load("parity-sequential-relative")
    tokens = [entry.encode(given) for given in ("101", "1")]
    record_traces(entry.program, tokens, out=place / "traces.parquet")
    files = (folder.path / "metrics.parquet", place / "traces.parquet")
    return [(".parquet", file.read_bytes()) for file in files]


def _read_parquet(file: Path) -> None:
    try:
        read_traces(file).to_frame()
    except es.EspalierError:
        (file.parent / "metrics.parquet").write_bytes(file.read_bytes())
        list_runs(file.parent)
        RunFolder(file.parent).rows()


def _read_toml(file: Path) -> None:
    try:
        override(ScaffoldRun(), flatten(read_toml(file)))
    except es.EspalierError:
        read_sweep(file)


def _run(file: Path) -> None:
    words = file.read_bytes().decode("utf-8", "replace").split(" ")
    before = Path.cwd()
    os.chdir(file.parent)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            main([word.replace("\0", "") for word in words])  # a shell passes none
    except SystemExit as ended:
        if ended.code not in (None, 0, 1, 2, 130) or "Traceback" in said.getvalue():
            raise RuntimeError(f"status {ended.code}: {said.getvalue()[-500:]}") from ended
    finally:
        os.chdir(before)
