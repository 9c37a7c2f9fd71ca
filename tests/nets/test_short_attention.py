import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from espalier.nets.short_attention import is_short

SCRIPT = Path(__file__).with_name("interpreted_attention.py")


@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
def test_kernels_attend_by_the_formula():
    """In a process of its own: Triton interprets from its first import on, or not at all."""
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "error", str(SCRIPT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cpu_has_no_kernels():
    assert not is_short(torch.zeros(1, 1, 3, 48), None, 1)
