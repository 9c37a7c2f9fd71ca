"""Seeds of a language whose models one process trains on CUDA: as one ensemble."""

import os
import shutil
import signal
from dataclasses import replace

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from espalier.errors import FileError
from espalier.experiments import RunCache
from espalier.experiments.english_architectures import ByLayer, syntax_by_layer
from espalier.experiments.english_figures import ModelsOfText, measure
from espalier.experiments.language_checkpoints import Checkpoints, digest, syntax_rows
from espalier.experiments.language_training import train_seeds, trained_folder
from espalier.experiments.languages import english, made_up
from espalier.runs import Interrupted, RunFolder, Workers
from espalier.training import text

MADE = made_up("left", "smoke")
LANGUAGE = replace(MADE, run=replace(MADE.run, engine="batched"), seeds=3)


@pytest.fixture(autouse=True)
def _together_on_cpus(monkeypatch):
    monkeypatch.setattr(text, "TOGETHER_ON", ("cpu",))


def cache_of(place, told=None, **more):
    progress = None if told is None else lambda moment: told.append((moment.name, moment.step))
    return RunCache(place, device="cpu", progress=progress, **more)


def beside(cache, language=LANGUAGE):
    """For every seed, how many others it was trained with."""
    folders = sorted((cache.path / language.folder).glob("seed-*"))
    return [RunFolder(folder).manifest().get("trained_beside") for folder in folders]


def stop(moment):
    if moment.rows:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    cache = cache_of(tmp_path_factory.mktemp("alone"))
    return cache, syntax_rows(Checkpoints(LANGUAGE), cache)


def test_rows_are_those_of_seeds_that_were_trained_alone(tmp_path, alone):
    told = []
    cache = cache_of(tmp_path, told)
    rows = syntax_rows(Checkpoints(LANGUAGE), cache)
    assert len({name for name, _ in told}) == 1
    assert beside(cache) == [2, 2, 2]
    assert beside(alone[0]) == [None, None, None]
    assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(alone[1]), rtol=1e-3)
    assert digest(LANGUAGE, cache) == digest(LANGUAGE, alone[0])
    told.clear()
    assert syntax_rows(Checkpoints(LANGUAGE), cache) == rows
    assert not told


@pytest.mark.parametrize(
    "ask",
    [
        lambda cache: measure(ModelsOfText((LANGUAGE,)), cache),
        lambda cache: syntax_by_layer(ByLayer(LANGUAGE), cache),
        lambda cache: digest(LANGUAGE, cache),
    ],
)
def test_whoever_asks_first_has_them_trained_together(tmp_path, ask):
    cache = cache_of(tmp_path)
    ask(cache)
    assert beside(cache) == [2, 2, 2]


def test_only_seeds_that_are_not_trained_are(tmp_path):
    cache = cache_of(tmp_path)
    train_seeds(replace(LANGUAGE, seeds=2), cache)
    train_seeds(replace(LANGUAGE, seeds=5), cache)
    assert beside(cache) == [1, 1, 2, 2, 2]


def test_what_was_stopped_goes_on_as_an_ensemble(tmp_path):
    with pytest.raises(Interrupted, match=r"saved in .*\.ensemble-"):
        train_seeds(LANGUAGE, RunCache(tmp_path, device="cpu", progress=stop))
    told = []
    cache = cache_of(tmp_path, told)
    train_seeds(LANGUAGE, cache)
    assert min(step for _, step in told) > 1
    assert beside(cache) == [2, 2, 2]


def test_what_was_stopped_is_gone_on_with_by_workers_and_by_one_seed(tmp_path):
    with pytest.raises(Interrupted):
        train_seeds(LANGUAGE, RunCache(tmp_path, device="cpu", progress=stop))
    place = tmp_path / LANGUAGE.folder
    one, told = replace(LANGUAGE, seeds=1), []
    train_seeds(one, cache_of(tmp_path, told, workers=Workers(2)))
    assert not told
    reached = RunFolder(place / "seed-2").resume_step()
    assert reached > 0
    assert not list(place.glob(".ensemble*"))
    cache = cache_of(tmp_path, told)
    trained_folder(LANGUAGE, 0, cache)
    assert min(step for _, step in told) > reached
    train_seeds(LANGUAGE, cache)  # those that are left, from where they are
    assert beside(cache) == [None, 1, 1]


def test_elsewhere_and_by_workers_each_seed_is_trained_alone(tmp_path, monkeypatch):
    train_seeds(LANGUAGE, cache_of(tmp_path, workers=Workers(2)))
    train_seeds(MADE, cache_of(tmp_path))  # by the engine of one model
    monkeypatch.undo()
    train_seeds(LANGUAGE, cache_of(tmp_path))
    train_seeds(english("small"), cache_of(tmp_path))  # the package's own model is read
    assert not list(tmp_path.glob("*/seed-*/*"))
    assert not list(tmp_path.glob("*/.*"))


@pytest.mark.parametrize("place", [0, -1])
def test_weights_of_another_seed_are_refused(tmp_path, alone, place):
    shutil.copytree(alone[0].path, tmp_path, dirs_exist_ok=True)
    folders = sorted((tmp_path / LANGUAGE.folder).glob("seed-*"))
    name = f"{list(RunFolder(folders[0]).checkpoints())[place]}.safetensors"
    shutil.copy(folders[1] / name, folders[0] / name)
    with pytest.raises(FileError, match=rf"{name} is another run's"):
        syntax_rows(Checkpoints(LANGUAGE, "ends"), cache_of(tmp_path))
    if place == -1:
        with pytest.raises(FileError, match=rf"{name} is another run's"):
            syntax_by_layer(ByLayer(LANGUAGE), cache_of(tmp_path))
