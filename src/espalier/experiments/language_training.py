"""The models of a language, trained when they are first needed: each seed in its own folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from espalier.data import branching_corpus
from espalier.experiments.cache import RunCache
from espalier.experiments.languages import Language
from espalier.runs import HERE, RunFolder
from espalier.training import TextRun, train, train_ensembles


def trained_folder(language: Language, seed: int, cache: RunCache) -> RunFolder:
    """The run of one seed, trained to its end."""
    folder = RunFolder.create(_path_of(language, seed, cache))
    run = _run_of(language, seed, cache)
    if not _is_trained(folder):
        train(run, folder.path, device=str(cache.device), progress=cache.progress)
    return folder


def train_seeds(language: Language, cache: RunCache) -> None:
    """Train as one ensemble the seeds that this process can; `trained_folder` trains the others.

    The state of an interrupted ensemble is first split into its seeds' folders, whoever resumes
    them.
    """
    left = _left(language, cache)
    if left:
        here = left if cache.workers == HERE else {}
        place, device = cache.path / language.folder, str(cache.here)
        train_ensembles(place, here, device=device, progress=cache.progress)


def _left(language: Language, cache: RunCache) -> dict[Path, TextRun]:
    """The unfinished runs, by their folders."""
    if language.run is None:
        return {}
    paths = {seed: _path_of(language, seed, cache) for seed in range(language.seeds)}
    return {
        path: _run_of(language, seed, cache)
        for seed, path in paths.items()
        if not _is_trained(RunFolder(path))
    }


def _is_trained(folder: RunFolder) -> bool:
    manifest = folder.manifest()
    return manifest is not None and manifest["status"] == "finished"


def _path_of(language: Language, seed: int, cache: RunCache) -> Path:
    return cache.path / language.folder / f"seed-{seed}"


def _run_of(language: Language, seed: int, cache: RunCache) -> TextRun:
    assert language.run is not None
    run = replace(language.run, seed=seed)
    if language.made is None:
        return run
    place = cache.path / language.folder
    text = place / "text.txt"
    if not text.exists():
        branching_corpus(language.made).save(place)
    return replace(run, data=str(text))
