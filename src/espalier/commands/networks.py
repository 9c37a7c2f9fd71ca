"""What `decompose`, `interdependence`, `pairs` and `probe` ask alike: which network, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from espalier.errors import ConfigError, DataError, ModelError

if TYPE_CHECKING:
    from espalier.networks import Network

Model = Annotated[
    Path | None,
    Parameter(
        name=["--model", "-m"],
        help="A checkpoint, a run (its last one), a compiled program, or a folder of a "
        "transformers model; by default the English model of the package.",
    ),
]
Member = Annotated[str | None, Parameter(help="Which model of an ensemble's checkpoint.")]
AllocationName = Literal["papers", "murdoch", "as-printed", "generalised"]


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """Where in a network to look, and by which method."""

    layer: int = -1
    "The layer: 0 is what enters the network, -1 the last."
    method: str | None = None
    """Rules or another method: cd-t, decompx, occlusion, gradient-input, integrated-gradients,
    attention-rollout, alti; of pairs occlusion, interaction-index, conditional-pmi,
    perturbed-masking, shapley, input-hessian."""
    rules: Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)] = None
    "Rules in place of cd-t's, as activation=shapley attention=linearised bias=bias-apart."
    allocation: AllocationName = "papers"
    "Which products of parts count as relevant, in gates."
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


def read_input(model: Any, given: tuple[str, ...], depth: int | None) -> tuple[Any, Any]:
    """The network, and the sentence as it reads one: words, text or numbers.

    A compiled program is as deep as its run on the input is, or as `depth` says.
    """
    from espalier.compiler import CompiledModel
    from espalier.networks import Network

    text = " ".join(given)
    if isinstance(model, CompiledModel):
        from espalier.targets import words_of

        tokens = list(model.program.tokens(words_of(model.program, text)))
        return compiled_network(model, tokens, depth), tokens
    if depth is not None:
        raise ConfigError("--depth is that of a compiled program; this network has its own")
    if isinstance(model, Network):
        return model, text if model.tokenizer is not None else numbers(text)
    return model, text.split() if model.vocabulary is not None else numbers(text)


def compiled_network(model: Any, tokens: list[int], depth: int | None) -> Network:
    """The layers that a program runs on an input."""
    from espalier.networks import network

    layers = int(model.run(tokens).layers) if depth is None else depth
    if not layers:
        raise ModelError("the program halts at once on this input: it has no layer to take apart")
    return network(model.fixed_depth(layers))


def numbers(text: str) -> list[Any]:
    """Words as they are; if all are numbers, these."""
    words = text.split()
    return [int(word) for word in words] if all(word.isdecimal() for word in words) else words


def places(given: list[str] | None) -> list[Any] | None:
    """What is in focus: places of words from 0, characters START:END, or words."""
    if given is None:
        return None
    found: list[Any] = []
    for one in given:
        start, colon, end = one.partition(":")
        if one.isdecimal():
            found.append(int(one))
        elif colon and start.isdecimal() and end.isdecimal():
            found.append((int(start), int(end)))
        else:
            found.append(one)
    return found
