"""Encoder-decoder Transformers that learn SCAN from commands and actions alone (the paper's D.4).

An answer is right if greedy decoding gives every action and then END. That is so exactly if, given
the right actions so far, the next one is always the likeliest: one pass over the true actions
decides it. The same pass gives `end_given`, whether it would be right if END could come only in its
place: what to do, and when to stop, are measured separately.

Of a batch of B, example i is drawn from the i-th of B equal parts of the examples in order of
length. All are drawn equally often, and a batch's lengths are known closely enough beforehand to
lay several examples out in a row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.errors import ConfigError, check_whole
from espalier.nets import Dice
from espalier.nets.transformer import (
    Dropout,
    TransformerShape,
    Weights,
    decode,
    encode,
    is_narrow,
    random_transformers,
    through,
)
from espalier.runs import Plan, Snapshot
from espalier.training.configs import StepRecipe, check_seeds
from espalier.training.lstm_learner import Labels
from espalier.training.scan_answers import ScanTransformers
from espalier.training.scan_batches import (
    END,
    PAD,
    START,
    SYMBOLS,
    Packing,
    Pairs,
    read_split,
    some_of,
    symbols_of,
    widths,
)
from espalier.training.scan_counts import counted, end_given, exactly
from espalier.training.task_learner import TaskLearner, step_plan
from espalier.training.train import Prepared, Trainable
from espalier.training.transformers import in_precision

LONGEST = 9  # words of a command
FITTED = 500  # training examples that are measured


@dataclass(frozen=True)
class ScanRun(Trainable):
    """One kind of Transformer, a member for each split and seed; the defaults are the paper's.

    A split `upto:A,B` is made from the grammar: up to A actions to learn from, up to B to be
    tested on. `tests` draws that many of the test examples, or all.

    >>> ScanRun(splits=("length",), seeds=2).shape.layers
    2
    """

    kind: ClassVar[str] = "scan"

    shape: TransformerShape = field(
        default_factory=lambda: TransformerShape(
            vocabulary=len(SYMBOLS),
            outputs=len(SYMBOLS),
            width=128,
            hidden=512,
            heads=8,
            head_width=128,
            layers=2,
            decoder=True,
        )
    )
    splits: tuple[str, ...] = ("length", "mcd1", "mcd2", "mcd3")
    recipe: StepRecipe = field(
        default_factory=lambda: StepRecipe(100_000, 64, precision="bfloat16")
    )
    seeds: int | tuple[int, ...] = 1  # how many from 0 on, or which
    tests: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", check_seeds(self.seeds))
        if not isinstance(self.splits, tuple | list):
            raise ConfigError(f"splits are {self.splits!r}; give a tuple of names")
        if not self.splits:
            raise ConfigError("splits are none; give one at least")
        if len(set(self.splits)) < len(self.splits):
            raise ConfigError(f"splits are {self.splits}; give none twice: `seeds` trains several")
        if not self.shape.decoder:
            raise ConfigError("shape.decoder is False; SCAN's actions are written by a decoder")
        sizes, symbols = (self.shape.vocabulary, self.shape.outputs), len(symbols_of(self.splits))
        if sizes != (symbols, symbols):
            raise ConfigError(
                f"shape's vocabulary and outputs are {sizes}; SCAN has {symbols} symbols, both ways"
            )
        if self.shape.positions == "absolute" and self.shape.longest < LONGEST:
            raise ConfigError(
                f"shape.longest is {self.shape.longest}; SCAN's commands have up to {LONGEST} words"
            )
        if self.tests is not None:
            check_whole(self, ("tests",), error=ConfigError)

    def plan(self) -> Plan:
        """As many steps as the recipe has."""
        return step_plan(self.recipe)

    def with_seeds(self, seeds: tuple[int, ...]) -> list[ScanRun]:
        """The same kind of Transformer, with other seeds."""
        return [replace(self, seeds=seeds)]

    def members(self) -> dict[str, Labels]:
        """One for each split and seed."""
        both = [(split, seed) for split in self.splits for seed in check_seeds(self.seeds)]
        return {f"{split}-{seed}": {"split": split, "seed": seed} for split, seed in both}

    def prepare(self, device: torch.device, beside: Sequence[ScanRun] = ()) -> Prepared:
        """The members at their first step."""
        if beside:
            raise ConfigError("Transformers trained at once on SCAN differ in splits and seeds")
        members = self.members()
        weights = self.first_weights([int(one["seed"]) for one in members.values()])
        learner = TaskLearner(
            self.task(device),
            weights,
            self.recipe,
            members=members,
            device=device,
            metadata={"shape": json.dumps(self.shape.to_dict())},
        )
        return Prepared(learner, _describe(self))

    def task(self, device: torch.device) -> TranslationTask:
        """What the members learn."""
        return TranslationTask.of(self, device)

    def first_weights(self, seeds: Sequence[int]) -> Weights:
        """The weights of every member before the first step."""
        return random_transformers(self.shape, seeds, batch=self.recipe.batch)

    def models(self, weights: Snapshot, device: torch.device) -> ScanTransformers:
        """The Transformers after their last step."""
        return ScanTransformers.of(weights, self.recipe, device)


@dataclass(frozen=True, eq=False)
class TranslationTask:
    """E Transformers; a member draws from the examples `firsts` to `firsts + counts`.

    Those are in order of length. Without `trained_end`, END is left out of the loss.
    """

    shape: TransformerShape
    pairs: Pairs
    packing: Packing
    firsts: Int[Tensor, " E"]
    counts: Int[Tensor, " E"]
    fits: tuple[Pairs, ...]
    tests: tuple[Pairs, ...]
    recipe: StepRecipe
    dropout: float = 0.0
    trained_end: bool = True
    fit: ClassVar[str] = "train_accuracy"

    @classmethod
    def of(cls, run: ScanRun, device: torch.device) -> TranslationTask:
        """The run's splits on a device, each split's examples once."""
        found = {name: read_split(name) for name in run.splits}
        ordered = [sorted(split.train, key=lambda one: one.length) for split in found.values()]
        everything = [one for examples in ordered for one in examples]
        sizes = [len(split.train) for split in found.values()]
        starts = [sum(sizes[:n]) for n in range(len(sizes))]
        each = [n for n in range(len(sizes)) for _ in check_seeds(run.seeds)]
        fits = [Pairs.of(some_of(split.train, FITTED)).to(device) for split in found.values()]
        tests = [Pairs.of(some_of(split.test, run.tests)).to(device) for split in found.values()]
        return cls(
            shape=run.shape,
            pairs=Pairs.of(everything).to(device),
            packing=_packed(run, widths(ordered, run.recipe.batch), device),
            firsts=torch.tensor([starts[n] for n in each], device=device),
            counts=torch.tensor([sizes[n] for n in each], device=device),
            fits=tuple(fits[n] for n in each),
            tests=tuple(tests[n] for n in each),
            recipe=run.recipe,
        )

    def seen(self, weights: Weights) -> Weights:
        """In the recipe's precision."""
        return in_precision(weights, self.recipe)

    def losses(self, weights: Weights, dice: Dice) -> Float[Tensor, " E"]:
        """Cross-entropies, means over the actions of the batches drawn."""
        dropout = Dropout(self.dropout, dice) if self.dropout else None
        logits, actions = self.read(weights, self.drawn(dice), dropout=dropout)
        if not self.trained_end:
            actions = actions.masked_fill(actions == END, PAD)
        return through(_cross_entropies, logits, actions)

    def drawn(self, dice: Dice) -> Int[Tensor, "E B"]:
        """One example of each part; every example is as likely to be in a batch."""
        batch, counts = self.recipe.batch, self.counts.unsqueeze(1)
        part = torch.arange(batch, device=counts.device)
        within = (part * counts + dice.choices(0, batch, self.counts)) // batch
        return self.firsts.unsqueeze(1) + within

    def read(
        self, weights: Weights, chosen: Int[Tensor, "E B"], *, dropout: Dropout | None = None
    ) -> tuple[Float[Tensor, "E R W O"], Int[Tensor, "E R W"]]:
        """Logits and true actions of the chosen examples, packed; PAD where there is none."""
        packing = self.packing
        commands, lengths, before, actions = through(_laid_out, chosen, self.pairs, packing)
        encoded = encode(weights, self.shape, commands, lengths=lengths, dropout=dropout)
        beside = encoded.beside(packing.beside)
        logits = decode(weights, self.shape, before, beside, parts=packing.parts, dropout=dropout)
        return logits, actions

    def measure(self, weights: Weights) -> list[dict[str, float]]:
        """The shares of right answers in training and test, and with END only in its place."""
        found = []
        for member, (fit, test) in enumerate(zip(self.fits, self.tests, strict=True)):
            own = {name: tensor[member : member + 1] for name, tensor in weights.items()}
            shares = counted(own, self.shape, fit, {"train_accuracy": exactly})
            shares |= counted(own, self.shape, test, {"accuracy": exactly, "end_given": end_given})
            found.append({name: float(some.double().mean()) for name, some in shares.items()})
        return found


def _packed(run: ScanRun, widths: Sequence[int], device: torch.device) -> Packing:
    """In rows of the kernels' size where these are used, else with little padding."""
    dtype = torch.bfloat16 if run.recipe.precision == "bfloat16" else torch.float32
    narrow = is_narrow(run.shape, dtype, device)
    return (Packing.in_blocks(widths, LONGEST) if narrow else Packing.of(widths)).to(device)


def _laid_out(chosen: Int[Tensor, "E B"], pairs: Pairs, packing: Packing) -> tuple[Tensor, ...]:
    """Commands with their lengths; what comes before each action in a row, and the actions."""
    commands = pairs.commands[chosen[:, packing.slots.flatten()]]
    examples, places = chosen[:, packing.sequences], packing.places
    before = pairs.actions[examples, (places - 1).clamp(min=0)].masked_fill(places == 0, START)
    actions = pairs.actions[examples, places] * packing.filled
    return commands, (commands != PAD).sum(-1), before, actions


def _cross_entropies(
    logits: Float[Tensor, "E R W O"], actions: Int[Tensor, "E R W"]
) -> Float[Tensor, " E"]:
    """Means over the actions, without padding."""
    shares = logits.log_softmax(-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
    counted = actions != PAD
    return -(shares * counted).sum((1, 2)) / counted.sum((1, 2))


def _describe(run: ScanRun) -> dict[str, Any]:
    whole, sizes = hashlib.sha256(), {}
    for name in run.splits:
        split = read_split(name)
        sizes[name] = [len(split.train), len(split.test)]
        whole.update(repr((split.train, split.test)).encode())
    return {"sha256": whole.hexdigest(), "splits": sizes}
