"""One long stream of tokens as rows that a recurrent model reads side by side."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from espalier.errors import DataError

Array = np.ndarray


def fold(stream: Int[Array, " T"], *, batch: int, window: int) -> Int[Array, "S B"]:
    """The stream cut into `batch` rows, laid out time first; S - 1 is a multiple of `window`.

    Row b continues row b step by step, so the hidden state can be carried over. What does not
    fill a last window is left out: at most `batch * (window + 1)` tokens.
    """
    length = len(stream) // batch
    steps = (length - 1) // window
    if steps < 1:
        raise DataError(
            f"{len(stream):,} tokens in {batch} rows are {length} each, fewer than one window of "
            f"{window} and the token after it; use a smaller batch, a shorter window or more text"
        )
    rows = np.asarray(stream[: batch * length]).reshape(batch, length)
    return np.ascontiguousarray(rows[:, : steps * window + 1].T)
