"""How strongly the close symbol's loss reaches back along the scaffold (Appendix C).

Three magnitudes at every place from the open symbol (0) to the last scaffold token (k):
`embedding` and `hidden` are derivatives of the loss at the close symbol with respect to the
embedding read there and the top layer's hidden state there, in a Transformer the stream that enters
its last layer, where later places read it; `output` is the derivative of that
place's own loss, predicting the token after it, with respect to its logits: the error that a
predictable scaffold makes small.

Other losses can be read. `after close` is that of the prediction after the close symbol. `every
step` is the sum over all predictions of the sequence: its mean, 1 / N of it, is what the authors'
script differentiates (github.com/nsaphra/acd, lm_inspect_gradients.py). `own step` is each place's
own prediction alone, what the caption of Figure 12 says and that script's hook on the LSTM sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data import Examples, Reading
from espalier.errors import DataError
from espalier.nets.language import CausalShape, GRUShape, gru_cell, stacked
from espalier.nets.lstm import LSTMLayer, LSTMShape, StackedWeights, lstm_cell, members
from espalier.runs import Row

LossReading = Literal[Reading, "every step", "own step"]


def member_gradients(
    weights: StackedWeights,
    shape: LSTMShape,
    examples: Sequence[Examples],
    *,
    limit: int = 200,
    reading: LossReading = "before close",
) -> list[list[Row]]:
    """By member, mean L2 and maximum norm over at most `limit` sequences, by place and kind.

    Each member has examples of its own, all of one scaffold length.
    """
    device = weights["encoder.weight"].device
    if reading == "after close":
        examples = [_that_continue(one) for one in examples]
        limit = min(limit, *(len(one.tokens) for one in examples))
    tokens = torch.from_numpy(np.stack([one.tokens[:limit] for one in examples])).long()
    open_at = torch.from_numpy(np.stack([one.open_at[:limit] for one in examples]))
    places = open_at[..., None] + torch.arange(examples[0].length + 1)
    found = gradients_at(
        weights, shape, tokens.to(device), places=places.to(device), reading=reading
    )
    norms = {
        kind: (slopes.norm(dim=-1).mean(1).tolist(), slopes.abs().amax(-1).mean(1).tolist())
        for kind, slopes in found.items()
    }
    return [
        [
            {"kind": kind, "place": place, "l2": l2[e][place], "largest": largest[e][place]}
            for kind, (l2, largest) in norms.items()
            for place in range(len(l2[e]))
        ]
        for e in range(len(examples))
    ]


def gradients_at(
    weights: StackedWeights,
    shape: LSTMShape,
    tokens: Int[Tensor, "E M N"],
    *,
    places: Int[Tensor, "E M K"],
    reading: LossReading = "before close",
) -> dict[str, Float[Tensor, "E M K any"]]:
    """The three derivatives at the places given, the last of which predicts the close symbol."""
    weights = {name: tensor.detach() for name, tensor in weights.items()}
    embedded = members.look_up(weights["encoder.weight"], tokens).requires_grad_()
    nudges = embedded.new_zeros(*tokens.shape, shape.hidden).requires_grad_()
    hidden = _nudged(weights, shape, embedded, nudges)
    at = torch.arange(len(tokens), device=tokens.device)[:, None, None]
    row = torch.arange(tokens.shape[1], device=tokens.device)[:, None]

    def predict(steps: Int[Tensor, "E M S"]) -> tuple[Tensor, Tensor]:
        """Log probabilities after these steps, and the tokens that follow."""
        logits = members.decode(weights, hidden[at, row, steps].flatten(1, 2))
        scores = torch.log_softmax(logits.view(*steps.shape, -1), dim=-1)
        return scores, tokens[at, row, steps + 1].unsqueeze(-1)

    def slopes(scores: Tensor, wanted: Tensor) -> list[Tensor]:
        """At the places given, the derivatives of the loss of these predictions."""
        loss = -scores.gather(-1, wanted).sum()
        found = torch.autograd.grad(loss, [embedded, nudges], retain_graph=True)
        return [one[at, row, places] for one in found]

    scores, wanted = predict(places)
    match reading:
        case "before close":
            found = slopes(scores[:, :, -1], wanted[:, :, -1])
        case "after close":
            found = slopes(*predict(places[..., -1:] + 1))
        case "every step":
            steps = torch.arange(tokens.shape[2] - 1, device=tokens.device)
            found = slopes(*predict(steps.expand(*tokens.shape[:2], -1)))
        case "own step":
            each = [slopes(scores[:, :, d], wanted[:, :, d]) for d in range(places.shape[2])]
            own = [[one[:, :, d] for one in kinds] for d, kinds in enumerate(each)]
            found = [torch.stack(kind, dim=2) for kind in zip(*own, strict=True)]
    errors = scores.detach().exp()
    errors.scatter_add_(-1, wanted, errors.new_full((), -1.0).expand(wanted.shape))
    return {"embedding": found[0], "hidden": found[1], "output": errors}


def _that_continue(examples: Examples) -> Examples:
    """The sequences with a token after the close symbol; at the others' end nothing follows."""
    longer = examples.last + 2 < examples.tokens.shape[1]
    if not longer.any():
        raise DataError(
            f"no test sequence of {examples.tokens.shape[1]} tokens continues after its close "
            f"symbol, so no loss is read there; make test_length over {examples.length} + 2"
        )
    return Examples(examples.tokens[longer], examples.open_at[longer], examples.length)


def _nudged(
    weights: StackedWeights,
    shape: LSTMShape,
    inputs: Float[Tensor, "E M N D"],
    nudges: Float[Tensor, "E M N H"],
) -> Float[Tensor, "E M N H"]:
    """Top hidden states, each with a nudge added before anything reads it.

    The derivative with respect to a zero nudge is the one with respect to the state itself.
    """
    if isinstance(shape, CausalShape):
        return stacked.streams(weights, shape, inputs, nudge=nudges)[-1]
    below = inputs
    for number in range(shape.layers):
        added = nudges if number == shape.layers - 1 else torch.zeros_like(nudges)
        if isinstance(shape, GRUShape):
            below = _nudged_gru(stacked.gru_weights(weights, number), below, added)
        else:
            below = _nudged_lstm(members.stacked_layers(weights)[number], below, added)
    return below


def _nudged_lstm(layer: LSTMLayer, below: Tensor, nudges: Tensor) -> Float[Tensor, "E M N H"]:
    hidden = cell = torch.zeros_like(nudges[:, :, 0])
    steps = []
    for now, nudge in zip(members.project(layer, below).unbind(2), nudges.unbind(2), strict=True):
        *_, cell, hidden = lstm_cell(now + hidden @ layer.from_hidden.mT, cell)
        hidden = hidden + nudge
        steps.append(hidden)
    return torch.stack(steps, dim=2)


def _nudged_gru(
    weights: tuple[Tensor, Tensor, Tensor, Tensor], below: Tensor, nudges: Tensor
) -> Float[Tensor, "E M N H"]:
    from_input, from_hidden, input_bias, hidden_bias = weights
    flat = below.flatten(1, 2) @ from_input.mT + input_bias.unsqueeze(1)
    projected = flat.unflatten(1, below.shape[1:3])
    hidden, steps = torch.zeros_like(nudges[:, :, 0]), []
    for now, nudge in zip(projected.unbind(2), nudges.unbind(2), strict=True):
        past = hidden @ from_hidden.mT + hidden_bias.unsqueeze(1)
        hidden = gru_cell(now, past, hidden)[-1] + nudge
        steps.append(hidden)
    return torch.stack(steps, dim=2)
