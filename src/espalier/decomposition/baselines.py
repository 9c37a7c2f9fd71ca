"""Other measures of how two words interact, under the interface of interdependence.

All compare, after word r, what l and r do together with what each does: the size of what is not a
sum, over the size of the whole. They differ in what "do" means and in what they cost. A word is
removed by setting its embedding to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from espalier.decomposition.decompose import batches
from espalier.decomposition.dependence import check_space, in_space, ratio
from espalier.decomposition.inputs import Words, check_model, read_sentence
from espalier.decomposition.pairs import PairMatrix
from espalier.decomposition.parts import Space
from espalier.decomposition.room import check_room
from espalier.decomposition.second_order import second_order
from espalier.decomposition.shapley import ShapleyInteraction, shapley_index
from espalier.errors import ConfigError
from espalier.nets.lstm import LanguageModel

Matrix = Float[np.ndarray, "N N"]


@dataclass(frozen=True)
class Occlusion:
    """Remove l, r and both: || h - h_l - h_r + h_lr || / || h - h_lr ||.

    A run for the sentence, one without each word and one without each pair. In other networks than
    LSTMs a `token`, such as a mask, may replace a removed word.
    """

    token: int | None = None


@dataclass(frozen=True)
class InputHessian:
    """The mixed second derivative in the scales of both words, over their joint effect to it.

    || d²h / da db || / || dh/da + dh/db + d²h / da db || with words l and r scaled by 1+a and 1+b:
    Occlusion's Taylor series, where the sentence is. Four runs a pair.
    """


Method = Occlusion | InputHessian | ShapleyInteraction


@torch.no_grad()
def interaction_baseline(
    model: LanguageModel, tokens: Words, *, method: Method, space: Space = "hidden"
) -> PairMatrix:
    """Every two words of a sentence by another measure than DI, and what that cost.

    >>> from espalier.nets.lstm import language_model
    >>> model = language_model(vocabulary_size=9, hidden=4)
    >>> interaction_baseline(model, [1, 2, 3], method=Occlusion()).passes
    7.0
    """
    model, space = check_model(model), check_space(space)
    sentence = read_sentence(model, tokens)
    check_room(len(sentence), len(sentence) ** 2 * model.shape.hidden // 2)  # states of all pairs
    inputs = model.encoder(torch.tensor([sentence.ids], device=model.encoder.weight.device))[0]
    method = _checked(method)
    match method:
        case Occlusion():
            name, (values, passes) = "occlusion interaction", _occlude(model, inputs, space)
        case InputHessian():
            name, (values, passes) = "input Hessian", _differentiate(model, inputs, space)
        case ShapleyInteraction():
            name, (values, passes) = "Shapley interaction", _play(model, inputs, space, method)
    return PairMatrix(
        sentence.words, sentence.ids, values, space, sentence.unknown_at, name, float(passes)
    )


def _checked(given: object) -> Method:
    if not isinstance(given, Method):
        raise ConfigError(
            f"method is {given!r}; give Occlusion(), InputHessian() or ShapleyInteraction()"
        )
    return given


def read_masked(
    model: LanguageModel, inputs: Float[Tensor, "N D"], kept: Bool[Tensor, "B N"]
) -> Iterator[tuple[list[int], Float[Tensor, "some N H"]]]:
    """Hidden states of the sentence with only the words that each row keeps, some rows at a time.

    Rows come in their order.
    """
    for some in batches([len(inputs)] * len(kept), model.shape.hidden):
        yield some, model.rnn(kept[some].unsqueeze(-1) * inputs)[0]


def _occlude(model: LanguageModel, inputs: Tensor, space: Space) -> tuple[Matrix, int]:
    count = len(inputs)
    left, right = (torch.from_numpy(x) for x in np.triu_indices(count, 1))
    at_most_one = torch.ones(1 + count, count, dtype=torch.bool, device=inputs.device)
    at_most_one[1:].fill_diagonal_(False)
    states = torch.cat([found for _, found in read_masked(model, inputs, at_most_one)])
    both = at_most_one[1 + left] & at_most_one[1 + right]
    read = [  # of every pair only the step needed: all steps of all pairs are too much to hold
        found[torch.arange(len(some)), right[some]]
        for some, found in read_masked(model, inputs, both)
    ]
    whole, passes = states[0, right], len(at_most_one) + len(both)
    joint = whole - torch.cat([*read, whole[:0]])
    apart = joint - (whole - states[1 + left, right]) - (whole - states[1 + right, right])
    return _matrix(model, joint, -apart, space, count), passes


def _differentiate(model: LanguageModel, inputs: Tensor, space: Space) -> tuple[Matrix, int]:
    count = len(inputs)
    left, right = (torch.from_numpy(x) for x in np.triu_indices(count, 1))
    found = [inputs.new_zeros(4, 0, model.shape.hidden)]
    for some in batches([count] * len(left), 4 * model.shape.hidden):
        rows, steps = torch.arange(len(some)), right[some]
        words = inputs.repeat(len(some), 1, 1)
        u, v = torch.zeros_like(words), torch.zeros_like(words)
        u[rows, left[some]], v[rows, right[some]] = inputs[left[some]], inputs[right[some]]
        found.append(torch.stack(second_order(model, words, u, v))[:, rows, steps])
    _, by_left, by_right, mixed = torch.cat(found, dim=1)
    return _matrix(model, by_left + by_right + mixed, mixed, space, count), 4 * len(left)


def _matrix(model: LanguageModel, joint: Tensor, apart: Tensor, space: Space, count: int) -> Matrix:
    """Ratios of sizes, pair by pair, where they belong."""
    sizes = [
        torch.linalg.vector_norm(in_space(part, model, space), dim=-1) for part in (apart, joint)
    ]
    values = np.full((count, count), np.nan)
    values[np.triu_indices(count, 1)] = ratio(sizes[0], sizes[1]).cpu().numpy()
    return values


def _play(
    model: LanguageModel, inputs: Tensor, space: Space, method: ShapleyInteraction
) -> tuple[Matrix, int]:
    count = len(inputs)
    values, passes = np.full((count, count), np.nan), 0
    for r in range(1, count):
        game = _Game(model, inputs[: r + 1], space)
        index = shapley_index(game, r + 1, method)
        worth = game(np.array([[True] * (r + 1), [False] * (r + 1)]))
        span = abs(float(worth[0] - worth[1]))
        for left in range(r):
            values[left, r] = abs(index[(left, r)]) / span if span else np.nan
        passes += game.runs
    return values, passes


class _Game:
    """What a coalition of words is worth: its state's component along the whole one's."""

    def __init__(self, model: LanguageModel, inputs: Tensor, space: Space) -> None:
        self._model, self._inputs, self._space, self.runs = model, inputs, space, 0
        every = torch.ones(1, len(inputs), dtype=torch.bool, device=inputs.device)
        whole = self._read(every)[0]
        self._direction = whole / whole.norm().clamp_min(torch.finfo(whole.dtype).tiny)

    def __call__(self, coalitions: Bool[np.ndarray, "B N"]) -> Float[np.ndarray, " B"]:
        kept = torch.from_numpy(np.asarray(coalitions, dtype=bool)).to(self._inputs.device)
        worth: Float[np.ndarray, " B"] = (self._read(kept) @ self._direction).double().cpu().numpy()
        return worth

    def _read(self, kept: Tensor) -> Tensor:
        self.runs += len(kept)
        read = read_masked(self._model, self._inputs, kept)
        last = torch.cat([found[:, -1] for _, found in read])
        return in_space(last, self._model, self._space)
