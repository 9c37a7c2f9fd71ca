"""Rules: how the parts of a state go through what is not linear, and where biases go.

A state x comes as relevant + irrelevant (+ bias, where biases are kept apart). Linear maps act on
each part. For the rest there is a choice, each a type of its own, and every rule states what it
conserves; all of them conserve the sum, so that parts always add up to the state.

r, i and b are the parts of x, w the whole, f an activation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from espalier.decomposition.allocations import Allocation, Papers, read_allocation
from espalier.errors import ConfigError, nearest


@dataclass(frozen=True)
class Frozen:
    """Attention with its pattern held fixed: P r. Conserves: linear in r, as the values are."""


@dataclass(frozen=True)
class Linearised:
    """First order in r at the whole: P v_r + dP v, dP along q_r and k_r. The rest is irrelevant.

    Conserves the derivative: to first order it is what the relevant part changes.
    """


@dataclass(frozen=True)
class RelevantOnly:
    """softmax(q_r k_r) v_r, as between nodes in CD-T; what is left is irrelevant.

    Conserves the sum alone: it is by subtraction.
    """


@dataclass(frozen=True)
class ByTotal:
    """LayerNorm and RMSNorm divide every part by the whole's deviation. Conserves: linear in r."""


@dataclass(frozen=True)
class Difference:
    """f(w) - f(w - r), as CD-T has it. Conserves: without r there is none of it."""


@dataclass(frozen=True)
class Slope:
    """r f(w) / w, as DecompX has it. Conserves: linear in r."""


@dataclass(frozen=True)
class Shapley:
    """1/2 [f(r + b) - f(b) + f(w) - f(w - r)]. Conserves: both parts are treated alike."""


@dataclass(frozen=True)
class SharedBias:
    """A bias is shared by abs(r) / (abs(r) + abs(i)), as in CD-T; irrelevant where both are 0."""


@dataclass(frozen=True)
class BiasApart:
    """Biases are a part of their own: relevant + irrelevant + bias is the state."""


@dataclass(frozen=True)
class KeepOpposites:
    """Parts of opposite signs stay as they are."""


@dataclass(frozen=True)
class ZeroOpposites:
    """Of two parts of opposite signs the smaller is set to 0, the larger to the sum, as CD-T does.

    After attention, linear maps, sums and norms of the stream. Conserves the sum alone.
    """


AttentionRule = Frozen | Linearised | RelevantOnly
ActivationRule = Difference | Slope | Shapley
BiasRule = SharedBias | BiasApart
OppositesRule = KeepOpposites | ZeroOpposites
RulesName = Literal["cd-t", "decompx"]


@dataclass(frozen=True)
class Rules:
    """One rule for each thing that is not linear; any mixture is a decomposition.

    >>> Rules(activation=Shapley(), bias=BiasApart()).attention
    Frozen()
    """

    attention: AttentionRule = Frozen()
    activation: ActivationRule = Difference()
    bias: BiasRule = SharedBias()
    norm: ByTotal = ByTotal()
    gates: Allocation = field(default_factory=Papers)
    opposites: OppositesRule = KeepOpposites()

    @property
    def additive(self) -> bool:
        """Whether a Transformer's parts are linear in the words: then no two of them interact."""
        chosen = (self.attention, self.activation, self.bias, self.opposites)
        return chosen == (Frozen(), Slope(), BiasApart(), KeepOpposites())


_NAMED: dict[str, Rules] = {
    "cd-t": Rules(),
    "decompx": Rules(activation=Slope(), bias=BiasApart()),
}


def read_rules(given: Rules | RulesName | None, allocation: object = "papers") -> Rules:
    """The rules themselves, those of a name, or CD-T's with an allocation for gates."""
    if given is None:
        return Rules(gates=read_allocation(allocation))  # type: ignore[arg-type]
    if isinstance(given, str):
        if given not in _NAMED:
            raise ConfigError(f"there are no rules {given!r}; {nearest(given, tuple(_NAMED))}")
        return _NAMED[given]
    if not isinstance(given, Rules):
        raise ConfigError(f"rules are {given!r}; give Rules(...) or a name: {', '.join(_NAMED)}")
    return given
