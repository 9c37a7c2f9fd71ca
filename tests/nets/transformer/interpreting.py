"""Kernels on a CPU, by Triton's interpreter."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")


def interpret(script: str) -> None:
    """Run a script of this folder in a process of its own.

    Triton interprets from its first import on, or not at all.
    """
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name(script))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
