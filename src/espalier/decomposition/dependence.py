"""Decompositional interdependence by its definition: two sets of words, one step.

DI_t(A, B) = || x_{A∪B} - (x_A + x_B) || / || x_{A∪B} ||, where x is what the set contributes to the
hidden state (2020) or to the logits (the earlier paper) after step t (eq. 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from espalier.data import Parsed
from espalier.decomposition.allocations import Allocation, AllocationName
from espalier.decomposition.decompose import A_STEP, batches, decompose_many
from espalier.decomposition.inputs import (
    ReadWords,
    Words,
    as_tokens,
    check_disjoint,
    check_model,
    mark,
    read_places,
    read_sentence,
    read_step,
)
from espalier.decomposition.parts import Parts, Space
from espalier.decomposition.recursion import propagate
from espalier.decomposition.room import check_room
from espalier.errors import ConfigError, is_one_of, nearest
from espalier.nets.lstm import LanguageModel, LSTMLayer, LSTMState
from espalier.results import Result
from espalier.runs import load_solvers

if TYPE_CHECKING:
    import pandas


class Dependence(ReadWords, Result, float):
    """DI of two sets of words: a number with what it was computed from. NaN: undefined.

    `joint` is what both sets contribute together, `interaction` by how much that is not the sum of
    what each contributes; both are vectors of the given space. `parts` are the decompositions that
    it was computed from: of a, of b and of both.

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4)
    >>> found = es.interdependence(model, [1, 2, 3], a=[0], b=[1, 2])
    >>> found >= 0, found.at, found.joint.shape
    (True, 2, torch.Size([4]))
    """

    words: tuple[str, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]
    at: int
    space: Space
    joint: Tensor
    interaction: Tensor
    unknown_at: tuple[int, ...]
    parts: tuple[Parts, Parts, Parts]

    @property
    def error(self) -> float:
        """How far the parts of a, of b and of both are from summing to the state, at the logits."""
        return max(one.error for one in self.parts)

    @property
    def undefined(self) -> int:
        """1 where the sets contribute nothing together, so that there is no ratio; else 0."""
        return int(self != self)

    def to_frame(self) -> pandas.DataFrame:
        """One row: both sets in words, where they were read, and the number."""
        import pandas as pd

        sets = {
            name: " ".join(self.words[place] for place in some)
            for name, some in (("a", self.a), ("b", self.b))
        }
        where = {"at": self.at, "after": self.words[self.at], "space": self.space}
        return pd.DataFrame([{**sets, **where, "value": float(self), "unknown": self.unknown}])


class Interactions(NamedTuple):
    """For each row: what both sets contribute together, and by how much that is not their sum."""

    joint: Float[Tensor, "B H"]
    interaction: Float[Tensor, "B H"]

    def ratios(self, model: LanguageModel, space: Space = "hidden") -> Float[Tensor, " B"]:
        """DI of each row; NaN where nothing is contributed together."""
        apart, size = (norms(part, model, space) for part in (self.interaction, self.joint))
        return ratio(apart, size)


def depend(
    model: LanguageModel,
    tokens: Words,
    *,
    a: Any,
    b: Any,
    at: int | None = None,
    space: Space = "hidden",
    allocation: Allocation | AllocationName = "papers",
) -> Dependence:
    """DI of any two disjoint sets of words, read after step `at`: their last word by default."""
    model, space = check_model(model), check_space(space)
    tokens = tokens if isinstance(tokens, Parsed) else as_tokens(tokens)
    sentence = read_sentence(model, tokens)
    first, second = (read_places(s, sentence, n) for s, n in zip((a, b), "ab", strict=True))
    check_disjoint(first, second)
    step = read_step(at, first + second, len(sentence))
    check_room(step + 1, 3 * 2 * A_STEP * model.shape.hidden * (step + 1))  # in double precision
    read, sets = _beginning(tokens, step + 1), (first, second, first + second)
    one, other, both = decompose_many(model, [read] * 3, focus=sets, allocation=allocation)
    ids = torch.tensor([sentence.ids[: step + 1]], device=both.relevant.device)
    in_a, in_b = (mark([some], ids.shape, ids.device) for some in (first, second))
    where = torch.tensor([step], device=ids.device)
    found = interact_batch(model, ids, (in_a, in_b), at=where, allocation=allocation)
    result = Dependence(found.ratios(model, space))
    result.words, result.a, result.b, result.at = sentence.words, first, second, step
    result.space, result.unknown_at, result.parts = space, sentence.unknown_at, (one, other, both)
    result.joint, result.interaction = (in_space(part[0], model, space) for part in found)
    return result


def _beginning(sentence: Parsed | Sequence[str | int], length: int) -> Words:
    """The first words of a sentence."""
    if isinstance(sentence, Parsed):
        return replace(sentence, words=sentence.words[:length])
    return sentence[:length]


def check_space(space: Space) -> Space:
    """The space, if there is one of that name."""
    if not is_one_of(space, get_args(Space)):
        raise ConfigError(f"there is no space {space!r}; {nearest(space, get_args(Space))}")
    return space


@torch.no_grad()
def interact_batch(
    model: LanguageModel,
    tokens: Int[Tensor, "B N"],
    sets: tuple[Bool[Tensor, "B N"], Bool[Tensor, "B N"]],
    *,
    at: Int[Tensor, " B"],
    allocation: Allocation | AllocationName = "papers",
    state: LSTMState | None = None,
) -> Interactions:
    """Tensors in, tensors out, nothing checked: each row's two sets, read after its step `at`."""
    a, b = sets
    # In double precision: a difference of states is rounding where it is smaller than their digits.
    inputs, last = model.encoder(tokens).double(), int(at.max()) + 1
    focus = torch.cat([a, b, a | b])
    before = None if state is None else tuple(part.repeat(1, 3, 1).double() for part in state)
    relevant, _ = propagate(
        [LSTMLayer(*(weights.double() for weights in layer)) for layer in model.layers()],
        inputs[:, :last].repeat(3, 1, 1),
        focus[:, :last],
        allocation=allocation,
        state=None if before is None else (before[0], before[1]),
    )
    read = relevant[torch.arange(len(focus), device=at.device), at.repeat(3)]
    first, second, joint = read.chunk(3)
    like = model.encoder.weight
    return Interactions(joint.to(like), (joint - (first + second)).to(like))


def by_definition(
    model: LanguageModel,
    ids: Sequence[int],
    *,
    space: Space,
    allocation: Allocation | AllocationName = "papers",
) -> Float[np.ndarray, "N N"]:
    """DI of every two words, each pair by three decompositions of its own in double precision."""
    check_room(len(ids), 6 * len(ids) ** 2)
    values = np.full((len(ids), len(ids)), np.nan)
    left, right = np.triu_indices(len(ids), 1)
    for some in batches([len(ids)] * len(left), 6 * model.shape.hidden):
        tokens = torch.tensor([list(ids)] * len(some), device=model.encoder.weight.device)
        a, b = (
            mark([[place] for place in places[some]], tokens.shape, tokens.device)
            for places in (left, right)
        )
        at = torch.tensor(right[some], device=tokens.device)
        found = interact_batch(model, tokens, (a, b), at=at, allocation=allocation)
        values[left[some], right[some]] = found.ratios(model, space).cpu().numpy()
    return values


def norms(
    vectors: Float[Tensor, "*R H"], model: LanguageModel, space: Space
) -> Float[Tensor, "*R"]:
    """The length of each vector, or of its logits, also where squares over- or underflow."""
    found = in_space(vectors, model, space)
    largest = found.abs().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(found.dtype).tiny)
    lengths: Tensor = torch.linalg.vector_norm(found / largest, dim=-1) * largest.squeeze(-1)
    return lengths


def in_space(vectors: Float[Tensor, "*R H"], model: LanguageModel, space: Space) -> Tensor:
    """The vectors themselves, or their logits."""
    match space:
        case "hidden":
            return vectors
        case "logits":
            return vectors @ model.decoder.weight.detach().T


def triangle(decoder: Float[Tensor, "V H"]) -> Float[Tensor, "R H"]:
    """The matrix that makes vectors as long as the decoder does, without the vocabulary's size.

    With decoder = Q R, ||decoder x|| = ||R x||.
    """
    load_solvers(decoder.device)
    root: Tensor = torch.linalg.qr(decoder, mode="r").R
    return root


def ratio(apart: Tensor, size: Tensor) -> Tensor:
    """apart / size, NaN where `size` is zero."""
    return torch.where(size > 0, apart / torch.where(size > 0, size, 1.0), torch.nan)
