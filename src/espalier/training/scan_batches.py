"""SCAN's splits as tokens, and a layout for batches of them.

Words are whole tokens on both sides; START begins the actions and END ends them. Actions of
different lengths are laid out in rows, several to a row, so that little is padding. The layout is
made once, from bounds on the lengths: a captured step cannot have another shape each time.

A split's actions may also be spelt in pieces, as a SentencePiece vocabulary might have them:
`length+turns` or `length+underscores`. Counted in pieces, turns are longer than other actions.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from espalier.data import ACTIONS, WORDS, Example, ScanSplit, generate_examples, scan_split
from espalier.errors import DataError, nearest
from espalier.nets.transformer import CELLS

T = TypeVar("T")

PAD, START, END = 0, 1, 2
SYMBOLS = ("<pad>", "<start>", "<end>", *WORDS, *ACTIONS)
# Actions that are written in pieces; all others stay whole.
SPELLINGS = {
    "turns": {"I_TURN_LEFT": "L TURN", "I_TURN_RIGHT": "R TURN"},
    "underscores": {action: action.replace("_", "_ ") for action in ACTIONS},
}
_WRITTEN = " ".join(text for way in SPELLINGS.values() for text in way.values())
PIECES = tuple(dict.fromkeys(_WRITTEN.split()))
BESIDE = 3  # sequences in a row at most: each brings its input's positions to every token of it
_CODES = {symbol: code for code, symbol in enumerate((*SYMBOLS, *PIECES))}


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
    """A split from its files, or one made from the grammar, with examples of both kinds.

    >>> read_split("upto:1,2+turns").test[0].actions
    'I_WALK I_WALK'
    """
    whole, plus, spelling = name.partition("+")
    kind, _, detail = whole.partition(":")
    split = scan_split(whole) if kind != "upto" else _upto(whole, detail)
    if plus:
        split = _spelt(split, name, spelling)
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


def symbols_of(splits: Sequence[str]) -> tuple[str, ...]:
    """The symbols that members of these splits read and write.

    >>> len(symbols_of(["length"])), len(symbols_of(["length", "length+turns"])) - len(PIECES)
    (22, 22)
    """
    return (*SYMBOLS, *PIECES) if any("+" in name for name in splits) else SYMBOLS


def _spelt(split: ScanSplit, name: str, spelling: str) -> ScanSplit:
    """The split with every action in pieces."""
    if spelling not in SPELLINGS:
        raise DataError(f"{name!r} has no spelling {spelling!r}; {nearest(spelling, SPELLINGS)}")
    way = SPELLINGS[spelling]

    def respelt(one: Example) -> Example:
        return Example(one.command, " ".join(way.get(word, word) for word in one.actions.split()))

    return ScanSplit(name, tuple(map(respelt, split.train)), tuple(map(respelt, split.test)))


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


def some_of(examples: Sequence[T], count: int | None) -> Sequence[T]:
    """That many of the examples, evenly from first to last, or all."""
    if count is None or count >= len(examples):
        return examples
    step = len(examples) / count
    return [examples[int(n * step)] for n in range(count)]


def _padded(rows: Sequence[Sequence[int]]) -> Int[Tensor, "M N"]:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])


@dataclass(frozen=True, eq=False)
class Packing:
    """R rows of W cells, with up to S sequences each.

    Slot s of row r belongs to sequence `slots[r, s]`. `parts` are cells' slots, S where a cell is
    empty; `sequences` are cells' sequences, and `places` count from the start of each. What belongs
    to none is 0.
    """

    slots: Int[Tensor, "R S"]
    parts: Int[Tensor, "R W"]
    sequences: Int[Tensor, "R W"]
    places: Int[Tensor, "R W"]

    @classmethod
    def of(cls, widths: Sequence[int], *, size: int | None = None, beside: int = BESIDE) -> Packing:
        """Sequences of at most these lengths: the longest first, each into the emptiest row.

        There are as few rows as that allows, of as many cells as the longest has, or of `size`,
        and at most `beside` sequences in one.

        >>> Packing.of([3, 9, 5]).slots.tolist()
        [[1, 0], [2, 0]]
        >>> Packing.of([3, 9, 5]).parts.tolist()
        [[0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 2]]
        """
        size = max(widths) if size is None else size
        counts = range(_fewest(widths, size, beside), len(widths) + 1)
        tries = (_spread(widths, count, size, beside) for count in counts)
        rows = next(found for found in tries if found is not None)
        beside, cells = max(map(len, rows)), (len(rows), size)
        slots, parts = torch.zeros(len(rows), beside).long(), torch.full(cells, beside)
        sequences, places = torch.zeros(cells).long(), torch.zeros(cells).long()
        for r, row in enumerate(rows):
            start = 0
            for slot, one in enumerate(row):
                own = slice(start, start + widths[one])
                slots[r, slot], parts[r, own], sequences[r, own] = one, slot, one
                places[r, own] = torch.arange(widths[one])
                start = own.stop
        return cls(slots, parts, sequences, places)

    @classmethod
    def in_blocks(cls, widths: Sequence[int], words: int) -> Packing:
        """In rows of the size that layers as kernels take, if these sequences fit into them.

        All inputs of a row, of that many words, have to fit into one too.

        >>> Packing.in_blocks([3, 60, 5, 4], words=9).slots.tolist()
        [[1, 0, 0], [2, 3, 0]]
        """
        if max(widths) > CELLS or words > CELLS:
            return cls.of(widths)
        return cls.of(widths, size=CELLS, beside=CELLS // words)

    def to(self, device: torch.device) -> Packing:
        """The same on a device."""
        moved = {one.name: getattr(self, one.name).to(device) for one in fields(self)}
        return replace(self, **moved)

    @property
    def beside(self) -> int:
        """S, the most sequences of a row."""
        return self.slots.shape[1]

    @property
    def filled(self) -> Bool[Tensor, "R W"]:
        """Where there is a sequence."""
        return self.parts < self.beside


def _fewest(widths: Sequence[int], size: int, beside: int) -> int:
    """A lower bound on rows: by sequences, by cells, and by those longer than half a row."""
    halves = sum(2 * width > size for width in widths)
    return max(-(-len(widths) // beside), -(-sum(widths) // size), halves)


def _spread(widths: Sequence[int], count: int, size: int, beside: int) -> list[list[int]] | None:
    """`count` rows with all sequences in them, or None if they do not fit."""
    rows: list[list[int]] = [[] for _ in range(count)]
    free = [(0, row) for row in range(count)]  # cells used; a heap, the emptiest first
    for one in sorted(range(len(widths)), key=lambda n: -widths[n]):
        if not free or free[0][0] + widths[one] > size:
            return None
        used, emptiest = heapq.heappop(free)
        rows[emptiest].append(one)
        if len(rows[emptiest]) < beside:
            heapq.heappush(free, (used + widths[one], emptiest))
    return rows
