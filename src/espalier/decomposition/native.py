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
from typing import Any, NamedTuple

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
        function.argtypes = [ctypes.c_long] * 4 + [ctypes.c_void_p] * 8
        function.restype = None
        self._function = function

    def through(
        self,
        some: slice,
        gates: Tensor,
        now: Shared,
        *,
        minus_biases: Tensor,
        state: State,
        scratch: Tensor,
    ) -> None:
        """Move the cells of some rows on, and fill in both continuations and their squares.

        `gates` is (2, some, 3H), its second half empty in the first layer. The lock of Python's
        threads is not held meanwhile.
        """
        sentences, units = now.single.shape
        shared = (
            now.offset, now.gates.centre, now.gates.level, now.own, minus_biases,
            now.minus_cell, now.output.centre, now.output.level, now.output.weight, now.single,
        )  # fmt: skip
        addresses = [None if part is None else _address(part) for part in shared]
        pointers = (ctypes.c_void_p * len(shared))(*addresses)
        together = _address(gates[1]) if now.own is None else None
        self._function(
            some.start, some.stop, sentences, units, _address(gates[0]), together, pointers,
            _address(state.cell), _address(state.hidden[0]), _address(state.hidden[1]),
            _address(state.squared), _address(scratch),
        )  # fmt: skip


class State(NamedTuple):
    """Of one layer's rows: cells (R, H), both continuations (2, R, H), two squares (R, 2)."""

    cell: Tensor
    hidden: Tensor
    squared: Tensor


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
