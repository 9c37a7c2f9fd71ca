"""Checkpoints of models of a language, decomposed over its treebank, as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from espalier.data import Treebank, branching_corpus, treebank
from espalier.experiments.cache import RunCache
from espalier.experiments.language_training import train_seeds, trained_folder
from espalier.experiments.languages import Language
from espalier.nets.language import english_model
from espalier.nets.lstm import (
    LanguageModel,
    checkpoints,
    initialise,
    load_language_model,
)
from espalier.syntax import Row, baseline_rows, describe_words, pair_scores, pairs_of, summarise

Which = Literal["last", "ends", "all"]


@dataclass(frozen=True)
class Checkpoints:
    """A language's models at the end of training, at both ends, or at every checkpoint."""

    language: Language
    which: Which = "last"


def syntax_rows(of: Checkpoints, cache: RunCache) -> list[Row]:
    """`summarise` of every checkpoint with its `seed` and `epoch`; baselines have -1 for both."""
    bank = read_bank(of.language)
    rows: list[Row] = [{"seed": -1, "epoch": -1.0} | row for row in baseline_rows(bank)]
    train_seeds(of.language, cache)
    return rows + cache.gather(_seed_rows, [(of, seed) for seed in range(of.language.seeds)])


def _seed_rows(of_seed: tuple[Checkpoints, int], cache: RunCache) -> list[Row]:
    of, seed = of_seed
    bank = read_bank(of.language)
    pairs, rows = pairs_of(bank), list[Row]()
    for epoch, model in _models(of, seed, cache):
        words = describe_words(model, bank)
        scores = pair_scores(model.to(cache.device), bank)
        rows += [{"seed": seed, "epoch": epoch} | row for row in summarise(pairs, scores, words)]
    return rows


def table_of(rows: list[Row], table: str) -> list[Row]:
    """The rows of one table, with its own columns alone."""
    own = [row for row in rows if row["table"] == table]
    return [{name: value for name, value in row.items() if name != "table"} for row in own]


def read_bank(language: Language) -> Treebank:
    """The sentences that are read."""
    if language.made is not None:
        return branching_corpus(language.made).bank
    assert language.bank is not None
    source, count = language.bank.source, language.bank.sentences
    bank = treebank(source, name=source)
    return bank if count is None else bank.sample(count)


def digest(language: Language, cache: RunCache) -> str:
    """SHA-256 over the treebank, if one is read, and what every model was trained on."""
    read = language.bank is not None or language.made is not None
    train_seeds(language, cache)
    whole = hashlib.sha256(read_bank(language).digest.encode() if read else b"")
    for seed in range(language.seeds):
        if language.run is not None:
            whole.update(trained_folder(language, seed, cache).data_sha256().encode())
    return whole.hexdigest()


def _models(of: Checkpoints, seed: int, cache: RunCache) -> Iterator[tuple[float, LanguageModel]]:
    """Epoch and model of every moment; before training, the packaged model is at epoch 0."""
    language = of.language
    if language.run is None:
        model = english_model()
        if of.which != "last":
            yield 0.0, initialise(english_model(), seed=0)
        yield 1.0, model
        return
    folder = trained_folder(language, seed, cache)
    files, last = checkpoints(folder.path), folder.measured()[-1]
    per_epoch = float(last["step"]) / float(last["epoch"])
    chosen = {"last": files[-1:], "ends": [files[0], files[-1]], "all": files}[of.which]
    for file in chosen:
        folder.check_checkpoint(file.stem)
        kind, _, number = file.stem.partition("-")
        yield int(number) / (per_epoch if kind == "step" else 1), load_language_model(file)
