"""Trace supervision: an MLP learns a program's sub-layer from its traces (the paper's C.1).

The MLP takes the place of the compiled one, next to the residual connection, and is trained with a
squared error to turn the stream before into the stream after. Noise is added to the stream, so the
sub-layer learns to remove it: small errors stay small, layer after layer. Everything else, the two
layers that make numbers one-hot included, stays compiled.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.compiler import CompiledModel
from espalier.errors import ConfigError, ModelError, check_whole, is_number
from espalier.interpreter import interpret_many
from espalier.language import Program
from espalier.learnability.assignments import training_set
from espalier.learnability.lessons import Lessons, lessons
from espalier.learnability.supervision.program_runs import ProgramRun
from espalier.learnability.traces import Traces
from espalier.nets import Dice
from espalier.nets.compiled import CompiledEncoder, TrainedFeedForward, apply_mlps, random_mlps
from espalier.runs import Snapshot
from espalier.training import Prepared, StepRecipe, TaskLearner, by_seed

Stacked = dict[str, Tensor]  # MLPs' weights, with a first axis of members
HALF = 0.5  # an output is on the right side if it is nearer to its target than to the other value


@dataclass(frozen=True)
class TraceSettings:
    """The MLP and its training; the defaults are Table 1's for Sequential (Relative).

    >>> TraceSettings(hidden=64).noise
    0.1
    """

    hidden_layers: int = 2
    hidden: int = 128
    noise: float = 0.1
    recipe: StepRecipe = field(
        default_factory=lambda: StepRecipe(50_000, 256, 1e-2, "adafactor", precision="float32")
    )

    def __post_init__(self) -> None:
        check_whole(self, ("hidden_layers", "hidden"), error=ConfigError)
        if not is_number(self.noise) or self.noise < 0:
            raise ConfigError(f"noise is {self.noise!r}; a standard deviation is 0 or more")


class TraceTrained(CompiledModel):
    """A compiled program whose MLP was trained."""

    def __init__(self, compiled: CompiledModel, weights: Mapping[str, Tensor]) -> None:
        super().__init__(compiled.layout, compiled.weights)
        trained = TrainedFeedForward(weights, compiled.weights.feedforward.expansion)
        self.encoder = CompiledEncoder(compiled.weights, compiled.program.heads, mlp=trained)

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Refused: a compiled model's file has no place for a trained MLP."""
        raise ModelError(
            f"cannot write {path}: the file of a compiled model holds rules, not a trained MLP; "
            f"train with out=, and espalier.load reads the folder"
        )

    @property
    def unit_labels(self) -> NoReturn:
        """Refused: what a trained unit stands for is not known."""
        raise ModelError(
            "the MLP of this model was trained, so that its units stand for no rules; "
            "compile_program(model.program) is the model whose units do"
        )

    def _mlp_width(self) -> str:
        trained = self.encoder.mlp
        assert isinstance(trained, TrainedFeedForward)
        return f"trained MLP of {' and '.join(map(str, trained.hidden))} units"


@dataclass(frozen=True, eq=False)
class TraceTask:
    """E MLPs, each drawing its own batches and noise from the same lessons."""

    before: Float[Tensor, "P I"]
    after: Float[Tensor, "P D"]
    noise: float
    batch: int
    fit: ClassVar[str] = "right"

    @classmethod
    def of(cls, taught: Lessons, settings: TraceSettings, device: torch.device) -> TraceTask:
        """The task on a device."""
        before, after = taught.before.to(device), taught.after.to(device)
        return cls(before, after, settings.noise, settings.recipe.batch)

    def seen(self, weights: Stacked) -> Stacked:
        """The weights as they are."""
        return weights

    def losses(self, weights: Stacked, dice: Dice) -> Float[Tensor, " E"]:
        """Mean squared errors of the sub-layer's output on a noisy batch."""
        below = torch.full_like(dice.seeds, len(self.before))
        chosen = dice.choices(0, self.batch, below)
        clean = self.before[chosen]
        noise = dice.gaussians(1, self.batch * clean.shape[-1]).view_as(clean)
        return (
            (self._change(weights, clean + self.noise * noise) - self.after[chosen])
            .square()
            .mean((1, 2))
        )

    def measure(self, weights: Stacked) -> list[dict[str, float]]:
        """Without noise: the error, and the share of lessons with every dimension right."""
        members = len(next(iter(weights.values())))
        found = self._change(weights, self.before.expand(members, -1, -1))
        errors = (found - self.after).abs().amax(-1)
        right = (errors < HALF).double().mean(1).tolist()
        return [
            {"right": share, "largest_error": worst}
            for share, worst in zip(right, errors.amax(1).tolist(), strict=True)
        ]

    def _change(self, weights: Stacked, x: Float[Tensor, "E B I"]) -> Float[Tensor, "E B D"]:
        return x[..., : self.after.shape[1]] + apply_mlps(weights, x)


@dataclass(frozen=True, eq=False, repr=False)
class TraceRun(ProgramRun):
    """An MLP for each seed, trained on the traces of `program` over `inputs`.

    Traces, recorded or read from a file, may be given in place of the inputs.

    >>> from espalier import zoo
    >>> parity = zoo.load("parity-sequential-relative")
    >>> TraceRun(parity.program, [parity.encode("0110")], seeds=3).settings.hidden
    128
    """

    kind: ClassVar[str] = "traces"

    inputs: Sequence[Sequence[object]] | Traces = ()
    settings: TraceSettings = field(default_factory=TraceSettings)

    def prepare(self, device: torch.device, beside: Sequence[TraceRun] = ()) -> Prepared:
        """The MLPs at their first step; the folder is given the program."""
        seeds = self.checked_seeds(beside)
        taught = lessons(self.compiled, self.inputs, max_layers=self.max_layers)
        learner = trace_learner(taught, self.settings, seeds=seeds, device=device)
        whole = hashlib.sha256()
        for tensor in (taught.before, taught.after):
            whole.update(tensor.contiguous().numpy().tobytes())
        data = {"sha256": whole.hexdigest(), "lessons": len(taught)}
        return Prepared(learner, self.described(data), self.write_program)

    def models(self, weights: Snapshot, device: torch.device) -> tuple[TraceTrained, ...]:
        """The compiled program with each of the MLPs, on the CPU."""
        count = len(next(iter(weights.tensors.values())))
        return tuple(
            TraceTrained(
                self.compiled,
                {name: tensor[n : n + 1].clone() for name, tensor in weights.tensors.items()},
            )
            for n in range(count)
        )


def trace_learner(
    taught: Lessons, settings: TraceSettings, *, seeds: Sequence[int], device: torch.device
) -> TaskLearner:
    """The MLPs at their first step."""
    sizes = [taught.before.shape[1], *[settings.hidden] * settings.hidden_layers]
    batch = settings.recipe.batch
    weights = random_mlps([*sizes, taught.after.shape[1]], seeds, batch=batch)
    task = TraceTask.of(taught, settings, device)
    return TaskLearner(task, weights, settings.recipe, members=by_seed(seeds), device=device)


def agreement(
    program: Program,
    models: Sequence[CompiledModel],
    inputs: Iterable[Iterable[object]],
    *,
    max_layers: int | None = None,
) -> list[float]:
    """For each model, the share of inputs for which it has the program's outputs everywhere.

    A model may take as many layers as the program takes for any of the inputs.
    """
    sequences, max_layers = training_set(program, inputs, max_layers)
    wanted = interpret_many(program, sequences, max_layers=max_layers)
    most = max(run.layers for run in wanted)
    shares = []
    for model in models:
        given = model.run_many(sequences, max_layers=most)
        same = [a.outputs == b.outputs for a, b in zip(given, wanted, strict=True)]
        shares.append(sum(same) / len(same))
    return shares
