"""Which network and which words `decompose` and `interdependence` are asked about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from espalier.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from espalier.networks import Network

Model = Annotated[
    Path | None,
    Parameter(
        name=["--model", "-m"],
        help="A checkpoint, a run (its last one), a compiled program, or a folder of a "
        "transformers model; by default the LSTM of English that comes with the package; "
        "english-transformer is the Transformer.",
    ),
]
Member = Annotated[str | None, Parameter(help="Which model of an ensemble's checkpoint.")]


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
