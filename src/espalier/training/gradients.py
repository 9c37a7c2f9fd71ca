"""How strongly the close symbol's loss reaches back along the scaffold (Appendix C).

Three magnitudes at every place from the open symbol (0) to the last scaffold token (k):
`embedding` and `hidden` are derivatives of the loss at the close symbol with respect to the
embedding read there and the top layer's hidden state there; `output` is the derivative of that
place's own loss, predicting the token after it, with respect to its logits: the error that a
predictable scaffold makes small.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from espalier.data.scaffold import Examples
from espalier.nets.lstm import LanguageModel
from espalier.training.learner import Row


def scaffold_gradients(model: LanguageModel, examples: Examples, *, limit: int = 200) -> list[Row]:
    """Mean L2 and maximum norm over at most `limit` sequences, by place and kind."""
    device = model.encoder.weight.device
    tokens = torch.from_numpy(examples.tokens[:limit]).long().to(device)
    open_at = torch.from_numpy(examples.open_at[:limit]).to(device)
    places = open_at[:, None] + torch.arange(examples.length + 1, device=device)
    by_kind = gradients_at(model, tokens, places)
    rows: list[Row] = []
    for kind, found in by_kind.items():
        l2, largest = found.norm(dim=-1).mean(0), found.abs().amax(-1).mean(0)
        pairs = zip(l2.tolist(), largest.tolist(), strict=True)
        rows += [
            {"kind": kind, "place": place, "l2": one, "largest": other}
            for place, (one, other) in enumerate(pairs)
        ]
    return rows


def gradients_at(
    model: LanguageModel, tokens: Int[Tensor, "M N"], places: Int[Tensor, "M K"]
) -> dict[str, Float[Tensor, "M K any"]]:
    """The three derivatives at the places given, the last of which predicts the close symbol."""
    embedded = model.encoder(tokens).detach().requires_grad_()
    nudges = torch.zeros(*tokens.shape, model.shape.hidden).to(embedded).requires_grad_()
    hidden = _nudged(model, embedded, nudges)
    rows = torch.arange(len(tokens), device=tokens.device)[:, None]
    logits = model.decoder(hidden[rows, places])
    wanted = tokens[rows, places + 1]
    loss = functional.cross_entropy(logits[:, -1], wanted[:, -1], reduction="sum")
    to_embedded, to_hidden = torch.autograd.grad(loss, [embedded, nudges])
    with torch.no_grad():
        hits = functional.one_hot(wanted, model.shape.vocabulary_size)
        errors = torch.softmax(logits, dim=-1) - hits
    return {
        "embedding": to_embedded[rows, places],
        "hidden": to_hidden[rows, places],
        "output": errors,
    }


def _nudged(
    model: LanguageModel, inputs: Float[Tensor, "M N D"], nudges: Float[Tensor, "M N H"]
) -> Float[Tensor, "M N H"]:
    """Top hidden states, each with a nudge added before anything reads it.

    The derivative with respect to a zero nudge is the one with respect to the state itself.
    """
    below = inputs
    for layer in range(model.shape.layers):
        from_input, from_hidden, bias = model.layer_weights(layer)
        projected = below @ from_input.T + bias
        hidden = cell = torch.zeros_like(nudges[:, 0])
        steps = []
        for t, now in enumerate(projected.unbind(1)):
            i, f, g, o = (now + hidden @ from_hidden.T).chunk(4, dim=-1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            hidden = o.sigmoid() * cell.tanh()
            if layer == model.shape.layers - 1:
                hidden = hidden + nudges[:, t]
            steps.append(hidden)
        below = torch.stack(steps, dim=1)
    return below
