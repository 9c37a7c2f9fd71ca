"""Transformers that learnt from examples alone, read back from a finished run and asked.

They compute as they did when the run measured them: on CUDA or a CPU, in the precision they were
trained with. Inputs are asked many at a time, bounded by memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from espalier.data.parity import ParitySet
from espalier.data.scan import check_words
from espalier.errors import ConfigError, ModelError
from espalier.nets.transformer import TransformerShape, Weights, decode, encode
from espalier.runs import Row, choose_device
from espalier.training.finished import Measured, finished_run, read_last
from espalier.training.parity import in_precision, predict
from espalier.training.scan_pairs import END, PAD, START, SYMBOLS, command_tokens
from espalier.training.stacked import StepRecipe, precisely

CELLS = 1 << 26  # numbers of a layer that are computed at a time, over all members
CUT = "..."  # stands where a translation was not at its end


@dataclass(frozen=True, eq=False, repr=False)
class Learnt(Measured):
    """Transformers of one shape, their stacked weights, and what their run measured."""

    members: tuple[str, ...]
    shape: TransformerShape
    recipe: StepRecipe
    rows: tuple[Row, ...]
    weights: Weights

    def __str__(self) -> str:
        count, layers = len(self.members), self.shape.layers
        return f"{count} Transformers of {layers} layers: {self.last_measures()}"

    __repr__ = __str__

    def _at_once(self, positions: int) -> int:
        """How many inputs of so many positions fit into memory: attention, or the MLP."""
        widest = max(self.shape.heads * positions, self.shape.hidden)
        return max(1, CELLS // (len(self.members) * positions * widest))

    def _refuse_long(self, asked: Sequence[str], sizes: Sequence[int], most: int) -> None:
        if self.shape.positions == "relative" or max(sizes) <= most:
            return
        text, size = max(zip(asked, sizes, strict=True), key=lambda one: one[1])
        raise ModelError(
            f"{text!r} has a length of {size}; these models have absolute positions for {most}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LearntParity(Learnt):
    """Transformers that learnt parity."""

    @torch.no_grad()
    def answers(self, strings: Sequence[str]) -> NDArray[np.int64]:
        """Every member's answer to every string of 0 and 1, (E, M)."""
        strings = _listed(strings, "bit strings")
        asked = ParitySet.of(strings)
        self._refuse_long(strings, asked.lengths.tolist(), self.shape.longest - 1)  # START has one
        weights = in_precision(self.weights, self.recipe)
        size = self._at_once(1 + asked.bits.shape[1])
        starts = range(0, len(asked), size)
        parts = [ParitySet(asked.bits[n : n + size], asked.lengths[n : n + size]) for n in starts]
        with precisely(self.recipe):
            return np.concatenate([predict(weights, self.shape, part) for part in parts], 1)


@dataclass(frozen=True, eq=False, repr=False)
class LearntScan(Learnt):
    """Transformers that learnt SCAN."""

    @torch.no_grad()
    def translate(self, commands: Sequence[str], *, longest: int = 64) -> list[list[str]]:
        """For each member its translation of every command, by greedy decoding.

        Words of SCAN may stand in any order. At most `longest` symbols are written; a translation
        that has not ended by then ends with "...".
        """
        if longest < 1:
            raise ConfigError(f"longest is {longest}; let one action be written at least")
        commands = _listed(commands, "commands")
        words = [check_words(command) for command in commands]
        self._refuse_long(commands, [len(own) for own in words], self.shape.longest)
        weights = in_precision(self.weights, self.recipe)
        tokens = command_tokens(words).to(weights["embedding"].device)
        found: list[list[str]] = [[] for _ in self.members]
        for some in tokens.split(self._at_once(max(longest + 1, tokens.shape[1]))):
            asked = some.expand(len(self.members), -1, -1)
            with precisely(self.recipe):
                written = greedy(weights, self.shape, asked, longest=longest + 1)
            for own, rows in zip(found, written.tolist(), strict=True):
                own += [_spelt(codes) for codes in rows]
        return found


def load_parity(path: str | os.PathLike[str], *, device: str = "auto") -> LearntParity:
    """The Transformers of a finished run of `train_parity`, after its last step."""
    return _load(LearntParity, path, kind="parity", device=device)


def load_scan(path: str | os.PathLike[str], *, device: str = "auto") -> LearntScan:
    """The Transformers of a finished run of `train_scan`, after its last step."""
    return _load(LearntScan, path, kind="scan", device=device)


def greedy(
    weights: Weights, shape: TransformerShape, commands: Int[Tensor, "E B N"], *, longest: int
) -> Int[Tensor, "E B T"]:
    """The likeliest token after those so far, until all have written END or `longest` are there.

    What follows an END is without meaning.
    """
    encoded = encode(weights, shape, commands, lengths=(commands != PAD).sum(-1))
    written = torch.full_like(commands[..., :1], START)
    ended = torch.zeros_like(written, dtype=torch.bool)
    for _ in range(longest):
        following = decode(weights, shape, written, encoded)[:, :, -1].argmax(-1, keepdim=True)
        written, ended = torch.cat([written, following], -1), ended | (following == END)
        if ended.all():
            break
    return written[..., 1:]


L = TypeVar("L", bound=Learnt)


def _load(made: type[L], path: str | os.PathLike[str], *, kind: str, device: str) -> L:
    where = choose_device(device)
    folder, manifest = finished_run(path, kind)
    recipe = StepRecipe(**manifest["config"]["recipe"])
    kept = read_last(folder, recipe.measures)
    return made(
        members=tuple(json.loads(kept.metadata["members"])),
        shape=TransformerShape(**json.loads(kept.metadata["shape"])),
        recipe=recipe,
        rows=kept.rows,
        weights={name: tensor.to(where) for name, tensor in kept.tensors.items()},
    )


def _listed(asked: Sequence[str], what: str) -> list[str]:
    """What is asked, one at least; a string alone would be taken for its letters."""
    found = [] if isinstance(asked, str) else list(asked)
    if not found:
        raise ModelError(f"{what} are asked as a list with one at least; found {asked!r}")
    return found


def _spelt(codes: list[int]) -> str:
    """The symbols before END, or all that were written for want of one."""
    if END in codes:
        return " ".join(SYMBOLS[code] for code in codes[: codes.index(END)])
    return " ".join([*(SYMBOLS[code] for code in codes[:-1]), CUT])
