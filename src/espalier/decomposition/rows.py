"""Relevant parts for many sentences of one length at once, each with focus sets of its own."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.divided import Divided
from espalier.decomposition.recurrent_parts import through_recurrent
from espalier.decomposition.rules import Rules
from espalier.decomposition.transformer_parts import through_transformer
from espalier.networks import Body, Recurrent, Transformer


@torch.no_grad()
def relevant_rows(
    body: Body,
    inputs: Float[Tensor, "M N D"],
    focus: Bool[Tensor, "S M N"],
    *,
    rules: Rules | None = None,
    state: Float[Tensor, "L M H"] | None = None,
) -> Float[Tensor, "S M N H"]:
    """What the tokens in focus contribute to the last layer's states: S focus sets, M sentences.

    An initial `state` is a GRU's hidden states, which are irrelevant.

    >>> from espalier.networks import GRULayer
    >>> layer = GRULayer(torch.ones(6, 2), torch.ones(6, 2), torch.zeros(6), torch.zeros(6))
    >>> focus = torch.tensor([[[True, False]]])
    >>> relevant_rows(Recurrent(((layer,),)), torch.ones(1, 2, 2), focus).shape
    torch.Size([1, 1, 2, 2])
    """
    rules, here = rules or Rules(), focus.unsqueeze(-1).to(inputs.dtype)
    match body:
        case Transformer():
            return through_transformer(body, Divided(inputs, inputs * here), rules)[-1].relevant
        case Recurrent():
            both = torch.stack([inputs * here, inputs * (1 - here)]).flatten(1, 2)
            before = None if state is None else state.repeat(1, len(focus), 1)
            found = through_recurrent(body, both, here.flatten(0, 1), rules.gates, state=before)
            relevant: Tensor = found[-1][0].unflatten(0, focus.shape[:2])
            return relevant
