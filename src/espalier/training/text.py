"""Training a language model on text, annealed on its validation loss."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Literal

import torch

from espalier.data.batches import fold
from espalier.data.text import TextCorpus, text_corpus
from espalier.errors import ConfigError
from espalier.nets.lstm import Vocabulary, language_model
from espalier.runs import Plan, Progress, Row, RunFolder, choose_device, parse_schedule
from espalier.training.alone import Alone
from espalier.training.ensembles import Ensemble, Member
from espalier.training.kept import keep_run
from espalier.training.measures import TextLoss
from espalier.training.recipe import Recipe
from espalier.training.scaffold import Network

Engine = Literal["alone", "batched"]


def _english() -> Recipe:
    """The usual WikiText-2 recipe: rate 20, divided by 4 whenever validation is no better."""
    return Recipe(epochs=40, learning_rate=20.0, anneal=4.0, smallest_rate=0.01)


@dataclass(frozen=True)
class TextRun:
    """One model on one text. `engine` 'alone' is nn.LSTM, 'batched' an ensemble of one."""

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

    def to_dict(self) -> dict[str, object]:
        """Every setting, nested as it is here."""
        return asdict(self)


def train_text(
    run: TextRun,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Row]:
    """Train and return the measures; with `out`, keep the run there and go on with it."""
    where = choose_device(device)
    corpus = text_corpus(run.data, data=data, vocabulary=run.vocabulary)
    learner = text_learner(run, corpus, device=where)
    folder = None if out is None else RunFolder.create(out)
    plan = Plan(run.recipe.epochs, parse_schedule(run.keep))
    facts = {"sha256": corpus.digest, "words": len(corpus.words), "unknown": corpus.unknown}
    about = ("text", run.to_dict(), facts)
    return keep_run(learner, plan, folder=folder, about=about, progress=progress)


def text_learner(run: TextRun, corpus: TextCorpus, *, device: torch.device) -> Alone | Ensemble:
    """The learner of this run at its first step."""
    model = language_model(
        vocabulary_size=len(corpus.words),
        words=Vocabulary(corpus.words, corpus.counts),
        seed=run.seed,
        **asdict(run.network),
    )
    folded = fold(corpus.train, batch=run.recipe.batch, window=run.recipe.window)
    stream = torch.from_numpy(folded)
    tests = TextLoss.of(corpus.valid, device)
    if run.engine == "batched":
        team = [Member("model", model, run.seed)]
        return Ensemble(team, stream[None], run.recipe, measure=tests, device=device)
    return Alone(model, stream, run.recipe, measure=tests, device=device, seed=run.seed)
