"""Elementary functions are called by one thread before several can make the first call."""

import subprocess
import sys

import pytest

CALLS = """
import sys
import torch
torch.set_default_device(sys.argv[1])
called = set()
for name in ("exp", "log", "tanh", "erf", "sqrt", "sigmoid"):
    def counted(x, name=name, own=getattr(torch, name)):
        assert x.device.type == "cpu", x.device
        called.add((name, x.dtype))
        return own(x)
    setattr(torch, name, counted)
import espalier.nets
assert len(called) == 12, called
"""


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_room_readies_them_in_both_precisions(device):
    subprocess.run([sys.executable, "-c", CALLS, device], check=True)
