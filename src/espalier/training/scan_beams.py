"""Beam search for SCAN's answers, with scores normalised by length (Wu et al. 2016).

Greedy decoding stops at the first END that is likeliest. Normalised scores favour longer answers,
so that beams may find the right one where END comes too soon.

B commands, K beams, T symbols written so far.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from espalier.nets.transformer import TransformerShape, Weights, decode, encode
from espalier.training.scan_batches import END, PAD, START, Pairs

SEQUENCES = 4096  # beams that are read at a time


@torch.no_grad()
def beam_search(
    weights: Weights,
    shape: TransformerShape,
    commands: Int[Tensor, "B N"],
    *,
    longest: int,
    beams: int = 4,
    penalty: float = 0.6,
) -> Int[Tensor, "B T"]:
    """The answer of the best score among all that were finished; PAD after its END.

    A score is the sum of log-probabilities over ((5 + symbols) / 6) to the power of `penalty`;
    every beam may end after each of up to `longest` symbols.
    """
    repeated = commands.repeat_interleave(beams, 0)[None]
    encoded = encode(weights, shape, repeated, lengths=(repeated != PAD).sum(-1))
    count, device = len(commands), commands.device
    written = torch.full((count, beams, 1), START, device=device)
    likely = torch.full((count, beams), -math.inf, device=device)
    likely[:, 0] = 0.0  # all beams are one in the beginning
    best = torch.full((count,), -math.inf, device=device)
    found = torch.full((count, longest), PAD, device=device)
    for size in range(1, longest + 1):
        logits = decode(weights, shape, written.flatten(0, 1)[None], encoded)[0, :, -1]
        next_one = likely.unsqueeze(2) + logits.log_softmax(-1).view(count, beams, -1)
        score, ending = (next_one[..., END] / ((5 + size) / 6) ** penalty).max(1)
        better = score > best
        best = torch.where(better, score, best)
        ended = _chosen(written, ending.unsqueeze(1))[:, 0, 1:]
        found[better, : size - 1], found[better, size - 1] = ended[better], END
        next_one[..., END] = -math.inf
        likely, places = next_one.flatten(1).topk(beams)
        outputs = logits.shape[-1]
        symbols = (places % outputs).unsqueeze(2)
        written = torch.cat([_chosen(written, places // outputs), symbols], 2)
    return found


def found_by_beams(
    weights: Weights, shape: TransformerShape, test: Pairs, *, beams: int = 4, penalty: float = 0.6
) -> Bool[Tensor, " M"]:
    """For every command, whether beam search gives exactly its actions."""
    longest, right = test.actions.shape[1], []
    size = max(1, SEQUENCES // beams)
    for commands, actions in zip(test.commands.split(size), test.actions.split(size), strict=True):
        answers = beam_search(
            weights, shape, commands, longest=longest, beams=beams, penalty=penalty
        )
        right.append((answers == actions).all(1))
    return torch.cat(right)


def _chosen(written: Int[Tensor, "B K T"], beams: Int[Tensor, "B k"]) -> Int[Tensor, "B k T"]:
    return written.gather(1, beams.unsqueeze(2).expand(-1, -1, written.shape[2]))
