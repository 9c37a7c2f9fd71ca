"""Answers to SCAN's commands: greedy decoding, and whether it would be right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.data import check_words
from espalier.errors import ConfigError
from espalier.nets.transformer import TransformerShape, Weights, decode, encode
from espalier.training.scan_batches import END, PAD, START, SYMBOLS, Pairs, command_tokens
from espalier.training.task_learner import products
from espalier.training.transformers import Transformers, in_precision, listed

LOGITS_AT_ONCE = 1 << 24
CUT = "..."  # stands where a translation was not at its end


class ScanTransformers(Transformers):
    """Transformers that learned SCAN."""

    @torch.no_grad()
    def translate(self, commands: Sequence[str], *, longest: int = 64) -> list[list[str]]:
        """For each member its translation of every command, by greedy decoding.

        Words of SCAN may stand in any order. At most `longest` symbols are written; a translation
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
            with products(self.recipe):
                written = greedy(weights, self.shape, asked, longest=longest + 1)
            for own, rows in zip(found, written.tolist(), strict=True):
                own += [_spelt(codes) for codes in rows]
        return found

    def ask(self, inputs: Sequence[str]) -> list[list[str]]:
        """For each member its translation of every command."""
        return self.translate(inputs)


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


def _spelt(codes: list[int]) -> str:
    """The symbols before END, or all that were written for want of one."""
    if END in codes:
        return " ".join(SYMBOLS[code] for code in codes[: codes.index(END)])
    return " ".join([*(SYMBOLS[code] for code in codes[:-1]), CUT])


def action_logits(
    weights: Weights,
    shape: TransformerShape,
    commands: Int[Tensor, "E B N"],
    actions: Int[Tensor, "E B T"],
) -> Float[Tensor, "E B T O"]:
    """What comes next after each of the true actions so far."""
    encoded = encode(weights, shape, commands, lengths=(commands != PAD).sum(-1))
    before = torch.cat([torch.full_like(actions[..., :1], START), actions[..., :-1]], -1)
    return decode(weights, shape, before, encoded)


@torch.no_grad()
def answered(
    weights: Weights, shape: TransformerShape, test: Pairs
) -> tuple[Bool[Tensor, " M"], Bool[Tensor, " M"]]:
    """For every command, whether one member's greedy decoding gives exactly its actions.

    And whether it would if END could come only after the last one.
    """
    size = max(1, LOGITS_AT_ONCE // (test.actions.shape[1] * shape.heads * 64))
    found, told = [], []
    for commands, actions in zip(test.commands.split(size), test.actions.split(size), strict=True):
        logits = action_logits(weights, shape, commands[None], actions[None])[0]
        found.append(((logits.argmax(-1) == actions) | (actions == PAD)).all(-1))
        logits[..., END] = -math.inf
        told.append(((logits.argmax(-1) == actions) | (actions == PAD) | (actions == END)).all(-1))
    return torch.cat(found), torch.cat(told)
