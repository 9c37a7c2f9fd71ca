"""Whatever was saved is opened by one verb, and what is none of it is refused by what it is."""

import json

import pytest
import torch
from safetensors.torch import save_file

import espalier as es
from espalier.compiler import CompiledModel
from espalier.data import ParityConfig, Treebank
from espalier.errors import FileError
from espalier.learnability import Traces
from espalier.loading import load_network
from espalier.nets.lstm import LanguageModel, save_language_model
from espalier.nets.transformer import TransformerShape
from espalier.training import StepRecipe, TrainedRun

NOTHING = {"status": "finished", "config": {}, "data": {}, "began": "", "seconds": 0}
HOLIDAY = NOTHING | {"kind": "holiday"}


@pytest.fixture(scope="module")
def entry():
    return es.zoo.load("parity-sequential-relative")


def test_a_compiled_program(entry, tmp_path):
    es.compile_program(entry.program).save(tmp_path / "parity.safetensors")
    found = es.load(tmp_path / "parity.safetensors")
    assert isinstance(found, CompiledModel)
    tokens = entry.encode("1011")
    assert found.run(tokens).outputs == es.interpret(entry.program, tokens).outputs


def test_a_language_model(tmp_path):
    model = es.language_model(vocabulary_size=3, hidden=4, words=["a", "b", "<unk>"])
    save_language_model(model, tmp_path / "lm.safetensors")
    found = es.load(tmp_path / "lm.safetensors")
    assert isinstance(found, LanguageModel)
    tokens = torch.tensor([[0, 1, 2]])
    torch.testing.assert_close(found(tokens)[0], model(tokens)[0])


def test_traces_know_their_program(entry, tmp_path):
    inputs = [entry.encode(bits) for bits in ("1", "0110")]
    written = es.record_traces(entry.program, inputs, out=tmp_path / "traces.parquet")
    found = es.load(tmp_path / "traces.parquet")
    assert isinstance(found, Traces)
    assert found.program.rules == entry.program.rules
    assert found.to_frame().equals(written.to_frame())


def test_a_run_is_what_train_returned(tmp_path):
    shape = TransformerShape(3, 2, width=8, hidden=8, heads=2, head_width=4, layers=1)
    recipe = StepRecipe(8, 8, 1e-2, measures=2, precision="float32")
    config = es.ParityRun(shape, ParityConfig(3, 4), ParityConfig(6, 4, seed=1), recipe)
    trained = es.train(config, out=tmp_path / "run", device="cpu")
    found = es.load(tmp_path / "run", device="cpu")
    assert isinstance(found, TrainedRun)
    assert found.config == trained.config
    assert found.rows == trained.rows
    assert found.ask(["101", "0"]) == trained.ask(["101", "0"])


def test_a_treebank(tmp_path):
    line = "\t".join(["1", "Go", "go", "VERB", "_", "_", "0", "root", "_", "_"])
    (tmp_path / "one.conllu").write_text(line + "\n\n")
    es.treebank(tmp_path / "one.conllu").save(tmp_path / "one.npz")
    for name in ("one.conllu", "one.npz"):
        found = es.load(tmp_path / name)
        assert isinstance(found, Treebank)
        assert found[0].words == ("Go",)


def test_what_is_none_of_these_is_refused_by_what_it_is(tmp_path):
    with pytest.raises(FileError, match=r"nothing at .* to load; .* holds nothing that is loaded"):
        es.load(tmp_path / "none.safetensors")
    save_file({"w": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(FileError, match=r"neither a compiled program nor a language model: .* w;"):
        es.load(tmp_path / "other.safetensors")
    with pytest.raises(FileError, match=r"nothing at .* holds other\.safetensors"):
        es.load(tmp_path / "othre.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors")
    with pytest.raises(FileError, match="not a safetensors file, or damaged"):
        es.load(tmp_path / "text.safetensors")
    (tmp_path / "notes.md").write_text("# notes")
    with pytest.raises(FileError, match="none of the files that espalier writes"):
        es.load(tmp_path / "notes.md")
    with pytest.raises(FileError, match=r"has no manifest\.json, so it is no run"):
        es.load(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/manifest.json").write_text(json.dumps(HOLIDAY))
    with pytest.raises(FileError, match="a run of kind 'holiday', which is not loaded; known: "):
        es.load(tmp_path / "run")


def test_the_packaged_transformer_has_a_name_unless_a_file_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_network("english-transformer").shape.layers == 4
    model = es.language_model(vocabulary_size=3, hidden=2)
    save_language_model(model, tmp_path / "english-transformer")
    assert load_network("english-transformer").shape.hidden == 2
