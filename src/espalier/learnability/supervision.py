"""Trace supervision: an MLP learns a program's sub-layer from its traces (the paper's C.1).

The MLP stands where the compiled one stood, beside the residual connection, and is trained with a
squared error to turn the stream before into the stream after. Noise is added to the stream, so the
sub-layer learns to remove it: what is a little off stays a little off, layer after layer.
Everything else, the two layers that make numbers one-hot included, stays compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.compiler import CompiledModel, compile_program
from espalier.errors import ConfigError, ModelError, check_whole, is_number
from espalier.interpreter.interpret import interpret_many
from espalier.language import Program
from espalier.language.records import program_hash
from espalier.learnability.assignments import training_set
from espalier.learnability.keeping import read_run
from espalier.learnability.lessons import Lessons, lessons
from espalier.learnability.traces import Traces
from espalier.nets import Dice
from espalier.nets.compiled import TrainedFeedForward, UniversalEncoder, apply_mlps, random_mlps
from espalier.runs import Progress, Row, choose_device
from espalier.training.finished import Measured
from espalier.training.kept import keep_steps
from espalier.training.optimisers import Weights
from espalier.training.stacked import StackedLearner, StepRecipe, Team, check_seeds

HALF = 0.5  # an output is on the right side if it is nearer to its target than to the other value


@dataclass(frozen=True)
class TraceSettings:
    """The MLP and its training; the defaults are Table 1's for Sequential (Relative)."""

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
        features = compiled.weights.feedforward.expansion
        trained = TrainedFeedForward(weights, features)
        self.encoder = UniversalEncoder(compiled.weights, trained)

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Refused: a compiled model's file has no place for a trained MLP."""
        raise ModelError(
            f"cannot write {path}: the file of a compiled model holds rules, not a trained MLP; "
            f"train with out=, and load_trace_trained reads the folder"
        )

    @property
    def unit_labels(self) -> NoReturn:
        """Refused: what a trained unit stands for is not known."""
        raise ModelError(
            "the MLP of this model was trained, so that its units stand for no rules; "
            "compile_program(model.program) is the model whose units do"
        )

    def _mlp_width(self) -> str:
        trained = self.encoder.feedforward
        assert isinstance(trained, TrainedFeedForward)
        return f"trained MLP of {' and '.join(map(str, trained.hidden))} units"


@dataclass(frozen=True, eq=False)
class TraceTask:
    """E MLPs, each drawing its own batches and noise from the same lessons."""

    before: Float[Tensor, "P I"]
    after: Float[Tensor, "P D"]
    noise: float
    batch: int

    @classmethod
    def of(cls, taught: Lessons, settings: TraceSettings, device: torch.device) -> TraceTask:
        """The task on a device."""
        before, after = taught.before.to(device), taught.after.to(device)
        return cls(before, after, settings.noise, settings.recipe.batch)

    def seen(self, weights: Weights) -> Weights:
        """As they are."""
        return weights

    def losses(self, weights: Weights, dice: Dice) -> Float[Tensor, " E"]:
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

    def measure(self, weights: Weights) -> list[dict[str, float]]:
        """Without noise: the error, and the share of lessons with every dimension right."""
        members = len(next(iter(weights.values())))
        found = self._change(weights, self.before.expand(members, -1, -1))
        errors = (found - self.after).abs().amax(-1)
        right = (errors < HALF).double().mean(1).tolist()
        return [
            {"right": share, "largest_error": worst}
            for share, worst in zip(right, errors.amax(1).tolist(), strict=True)
        ]

    def _change(self, weights: Weights, x: Float[Tensor, "E B I"]) -> Float[Tensor, "E B D"]:
        return x[..., : self.after.shape[1]] + apply_mlps(weights, x)


@dataclass(frozen=True, eq=False, repr=False)
class Supervised(Measured):
    """MLPs trained on one program's traces: what was measured, and every one as a Transformer."""

    rows: tuple[Row, ...]
    models: tuple[TraceTrained, ...]
    lessons: int

    def __str__(self) -> str:
        return f"{len(self.models)} trained on {self.lessons:,} lessons: {self.last_measures()}"

    __repr__ = __str__


def train_on_traces(
    program: Program,
    inputs: Iterable[Iterable[object]] | Traces,
    *,
    settings: TraceSettings | None = None,
    seeds: Sequence[int] = (0,),
    max_layers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> Supervised:
    """Train an MLP for each seed on the traces of `program` over `inputs`, all at once.

    Traces that were recorded, or read from their file, may stand in place of the inputs.
    With `out`, the run is kept in that folder, and one that was stopped goes on.
    """
    settings = TraceSettings() if settings is None else settings
    seeds = check_seeds(seeds)
    compiled, where = compile_program(program), choose_device(device)
    taught = lessons(compiled, inputs, max_layers=max_layers)
    learner = trace_learner(taught, settings, seeds=seeds, device=where)
    config = {"settings": asdict(settings), "seeds": list(seeds), "lessons": len(taught)}
    about = ("traces", config, _describe(program, taught))
    rows = keep_steps(learner, about, out=out, progress=progress)
    models = [_member(compiled, learner.snapshot().tensors, n) for n in range(len(seeds))]
    return Supervised(tuple(rows), tuple(models), len(taught))


def trace_learner(
    taught: Lessons, settings: TraceSettings, *, seeds: Sequence[int], device: torch.device
) -> StackedLearner:
    """The MLPs at their first step."""
    sizes = [taught.before.shape[1], *[settings.hidden] * settings.hidden_layers]
    weights = random_mlps([*sizes, taught.after.shape[1]], seeds)
    task = TraceTask.of(taught, settings, device)
    return StackedLearner(task, weights, settings.recipe, team=Team.of(seeds), device=device)


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


def load_trace_trained(program: Program, path: str | os.PathLike[str]) -> tuple[TraceTrained, ...]:
    """The Transformers of a finished run's folder; `program` is the one it was trained on."""
    kept, compiled = read_run(path, "traces", program), compile_program(program)
    members = json.loads(kept.metadata["members"])
    return tuple(_member(compiled, kept.tensors, n) for n in range(len(members)))


def _member(compiled: CompiledModel, tensors: Mapping[str, Tensor], number: int) -> TraceTrained:
    own = {name: tensor[number : number + 1].clone() for name, tensor in tensors.items()}
    return TraceTrained(compiled, own)


def _describe(program: Program, taught: Lessons) -> dict[str, Any]:
    whole = hashlib.sha256()
    for tensor in (taught.before, taught.after):
        whole.update(tensor.contiguous().numpy().tobytes())
    return {
        "sha256": whole.hexdigest(),
        "lessons": len(taught),
        "program_sha256": program_hash(program),
    }
