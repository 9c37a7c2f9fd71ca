"""Transformers that learn parity from bit strings and answers alone (the paper's D.1).

START stands before the bits; the answer is read at the last bit's position, as the programs' is,
and the loss is the cross-entropy there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from espalier.data import ParityConfig, ParitySet, parity_set
from espalier.errors import ConfigError, check_kind
from espalier.nets import Dice
from espalier.nets.transformer import (
    Sizes,
    TransformerShape,
    Weights,
    encode_ends,
    random_transformers,
    read_out,
    trained_end_to_end,
)
from espalier.runs import Plan, Snapshot
from espalier.training.configs import StepRecipe, check_seeds
from espalier.training.scan_batches import some_of
from espalier.training.task_learner import TaskLearner, by_seed, products, step_plan
from espalier.training.train import Prepared, Trainable
from espalier.training.transformers import Transformers, at_once, in_precision, listed

TOKENS = 3  # 0, 1 and START
FITTED = 1_000  # training strings that are measured


@dataclass(frozen=True)
class ParityRun(Trainable):
    """One kind of Transformer, a member for each seed; the defaults are the paper's.

    >>> ParityRun(train=ParityConfig(10, 100), seeds=3).recipe.steps
    50000
    """

    kind: ClassVar[str] = "parity"

    shape: TransformerShape = field(
        default_factory=lambda: TransformerShape(vocabulary=TOKENS, outputs=2)
    )
    train: ParityConfig = field(default_factory=ParityConfig)
    test: ParityConfig = field(default_factory=lambda: ParityConfig(40, 100, seed=1))
    recipe: StepRecipe = field(default_factory=lambda: StepRecipe(batch=64, precision="bfloat16"))
    seeds: int | tuple[int, ...] = 1  # how many from 0 on, or which

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", check_seeds(self.seeds))
        check_kind("shape", self.shape, TransformerShape, error=ConfigError)
        sizes = (self.shape.vocabulary, self.shape.outputs, self.shape.decoder)
        if sizes != (TOKENS, 2, False):
            raise ConfigError(
                f"shape's vocabulary, outputs and decoder are {sizes}; bit strings after START and "
                f"one of two answers need {(TOKENS, 2, False)}"
            )
        if self.shape.positions == "absolute" and self.shape.longest <= self.test.longest:
            raise ConfigError(
                f"shape.longest is {self.shape.longest}; with START, strings of "
                f"{self.test.longest} bits need {self.test.longest + 1} positions"
            )

    def plan(self) -> Plan:
        """As many steps as the recipe has."""
        return step_plan(self.recipe)

    def with_seeds(self, seeds: tuple[int, ...]) -> list[ParityRun]:
        """The same kind of Transformer, with other seeds."""
        return [replace(self, seeds=seeds)]

    def prepare(self, device: torch.device, beside: Sequence[ParityRun] = ()) -> Prepared:
        """The members at their first step."""
        if beside:
            raise ConfigError("Transformers trained at once on parity differ in their seeds alone")
        seeds = check_seeds(self.seeds)
        weights = random_transformers(self.shape, seeds, batch=self.recipe.batch)
        learner = TaskLearner(
            ParityTask.of(self, device),
            weights,
            self.recipe,
            members=by_seed(seeds),
            device=device,
            metadata={"shape": json.dumps(self.shape.to_dict())},
        )
        data = {"sha256": parity_set(self.train).digest, "test": parity_set(self.test).digest}
        return Prepared(learner, data)

    def models(self, weights: Snapshot, device: torch.device) -> ParityTransformers:
        """The Transformers after their last step."""
        return ParityTransformers.of(weights, self.recipe, device)


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
    fits: ParitySet  # some of the strings of training
    cells: int | None = None  # into which every member's batch fits, end to end
    fit: ClassVar[str] = "train_accuracy"

    @classmethod
    def of(cls, run: ParityRun, device: torch.device) -> ParityTask:
        """The run's strings on a device."""
        strings = parity_set(run.train)
        arrays = (strings.tokens(), strings.lengths + 1, strings.parities)
        tokens, lengths, answers = (torch.from_numpy(array).to(device) for array in arrays)
        test, short = parity_set(run.test), run.train.longest
        some = some_of(range(len(strings)), FITTED)  # as many of each number of ones, or nearly
        fits = ParitySet(strings.bits[some], strings.lengths[some])
        return cls(run.shape, tokens, lengths, answers, run.recipe, test, short, fits)

    def seen(self, weights: Weights) -> Weights:
        """In the recipe's precision."""
        return in_precision(weights, self.recipe)

    def losses(self, weights: Weights, dice: Dice) -> Float[Tensor, " E"]:
        """Mean cross-entropies of the batches drawn."""
        logits, answers = self.read(weights, dice)
        shares = logits.log_softmax(-1).gather(-1, answers.unsqueeze(-1))
        return -shares.squeeze(-1).mean(1)

    def read(
        self, weights: Weights, dice: Dice
    ) -> tuple[Float[Tensor, "E B 2"], Int[Tensor, "E B"]]:
        """The logits of the batches drawn, and what the answers are."""
        below = torch.full_like(dice.seeds, len(self.tokens))
        chosen = dice.choices(0, self.recipe.batch, below)
        tokens, lengths = self.tokens[chosen], self.lengths[chosen]
        logits = answer_logits(weights, self.shape, tokens, lengths=lengths, cells=self.cells)
        return logits, self.answers[chosen]

    def capacities(self, seeds: Int[Tensor, " E"], steps: range) -> list[int]:
        """Cells for the largest of each step's batches, where they lie end to end."""
        batch, longest = self.recipe.batch, self.tokens.shape[1]
        sizes = Sizes(len(seeds), batch, longest, batch * longest)
        dtype = torch.bfloat16 if self.recipe.precision == "bfloat16" else torch.float32
        if not trained_end_to_end(self.shape, sizes, dtype, self.tokens.device):
            return [sizes.cells] * len(steps)
        return cells_needed(self.lengths.cpu(), batch, seeds.cpu(), steps)

    def with_capacity(self, capacity: int) -> ParityTask:
        """The same task, its batches in so many cells."""
        return replace(self, cells=capacity)

    def measure(self, weights: Weights) -> list[dict[str, float]]:
        """The share of right answers to training's strings, short and long ones, and many ones."""
        right = predict(weights, self.shape, self.test) == self.test.parities
        fitted = predict(weights, self.shape, self.fits) == self.fits.parities
        slices = slices_of(self.test, self.short)
        return [
            {self.fit: float(known.mean())}
            | {name: float(row[some].mean()) for name, some in slices.items()}
            for known, row in zip(fitted, right, strict=True)
        ]


def cells_needed(
    lengths: Int[Tensor, " M"], batch: int, seeds: Int[Tensor, " E"], steps: range
) -> list[int]:
    """For each step the least of a few sizes that holds every member's batch, end to end."""
    sizes = torch.tensor(capacities_for(lengths, batch, len(seeds)))
    every = seeds.repeat(len(steps))
    at = torch.arange(steps.start, steps.stop).repeat_interleave(len(seeds))
    below = torch.full_like(every, len(lengths))
    drawn = lengths[Dice(every, at).choices(0, batch, below)].sum(1)
    largest = drawn.view(len(steps), len(seeds)).amax(1)
    found: list[int] = sizes[torch.searchsorted(sizes, largest)].tolist()
    return found


def capacities_for(lengths: Int[Tensor, " M"], batch: int, members: int) -> list[int]:
    """Sizes that hold seven tenths of all steps' batches, nearly all the others', and all.

    >>> capacities_for(torch.tensor([1, 21]), batch=64, members=1)
    [768, 896, 1344]
    """
    most = batch * int(lengths.max())
    drawn = NormalDist(
        batch * float(lengths.double().mean()),
        math.sqrt(batch) * float(lengths.double().std(correction=0)) or 1e-9,
    )
    usual = [drawn.inv_cdf(share ** (1 / members)) for share in (0.7, 0.99)]
    return sorted({min(32 * math.ceil(size / 32), most) for size in (*usual, most)})


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


class ParityTransformers(Transformers):
    """Transformers that learned parity."""

    def answers(self, strings: Sequence[str]) -> NDArray[np.int64]:
        """Every member's answer to every string of 0 and 1, (E, M)."""
        strings = listed(strings, "bit strings")
        asked = ParitySet.of(strings)
        self.refuse_long(strings, asked.lengths.tolist(), self.shape.longest - 1)  # START has one
        return self.predict(asked)

    @torch.no_grad()
    def predict(self, strings: ParitySet) -> NDArray[np.int64]:
        """Every member's answer to every string of a set, (E, M)."""
        weights = in_precision(self.weights, self.recipe)
        bits, lengths, size = strings.bits, strings.lengths, self.at_once(1 + strings.bits.shape[1])
        starts = range(0, len(strings), size)
        parts = [ParitySet(bits[n : n + size], lengths[n : n + size]) for n in starts]
        with products(self.recipe, weights["embedding"].device):
            return np.concatenate([predict(weights, self.shape, part) for part in parts], 1)

    def ask(self, inputs: Sequence[str]) -> list[list[str]]:
        """For each member "0" or "1" for every string."""
        found: list[list[str]] = self.answers(inputs).astype(str).tolist()
        return found


def answer_logits(
    weights: Weights,
    shape: TransformerShape,
    tokens: Int[Tensor, "E B N"],
    *,
    lengths: Int[Tensor, "E B"],
    cells: int | None = None,
) -> Float[Tensor, "E B 2"]:
    """The logits at each string's last position; `cells` are as for `encode_ends`."""
    ends = encode_ends(weights, shape, tokens, lengths=lengths, cells=cells)
    return read_out(weights, ends.unsqueeze(2)).squeeze(2)


@torch.no_grad()
def predict(weights: Weights, shape: TransformerShape, strings: ParitySet) -> np.ndarray:
    """Every member's answer to every string, (E, M); strings of like length are read together."""
    table = next(iter(weights.values()))
    members, device = len(table), table.device
    tokens, lengths = strings.tokens(), strings.lengths + 1
    found = np.zeros((members, len(strings)), dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    size = at_once(shape, members, tokens.shape[1], device=device)
    for some in np.array_split(order, -(-len(order) // size)):
        width = int(lengths[some].max())
        batch = torch.from_numpy(tokens[some, :width]).to(device).expand(members, -1, -1)
        sizes = torch.from_numpy(lengths[some]).to(device).expand(members, -1)
        logits = answer_logits(weights, shape, batch, lengths=sizes)
        found[:, some] = logits.argmax(-1).cpu().numpy()
    return found
