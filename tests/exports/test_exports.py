"""What other tools compute is what the compiled model computes, at every position."""

import json

import pytest
import torch

import espalier as es
from espalier.errors import CompileError, FileError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries

# Relative heads, halting, means, sets; causal; no halting; averages alone.
NAMES = ["addition", "parity-scratchpad", "parity-sum-modulo", "dyck"]
LAYERS = 6


@pytest.fixture(scope="module", params=NAMES)
def case(request):
    entry = es.zoo.load(request.param)
    model = es.compile_program(entry.program)
    batch = [entry.encode(given) for given in entry.samples(100, size=4)]
    layers = entry.max_layers or LAYERS
    return entry, model, batch, model.unroll(layers, max(map(len, batch))), layers


def assert_outputs(logits, model, batch, layers) -> None:
    for row, run in enumerate(model.run_many(batch, max_layers=layers)):
        assert logits[row, : len(batch[row])].argmax(-1).tolist() == run.outputs


def test_onnx(case, tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    _, model, batch, plain, layers = case
    session = runtime.InferenceSession(es.to_onnx(plain, tmp_path / "fixed.onnx"))
    tokens = plain.pad(batch)
    (logits,) = session.run(None, {"tokens": tokens.numpy()})
    torch.testing.assert_close(torch.tensor(logits), plain(tokens).detach(), atol=1e-6, rtol=0)
    assert_outputs(torch.tensor(logits), model, batch, layers)
    labels = json.loads(session.get_modelmeta().custom_metadata_map["espalier"])
    assert labels["head_labels"] == list(plain.config.head_labels)
    assert labels["pad_id"] == plain.config.pad_id


def test_onnx_halts_in_a_loop(case, tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    _, model, batch, plain, _ = case
    longest = max(map(len, batch))
    if model.program.halt is None:
        with pytest.raises(CompileError, match="layers=12"):
            es.to_onnx(model, tmp_path / "loop.onnx", positions=longest)
        return
    session = runtime.InferenceSession(es.to_onnx(model, tmp_path / "loop.onnx", positions=longest))
    (logits,) = session.run(None, {"tokens": plain.pad(batch).numpy()})
    assert_outputs(torch.tensor(logits), model, batch, None)


def test_a_realistic_model_halts_in_a_loop(tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    entry = es.zoo.load("parity-sequential-relative")
    model = es.compile_program(entry.program, realism=es.Realism(rotation=1, distractors=1))
    batch = [entry.encode(given) for given in entry.samples(100, size=4)]
    session = runtime.InferenceSession(es.to_onnx(model, tmp_path / "loop.onnx", positions=8))
    (logits,) = session.run(None, {"tokens": model.unroll(1, 8).pad(batch).numpy()})
    assert_outputs(torch.tensor(logits), model, batch, None)


def test_transformers(case, tmp_path) -> None:
    transformers = pytest.importorskip("transformers")
    entry, model, batch, plain, layers = case
    folder = es.to_transformers(model, tmp_path, layers=layers, positions=plain.config.n_ctx - 1)
    loaded = transformers.AutoModel.from_pretrained(folder, trust_remote_code=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    texts = entry.samples(100, size=4)
    inputs = tokenizer(texts, return_tensors="pt", padding=True)
    with torch.no_grad():
        found = loaded(**inputs, output_hidden_states=True)
    assert_outputs(found.logits[:, 1:], model, batch, layers)
    assert len(found.hidden_states) == len(plain.config.plan) + 1
    if not model.program.text.writes:
        outputs = found.logits[0].argmax(-1)[: len(batch[0]) + 1]
        expected = model.run(batch[0], max_layers=layers).outputs
        assert tokenizer.answer(outputs) == model.program.text.decode(expected)
    assert {"README.md", "config.json", "model.safetensors"} <= {f.name for f in folder.iterdir()}
    card = (folder / "README.md").read_text()
    assert f"- `{next(r for r in model.program.rules if not r.is_reset)}`" in card
    assert "as compiled" in card


def test_transformer_lens(case) -> None:
    pytest.importorskip("transformer_lens")
    _, model, batch, plain, layers = case
    bridge = es.to_transformer_lens(plain)
    tokens = torch.nn.functional.pad(plain.pad(batch), (1, 0), value=bridge.labels.bos_id)
    with torch.no_grad():
        logits, cache = bridge.run_with_cache(tokens)
    assert torch.equal(logits[:, 1:], plain(tokens[:, 1:]))
    assert_outputs(logits[:, 1:], model, batch, layers)
    assert cache["blocks.0.attn.hook_pattern"].shape[1] == len(bridge.labels.head_labels)
    assert cache["blocks.0.hook_resid_pre"].shape[-1] == len(bridge.labels.residual_labels)


def test_what_cannot_be_exported_is_refused(tmp_path) -> None:
    model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    pytest.importorskip("onnx")
    with pytest.raises(FileError, match=r"call it .*x\.onnx"):
        es.to_onnx(model, tmp_path / "x.bin", layers=2)
    with pytest.raises(CompileError, match="layers=12"):
        es.to_transformer_lens(model)
    with pytest.raises(CompileError, match="already"):
        es.to_transformer_lens(model.unroll(2), layers=2)
    with pytest.raises(ModelError, match="found str"):
        es.to_onnx("model", tmp_path / "x.onnx", layers=2)
