import json

import pytest
import torch
from hypothesis import given, settings
from safetensors import safe_open
from safetensors.torch import save_file

import espalier as es
from espalier import zoo
from espalier.compiler import load_compiled
from espalier.language.records import from_record, to_record
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

    monkeypatch.setattr("espalier.compiler.files.save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_from_before_there_were_causal_programs_is_read(tmp_path) -> None:
    path = tmp_path / "parity.safetensors"
    model = es.compile_program(zoo.load("parity-sequential-relative").program)
    model.save(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    program, weights = json.loads(metadata["program"]), json.loads(metadata["weights"])
    del program["causal"], weights["fields"]["causal"]
    older = {"program": json.dumps(program), "weights": json.dumps(weights)}
    save_file(tensors, path, metadata | older)
    loaded = load_compiled(path)
    assert loaded.program == model.program
    assert loaded.run([2, 1, 1]) == model.run([2, 1, 1])


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


@pytest.mark.parametrize("spoiled", ["program", "weights"])
def test_a_damaged_file_is_refused(tmp_path, spoiled: str) -> None:
    path = tmp_path / "model.safetensors"
    es.compile_program(zoo.load("parity-sequential-relative").program).save(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    record = json.loads(metadata["program"])
    edited = [
        record | {"output_name": "nothing"},
        record | {"halt": ["done", 9]},
        record | {"vocabulary": ["0"]},
        record | {"causal": True},
        record | {"causal": "yes"},
        record | {"rules": record["rules"] + record["rules"][:1]},
        record | {"initial": record["initial"] | {"parity": {"input": [0]}}},
    ]
    damages = ["{", json.dumps({"kind": "os.system", "fields": {}}), "[]"]
    damages += [json.dumps(other) for other in edited] if spoiled == "program" else []
    for damage in damages:
        save_file(tensors, path, metadata | {spoiled: damage})
        with pytest.raises(es.FileError, match="damaged"):
            load_compiled(path)


def test_tensors_that_do_not_fit_are_refused(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    es.compile_program(zoo.load("parity-sequential-relative").program).save(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for name in ("feedforward.w1.columns", "feedforward.w2.rows", "heads.0.query.columns"):
        save_file(tensors | {name: tensors[name] + 1000}, path, metadata)
        with pytest.raises(es.FileError, match="damaged"):
            load_compiled(path)
    save_file(tensors | {"feedforward.b1": tensors["feedforward.b1"][:-1]}, path, metadata)
    with pytest.raises(es.FileError, match="do not fit"):
        load_compiled(path)


def test_a_widened_model_is_not_saved_as_what_it_was(tmp_path) -> None:
    model = es.compile_program(zoo.load("parity-sequential-relative").program).double()
    with pytest.raises(es.CompileError, match="float64"):
        model.save(tmp_path / "model.safetensors")


def test_a_program_that_would_not_be_read_back_is_not_saved(tmp_path) -> None:
    """Without their other conditions, two rules of a minimal version can hold together."""
    entry = zoo.load("dyck")
    inputs = [entry.encode(text) for text in entry.samples(40, size=6, seed=0)]
    small = es.minimal(entry.program, inputs, constraints=True)
    assert small.clash is not None
    with pytest.raises(es.CompileError, match="can hold together, as in a minimal version"):
        es.compile_program(small).save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
