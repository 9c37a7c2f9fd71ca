"""The pages on other tools do what they say: their code is run, and what it prints is compared."""

import re
from pathlib import Path

import pytest

import espalier as es

DOCS = Path(es.__file__).parents[2] / "docs"
TOOLS = ("captum", "circuitsvis", "nnsight", "onnx", "onnxruntime", "pyvene")

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of other libraries
    pytest.mark.skipif(not DOCS.exists(), reason="the docs are not beside the package"),
]


def code_of(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def test_tools_from_top_to_bottom(tmp_path, monkeypatch) -> None:
    for package in (*TOOLS, "transformer_lens", "transformers"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    # nnsight looks for the source of what is traced.
    page = tmp_path / "page.py"
    page.write_text(code_of((DOCS / "tools.md").read_text()))
    exec(compile(page.read_text(), page, "exec"), space)
    assert space["tokenizer"].answer(space["found"].logits[0].argmax(-1)) == "90"
    assert es.load("addition.safetensors").run_text("34+56") == "90"


def test_patching_scan(capsys) -> None:
    pytest.importorskip("transformer_lens")
    text = (DOCS / "tutorials" / "patching-scan.md").read_text()
    code = code_of(text)
    # Only the two layers of which it tells.
    code = code.replace('if "heads" in name:', 'if re.match("layer [17]: heads", name):')
    space: dict[str, object] = {"re": re}
    exec(code, space)
    shown = capsys.readouterr().out
    for line in re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0].splitlines():
        assert line in shown
    assert shown.count("I_WALK") == 2
    assert space["answer"](space["bridge"](space["base"])) == "I_TURN_LEFT I_JUMP"
