"""Allocations: to which part products of relevant, irrelevant and bias parts belong.

An LSTM multiplies: input gate by candidate, forget gate by cell, output gate by squashed cell.
Each factor comes in parts, and an allocation says which products of parts are relevant. All of
them are read off one propagation (`espalier.decomposition.recursion`) as `Terms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from espalier.decomposition.contributions import ContributionRule, as_printed, bias_first
from espalier.errors import ConfigError, nearest

Interaction = Literal["rel-rel", "rel-bias", "rel-irrel"]
BiasBias = Literal["focus", "always", "never"]

USUAL: frozenset[Interaction] = frozenset({"rel-rel", "rel-bias"})


@dataclass(frozen=True)
class Papers:
    """What both papers' experiments used: every factor relevant or bias, at least one relevant.

    The product of two biases is relevant at the steps in focus.

    >>> read_allocation("papers")
    Papers()
    """


@dataclass(frozen=True)
class AsPrinted:
    """Appendix A to the letter, misprint included.

    Its contributions do not sum, which `.error` shows, and do not depend on the focus: the term
    that would carry it cancels (`contributions.as_printed`). The bias is counted with the relevant
    part of each gate, so the product of two biases is always relevant.

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4)
    >>> es.decompose(model, [1, 2], focus=[0], allocation="as-printed").error > 1e-3
    True
    """


@dataclass(frozen=True)
class Murdoch:
    """Murdoch et al. (2018) as their paper has it: the product of two biases is irrelevant.

    >>> terms_of(Murdoch()).bias_bias
    'never'
    """


@dataclass(frozen=True)
class Generalised:
    """Jumelet et al. (2019): the user says which groups of products are relevant.

    `interactions` names groups among rel-rel, rel-bias and rel-irrel; `bias_bias` says at which
    steps the product of two biases is relevant. With `split_output` the output gate comes in
    parts too.

    >>> terms_of(Generalised({"rel-rel"})).interactions
    frozenset({'rel-rel'})
    """

    interactions: frozenset[Interaction] = USUAL
    bias_bias: BiasBias = "focus"
    split_output: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "interactions", frozenset(self.interactions))
        for name in sorted(self.interactions):
            if name not in get_args(Interaction):
                raise ConfigError(
                    f"{name!r} is not a group of products; {nearest(name, get_args(Interaction))}"
                )
        if self.bias_bias not in get_args(BiasBias):
            raise ConfigError(
                f"bias_bias is {self.bias_bias!r}; {nearest(self.bias_bias, get_args(BiasBias))}"
            )


Allocation = Papers | AsPrinted | Murdoch | Generalised
AllocationName = Literal["papers", "as-printed", "murdoch", "generalised"]

_NAMED: dict[str, Allocation] = {
    "papers": Papers(),
    "as-printed": AsPrinted(),
    "murdoch": Murdoch(),
    "generalised": Generalised(),
}


@dataclass(frozen=True)
class Terms:
    """What the propagation needs to know about an allocation."""

    contributions: ContributionRule
    interactions: frozenset[Interaction]
    bias_bias: BiasBias
    split_output: bool


def terms_of(allocation: Allocation) -> Terms:
    """The allocation in the propagation's terms."""
    match allocation:
        case Papers():
            return Terms(bias_first, USUAL, "focus", split_output=False)
        case AsPrinted():
            return Terms(as_printed, USUAL, "always", split_output=False)
        case Murdoch():
            return Terms(bias_first, USUAL, "never", split_output=False)
        case Generalised(interactions, bias_bias, split_output):
            return Terms(bias_first, interactions, bias_bias, split_output)


def read_allocation(given: Allocation | AllocationName) -> Allocation:
    """The allocation itself, or the one of that name.

    >>> read_allocation("murdoch")
    Murdoch()
    """
    if isinstance(given, str):
        if given not in _NAMED:
            raise ConfigError(f"there is no allocation {given!r}; {nearest(given, tuple(_NAMED))}")
        return _NAMED[given]
    return _checked(given)


def _checked(given: object) -> Allocation:
    if not isinstance(given, Allocation):
        raise ConfigError(
            f"allocation is {given!r}; give Papers(), AsPrinted(), Murdoch() or Generalised(...), "
            f"or a name: {', '.join(_NAMED)}"
        )
    return given
