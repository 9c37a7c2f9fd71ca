"""Ways of counting whether SCAN's commands are answered rightly, all from one pass.

Greedy decoding gives an answer exactly if, given the true symbols so far, the next one is always
the likeliest; that holds whatever is done to END's logit on the way. So one pass over the true
answer decides every way here, and no answer need be written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.nets.transformer import TransformerShape, Weights, decode, encode
from espalier.training.scan_batches import END, PAD, START, Pairs

LOGITS_AT_ONCE = 1 << 24
LOWERED = (1, 2, 4, 8, 16)  # how much END's logit is lowered by
# The share of an answer that is right, 0 or 1 in most ways, from logits and true symbols.
Way = Callable[[Float[Tensor, "M T O"], Int[Tensor, "M T"]], Float[Tensor, " M"]]


def ways_of_counting(longest: int) -> dict[str, Way]:
    """Every way by its name; `longest` is how many symbols the longest training answer has.

    >>> list(ways_of_counting(22))[:2]
    ['greedy', 'END given']
    """
    lowered = {f"END lowered by {much}": end_lowered(much) for much in LOWERED}
    return {
        "greedy": exactly,
        "END given": end_given,
        "END not before training's longest": end_not_before(longest),
        **lowered,
        "cut at training's longest": cut_at(longest, exactly),
        "cut at training's longest, END given": cut_at(longest, end_given),
        "cut at half of training's longest": cut_at(longest // 2, exactly),
        "share of symbols": share_of_symbols,
    }


def exactly(logits: Float[Tensor, "M T O"], actions: Int[Tensor, "M T"]) -> Float[Tensor, " M"]:
    """Every symbol and then END."""
    return _hits(logits, actions).all(-1).float()


def end_given(logits: Float[Tensor, "M T O"], actions: Int[Tensor, "M T"]) -> Float[Tensor, " M"]:
    """Every symbol, if END could come only after the last."""
    never = logits.clone()
    never[..., END] = -math.inf
    return exactly(never, actions.masked_fill(actions == END, PAD))


def end_not_before(longest: int) -> Way:
    """Every symbol and then END, which cannot come before that many symbols."""

    def way(logits: Tensor, actions: Tensor) -> Tensor:
        later = logits.clone()
        later[:, :longest, END] = -math.inf
        return exactly(later, actions)

    return way


def end_lowered(much: float) -> Way:
    """Every symbol and then END, whose logit is lowered everywhere."""

    def way(logits: Tensor, actions: Tensor) -> Tensor:
        lower = logits.clone()
        lower[..., END] -= much
        return exactly(lower, actions)

    return way


def cut_at(longest: int, way: Way) -> Way:
    """Answers and truth both cut off after that many symbols."""
    return lambda logits, actions: way(logits[:, :longest], actions[:, :longest])


def share_of_symbols(
    logits: Float[Tensor, "M T O"], actions: Int[Tensor, "M T"]
) -> Float[Tensor, " M"]:
    """The share of symbols, END included, that are the likeliest after the true ones before."""
    there = actions != PAD
    return (_hits(logits, actions) & there).sum(-1) / there.sum(-1)


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
def counted(
    weights: Weights, shape: TransformerShape, test: Pairs, ways: Mapping[str, Way]
) -> dict[str, Float[Tensor, " M"]]:
    """For every command and way, how much of one member's answer is right."""
    size = max(1, LOGITS_AT_ONCE // (test.actions.shape[1] * shape.heads * 64))
    found: dict[str, list[Tensor]] = {name: [] for name in ways}
    for commands, actions in zip(test.commands.split(size), test.actions.split(size), strict=True):
        logits = action_logits(weights, shape, commands[None], actions[None])[0]
        for name, way in ways.items():
            found[name].append(way(logits, actions))
    return {name: torch.cat(parts) for name, parts in found.items()}


def _hits(logits: Float[Tensor, "M T O"], actions: Int[Tensor, "M T"]) -> Bool[Tensor, "M T"]:
    return (logits.argmax(-1) == actions) | (actions == PAD)
