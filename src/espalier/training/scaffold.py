"""Language models trained on scaffold corpora, one or several as one ensemble."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch

from espalier.data import (
    ScaffoldConfig,
    ScaffoldCorpus,
    count_scaffolds,
    fold,
    scaffold_corpus,
)
from espalier.errors import ConfigError, check_kind
from espalier.nets.language import AnyModel, language_model, models_of
from espalier.runs import Plan, Row, RunFolder, Snapshot, parse_schedule
from espalier.training.configs import Network, Recipe
from espalier.training.ensemble import EnsembleLearner, Member
from espalier.training.gradients import member_gradients
from espalier.training.groupable import Groupable
from espalier.training.measures import CloseProbability
from espalier.training.train import Prepared

GRADIENTS = "gradients"  # the table of them
LABELS = ("length", "setting", "rules", "seed")  # what members of an ensemble may differ in


@dataclass(frozen=True)
class ScaffoldRun(Groupable):
    """One model on one scaffold corpus; the corpus's seed is the model's too.

    >>> ScaffoldRun(network=Network(hidden=64)).recipe.epochs
    50
    """

    kind: ClassVar[str] = "scaffold"

    corpus: ScaffoldConfig = field(default_factory=ScaffoldConfig)
    network: Network = field(default_factory=Network)
    recipe: Recipe = field(default_factory=Recipe)
    keep: str = "epoch"
    gradients: bool = False  # record gradient magnitudes along the scaffold at every measure

    def __post_init__(self) -> None:
        check_kind("corpus", self.corpus, ScaffoldConfig, error=ConfigError)

    def plan(self) -> Plan:
        """As many epochs as the recipe has."""
        return Plan(self.recipe.epochs, parse_schedule(self.keep))

    def with_seeds(self, seeds: tuple[int, ...]) -> list[ScaffoldRun]:
        """A corpus and a model for each seed."""
        return [replace(self, corpus=replace(self.corpus, seed=seed)) for seed in seeds]

    def prepare(self, device: torch.device, beside: Sequence[ScaffoldRun]) -> Prepared:
        """An ensemble, of one member if it is alone."""
        runs = [self, *beside]
        _refuse_different(runs)
        corpora = [scaffold_corpus(run.corpus) for run in runs]
        learner = scaffold_learner(runs, corpora, device=device)
        data = _describe(corpora)
        if not self.gradients:
            return Prepared(learner, data)
        return Prepared(
            learner,
            data,
            in_folder=lambda folder: _gradient_recorder(learner, corpora, folder),
            tables=(GRADIENTS,),
            needs_folder="gradients are recorded in a run's folder",
        )

    def models(self, weights: Snapshot, device: torch.device) -> tuple[AnyModel, ...]:
        """Every member as a model of its own."""
        return models_of(weights.tensors, weights.metadata)

    def shared(self, device: torch.device) -> str:
        """All settings but those that members may differ in, whatever the device."""
        corpus = {name: value for name, value in asdict(self.corpus).items() if name not in LABELS}
        return repr((corpus, replace(self, corpus=ScaffoldConfig())))

    @property
    def member(self) -> str:
        """The name of its corpus, as in a run alone."""
        return self.corpus.name

    def data_alone(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Its own corpus."""
        return data_of([self.member], data["corpora"], data["counts"])

    @staticmethod
    def data_beside(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Every corpus, in order."""
        digests, counts = (
            {name: value for one in found for name, value in one[kind].items()}
            for kind in ("corpora", "counts")
        )
        return data_of(list(digests), digests, counts)


def scaffold_learner(
    runs: Sequence[ScaffoldRun], corpora: Sequence[ScaffoldCorpus], *, device: torch.device
) -> EnsembleLearner:
    """The ensemble of these runs on these corpora, at its first step."""
    recipe = runs[0].recipe
    team = [
        Member(
            run.member,
            language_model(
                vocabulary_size=run.corpus.vocabulary_size,
                words=run.corpus.words,
                seed=run.corpus.seed,
                **run.network.sizes(longest=max(recipe.window, run.corpus.test_length)),
            ),
            run.corpus.seed,
            {name: getattr(run.corpus, name) for name in LABELS},
        )
        for run in runs
    ]
    folded = [fold(c.train, batch=recipe.batch, window=recipe.window) for c in corpora]
    streams = torch.from_numpy(np.stack(folded))
    sets = {
        "in_domain": [corpus.in_domain for corpus in corpora],
        "out_of_domain": [corpus.out_of_domain for corpus in corpora],
    }
    tests = CloseProbability.of(sets, close=runs[0].corpus.close, device=device)
    return EnsembleLearner(team, streams, recipe, measure=tests, device=device)


def _gradient_recorder(
    learner: EnsembleLearner, corpora: Sequence[ScaffoldCorpus], folder: RunFolder
) -> Callable[[Row], None]:
    """Appends Appendix C's magnitudes of every member, in domain, to their table."""

    def record(place: Row) -> None:
        new: list[Row] = []
        for length in sorted({corpus.config.length for corpus in corpora}):
            some = [e for e, corpus in enumerate(corpora) if corpus.config.length == length]
            weights = {name: tensor[some] for name, tensor in learner.weights.items()}
            examples = [corpora[e].in_domain for e in some]
            found = member_gradients(weights, learner.shape, examples)
            for e, rows in zip(some, found, strict=True):
                labels = {"member": learner.names[e], **learner.labels[e]}
                new += [place | labels | row for row in rows]
        folder.append_rows(new, GRADIENTS)

    return record


def _describe(corpora: Sequence[ScaffoldCorpus]) -> dict[str, Any]:
    """Digests and true counts of the corpora; one that does not match its config is refused."""
    counts = {corpus.config.name: count_scaffolds(corpus).to_dict() for corpus in corpora}
    digests = {corpus.config.name: corpus.digest for corpus in corpora}
    return data_of(list(digests), digests, counts)


def data_of(
    names: Sequence[str], digests: Mapping[str, str], counts: Mapping[str, Any]
) -> dict[str, Any]:
    """The entry for these members' corpora in a manifest; the digest covers them in order."""
    whole = hashlib.sha256("".join(digests[name] for name in names).encode()).hexdigest()
    return {
        "sha256": whole,
        "corpora": {name: digests[name] for name in names},
        "counts": {name: counts[name] for name in names},
    }


def _refuse_different(runs: Sequence[ScaffoldRun]) -> None:
    """Raise if runs cannot be members of one ensemble."""
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
