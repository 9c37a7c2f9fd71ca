"""The tutorial on SCAN does what it says: its code is run, and what it prints is compared."""

import re
from pathlib import Path

import pytest

import espalier as es

PAGE = Path(es.__file__).parents[2] / "docs" / "tutorials" / "patching-scan.md"

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


@pytest.mark.skipif(not PAGE.exists(), reason="the docs are not beside the package")
def test_patching_scan(capsys) -> None:
    pytest.importorskip("transformer_lens")
    text = PAGE.read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    # Only the two layers of which it tells.
    code = code.replace('if "heads" in name:', 'if re.match("layer [17]: heads", name):')
    space: dict[str, object] = {"re": re}
    exec(code, space)
    shown = capsys.readouterr().out
    for line in re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0].splitlines():
        assert line in shown
    assert shown.count("I_WALK") == 2
    assert space["answer"](space["bridge"](space["base"])) == "I_TURN_LEFT I_JUMP"
