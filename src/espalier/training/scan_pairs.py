"""SCAN's splits as tokens: commands and actions, drawn, checked and filled up.

Words are whole tokens on both sides; START begins the actions and END ends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Int
from torch import Tensor

from espalier.data.scan import ACTIONS, WORDS, Example, ScanSplit, generate_examples, scan_split
from espalier.errors import DataError

PAD, START, END = 0, 1, 2
SYMBOLS = ("<pad>", "<start>", "<end>", *WORDS, *ACTIONS)
_CODES = {symbol: code for code, symbol in enumerate(SYMBOLS)}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Commands and actions as tokens, filled up with PAD; actions end with END."""

    commands: Int[Tensor, "M N"]
    actions: Int[Tensor, "M T"]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Pairs:
        """Examples in their order."""
        commands = command_tokens([one.command.split() for one in examples])
        actions = [[*(_CODES[word] for word in one.actions.split()), END] for one in examples]
        return cls(commands, _padded(actions))

    def to(self, device: torch.device) -> Pairs:
        """The same on a device."""
        return Pairs(self.commands.to(device), self.actions.to(device))


def command_tokens(commands: Sequence[Sequence[str]]) -> Int[Tensor, "M N"]:
    """Words of SCAN as tokens, filled up with PAD."""
    return _padded([[_CODES[word] for word in words] for words in commands])


def read_split(name: str) -> ScanSplit:
    """A split from its files, or one made from the grammar, with examples of both kinds."""
    kind, _, detail = name.partition(":")
    split = scan_split(name) if kind != "upto" else _upto(name, detail)
    if not split.train or not split.test:
        raise DataError(
            f"the split {name!r} has {len(split.train):,} examples to learn from and "
            f"{len(split.test):,} to be tested on; choose one with both"
        )
    return split


def _upto(name: str, detail: str) -> ScanSplit:
    try:
        learnt, tested = (int(number) for number in detail.split(","))
    except ValueError:
        raise DataError(f"{name!r} is not a split of SCAN; write 'upto:8,16'") from None
    return _made(learnt, tested)


def widths(ordered: Sequence[Sequence[Example]], batch: int) -> list[int]:
    """Bounds on what example i of a batch brings, END included, whichever split it is of."""
    return [
        max(some[((part + 1) * len(some) - 1) // batch].length for some in ordered) + 1
        for part in range(batch)
    ]


@cache
def _made(learnt: int, tested: int) -> ScanSplit:
    examples = list(generate_examples())
    return ScanSplit(
        f"upto:{learnt},{tested}",
        tuple(one for one in examples if one.length <= learnt),
        tuple(one for one in examples if learnt < one.length <= tested),
    )


def some_of(examples: tuple[Example, ...], count: int | None) -> Sequence[Example]:
    """So many of the examples, evenly from first to last, or all."""
    if count is None or count >= len(examples):
        return examples
    step = len(examples) / count
    return [examples[int(n * step)] for n in range(count)]


def _padded(rows: Sequence[Sequence[int]]) -> Int[Tensor, "M N"]:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
