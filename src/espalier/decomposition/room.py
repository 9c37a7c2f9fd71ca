"""Whether what is computed of a sentence fits into memory, checked before computing it."""

from __future__ import annotations

from espalier.errors import DataError
from espalier.nets import refuse_beyond_memory

# Numbers that fit everywhere: 256 MiB in float32.
FITS = 1 << 26


def check_room(words: int, numbers: int) -> None:
    """Refuse a sentence of so many words if what is computed of it does not fit into memory."""
    if numbers > FITS:
        refuse_beyond_memory(
            f"a sentence of {words:,} words",
            numbers,
            remedy="give it in pieces, such as its sentences one by one",
            error=DataError,
        )
