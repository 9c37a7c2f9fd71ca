"""Names of methods and rules, as the command line and `method="..."` have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import UnionType
from typing import Any, Literal, get_args

from espalier.decomposition.allocations import Allocation
from espalier.decomposition.attribution import (
    ALTI,
    AttentionRollout,
    ConditionalPMI,
    Contribution,
    GradientInput,
    IntegratedGradients,
    Interaction,
    InteractionIndex,
    PerturbedMasking,
)
from espalier.decomposition.baselines import InputHessian, Occlusion
from espalier.decomposition.rules import (
    ActivationRule,
    AttentionRule,
    BiasRule,
    OppositesRule,
    Rules,
    RulesName,
)
from espalier.decomposition.shapley import ShapleyInteraction
from espalier.errors import ConfigError, nearest

MethodName = Literal[
    "occlusion",
    "gradient-input",
    "integrated-gradients",
    "attention-rollout",
    "alti",
    "interaction-index",
    "conditional-pmi",
    "perturbed-masking",
    "shapley",
    "input-hessian",
]
Method = Rules | RulesName | Contribution | Interaction | InputHessian | MethodName | None
_METHODS: dict[str, Any] = {
    "occlusion": Occlusion,
    "gradient-input": GradientInput,
    "integrated-gradients": IntegratedGradients,
    "attention-rollout": AttentionRollout,
    "alti": ALTI,
    "interaction-index": InteractionIndex,
    "conditional-pmi": ConditionalPMI,
    "perturbed-masking": PerturbedMasking,
    "shapley": ShapleyInteraction,
    "input-hessian": InputHessian,
}
_KINDS: dict[str, UnionType] = {
    "attention": AttentionRule,
    "activation": ActivationRule,
    "bias": BiasRule,
    "gates": Allocation,
    "opposites": OppositesRule,
}


def read_method(given: Any, *, token: int | None = None) -> Any:
    """The method of that name; names of rules, and what is no name, are returned as they are.

    `token` replaces a removed word, if the method removes words.

    >>> read_method("occlusion", token=3)
    Occlusion(token=3)
    """
    named = given in get_args(RulesName) if isinstance(given, str) else True
    if not named and given not in _METHODS:
        known = (*get_args(RulesName), *_METHODS)
        raise ConfigError(f"there is no method {given!r}; {nearest(given, known)}")
    kind = None if named else _METHODS[given]
    if token is None:
        return given if kind is None else kind()
    if kind is None or "token" not in kind.__dataclass_fields__:
        raise ConfigError(f"method {given!r} takes no word away, so no token stands for one")
    return kind(token=token)


def parse_rules(given: Sequence[str]) -> Rules:
    """Rules written as `attention=linearised`, `activation=shapley`, ...; others are CD-T's.

    >>> parse_rules(["activation=shapley", "bias=bias-apart"]).bias
    BiasApart()
    """
    chosen: dict[str, Any] = {}
    for text in given:
        name, _, rule = text.partition("=")
        if name not in _KINDS or not rule:
            known = ", ".join(f"{one}=..." for one in _KINDS)
            raise ConfigError(f"--rules has {text!r}; {known} are expected")
        kinds = {_hyphenated(kind): kind for kind in get_args(_KINDS[name])}
        if rule not in kinds:
            raise ConfigError(f"{name} has no rule {rule!r}; {nearest(rule, tuple(kinds))}")
        chosen[name] = kinds[rule]()
    return Rules(**chosen)


def _hyphenated(kind: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()
