"""Models of a language at moments of their training, taken apart over its treebank, as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from espalier.data.branching import branching_corpus
from espalier.data.conllu import treebank
from espalier.data.treebank import Treebank
from espalier.experiments.languages import Language
from espalier.nets.lstm import (
    LanguageModel,
    checkpoints,
    english_model,
    initialise,
    load_language_model,
)
from espalier.runs import RunFolder
from espalier.syntax.pairs import pairs_of
from espalier.syntax.reading import describe_words
from espalier.syntax.scores import pair_scores
from espalier.syntax.summary import Row, baseline_rows, summarise
from espalier.training.text import TextRun, train_text

if TYPE_CHECKING:
    import pandas

    from espalier.experiments.shelf import Shelf

Which = Literal["last", "ends", "all"]


@dataclass(frozen=True)
class Moments:
    """The last moment of training, the first and the last, or every one that was kept."""

    language: Language
    which: Which = "last"


def syntax_rows(moments: Moments, shelf: Shelf) -> pandas.DataFrame:
    """`summarise` of every moment with its `seed` and `epoch`; baselines have seed and epoch -1."""
    import pandas as pd

    bank = read_bank(moments.language, shelf)
    pairs = pairs_of(bank)
    rows: list[Row] = [{"seed": -1, "epoch": -1.0} | row for row in baseline_rows(bank)]
    for seed, epoch, model in _models(moments, shelf):
        words = describe_words(model, bank)
        scores = pair_scores(model.to(shelf.device), bank)
        rows += [{"seed": seed, "epoch": epoch} | row for row in summarise(pairs, scores, words)]
    return pd.DataFrame(rows)


def table_of(rows: pandas.DataFrame, table: str) -> pandas.DataFrame:
    """The rows of one table, with its own columns alone."""
    own = rows[rows["table"] == table].drop(columns="table").dropna(axis="columns", how="all")
    whole = [name for name in own if own[name].dtype == float and (own[name] % 1 == 0).all()]
    counted = [name for name in whole if name in ("distance", "tree", "cases", "edges", "pairs")]
    found: pandas.DataFrame = own.astype(dict.fromkeys(counted, int)).reset_index(drop=True)
    return found


def read_bank(language: Language, shelf: Shelf) -> Treebank:
    """The sentences that are read."""
    if language.made is not None:
        return branching_corpus(language.made).bank
    source, count = language.bank.source, language.bank.sentences
    bank = treebank(source, name=source)
    return bank if count is None else bank.sample(count)


def digest(language: Language, shelf: Shelf) -> str:
    """SHA-256 over the treebank and what every model was trained on."""
    whole = hashlib.sha256(read_bank(language, shelf).digest.encode())
    for seed in range(language.seeds):
        if language.run is not None:
            manifest = _trained(language, seed, shelf).manifest() or {}
            whole.update(manifest["data"]["sha256"].encode())
    return whole.hexdigest()


def _models(moments: Moments, shelf: Shelf) -> Iterator[tuple[int, float, LanguageModel]]:
    """Seed, epoch and model of every moment; before training, the packaged model is at epoch 0."""
    language = moments.language
    if language.run is None:
        model = english_model()
        if moments.which != "last":
            yield 0, 0.0, initialise(english_model(), seed=0)
        yield 0, 1.0, model
        return
    for seed in range(language.seeds):
        folder = _trained(language, seed, shelf)
        files, last = checkpoints(folder.path), folder.rows()[-1]
        per_epoch = float(last["step"]) / float(last["epoch"])
        chosen = {"last": files[-1:], "ends": [files[0], files[-1]], "all": files}[moments.which]
        for file in chosen:
            kind, _, number = file.stem.partition("-")
            epoch = int(number) / (per_epoch if kind == "step" else 1)
            yield seed, epoch, load_language_model(file)


def _trained(language: Language, seed: int, shelf: Shelf) -> RunFolder:
    """The run of one seed, trained to its end."""
    folder = RunFolder.create(shelf.path / language.folder / f"seed-{seed}")
    run, manifest = _run_of(language, seed, shelf), folder.manifest()
    if manifest is None or manifest["status"] != "finished":
        train_text(run, out=folder.path, device=str(shelf.device), progress=shelf.progress)
    return folder


def _run_of(language: Language, seed: int, shelf: Shelf) -> TextRun:
    assert language.run is not None
    run = replace(language.run, seed=seed)
    if language.made is None:
        return run
    place = shelf.path / language.folder
    text = place / "text.txt"
    if not text.exists():
        branching_corpus(language.made).save(place)
    return replace(run, data=str(text))
