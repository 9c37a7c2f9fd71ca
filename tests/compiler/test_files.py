import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

import espalier as es
from espalier import zoo
from espalier.compiler import load_compiled
from espalier.language.records import from_record, to_record
from espalier.nets import CHECKSUMS, read_safetensors, write_safetensors
from strategies import Case, cases


@given(cases(strict=None))
@settings(max_examples=30)
def test_a_loaded_model_is_the_saved_one(tmp_path_factory, case: Case) -> None:
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    model = es.compile_program(case.program)
    model.save(path)
    loaded = load_compiled(path)
    assert loaded.program == case.program
    assert loaded.labels == model.labels
    layers = case.max_layers or 3
    assert loaded.run_many(case.batch, max_layers=layers) == model.run_many(
        case.batch, max_layers=layers
    )


@given(cases(strict=None))
def test_a_program_survives_its_record(case: Case) -> None:
    assert from_record(json.loads(json.dumps(to_record(case.program)))) == case.program
    merged = case.program.merged()
    assert from_record(json.loads(json.dumps(to_record(merged)))) == merged


def test_the_file_says_what_each_dimension_means(tmp_path) -> None:
    path = tmp_path / "parity.safetensors"
    es.compile_program(zoo.load("parity-sequential-relative").program).save(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    assert json.loads(metadata["layout"])[:3] == ["parity = 0", "parity = 1", "done = 0"]
    assert json.loads(metadata["vocabulary"]) == ["0", "1", "START"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "parity.safetensors"
    model = es.compile_program(zoo.load("parity-sequential-relative").program)
    model.save(path)
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_not_compiled_models_are_refused(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(es.FileError, match="no file"):
        load_compiled(path)
    path.write_bytes(b"not a safetensors file")
    with pytest.raises(es.FileError, match="not a safetensors file"):
        load_compiled(path)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(es.FileError, match="reads 'espalier-compiled'"):
        load_compiled(path)


def rewritten(path: Path, *, sign: bool = True) -> Callable[..., None]:
    """A writer of `path` with some of its tensors and metadata changed, None being left out.

    Signed, the checksums are recomputed, and what is wrong must be found in the file itself.
    """
    tensors, metadata = read_safetensors(path)

    def write(changes: dict[str, torch.Tensor | None] | None = None, **texts: str | None) -> None:
        held = {k: t for k, t in (tensors | (changes or {})).items() if t is not None}
        said = {k: t for k, t in (metadata | texts).items() if t is not None}
        if sign:
            write_safetensors(path, held, {k: t for k, t in said.items() if k != CHECKSUMS})
        else:
            save_file(held, path, said)

    return write


def parity(path: Path) -> dict[str, torch.Tensor]:
    es.compile_program(zoo.load("parity-sequential-relative").program).save(path)
    return read_safetensors(path)[0]


def test_a_program_that_is_none_or_does_not_fit_is_refused(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    parity(path)
    record, write = json.loads(read_safetensors(path)[1]["program"]), rewritten(path)
    edited = [
        record | {"output_name": "nothing"},
        record | {"halt": ["done", 9]},
        record | {"halt": ["parity", 1]},
        record | {"halt": None},
        record | {"vocabulary": ["0"]},
        record | {"causal": True},
        record | {"causal": "yes"},
        record | {"rules": record["rules"] + record["rules"][:1]},
        record | {"rules": record["rules"][:1]},
        record | {"initial": record["initial"] | {"parity": {"input": [0]}}},
        record | {"heads": {}},
        {"kind": "os.system", "fields": {}},
        [],
    ]
    deep = "[" * 100_000
    for damage in [*map(json.dumps, edited), "{", "", deep, "1" * 5000, "NaN", '"\\ud800"']:
        write(program=damage)
        with pytest.raises(es.FileError, match="is damaged"):
            load_compiled(path)


def test_a_skeleton_of_weights_that_is_none_is_refused(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    parity(path)
    record, write = json.loads(read_safetensors(path)[1]["weights"]), rewritten(path)
    head = record["heads"][0]
    edited = [
        record | {"heads": []},
        record | {"heads": [head | {"sink": math.nan}, *record["heads"][1:]]},
        record | {"heads": [head | {"sink": 10**400}, *record["heads"][1:]]},
        record | {"heads": [head | {"sink": "128"}, *record["heads"][1:]]},
        record | {"heads": [head | {"relative_bias": None}, *record["heads"][1:]]},
        record | {"halt": {"dimension": 10**9}},
        record | {"halt": {"dimension": True}},
        record | {"causal": 0},
        record | {"longest": -1},
        record | {"unembedding": record["unembedding"] | {"shape": [10**20, 10**20]}},
        record | {"unembedding": record["unembedding"] | {"shape": [2]}},
        record | {"more": 1},
        {"kind": "Weights"},
    ]
    for damage in [*map(json.dumps, edited), "{", "[" * 100_000, "[]", "1e999"]:
        write(weights=damage)
        with pytest.raises(es.FileError, match="is damaged"):
            load_compiled(path)


def test_tensors_that_cannot_be_are_refused_by_name(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    tensors, write = parity(path), rewritten(path)
    for name, tensor in tensors.items():
        changed = [
            None,
            tensor[:-1],
            tensor[None],
            tensor.to(torch.float16),
            tensor.to(torch.int32),
        ]
        if tensor.is_floating_point():
            spoiled = [tensor.clone() for _ in range(2)]
            spoiled[0].view(-1)[-1], spoiled[1].view(-1)[0] = torch.nan, torch.inf
            changed += spoiled
        else:
            changed += [tensor + 1000, tensor - 1000]
        for other in changed:
            write({name: other})
            with pytest.raises(es.FileError, match=re.escape(name.rpartition(".")[0] or name)):
                load_compiled(path)
    write({"feedforward.b2": torch.zeros(3)})
    with pytest.raises(es.FileError, match=r"unknown tensors: feedforward\.b2"):
        load_compiled(path)


def test_what_was_changed_after_it_was_written_is_named(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    tensors, write = parity(path), rewritten(path, sign=False)
    for name, tensor in tensors.items():
        for other in (tensor * 0 + 3, None, tensor.double()):
            if other is not None and other.dtype == tensor.dtype and torch.equal(other, tensor):
                continue
            write({name: other})
            with pytest.raises(es.FileError, match=f"'{name}'.*make or copy the file again"):
                load_compiled(path)
    for key in ("program", "weights", "compiled", "layout", "vocabulary", CHECKSUMS):
        for text in (None, "{}"):
            write(**{key: text})
            with pytest.raises(es.FileError, match=f"metadata|{CHECKSUMS}|none that was written"):
                load_compiled(path)


@given(cases(strict=None), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_edited_weights_are_saved_and_marked(tmp_path_factory, case: Case, random) -> None:
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    model = es.compile_program(case.program)
    assert model.is_as_compiled
    name, chosen = random.choice([pair for pair in model.named_parameters() if pair[1].numel()])
    place = random.randrange(chosen.numel())
    before = float(chosen.data.view(-1)[place])
    chosen.data.view(-1)[place] = before + 0.5
    assert not model.is_as_compiled
    model.save(path)
    loaded = load_compiled(path)
    assert not loaded.is_as_compiled
    assert "edited" in repr(loaded)
    found, expected = loaded.state_dict(), model.state_dict()
    assert list(found) == list(expected)
    assert all(torch.equal(found[key], expected[key]) for key in expected)
    layers = case.max_layers or 3
    assert loaded.run_many(case.batch, max_layers=layers) == model.run_many(
        case.batch, max_layers=layers
    )
    loaded.get_parameter(name).data.view(-1)[place] = before
    loaded.save(path)
    assert load_compiled(path).is_as_compiled


def test_a_widened_model_is_saved_as_it_is_and_marked(tmp_path) -> None:
    model = es.compile_program(zoo.load("parity-sequential-relative").program).double()
    model.save(tmp_path / "model.safetensors")
    loaded = load_compiled(tmp_path / "model.safetensors")
    assert loaded.dtype == torch.float64
    assert not loaded.is_as_compiled
    assert loaded.run([2, 1, 1]).outputs == [0, 1, 0]


def test_weights_that_would_be_refused_are_not_saved(tmp_path) -> None:
    model = es.compile_program(zoo.load("parity-sequential-relative").program)
    with torch.no_grad():
        model.encoder.mlp.first.bias[2] = torch.nan
    with pytest.raises(es.ModelError, match=r"feedforward\.b1.*nan at \[2\]"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_program_that_would_not_be_read_back_is_not_saved(tmp_path) -> None:
    """Without their other conditions, two rules of a minimal version can hold together."""
    entry = zoo.load("dyck")
    inputs = [entry.encode(text) for text in entry.samples(40, size=6, seed=0)]
    small = es.minimal(entry.program, inputs, constraints=True)
    assert small.clash is not None
    with pytest.raises(es.CompileError, match="can hold together, as in a minimal version"):
        es.compile_program(small).save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
