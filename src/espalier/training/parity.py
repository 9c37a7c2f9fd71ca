"""Transformers that learn parity from bit strings and answers alone (the paper's D.1).

START stands before the bits; the answer is read at the last bit's position, as the programs' is,
and the loss is the cross-entropy there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.data.parity import ParityConfig, ParitySet, parity_set
from espalier.errors import ConfigError, check_whole
from espalier.nets import Dice
from espalier.nets.transformer import (
    TransformerShape,
    Weights,
    cast,
    encode,
    random_transformers,
    read_out,
)
from espalier.runs import Progress, Row, choose_device
from espalier.training.kept import keep_steps
from espalier.training.stacked import StackedLearner, StepRecipe, Team

TOKENS = 3  # 0, 1 and START
AT_ONCE = 1 << 13  # test strings read at a time, over all members


@dataclass(frozen=True)
class ParityRun:
    """One kind of Transformer, a member for each seed; the defaults are the paper's."""

    shape: TransformerShape = field(
        default_factory=lambda: TransformerShape(vocabulary=TOKENS, outputs=2)
    )
    train: ParityConfig = field(default_factory=ParityConfig)
    test: ParityConfig = field(default_factory=lambda: ParityConfig(40, 100, seed=1))
    recipe: StepRecipe = field(default_factory=lambda: StepRecipe(batch=64, precision="bfloat16"))
    seeds: int = 1

    def __post_init__(self) -> None:
        check_whole(self, ("seeds",), error=ConfigError)
        told = (self.shape.vocabulary, self.shape.outputs, self.shape.decoder)
        if told != (TOKENS, 2, False):
            raise ConfigError(
                f"shape's vocabulary, outputs and decoder are {told}; bit strings after START and "
                f"one of two answers need {(TOKENS, 2, False)}"
            )
        if self.shape.positions == "absolute" and self.shape.longest <= self.test.longest:
            raise ConfigError(
                f"shape.longest is {self.shape.longest}; with START, strings of "
                f"{self.test.longest} bits need {self.test.longest + 1} positions"
            )

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested as it is here."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class ParityTask:
    """E Transformers, each drawing its own batches from the same strings."""

    shape: TransformerShape
    tokens: Int[Tensor, "M N"]
    lengths: Int[Tensor, " M"]
    answers: Int[Tensor, " M"]
    recipe: StepRecipe
    test: ParitySet
    short: int  # the longest string of training

    @classmethod
    def of(cls, run: ParityRun, device: torch.device) -> ParityTask:
        """The run's strings on a device."""
        strings = parity_set(run.train)
        arrays = (strings.tokens(), strings.lengths + 1, strings.parities)
        tokens, lengths, answers = (torch.from_numpy(array).to(device) for array in arrays)
        test, short = parity_set(run.test), run.train.longest
        return cls(run.shape, tokens, lengths, answers, run.recipe, test, short)

    def seen(self, weights: Weights) -> Weights:
        """In the recipe's precision."""
        return in_precision(weights, self.recipe)

    def losses(self, weights: Weights, dice: Dice) -> Float[Tensor, " E"]:
        """Mean cross-entropies of the batches drawn."""
        below = torch.full_like(dice.seeds, len(self.tokens))
        chosen = dice.choices(0, self.recipe.batch, below)
        logits = answer_logits(
            weights, self.shape, self.tokens[chosen], lengths=self.lengths[chosen]
        )
        shares = logits.log_softmax(-1).gather(-1, self.answers[chosen].unsqueeze(-1))
        return -shares.squeeze(-1).mean(1)

    def measure(self, weights: Weights) -> list[dict[str, float]]:
        """The share of right answers to short and long strings, and to those with many ones."""
        given = predict(weights, self.shape, self.test)
        right = given == self.test.parities
        slices = slices_of(self.test, self.short)
        return [{name: float(row[some].mean()) for name, some in slices.items()} for row in right]


def slices_of(test: ParitySet, short: int) -> dict[str, np.ndarray]:
    """Which strings are of training's lengths, are longer, and have more ones than those had.

    A kind of which there are none is left out.
    """
    kinds = {
        "short": test.lengths <= short,
        "long": test.lengths > short,
        "many_ones": test.ones > short,
    }
    return {name: some for name, some in kinds.items() if some.any()}


def train_parity(
    run: ParityRun,
    *,
    out: str | os.PathLike[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Row]:
    """Train a run's members at once and return their measures; with `out`, keep and go on."""
    learner = parity_learner(run, choose_device(device))
    return keep_steps(
        learner, ("parity", run.to_dict(), _describe(run)), out=out, progress=progress
    )


def parity_learner(run: ParityRun, device: torch.device) -> StackedLearner:
    """The members at their first step."""
    weights = random_transformers(run.shape, range(run.seeds))
    return StackedLearner(
        ParityTask.of(run, device),
        weights,
        run.recipe,
        team=Team.of(range(run.seeds)),
        device=device,
        metadata={"shape": json.dumps(run.shape.to_dict())},
    )


def answer_logits(
    weights: Weights,
    shape: TransformerShape,
    tokens: Int[Tensor, "E B N"],
    *,
    lengths: Int[Tensor, "E B"],
) -> Float[Tensor, "E B 2"]:
    """What is read at each string's last position."""
    stream = encode(weights, shape, tokens, lengths=lengths).stream
    last = (lengths - 1)[..., None, None].expand(-1, -1, 1, stream.shape[-1])
    return read_out(weights, stream.gather(2, last)).squeeze(2)


@torch.no_grad()
def predict(weights: Weights, shape: TransformerShape, strings: ParitySet) -> np.ndarray:
    """Every member's answer to every string, (E, M); strings of like length are read together."""
    table = next(iter(weights.values()))
    members, device = len(table), table.device
    tokens, lengths = strings.tokens(), strings.lengths + 1
    found = np.zeros((members, len(strings)), dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    parts = max(1, min(len(order), members * len(order) // AT_ONCE))
    for some in np.array_split(order, parts):
        width = int(lengths[some].max())
        batch = torch.from_numpy(tokens[some, :width]).to(device).expand(members, -1, -1)
        sizes = torch.from_numpy(lengths[some]).to(device).expand(members, -1)
        logits = answer_logits(weights, shape, batch, lengths=sizes)
        found[:, some] = logits.argmax(-1).cpu().numpy()
    return found


def in_precision(weights: Mapping[str, Tensor], recipe: StepRecipe) -> Weights:
    """The weights as products are to see them."""
    return cast(weights, torch.bfloat16) if recipe.precision == "bfloat16" else dict(weights)


def _describe(run: ParityRun) -> dict[str, Any]:
    return {"sha256": parity_set(run.train).digest, "test": parity_set(run.test).digest}
