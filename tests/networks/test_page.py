"""The page's examples run, and none is longer than five lines without the model's own class."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"


def test_the_examples_of_the_page_run():
    pytest.importorskip("transformers")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1:]
    assert len(blocks) >= 4
    names = {}
    exec("import torch\nimport espalier as es", names)
    for block in blocks:
        lines = [
            line for line in block.splitlines() if line and not line.startswith((" ", "class"))
        ]
        assert len(lines) <= 5
        exec(block, names)
