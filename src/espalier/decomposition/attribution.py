"""Other measures of what words contribute, and of how two of them interact, for any network.

`contributions` gives a part of the state for every focus set, as a decomposition does; the rest is
irrelevant. `interactions` gives a number for every two words, read at the later one. A word is
removed by setting its vector to zero, or by putting another token, such as a mask, in its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.func import jvp

from espalier.decomposition.baselines import Occlusion
from espalier.decomposition.dependence import ratio
from espalier.decomposition.network_parts import batches
from espalier.decomposition.rollout import mean_patterns, nearness, roll_out
from espalier.decomposition.room import check_room
from espalier.decomposition.shapley import Index, ShapleyInteraction, shapley_index
from espalier.errors import ConfigError, ModelError, as_whole
from espalier.networks import Network, Tokens, plain

MOST_STEPS = 1_000_000  # of integrated gradients


@dataclass(frozen=True)
class GradientInput:
    """The derivative of the state along the vectors in focus. Conserves: it is linear in them."""


@dataclass(frozen=True)
class IntegratedGradients:
    """GradientInput averaged along the line from zero vectors (Sundararajan et al. 2017).

    Conserves the difference between the state and that of zero vectors, as `steps` grow.
    """

    steps: int = 64

    def __post_init__(self) -> None:
        as_whole("steps", self.steps, least=1, most=MOST_STEPS, error=ConfigError)


@dataclass(frozen=True)
class AttentionRollout:
    """The state shared out by products of mean patterns and the residual (Abnar and Zuidema 2020).

    Conserves: shares of all words sum to 1.
    """


@dataclass(frozen=True)
class InteractionIndex:
    """Singhvi et al. (2025): the second difference of the state under masking, over the state."""

    token: int | None = None


@dataclass(frozen=True)
class ConditionalPMI:
    """Hoover et al. (2021): how far a word's logarithmic probability falls without the other.

    A causal network says it of the later word; another one of both, each masked, on average.
    """

    token: int | None = None


@dataclass(frozen=True)
class PerturbedMasking:
    """Wu et al. (2020): how far the state at r moves when, r masked, l is masked too."""

    token: int | None = None


@dataclass(frozen=True)
class ALTI:
    """The state shared out by how near each word's vector comes to what attention gives.

    Ferrando et al. (2022): in L1, through products over layers. Conserves: shares sum to 1.
    """


Contribution = Occlusion | GradientInput | IntegratedGradients | AttentionRollout | ALTI
Interaction = Occlusion | InteractionIndex | ConditionalPMI | PerturbedMasking | ShapleyInteraction


class Reader:
    """The states of a layer, or the logits without their last bias, from vectors."""

    def __init__(self, net: Network, tokens: Tokens, *, layer: int, logits: bool) -> None:
        self.net, self.inputs, self._layer, self._logits = net, net.inputs(tokens), layer, logits
        self.runs = 0

    def __call__(self, inputs: Float[Tensor, "B N D"]) -> Float[Tensor, "B N O"]:
        """Rows of vectors in, rows of states out."""
        found = plain.run(self.net, inputs)[self._layer]
        return plain.logits(self.net, found, bias=False) if self._logits else found

    def without(self, token: int | None) -> Float[Tensor, "N D"]:
        """The replacement for a removed word."""
        if token is None:
            return torch.zeros_like(self.inputs)
        last = self.net.vocabulary_size - 1
        token = as_whole("token", token, least=0, most=last, error=ConfigError)
        ids = (token,) * len(self.inputs)
        return self.net.inputs(Tokens(ids, tuple(map(str, ids))))

    def kept(self, kept: Bool[Tensor, "B N"], token: int | None = None) -> Tensor:
        """The states with only the words that each row keeps, (B, N, O)."""
        check_room(len(self.inputs), len(kept) * len(self.inputs) * self.net.width)
        absent, found = self.without(token), []
        for some in batches(self.net, len(kept), len(self.inputs)):
            mask = kept[some].unsqueeze(-1)
            found.append(self(torch.where(mask, self.inputs, absent)))
        self.runs += len(kept)
        return torch.cat(found)


def contributions(
    reader: Reader, focus: Bool[Tensor, "F N"], method: Contribution
) -> tuple[Float[Tensor, "F N O"], Float[Tensor, "N O"]]:
    """What each focus set contributes, and the whole state."""
    inputs = reader.inputs
    with torch.no_grad():
        whole = reader(inputs[None])[0]
        match method:
            case Occlusion(token):
                return whole - reader.kept(~focus, token), whole
            case GradientInput():
                return _along(reader, focus, 1.0), whole
            case IntegratedGradients(steps):
                places = [(step + 0.5) / steps for step in range(steps)]
                total = sum(_along(reader, focus, place) for place in places)
                assert isinstance(total, Tensor)
                return total / steps, whole
            case AttentionRollout() | ALTI():
                mixing = mean_patterns if isinstance(method, AttentionRollout) else nearness
                shares = focus.to(whole) @ roll_out(reader.net, inputs, mixing).T
                return shares.unsqueeze(-1) * whole, whole


def _along(reader: Reader, focus: Bool[Tensor, "F N"], place: float) -> Tensor:
    """The derivative along the vectors in focus, the inputs scaled to a place on their way."""
    directions = focus.unsqueeze(-1) * reader.inputs
    inputs = (place * reader.inputs).expand_as(directions)
    with warnings.catch_warnings():  # torch warns about itself
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        found: Tensor = jvp(reader, (inputs,), (directions,))[1]
    return found


def interactions(
    reader: Reader, tokens: Tokens, method: Interaction
) -> tuple[str, Float[np.ndarray, "N N"]]:
    """The method's name, and its number for every two words l < r."""
    count = len(tokens)
    values = np.full((count, count), np.nan)
    left, right = torch.triu_indices(count, count, 1, device=reader.inputs.device)
    name, measure = _measure(method)
    if count < 2:  # there is no pair
        return name, values
    with torch.no_grad():
        found = measure(reader, tokens, (left, right))
    values[np.triu_indices(count, 1)] = found.double().cpu().numpy()
    return name, values


Places = tuple[Tensor, Tensor]
Measure = Callable[[Reader, Tokens, Places], Tensor]


def _measure(method: Interaction) -> tuple[str, Measure]:
    match method:
        case Occlusion(token):
            return "occlusion interaction", lambda r, t, p: _masked(r, t, p, token)
        case InteractionIndex(token):
            return "interaction index", lambda r, t, p: _masked(r, t, p, token, of_state=True)
        case ConditionalPMI(token):
            return "conditional PMI", lambda r, t, p: _information(r, t, p, token)
        case PerturbedMasking(token):
            return "perturbed masking", lambda r, t, p: _perturbed(r, t, p, token)
        case ShapleyInteraction():
            return "Shapley interaction", lambda r, t, p: _shapley(r, t, p, method)


def _masks(count: int, places: Places) -> tuple[Tensor, Tensor]:
    """Rows that keep all but one word, and all but two."""
    one = ~torch.eye(count, dtype=torch.bool, device=places[0].device)
    return one, one[places[0]] & one[places[1]]


def _at(rows: Float[Tensor, "B N *O"], places: Int[Tensor, " B"]) -> Tensor:
    """The entry of each row at its place."""
    found: Tensor = rows[torch.arange(len(rows), device=rows.device), places]
    return found


def _masked(
    reader: Reader, tokens: Tokens, places: Places, token: int | None, *, of_state: bool = False
) -> Tensor:
    """|| x - x_l - x_r + x_lr ||, over the state's own size or that of what both change."""
    left, right = places
    one, two = _masks(len(tokens), places)
    whole = reader.kept(torch.ones_like(one[:1]), token)[0, right]
    single, both = reader.kept(one, token), reader.kept(two, token)
    both = _at(both, right)
    apart = whole - single[left, right] - single[right, right] + both
    size = whole if of_state else whole - both
    return ratio(apart.norm(dim=-1), size.norm(dim=-1))


def _perturbed(reader: Reader, tokens: Tokens, places: Places, token: int | None) -> Tensor:
    _, right = places
    one, two = _masks(len(tokens), places)
    single, both = reader.kept(one, token), reader.kept(two, token)
    moved = single[right, right] - _at(both, right)
    found: Tensor = moved.norm(dim=-1)
    return found


def _information(reader: Reader, tokens: Tokens, places: Places, token: int | None) -> Tensor:
    left, right = places
    net, ids = reader.net, torch.tensor(tokens.ids, device=right.device)
    if net.outputs != net.vocabulary_size:
        raise ModelError(
            f"{net.name} has {net.outputs} outputs for {net.vocabulary_size} tokens: it predicts "
            f"none, so they have no conditional PMI"
        )
    one, two = _masks(len(tokens), places)
    states = Reader(net, tokens, layer=-1, logits=False)

    def read(kept: Tensor, at: Tensor, word: Tensor) -> Tensor:
        found = _at(states.kept(kept, token), at)
        return _at(plain.logits(net, found).log_softmax(-1), word)

    if net.causal:  # the word after a position is predicted there
        every = torch.ones_like(two)
        with_l = read(every, right - 1, ids[right])
        return with_l - read(one[left], right - 1, ids[right])
    gains = [read(one[at], at, ids[at]) - read(two, at, ids[at]) for at in (left, right)]
    return (gains[0] + gains[1]) / 2


def _shapley(reader: Reader, tokens: Tokens, places: Places, method: ShapleyInteraction) -> Tensor:
    """The index of l and r at each r, without its sign."""
    found = shapley_sets(reader, len(tokens), method)
    pairs = zip(places[0].tolist(), places[1].tolist(), strict=True)
    return torch.tensor([abs(found[pair]) for pair in pairs], dtype=torch.float64)


def shapley_sets(reader: Reader, count: int, method: ShapleyInteraction) -> Index:
    """The index of every set of words at its last: of the state's component along the whole one.

    Words that are not seen there are no players.
    """
    device, sets = reader.inputs.device, {}
    for r in range(1, count):
        players = r + 1 if reader.net.causal else count
        whole = reader.kept(torch.ones(1, count, dtype=torch.bool, device=device))[0, r]
        direction = whole / whole.norm().clamp_min(torch.finfo(whole.dtype).tiny)

        def worth(coalitions: np.ndarray, r: int = r, along: Tensor = direction) -> np.ndarray:
            kept = np.zeros((len(coalitions), count), dtype=bool)
            kept[:, : coalitions.shape[1]] = coalitions
            states = reader.kept(torch.from_numpy(kept).to(device))
            return (states[:, r] @ along).double().cpu().numpy()

        ends = np.stack([np.ones(players, bool), np.zeros(players, bool)])
        span = abs(float(np.subtract(*worth(ends))))
        for some, value in shapley_index(worth, players, method).items():
            if len(some) > 1 and some[-1] == r:
                sets[some] = value / span if span else float("nan")
    return sets
