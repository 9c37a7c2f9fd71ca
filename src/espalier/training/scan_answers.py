"""Transformers that learned SCAN: their answers, and how many of them are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data import Example, check_words
from espalier.errors import ConfigError
from espalier.nets.transformer import TransformerShape, Weights, decode, encode
from espalier.training.scan_batches import (
    END,
    PAD,
    PIECES,
    START,
    SYMBOLS,
    Pairs,
    command_tokens,
)
from espalier.training.scan_beams import found_by_beams
from espalier.training.scan_counts import Way, counted
from espalier.training.task_learner import products
from espalier.training.transformers import Transformers, in_precision, listed

_SPELT = (*SYMBOLS, *PIECES)
CUT = "..."  # ends a translation that was cut off


class ScanTransformers(Transformers):
    """Transformers that learned SCAN."""

    @torch.no_grad()
    def translate(self, commands: Sequence[str], *, longest: int = 64) -> list[list[str]]:
        """For each member its translation of every command, by greedy decoding.

        Words of SCAN may come in any order. At most `longest` symbols are written; a translation
        that has not ended by then ends with "...".
        """
        if longest < 1:
            raise ConfigError(f"longest is {longest}; let one action be written at least")
        commands = listed(commands, "commands")
        words = [check_words(command) for command in commands]
        self.refuse_long(commands, [len(own) for own in words], self.shape.longest)
        weights = in_precision(self.weights, self.recipe)
        tokens = command_tokens(words).to(weights["embedding"].device)
        found: list[list[str]] = [[] for _ in self.names]
        for some in tokens.split(self.at_once(max(longest + 1, tokens.shape[1]))):
            asked = some.expand(len(self), -1, -1)
            with products(self.recipe, tokens.device):
                written = greedy(weights, self.shape, asked, longest=longest + 1)
            for own, rows in zip(found, written.tolist(), strict=True):
                own += [_spelt(codes) for codes in rows]
        return found

    @torch.no_grad()
    def judge(
        self, examples: Sequence[Example], ways: Mapping[str, Way]
    ) -> list[dict[str, Float[Tensor, " M"]]]:
        """For each member and way, how much of its answer to every example is right."""
        asked, weights = self._asked(examples)
        with products(self.recipe, asked.commands.device):
            return [counted(own, self.shape, asked, ways) for own in weights]

    @torch.no_grad()
    def judge_by_beams(self, examples: Sequence[Example]) -> list[Float[Tensor, " M"]]:
        """For each member, whether beam search gives exactly the answer to every example."""
        asked, weights = self._asked(examples)
        with products(self.recipe, asked.commands.device):
            return [found_by_beams(own, self.shape, asked).float() for own in weights]

    def _asked(self, examples: Sequence[Example]) -> tuple[Pairs, list[Weights]]:
        """Examples as tokens, and every member's own weights in the precision of its products."""
        weights = in_precision(self.weights, self.recipe)
        own = [{name: w[n : n + 1] for name, w in weights.items()} for n in range(len(self))]
        return Pairs.of(examples).to(weights["embedding"].device), own

    def ask(self, inputs: Sequence[str]) -> list[list[str]]:
        """For each member its translation of every command."""
        return self.translate(inputs)


def greedy(
    weights: Weights, shape: TransformerShape, commands: Int[Tensor, "E B N"], *, longest: int
) -> Int[Tensor, "E B T"]:
    """The likeliest token after those so far, until all have written END or `longest` are there.

    Symbols after an END have no meaning.
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


def _spelt(codes: list[int]) -> str:
    """The symbols before END, or all of them if there is none."""
    if END in codes:
        return " ".join(_SPELT[code] for code in codes[: codes.index(END)])
    return " ".join([*(_SPELT[code] for code in codes[:-1]), CUT])
