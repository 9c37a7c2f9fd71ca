"""A network as a value: the vectors that enter it, its parts, and its tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.errors import ModelError
from espalier.nets.lstm import LanguageModel
from espalier.networks.blocks import Body, HeadPart, Linear, Recurrent, cast
from espalier.networks.tokens import Tokenizer, Tokens, WordTokenizer, read_tokens
from espalier.results import Described


@dataclass(frozen=True, repr=False, eq=False)
class Network(Described):
    """A network that can be decomposed: vectors of tokens, a body, and a head that gives logits.

    `embed` gives the vectors that enter the body, one for each token and of nothing else. The last
    part of the head is a linear one; its bias belongs to no part of a decomposition.
    """

    name: str
    embed: Callable[[Int[Tensor, "B N"]], Float[Tensor, "B N D"]] = field(repr=False)
    body: Body = field(repr=False)
    head: tuple[HeadPart, ...] = field(repr=False)
    vocabulary_size: int
    tokenizer: WordTokenizer | Tokenizer | None = None
    lstm: LanguageModel | None = field(default=None, repr=False)

    @property
    def causal(self) -> bool:
        """Whether no position sees a later one."""
        if isinstance(self.body, Recurrent):
            return all(len(directions) == 1 for directions in self.body.layers)
        return all(
            attention.causal
            for layer in self.body.layers
            for sublayer in layer
            if isinstance(sublayer.body, tuple)
            for attention in sublayer.body
        )

    @property
    def layers(self) -> int:
        """How many layers the body has."""
        return len(self.body.layers)

    @property
    def outputs(self) -> int:
        """How many logits there are."""
        return len(self._decoder.weight)

    @property
    def width(self) -> int:
        """How wide the last layer's state is."""
        return next(part.weight.shape[1] for part in self.head if isinstance(part, Linear))

    def read(self, given: Any) -> Tokens:
        """A sentence in the network's tokens: text, words, numbers or a treebank's sentence."""
        found = read_tokens(self.tokenizer, given)
        for number in found.ids:
            if not 0 <= number < self.vocabulary_size:
                raise ModelError(
                    f"token {number} is outside the vocabulary of {self.vocabulary_size:,} tokens"
                )
        return found

    @torch.no_grad()
    def inputs(self, tokens: Tokens) -> Float[Tensor, "N D"]:
        """The vectors that enter the body."""
        return self.inputs_of([tokens])[0]

    @torch.no_grad()
    def inputs_of(self, sentences: Sequence[Tokens]) -> Float[Tensor, "S N D"]:
        """The vectors of several sentences of one length."""
        ids = torch.tensor([one.ids for one in sentences], device=self.device)
        return self.embed(ids).detach().to(self.dtype)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights: float32 or float64."""
        return self._decoder.weight.dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are, and where everything is computed."""
        return self._decoder.weight.device

    @property
    def _decoder(self) -> Linear:
        last = self.head[-1]
        assert isinstance(last, Linear)
        return last

    def double(self) -> Network:
        """The same in double precision, made once."""
        return self if self.dtype == torch.float64 else self._double

    @cached_property
    def _double(self) -> Network:
        wide = torch.float64
        return replace(self, body=cast(self.body, wide), head=cast(self.head, wide))

    def to(self, device: torch.device | str) -> Network:
        """The same on another device; vectors of tokens are still made where the module is."""
        home, there, embed = self.device, _device(device), self.embed

        def moved(tokens: Int[Tensor, "B N"]) -> Float[Tensor, "B N D"]:
            return embed(tokens.to(home)).to(there)

        lstm = None if self.lstm is None else deepcopy(self.lstm).to(there)
        body, head = cast(self.body, there), cast(self.head, there)
        return replace(self, embed=moved, body=body, head=head, lstm=lstm)


def _device(name: torch.device | str) -> torch.device:
    try:
        return torch.device(name)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelError(f"{str(name)[:60]!r} is not a device; use 'cpu' or 'cuda'") from error
