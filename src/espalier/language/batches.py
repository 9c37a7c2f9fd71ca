"""Batches of sequences, cut into parts that are run at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Positions run at a time, padding included, and logits that an attention pattern may hold.
CHUNK = 1 << 15
PAIRS = 1 << 24


def chunks(sequences: Sequence[Sequence[int]], positions: int = CHUNK) -> Iterator[list[int]]:
    """Numbers of sequences of about the same length, so that little is padding.

    A chunk has about `positions` of them, or fewer where sequences are long.
    """
    chunk: list[int] = []
    for number in sorted(range(len(sequences)), key=lambda n: -len(sequences[n])):
        width = len(sequences[chunk[0]]) if chunk else 0
        if chunk and (len(chunk) * width >= positions or len(chunk) * width * width >= PAIRS):
            yield chunk
            chunk = []
        chunk.append(number)
    if chunk:
        yield chunk
