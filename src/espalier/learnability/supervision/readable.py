"""Trace supervision without compiled parameters: variables need only be linearly readable.

The paper leaves this to future work (C.1). A Universal Transformer of any width learns all of its
weights from the traces of a program. The encoding of variables is left open; the loss requires that
linear classifiers, one per variable and the same in every layer, read it from the residual stream:
the outputs of heads after each attention sub-layer, all other variables after each MLP sub-layer,
at every position, in as many layers as the program takes. Numbers are read as their buckets. Null
is no target: that heads are reset is a matter of the compiler's encoding.

The classifiers are linear in the stream divided by its norm, which changes no choice of theirs.
A trained model runs as a program does: layer by layer until the halting variable reads its halt
value at every position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor

from espalier.language import Program, Run, check_batch
from espalier.learnability.readings import UNKNOWN, Readings, class_places, readings
from espalier.learnability.supervision.program_runs import ProgramRun
from espalier.nets import Dice
from espalier.nets.transformer import (
    TransformerShape,
    Weights,
    encode,
    norm,
    random_transformers,
    read_out,
)
from espalier.runs import Snapshot
from espalier.training import Prepared, StepRecipe, TaskLearner, by_seed


@dataclass(frozen=True)
class ReadableSettings:
    """The Transformer's sizes and its training; positions are absolute if the program's are.

    >>> ReadableSettings(width=32).heads
    4
    """

    width: int = 64
    hidden: int = 256
    heads: int = 4
    head_width: int = 16
    recipe: StepRecipe = field(
        default_factory=lambda: StepRecipe(10_000, 64, 1e-3, "adam", precision="float32")
    )


@dataclass(frozen=True, eq=False)
class ReadingTask:
    """E Transformers, each drawing its own batches from the same traces."""

    shape: TransformerShape
    asked: Readings
    batch: int
    fit: ClassVar[str] = "read"

    def seen(self, weights: Weights) -> Weights:
        """The weights as they are."""
        return weights

    def losses(self, weights: Weights, dice: Dice) -> Float[Tensor, " E"]:
        """Mean cross-entropies over all target values."""
        below = torch.full_like(dice.seeds, len(self.asked.lengths))
        sums, counts, _ = self._score(weights, dice.choices(0, self.batch, below))
        return sums / counts

    def measure(self, weights: Weights) -> list[dict[str, float]]:
        """The share of all values that are read rightly."""
        members = len(weights["embedding"])
        everything = torch.arange(len(self.asked.lengths), device=self.asked.lengths.device)
        parts = [
            self._score(weights, some.expand(members, -1)) for some in everything.split(self.batch)
        ]
        counts = sum(count for _, count, _ in parts)
        right = sum(found for _, _, found in parts)
        assert isinstance(counts, Tensor)
        return [{"read": share} for share in (right / counts).tolist()]

    def _score(self, weights: Weights, chosen: Int[Tensor, "E B"]) -> tuple[Tensor, Tensor, Tensor]:
        """By member: the sum of losses, the number of targets, and how many were right."""
        asked, totals = self.asked, torch.zeros(3, len(chosen), device=chosen.device)
        found: list[Tensor] = [totals]

        def watch(layer: int, part: str, z: Tensor) -> None:
            logits = read_out(weights, norm(z, weights["encoder.final_scale"]))
            for name, place in asked.places.items():
                if (name in asked.heads) == (part == "attention"):
                    codes = asked.codes[name][:, layer][chosen]
                    found.append(_one_variable(logits[..., place], codes))

        tokens, lengths = asked.tokens[chosen], asked.lengths[chosen]
        encode(weights, self.shape, tokens, lengths=lengths, layers=self.asked.layers, watch=watch)
        sums, counts, right = torch.stack(found).sum(0)
        return sums, counts, right


def _one_variable(
    logits: Float[Tensor, "E B N C"], codes: Int[Tensor, "E B N"]
) -> Float[Tensor, "3 E"]:
    known = codes != UNKNOWN
    shares = logits.log_softmax(-1).gather(-1, codes.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    right = (logits.argmax(-1) == codes) & known
    return torch.stack([-(shares * known).sum((1, 2)), known.sum((1, 2)), right.sum((1, 2))])


@dataclass(frozen=True, eq=False, repr=False)
class ReadableTransformers(Sequence["ReadableTransformers"]):
    """Transformers trained to hold a program's variables; an index gives one of them."""

    program: Program
    shape: TransformerShape
    weights: Weights

    def __len__(self) -> int:
        return len(self.weights["embedding"])

    @overload
    def __getitem__(self, number: int) -> ReadableTransformers: ...
    @overload
    def __getitem__(self, number: slice) -> ReadableTransformers: ...
    def __getitem__(self, number: int | slice) -> ReadableTransformers:
        some = range(len(self))[number]
        chosen = [some] if isinstance(some, int) else list(some)
        return replace(self, weights={name: w[chosen] for name, w in self.weights.items()})

    def __repr__(self) -> str:
        return f"{len(self)} {type(self).__name__} for {self.program}"

    @torch.no_grad()
    def run_many(self, batch: Iterable[Iterable[object]], *, max_layers: int) -> list[list[Run]]:
        """For each member the run of every sequence, halting by what is read."""
        sequences = check_batch(self.program, batch)
        members = len(self)
        found: list[list[Run | None]] = [[None] * len(sequences) for _ in range(members)]
        for length in sorted({len(sequence) for sequence in sequences}):
            numbers = [n for n, sequence in enumerate(sequences) if len(sequence) == length]
            tokens = torch.tensor([sequences[n] for n in numbers])
            for member, runs in enumerate(self._run(tokens, max_layers)):
                for number, run in zip(numbers, runs, strict=True):
                    found[member][number] = run
        return [[run for run in runs if run is not None] for runs in found]

    def _run(self, tokens: Int[Tensor, "B N"], max_layers: int) -> list[list[Run]]:
        """Sequences of one length."""
        places, halt = class_places(self.program), self.program.halt
        tokens = tokens.to(self.weights["embedding"].device).expand(len(self), -1, -1)
        outputs, layers = torch.zeros_like(tokens), torch.zeros_like(tokens[..., 0])
        halted = torch.zeros_like(layers, dtype=torch.bool)

        def watch(layer: int, part: str, z: Tensor) -> None:
            nonlocal outputs, layers, halted
            if part == "attention":
                return
            logits = read_out(self.weights, norm(z, self.weights["encoder.final_scale"]))
            now = logits[..., places[self.program.output_name]].argmax(-1)
            outputs = torch.where(halted.unsqueeze(-1), outputs, now)
            layers = torch.where(halted, layers, layer + 1)
            if halt is not None:
                codes = logits[..., places[halt.variable]].argmax(-1)
                halted = halted | (codes == halt.value).all(-1)

        lengths = torch.full_like(layers, tokens.shape[2])
        encode(self.weights, self.shape, tokens, lengths=lengths, layers=max_layers, watch=watch)
        told = (outputs.tolist(), layers.tolist(), halted.tolist())
        return [[Run(*one) for one in zip(*own, strict=True)] for own in zip(*told, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class ReadableRun(ProgramRun):
    """A Transformer for each seed, trained to go through the traces of `program` over `inputs`.

    >>> from espalier import zoo
    >>> parity = zoo.load("parity-sequential-relative")
    >>> ReadableRun(parity.program, [parity.encode("0110")], seeds=3).settings.width
    64
    """

    kind: ClassVar[str] = "readable"

    inputs: Sequence[Sequence[object]] = ()
    settings: ReadableSettings = field(default_factory=ReadableSettings)

    def prepare(self, device: torch.device, beside: Sequence[ReadableRun] = ()) -> Prepared:
        """The Transformers at their first step; the folder is given the program."""
        seeds, settings = self.checked_seeds(beside), self.settings
        asked = readings(self.program, self.inputs, max_layers=self.max_layers)
        shape = shape_for(self.program, settings, asked.layers)
        learner = TaskLearner(
            ReadingTask(shape, asked.to(device), settings.recipe.batch),
            random_transformers(shape, seeds, batch=settings.recipe.batch),
            settings.recipe,
            members=by_seed(seeds),
            device=device,
            metadata={"shape": json.dumps(shape.to_dict())},
        )
        data = self.described({"sha256": asked.digest, "inputs": len(asked.lengths)})
        return Prepared(learner, data, self.write_program)

    def models(self, weights: Snapshot, device: torch.device) -> ReadableTransformers:
        """The Transformers after their last step."""
        shape = TransformerShape(**json.loads(weights.metadata["shape"]))
        tensors = {name: tensor.to(device) for name, tensor in weights.tensors.items()}
        return ReadableTransformers(self.program, shape, tensors)


def shape_for(program: Program, settings: ReadableSettings, layers: int) -> TransformerShape:
    """A Universal Transformer for a program: its tokens, its classes, its kind of positions."""
    absolute = program.position_range is not None
    return TransformerShape(
        vocabulary=program.input_range,
        outputs=sum(len(spec.values) for spec in program.specs.values()),
        width=settings.width,
        hidden=settings.hidden,
        heads=settings.heads,
        head_width=settings.head_width,
        layers=layers,
        shared=True,
        positions="absolute" if absolute else "relative",
        longest=program.position_range or 1,
    )
