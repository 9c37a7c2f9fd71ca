"""Training on scaffold corpora: one model, or every cell of a table of configs as one ensemble."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch

from espalier.data.batches import fold
from espalier.data.scaffold import ScaffoldConfig, ScaffoldCorpus, scaffold_corpus
from espalier.data.scaffold_counts import count_scaffolds
from espalier.errors import ConfigError
from espalier.nets.lstm import language_model
from espalier.runs import Plan, Progress, Row, RunFolder, choose_device, parse_schedule
from espalier.training.ensembles import Ensemble, Member
from espalier.training.gradients import member_gradients
from espalier.training.kept import keep_run
from espalier.training.measures import CloseProbability
from espalier.training.recipe import Recipe


@dataclass(frozen=True)
class Network:
    """The sizes of the model trained; the vocabulary's size comes from the data."""

    hidden: int = 200
    layers: int = 1
    embedding: int | None = None
    tied: bool = False
    dropout: float = 0.0


@dataclass(frozen=True)
class ScaffoldRun:
    """One model on one scaffold corpus; the corpus's seed is the model's too."""

    corpus: ScaffoldConfig = field(default_factory=ScaffoldConfig)
    network: Network = field(default_factory=Network)
    recipe: Recipe = field(default_factory=Recipe)
    keep: str = "epoch"
    gradients: bool = False  # record gradient magnitudes along the scaffold at every measure

    def to_dict(self) -> dict[str, object]:
        """Every setting, nested as it is here."""
        return asdict(self)


def train_scaffold(
    run: ScaffoldRun,
    *,
    out: str | os.PathLike[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Row]:
    """Train one model and return its measures; with `out`, keep the run there and go on with it."""
    return ensemble([run], out=out, device=device, progress=progress)


def ensemble(
    runs: Sequence[ScaffoldRun],
    *,
    out: str | os.PathLike[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Row]:
    """Train every run as a member of one batched computation; one row a member and measure."""
    _refuse_different(runs)
    where = choose_device(device)
    corpora = [scaffold_corpus(run.corpus) for run in runs]
    learner = scaffold_learner(runs, corpora, device=where)
    plan = Plan(runs[0].recipe.epochs, parse_schedule(runs[0].keep))
    folder = None if out is None else RunFolder.create(out)
    alone = len(runs) == 1
    config = runs[0].to_dict() if alone else {"members": [run.to_dict() for run in runs]}
    return keep_run(
        learner,
        plan,
        folder=folder,
        about=("scaffold", config, _describe_data(corpora)),
        progress=progress,
        also=_gradient_recorder(learner, corpora, folder) if runs[0].gradients else None,
    )


def _gradient_recorder(
    learner: Ensemble, corpora: Sequence[ScaffoldCorpus], folder: RunFolder | None
) -> Callable[[Row], None]:
    """Appends Appendix C's magnitudes of every member, in domain, to the table `gradients`."""
    if folder is None:
        raise ConfigError("gradients are recorded in a run's folder: say where with out=")

    def record(place: Row) -> None:
        new: list[Row] = []
        for length in sorted({corpus.config.length for corpus in corpora}):
            some = [e for e, corpus in enumerate(corpora) if corpus.config.length == length]
            weights = {name: tensor[some] for name, tensor in learner.weights.items()}
            examples = [corpora[e].in_domain for e in some]
            found = member_gradients(weights, learner.shape, examples)
            for e, rows in zip(some, found, strict=True):
                labels = {"member": learner.tracked.names[e], **learner.tracked.labels[e]}
                new += [place | labels | row for row in rows]
        folder.append_rows(new, "gradients")

    return record


def scaffold_learner(
    runs: Sequence[ScaffoldRun], corpora: Sequence[ScaffoldCorpus], *, device: torch.device
) -> Ensemble:
    """The ensemble of these runs on these corpora, at its first step."""
    recipe = runs[0].recipe
    team = [
        Member(
            run.corpus.name,
            language_model(
                vocabulary_size=run.corpus.vocabulary_size,
                words=run.corpus.words,
                seed=run.corpus.seed,
                **asdict(run.network),
            ),
            run.corpus.seed,
            {name: getattr(run.corpus, name) for name in ("length", "setting", "rules", "seed")},
        )
        for run in runs
    ]
    folded = [fold(c.train, batch=recipe.batch, window=recipe.window) for c in corpora]
    streams = torch.from_numpy(np.stack(folded))
    tests = CloseProbability.of(corpora, device)
    return Ensemble(team, streams, recipe, measure=tests, device=device)


def _describe_data(corpora: Sequence[ScaffoldCorpus]) -> dict[str, object]:
    """Digests and true counts of the corpora; a corpus that is not what it claims is refused."""
    counts = {corpus.config.name: count_scaffolds(corpus).to_dict() for corpus in corpora}
    digests = {corpus.config.name: corpus.digest for corpus in corpora}
    return data_of(digests, list(digests), counts)


def data_of(
    digests: dict[str, str], names: Sequence[str], counts: dict[str, dict[str, int]]
) -> dict[str, object]:
    """What a manifest says of the corpora of these members; the digest covers them in order."""
    whole = hashlib.sha256("".join(digests[name] for name in names).encode()).hexdigest()
    return {
        "sha256": whole,
        "corpora": {name: digests[name] for name in names},
        "counts": {name: counts[name] for name in names},
    }


def _refuse_different(runs: Sequence[ScaffoldRun]) -> None:
    if not runs:
        raise ConfigError("an ensemble needs at least one run")
    for name in ("network", "recipe", "keep", "gradients"):
        if len({str(getattr(run, name)) for run in runs}) > 1:
            raise ConfigError(
                f"members of one ensemble must share their {name}, but these differ; "
                f"train them as a sweep, which groups them"
            )
    for name in ("vocabulary", "tokens", "tests", "test_length"):
        found = {getattr(run.corpus, name) for run in runs}
        if len(found) > 1:
            raise ConfigError(
                f"members of one ensemble must agree in corpus.{name}; found {sorted(found)}"
            )
