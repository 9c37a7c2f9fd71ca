from dataclasses import replace

import pytest

from espalier.errors import ConfigError
from espalier.experiments import find, names
from espalier.experiments.scaffold_models import ScaffoldModels, familiarity, frequency
from espalier.experiments.scaffold_rows import GrowingFocus
from espalier.training import Recipe

SCALES = ("smoke", "small", "paper")


def test_the_papers_sizes():
    models = familiarity("paper")
    assert models == ScaffoldModels()
    assert len(models.runs()) == 4 * 2 * 5
    corpus, recipe = models.corpus, models.recipe
    assert (corpus.tokens, corpus.vocabulary, corpus.rules) == (1_000_000, 1_000, 1_000)
    assert (recipe.learning_rate, recipe.clip, models.network.hidden) == (1.0, 0.25, 200)
    rare = frequency("paper")
    assert len(rare.runs()) == 4 * 4 * 5
    assert rare.recipe.epochs == 40
    assert {run.corpus.setting for run in rare.runs()} == {"unfamiliar"}


@pytest.mark.parametrize("scale", SCALES)
def test_figures_read_epochs_that_are_kept(scale):
    usual, others = familiarity(scale), frequency(scale)
    assert not set(usual.rules) & set(others.rules)
    eleven = find("bottom-up-figure-11").config(scale)
    assert eleven.epoch in eleven.usual.kept
    assert eleven.epoch in eleven.others.kept
    for name in ("bottom-up-figure-9", "bottom-up-figure-12"):
        config = find(name).config(scale)
        assert set(config.epochs) <= set(config.models.kept)
    for name in names():
        hash(find(name).config(scale))


def test_members_differ_in_what_is_listed_and_in_nothing_else():
    models = familiarity("smoke")
    runs = models.runs()
    assert len({run.corpus.name for run in runs}) == len(runs)
    plain = {replace(run.corpus, length=2, setting="familiar", seed=0) for run in runs}
    assert len(plain) == 1
    assert {run.keep for run in runs} == {"epochs:1,2"}


def test_equal_settings_have_one_name_and_others_another():
    models = familiarity("smoke")
    assert models.name == familiarity("smoke").name
    changed = [replace(models, seeds=3), replace(models, recipe=replace(models.recipe, clip=1.0))]
    assert len({models.name, *(one.name for one in changed)}) == 3


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="seeds is 0"):
        ScaffoldModels(seeds=0)
    with pytest.raises(ConfigError, match="between 1 and 4"):
        ScaffoldModels(kept=(5,), recipe=Recipe(epochs=4))
    with pytest.raises(ConfigError, match="no scale 'smal'; did you mean 'small'"):
        familiarity("smal")
    with pytest.raises(ConfigError, match="length 3; lengths: "):
        GrowingFocus(ScaffoldModels(), length=3)
