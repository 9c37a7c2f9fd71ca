import signal
from dataclasses import replace

import pytest
from pandas.testing import assert_frame_equal

from espalier.errors import ConfigError
from espalier.experiments import RunCache, reproduce
from espalier.experiments.languages import Bank, Language, english, english_in_training, made_up
from espalier.experiments.syntax_claims import Seeds
from espalier.experiments.syntax_figures import OneLanguage
from espalier.runs import Interrupted, RunFolder, checkpoint_name, parse_schedule, steps_of

MADE = made_up("left", "smoke")


def test_at_paper_scale_all_experiments_on_english_read_the_same_five_models():
    assert english("paper") == english_in_training("paper") == Seeds.at("paper").language
    assert english("paper").seeds == 5
    run = english("paper").run
    assert (run.data, run.vocabulary, run.network.hidden) == ("wikitext-2", None, 400)
    epochs = run.recipe.epochs
    kept = {
        checkpoint_name(step, 100)
        for one in parse_schedule(run.keep)
        for step in steps_of(one, epochs=epochs, steps_per_epoch=100)
    }
    assert {"step-0", f"epoch-{epochs}"} <= kept  # the untrained network, and the last moment


def test_models_do_not_depend_on_what_they_read():
    english_ = english("paper")
    some = replace(english_, bank=Bank(sentences=10), seeds=3)
    assert some.folder == english_.folder
    assert some.name != english_.name
    assert made_up("right", "smoke").folder != MADE.folder
    with pytest.raises(ConfigError, match="no more than 1 without a run"):
        Language(seeds=2)
    with pytest.raises(ConfigError, match="needs a run"):
        Language(made=MADE.made)


def test_what_was_interrupted_is_resumed_and_its_models_serve_every_experiment(tmp_path):
    def stop(moment):
        if moment.rows:
            signal.raise_signal(signal.SIGINT)

    given = {"scale": "smoke", "config": OneLanguage(MADE)}
    first = RunCache(tmp_path / "runs", device="cpu", progress=stop)
    with pytest.raises(Interrupted, match="the same command resumes"):
        reproduce("bottom-up-figure-4", out=tmp_path / "four", runs=first, **given)
    steps = []
    later = RunCache(
        tmp_path / "runs", device="cpu", progress=lambda moment: steps.append(moment.step)
    )
    found = reproduce("bottom-up-figure-4", out=tmp_path / "four", runs=later, **given)
    assert min(steps) > 0  # it did not start over
    straight = RunCache(tmp_path / "others", device="cpu")
    again = reproduce("bottom-up-figure-4", out=tmp_path / "again", runs=straight, **given)
    assert_frame_equal(found.rows, again.rows)
    before = [RunFolder(path).manifest() for path in sorted((tmp_path / "runs").glob("*/seed-*"))]
    assert [one["status"] for one in before] == ["finished"] * MADE.seeds
    steps.clear()
    later = RunCache(
        tmp_path / "runs", device="cpu", progress=lambda moment: steps.append(moment.step)
    )
    reproduce("bottom-up-figure-3", out=tmp_path / "three", runs=later, **given)
    over = {"scale": "smoke", "config": OneLanguage(MADE)}
    reproduce("syntax-over-training", out=tmp_path / "over", runs=later, **over)
    assert not steps  # nothing was trained again
