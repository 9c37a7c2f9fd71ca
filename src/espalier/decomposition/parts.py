"""The parts of one sentence's hidden states, as a value that shows itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.inputs import ReadWords
from espalier.errors import ConfigError, nearest
from espalier.nets.lstm import LanguageModel
from espalier.networks import Linear, Network
from espalier.results import Result

if TYPE_CHECKING:
    import pandas

Part = Literal["relevant", "irrelevant", "hidden"]
Space = Literal["hidden", "logits"]


@dataclass(frozen=True, repr=False, eq=False)
class Parts(ReadWords, Result):
    """What the words in focus contribute to the top layer's state after each word, and the rest.

    `relevant` and `irrelevant` are (time, hidden) and sum to `hidden`, the model's own state, or
    its logits; where biases are separate, together with `bias`.
    `unknown_at` are the places of words that the model read as <unk>.

    >>> import espalier as es
    >>> model = es.language_model(vocabulary_size=9, hidden=4)
    >>> parts = es.decompose(model, [1, 2, 3], focus=[0])
    >>> parts.relevant.shape, parts.error < 1e-4
    (torch.Size([3, 4]), True)
    """

    words: tuple[str, ...]
    focus: tuple[int, ...]
    relevant: Float[Tensor, "N H"]
    irrelevant: Float[Tensor, "N H"]
    hidden: Float[Tensor, "N H"]
    unknown_at: tuple[int, ...]
    allocation: object
    model: LanguageModel | Network = field(repr=False)
    bias: Float[Tensor, "N H"] | None = None
    space: Space = "hidden"

    @torch.no_grad()
    def logits(self, part: Part = "relevant") -> Float[Tensor, "N V"]:
        """What a part contributes to the logits; the decoder's bias belongs to neither part."""
        if part not in get_args(Part):
            raise ConfigError(f"there is no part {part!r}; {nearest(part, get_args(Part))}")
        chosen: Tensor = getattr(self, part)
        if self.space == "logits":
            return chosen
        if isinstance(self.model, LanguageModel):
            return chosen @ self.model.decoder.weight.T
        last = self.model.head[-1]
        if len(self.model.head) > 1 or not isinstance(last, Linear):
            raise ConfigError("the network's head is not linear; use decompose with space='logits'")
        return chosen @ last.weight.T

    def probabilities(self, part: Part = "relevant") -> Float[Tensor, "N V"]:
        """P(next word | words in focus): the softmax of a part's logits, at every step."""
        return self.logits(part).softmax(dim=-1)

    @cached_property
    def error(self) -> float:
        """How far the parts are from summing, relative, the worst step; an LSTM's at the logits."""
        found = self.relevant + self.irrelevant
        if isinstance(self.model, LanguageModel) and self.space == "hidden":
            return sum_error(found, self.hidden, self.model.decoder.weight.T)
        return sum_error(found if self.bias is None else found + self.bias, self.hidden)

    def to_frame(self) -> pandas.DataFrame:
        """One row per step: the word, whether it is in focus, and the size of each part."""
        import pandas as pd

        norms = {
            part: getattr(self, part).norm(dim=-1).tolist()
            for part in ("relevant", "irrelevant", "hidden")
        }
        return pd.DataFrame(
            {
                "step": range(len(self.words)),
                "word": self.words,
                "in_focus": [step in self.focus for step in range(len(self.words))],
                **norms,
            }
        )


@torch.no_grad()
def sum_error(
    found: Float[Tensor, "N H"], true: Float[Tensor, "N H"], decoder: Tensor | None = None
) -> float:
    """The largest || W (found - true) || / || W true || of any step, W the decoder's matrix or 1.

    A step that is all zero counts as exact if it was found so, else as infinite.
    """
    off = found - true
    if decoder is not None:
        off, true = off @ decoder, true @ decoder
    apart, size = off.norm(dim=-1), true.norm(dim=-1)
    ratios = torch.where(apart == 0, torch.zeros_like(apart), apart / size)
    return float(ratios.max())
