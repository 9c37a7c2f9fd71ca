import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import espalier as es
from espalier.nets.lstm.files import ENGLISH, read_tensors


def test_the_english_model_is_small_and_half_precise_and_knows_its_words():
    assert ENGLISH.stat().st_size <= 8_000_000
    tensors, metadata = read_tensors(ENGLISH)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    model = es.english_model()
    assert (model.shape.hidden, model.shape.tied, len(model.vocabulary)) == (300, True, 10_000)
    assert json.loads(metadata["counts"]) == list(model.vocabulary.counts)
    assert model.vocabulary.counts[model.vocabulary.index["the"]] == 113_161
    assert "CC BY-SA" in (ENGLISH.parent / "README.md").read_text()


def test_it_has_learnt_english():
    model = es.english_model()
    ids, unknown = model.encode(["The", "city", "is", "located", "in", "the", "north", "of", "the"])
    logits, _ = model(ids[None])
    likely = model.vocabulary.decode(logits[0, -1].topk(20).indices.tolist())
    assert unknown == 0
    assert {"city", "river"} & set(likely)
    assert not {"is", "located", "the", "of"} & set(likely)


def test_what_is_saved_in_half_precision_is_read_in_single(tmp_path):
    words = es.Vocabulary(("a", "<unk>"), (3, 4))
    model = es.language_model(vocabulary_size=2, hidden=3, words=words, tied=True)
    es.save_language_model(model, tmp_path / "half.safetensors", dtype=torch.float16)
    again = es.load_language_model(tmp_path / "half.safetensors")
    assert again.vocabulary == words
    for name, weights in model.named_parameters():
        found = again.get_parameter(name)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, weights, rtol=1e-3, atol=1e-4)
    with pytest.raises(es.ModelError, match="2 words have 1 counts"):
        es.Vocabulary(("a", "b"), (1,))


ABSENT = (
    "cyclopts",
    "rich",
    "pooch",
    "scipy",
    "pandas",
    "pyarrow",
    "joblib",
    "matplotlib",
    "networkx",
)


def test_the_device_command_needs_little_more_than_torch(tmp_path):
    """`benchmarks.syntax run` at toy size, where most packages cannot be imported."""
    (tmp_path / "absent").mkdir()
    for name in ABSENT:
        (tmp_path / "absent" / f"{name}.py").write_text("raise ImportError('absent')\n")
    from espalier.data.branching import BranchingConfig, branching_corpus

    corpus = branching_corpus(BranchingConfig("right", sentences=400, tests=30, words=30))
    corpus.bank.save(tmp_path / "bank.npz")
    folder = tmp_path / "wikitext-2"
    folder.mkdir()
    lines = [" ".join(one.words) + "\n" for one in corpus.text]
    for part, some in (("train", lines[:300]), ("valid", lines[300:350]), ("test", lines[350:])):
        (folder / f"wiki.{part}.tokens").write_text("".join(some))
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "benchmarks.syntax", "run", "--out", tmp_path / "out"]
    command += ["--bank", tmp_path / "bank.npz", "--work", tmp_path / "work", "--workers", "1"]
    command += ["--epochs", "2", "--hidden", "5", "--words", "25", "--small", "4"]
    command += ["--small-words", "20", "--seconds", "1", "--small-seconds", "1", "--device", "cpu"]
    paths = os.pathsep.join([str(tmp_path / "absent"), str(root / "src")])
    environment = os.environ | {"PYTHONPATH": paths, "ESPALIER_DATA": str(tmp_path)}
    done = subprocess.run(
        list(map(str, command)), env=environment, cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "out/manifest.json").read_text())
    assert facts["pairs"] == corpus.bank.pairs
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written == {
        "english.safetensors", "interdependence.npz", "manifest.json", "syntax.jsonl",
        "training.jsonl", "wikitext.safetensors",
    }  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "out/syntax.jsonl").read_text().splitlines()]
    assert {row["table"] for row in rows} >= {"distance", "effect", "frequency", "probe"}
    assert es.load_language_model(tmp_path / "out/english.safetensors").shape.hidden == 4
