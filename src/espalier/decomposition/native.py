"""rows.c, where there is a C compiler: built for this machine when a corpus first wants it.

Nothing needs it. Without a compiler, or where it does not agree with the plain way, the plain way
is taken; it is for float32 on a CPU, where it halves what is not matrix products.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from espalier.decomposition.shared import Shared

# All numbers are finite there and rounding is left as it is written: nothing reorders sums.
ARITHMETIC = ("-fno-math-errno", "-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros")
FLAGS = ("-O3", "-march=native", *ARITHMETIC, "-shared", "-fPIC")
SECONDS = 60


class Native:
    """The compiled step of `Rows`."""

    def __init__(self, function: Any) -> None:
        function.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 7
        function.restype = None
        self._function = function

    def through(
        self,
        gates: Tensor,
        now: Shared,
        *,
        minus_biases: Tensor,
        cell: Tensor,
        hidden: Tensor,
        scratch: Tensor,
    ) -> None:
        """Move `cell` on and fill `hidden` with both continuations.

        `gates` is (2, l, S, 3H), its second half empty in the first layer; `cell` is (l, S, H),
        `hidden` (2, l, S, H). The lock of Python's threads is not held meanwhile.
        """
        words, sentences, units = cell.shape
        shared = (
            now.offset, now.gates.centre, now.gates.level, now.own, minus_biases,
            now.minus_cell, now.output.centre, now.output.level, now.output.weight,
        )  # fmt: skip
        addresses = [None if part is None else _address(part) for part in shared]
        pointers = (ctypes.c_void_p * len(shared))(*addresses)
        together = _address(gates[1]) if now.own is None else None
        self._function(
            words, sentences, units, _address(gates[0]), together, pointers, _address(cell),
            _address(hidden[0]), _address(hidden[1]), _address(scratch),
        )  # fmt: skip


@cache
def build() -> Native | None:
    """The step compiled for this machine, or None where that cannot be done."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or os.environ.get("ESPALIER_NATIVE") == "0":
        return None
    source = files("espalier.decomposition") / "rows.c"
    with as_file(source) as path, tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "rows.so"
        command = [compiler, *FLAGS, "-o", str(library), str(path)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
            return Native(ctypes.CDLL(str(library)).espalier_through)
        except (OSError, subprocess.SubprocessError, AttributeError):
            return None


def _address(tensor: Tensor) -> int:
    assert tensor.is_contiguous()
    assert tensor.dtype == torch.float32
    return tensor.data_ptr()
