"""The parts of an LSTM language model: sentences in, parts out; and the same for tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.decomposition.allocations import Allocation, AllocationName, read_allocation
from espalier.decomposition.inputs import (
    Words,
    check_model,
    mark,
    pad,
    read_places,
    read_sentence,
    read_state,
)
from espalier.decomposition.parts import Parts
from espalier.decomposition.recursion import propagate
from espalier.decomposition.room import check_room
from espalier.errors import DataError
from espalier.nets.lstm import LanguageModel, LSTMState

# Numbers that the rows computed together may hold for all their steps: 256 MiB in float32; and
# those that a row holds for each step, in units of the hidden size.
AT_ONCE, A_STEP = 1 << 26, 16


def decompose_many(
    model: LanguageModel,
    sentences: Sequence[Words],
    *,
    focus: Sequence[Any],
    allocation: Allocation | AllocationName = "papers",
    state: LSTMState | None = None,
) -> list[Parts]:
    """The parts of each sentence for its own focus, in batches; lengths may differ.

    For several focus sets of one sentence, give the sentence as often. `state` has a row for each.

    >>> from espalier.nets.lstm import language_model
    >>> model = language_model(vocabulary_size=9, hidden=4)
    >>> [len(parts.words) for parts in decompose_many(model, [[1, 2], [3]], focus=[[1], [0]])]
    [2, 1]
    """
    model, allocation = check_model(model), read_allocation(allocation)
    if len(focus) != len(sentences):
        raise DataError(
            f"{len(sentences)} sentences, but {len(focus)} focus sets; give one for each"
        )
    read = [read_sentence(model, tokens) for tokens in sentences]
    sets = [read_places(places, one, "focus") for places, one in zip(focus, read, strict=True)]
    state = None if state is None else read_state(model, state, len(read))
    found: dict[int, Parts] = {}
    for rows in batches([len(one) for one in read], model.shape.hidden):
        tokens = pad(model, [read[row] for row in rows])
        focused = mark([sets[row] for row in rows], tokens.shape, tokens.device)
        before = None if state is None else (state[0][:, rows], state[1][:, rows])
        batch = decompose_batch(model, tokens, focused, allocation=allocation, state=before)
        for row, *tensors in zip(rows, *batch, strict=True):
            one = read[row]
            halves = Batch(*(tensor[: len(one)] for tensor in tensors))
            found[row] = Parts(
                words=one.words,
                focus=sets[row],
                unknown_at=one.unknown_at,
                allocation=allocation,
                model=model,
                **halves._asdict(),
            )
    return [found[row] for row in range(len(read))]


class Batch(NamedTuple):
    """Both parts and the true state of a batch's rows after every step."""

    relevant: Float[Tensor, "B N H"]
    irrelevant: Float[Tensor, "B N H"]
    hidden: Float[Tensor, "B N H"]


@torch.no_grad()
def decompose_batch(
    model: LanguageModel,
    tokens: Int[Tensor, "B N"],
    focus: Bool[Tensor, "B N"],
    *,
    allocation: Allocation | AllocationName = "papers",
    state: LSTMState | None = None,
) -> Batch:
    """Tensors in, tensors out, nothing checked: a row is a sequence with a focus of its own.

    Rows may be filled up at their ends: no earlier step sees what follows it.
    """
    inputs = model.encoder(tokens)
    halves = propagate(model.layers(), inputs, focus, allocation=allocation, state=state)
    return Batch(*halves, model.states(tokens, state).hidden[-1])


def batches(lengths: Sequence[int], hidden: int) -> list[list[int]]:
    """Rows to compute together: of similar length, and no more than fit."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    batches: list[list[int]] = []
    check_room(longest := max(lengths, default=0), A_STEP * hidden * longest)
    for row in order:
        longest = lengths[batches[-1][0]] if batches else 0
        room = AT_ONCE // (A_STEP * hidden * max(longest, 1))
        if batches and len(batches[-1]) < room:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches
