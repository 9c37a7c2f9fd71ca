"""Where in a network to look and by which method: the flags of all commands that take it apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from espalier.errors import ConfigError, DataError

AllocationName = Literal["papers", "murdoch", "as-printed", "generalised"]


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """Where in a network to look, and by which method."""

    layer: int = -1
    "The layer: 0 is what enters the network, -1 the last."
    method: str | None = None
    """How contributions are measured. By default by contextual decomposition, in Transformers by
    the rules of cd-t; or decompx, occlusion, gradient-input, integrated-gradients,
    attention-rollout, alti; of pairs also interaction-index, conditional-pmi, perturbed-masking,
    shapley, input-hessian."""
    rules: Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)] = None
    "Rules of a decomposition in place of cd-t's: activation=shapley attention=linearised ..."
    allocation: AllocationName = "papers"
    "Which products of a gate's parts count as relevant, in LSTMs and GRUs."
    token: str | None = None
    "A token, as a word or a number, that stands for a word taken away; by default zeros do."

    def asked(self, model: Any) -> dict[str, Any]:
        """The same as arguments of `es.decompose` and `es.interdependence`."""
        from espalier.decomposition import parse_rules, read_method

        if self.rules and (self.method or self.allocation != "papers"):
            raise ConfigError("--rules are a method and name an allocation: gates=...; give one")
        token = None if self.token is None else token_of(model, self.token)
        method = parse_rules(self.rules) if self.rules else read_method(self.method, token=token)
        return {"layer": self.layer, "method": method, "allocation": self.allocation}


def token_of(model: Any, text: str) -> int:
    """The number of one token; a word must be one."""
    from espalier.networks import network

    if text.isdecimal():
        return int(text)
    read = network(model).read(text)
    whole = [n for n, (a, b) in zip(read.ids, read.spans or (), strict=False) if (a, b) != (0, 0)]
    if len(whole) != 1:
        raise DataError(f"--token {text} is {len(whole)} tokens of the model; one is needed")
    return whole[0]
