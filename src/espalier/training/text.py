"""Language models trained on text, annealed on their validation loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch

from espalier.data import TEXTS, TextCorpus, fold, text_corpus
from espalier.errors import LARGEST_SEED, ConfigError, check_seed
from espalier.nets.language import AnyModel, language_model, models_of
from espalier.nets.lstm import LanguageModel, Vocabulary
from espalier.runs import Plan, Row, Snapshot, parse_schedule
from espalier.training.configs import Network, Recipe
from espalier.training.ensemble import EnsembleLearner, Member
from espalier.training.groupable import Groupable
from espalier.training.lstm_learner import LSTMLearner
from espalier.training.measures import TextLoss
from espalier.training.single import SingleLearner
from espalier.training.train import Prepared

Engine = Literal["alone", "batched"]
ALONE = "model"  # the name of one that is in no ensemble
TOGETHER_ON = ("cuda",)  # elsewhere products of several models may round otherwise than one's


def _english() -> Recipe:
    """The usual WikiText-2 recipe: rate 20, divided by 4 whenever validation is no better."""
    return Recipe(epochs=40, learning_rate=20.0, anneal=4.0, smallest_rate=0.01)


@dataclass(frozen=True)
class TextRun(Groupable):
    """One model on one text. `engine` 'alone' is nn.LSTM, 'batched' an ensemble, as of several.

    >>> TextRun("my/text.txt", vocabulary=10_000).recipe.learning_rate
    20.0
    """

    kind: ClassVar[str] = "text"

    data: str = "wikitext-2"
    vocabulary: int | None = None
    network: Network = field(default_factory=lambda: Network(hidden=400))
    recipe: Recipe = field(default_factory=_english)
    seed: int = 0
    keep: str = "epoch"
    engine: Engine = "alone"

    def __post_init__(self) -> None:
        if self.engine not in ("alone", "batched"):
            raise ConfigError(f"engine is {self.engine!r}; use 'alone' or 'batched'")
        check_seed(self.seed, least=-LARGEST_SEED, error=ConfigError)
        only = ("lstm", "sgd") if self.engine == "alone" else None
        if only and only != (self.network.architecture, self.recipe.optimiser):
            raise ConfigError(
                "engine 'alone' trains LSTMs by SGD; GRUs, Transformers and adamw need "
                "engine='batched'"
            )
        if self.engine == "alone" and (self.recipe.shifted or self.recipe.output_dropout):
            raise ConfigError("recipe.shifted and recipe.output_dropout need engine='batched'")

    def plan(self) -> Plan:
        """As many epochs as the recipe has, unless annealing ends training earlier."""
        return Plan(self.recipe.epochs, parse_schedule(self.keep))

    def with_seeds(self, seeds: tuple[int, ...]) -> list[TextRun]:
        """A model for each seed, on the same text."""
        return [replace(self, seed=seed) for seed in seeds]

    def prepare(self, device: torch.device, beside: Sequence[TextRun]) -> Prepared:
        """A model alone, or an ensemble of models that differ in their seed."""
        if beside and self.engine == "alone":
            raise ConfigError("several models of text are trained as one with engine='batched'")
        if any(replace(one, seed=self.seed) != self for one in beside):
            raise ConfigError("members of one ensemble on text may differ in their seed alone")
        corpus = text_corpus(self.data, vocabulary=self.vocabulary)
        facts = {"words": len(corpus.words), "unknown": corpus.unknown} | _digests(corpus)
        return Prepared(text_learner([self, *beside], corpus, device=device), facts)

    def digests(self) -> dict[str, str]:
        """Those of the user's own text, as it is now; none if it no longer exists."""
        place = Path(self.data)
        if self.data in TEXTS or not place.exists():
            return {}
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        stats = [file.stat() for file in files if file.is_file()]
        stamp = tuple((one.st_mtime_ns, one.st_size) for one in stats)
        return _read_digests(self.data, self.vocabulary, stamp)

    def shared(self, device: torch.device) -> str:
        """All settings but the seed, on CUDA."""
        if self.engine == "alone" or device.type not in TOGETHER_ON:
            return ""
        return repr(replace(self, seed=0))

    @property
    def member(self) -> str:
        """By the seed."""
        return f"seed-{self.seed}"

    def row_alone(self, row: Row) -> Row:
        """Without the seed."""
        return {name: value for name, value in row.items() if name != "seed"} | {"member": ALONE}

    def row_beside(self, row: Row) -> Row:
        """With the seed."""
        return row | {"member": self.member, "seed": self.seed}

    def data_alone(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The text, which all have."""
        return dict(data)

    @staticmethod
    def data_beside(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The text, which all have."""
        return dict(found[0])

    def models(self, weights: Snapshot, device: torch.device) -> tuple[AnyModel, ...]:
        """Every member as a model of its own."""
        return models_of(weights.tensors, weights.metadata)


def _digests(corpus: TextCorpus) -> dict[str, str]:
    return {"sha256": corpus.digest, "vocabulary_sha256": corpus.words_digest}


@lru_cache(maxsize=16)
def _read_digests(
    data: str, vocabulary: int | None, stamp: tuple[tuple[int, int], ...]
) -> dict[str, str]:
    """Of the text whose files have this stamp, read once for all seeds."""
    return _digests(text_corpus(data, vocabulary=vocabulary))


def text_learner(
    runs: Sequence[TextRun], corpus: TextCorpus, *, device: torch.device
) -> LSTMLearner:
    """The learner of these runs at its first step."""
    recipe, words = runs[0].recipe, Vocabulary(corpus.words, corpus.counts)
    models = [
        language_model(
            vocabulary_size=len(words),
            words=words,
            seed=run.seed,
            **run.network.sizes(longest=recipe.window),
        )
        for run in runs
    ]
    stream = torch.from_numpy(fold(corpus.train, batch=recipe.batch, window=recipe.window))
    transformer = runs[0].network.architecture == "transformer"
    window = max(1, recipe.window // 4) if transformer else 35
    tests = TextLoss.of(corpus.valid, device, window=window)
    if isinstance(models[0], LanguageModel) and runs[0].engine == "alone":
        seed = runs[0].seed
        return SingleLearner(models[0], stream, recipe, measure=tests, device=device, seed=seed)
    names = [ALONE] if len(runs) == 1 else [run.member for run in runs]
    team = [
        Member(name, model, run.seed, {} if len(runs) == 1 else {"seed": run.seed})
        for name, model, run in zip(names, models, runs, strict=True)
    ]
    streams = stream.expand(len(runs), -1, -1)
    return EnsembleLearner(team, streams, recipe, measure=tests, device=device)
