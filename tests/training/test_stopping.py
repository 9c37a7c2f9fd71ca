"""Training that ends once its own examples are right, by a rule that is declared before."""

import os
import signal
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from espalier.data import ParityConfig, parity_set
from espalier.errors import ConfigError
from espalier.learnability.supervision import ReadableSettings, TraceSettings
from espalier.nets.transformer import TransformerShape
from espalier.runs import Interrupted, RunFolder, fit
from espalier.training import (
    SYMBOLS,
    TOKENS,
    ParityRun,
    ScanRun,
    StepRecipe,
    TaskLearner,
    as_settings,
    by_seed,
    step_plan,
)

CPU = torch.device("cpu")
SHARES = (0.5, 0.98, 0.99, 0.99, 1.0, 1.0, 1.0)


class Coins:
    """Members whose share of right examples is decided by the last bits of what they learn."""

    fit = "right"

    def seen(self, weights):
        return weights

    def losses(self, weights, dice):
        return (weights["slope"].flatten() * (1 + dice.seeds) - 1).square()

    def measure(self, weights):
        bits = weights["slope"].detach().flatten().view(torch.int32).tolist()
        return [{"right": SHARES[each % len(SHARES)], "test": 0.0} for each in bits]


def learner_of(recipe, seeds):
    first = torch.arange(1.0, len(seeds) + 1).view(-1, 1, 1)
    return TaskLearner(Coins(), {"slope": first}, recipe, members=by_seed(seeds), device=CPU)


def first_end(rows, recipe):
    """The step of the first measure after enough good ones, or the last; the rule, spelt out."""
    steps = sorted({row["step"] for row in rows})
    for last in range(recipe.stop_measures, len(steps) + 1):
        some = steps[last - recipe.stop_measures : last]
        if all(row["right"] >= recipe.stop_share for row in rows if row["step"] in some):
            return steps[last - 1]
    return steps[-1]


recipes = st.builds(
    lambda share, count, more, each: StepRecipe(
        each * (count + more), 4, 0.1, "adam", count + more, stop_share=share, stop_measures=count
    ),
    st.sampled_from((0.3, 0.6, 0.99, 1.0)),
    st.integers(1, 4),
    st.integers(0, 6),
    st.integers(1, 2),
)


KILLS = st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=2)


@given(recipes, st.integers(1, 3), st.integers(0, 99))
def test_it_ends_where_the_rule_says_with_the_rows_up_to_there(recipe, members, seed):
    seeds = range(seed, seed + members)
    plain = replace(recipe, stop_share=None, stop_measures=3)
    whole = fit(learner_of(plain, seeds), step_plan(plain))
    end = first_end(whole, recipe)
    learner = learner_of(recipe, seeds)
    assert fit(learner, step_plan(recipe)) == [row for row in whole if row["step"] <= end]
    assert (learner.step, learner.finished) == (end, learner.fitted >= recipe.stop_measures)
    assert learner.finished or end == recipe.steps


@given(recipes, st.integers(0, 99), KILLS)
def test_killed_and_resumed_it_ends_at_the_same_step(tmp_path_factory, recipe, seed, kills):
    """By Ctrl-C, which saves, or by force, which goes back to the last point that was saved."""
    seeds, plan = (seed, seed + 1), replace(step_plan(recipe), slice_seconds=1e-9, save_seconds=0)
    whole = fit(learner_of(recipe, seeds), plan)
    folder = RunFolder.create(tmp_path_factory.mktemp("run"))
    for cut, gently in kills:

        def stop(moment, cut=cut, gently=gently):
            if moment.taken >= cut:
                if not gently:
                    raise BrokenPipeError
                os.kill(os.getpid(), signal.SIGINT)

        with suppress(Interrupted, BrokenPipeError):
            fit(learner_of(recipe, seeds), plan, folder=folder, progress=stop)
    for _ in range(2):  # the second has nothing to do
        learner = learner_of(recipe, seeds)
        assert fit(learner, plan, folder=folder) == whole
    last = max(row["step"] for row in whole)
    assert (learner.step, folder.last_checkpoint().metadata["step"]) == (last, str(last))


def test_a_checkpoint_of_the_stop_that_was_lost_is_written_again(tmp_path):
    recipe = StepRecipe(40, 4, 0.1, "adam", 40, stop_share=0.3)
    folder = RunFolder.create(tmp_path)
    fit(learner_of(recipe, (0,)), step_plan(recipe), folder=folder)
    assert list(folder.checkpoints()) == ["epoch-3"]
    (tmp_path / "epoch-3.safetensors").unlink()
    fit(learner_of(recipe, (0,)), step_plan(recipe), folder=folder)
    assert list(folder.checkpoints()) == ["epoch-3"]


def test_a_recipe_without_the_rule_has_the_name_and_the_state_it_always_had():
    plain = StepRecipe(40, 4, 0.1, "adam", 40)
    assert list(as_settings(plain)) == [
        *("steps", "batch", "learning_rate", "optimiser", "measures", "precision")
    ]
    assert as_settings(replace(plain, stop_share=0.9))["stop_share"] == 0.9
    assert "fitted" not in learner_of(plain, (0,)).state()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop_share": 0.0}, "stop_share is 0.0; use a share .* above 0 and up to 1"),
        ({"stop_share": 99}, "stop_share is 99; use a share"),
        ({"stop_share": True}, "stop_share is True; use a share"),
        ({"stop_share": float("nan")}, "stop_share is nan; use a share"),
        ({"stop_share": "all"}, "stop_share is 'all'; use a share"),
        ({"stop_share": 0.9, "stop_measures": 0}, "stop_measures is 0; it must be at least 1"),
        ({"stop_share": 0.9, "stop_measures": 1.5}, "stop_measures is 1.5, a float"),
        ({"stop_share": 0.9, "stop_measures": 11}, "is 11, and there are 10 measures in all"),
        ({"stop_measures": 5}, "stop_measures is 5 without a stop_share"),
    ],
)
def test_rules_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        StepRecipe(**changes)


# Every kind that is trained by steps.

RULE = StepRecipe(20, 4, 1e-3, "adam", 10, "float32", stop_share=1e-9, stop_measures=2)
SIZES = {"width": 8, "hidden": 8, "heads": 2, "head_width": 4, "layers": 1}


def parity_run(recipe):
    shape = TransformerShape(TOKENS, 2, **SIZES)
    return ParityRun(shape, ParityConfig(3, 4), ParityConfig(6, 4, seed=1), recipe, seeds=2)


def scan_run():
    shape = TransformerShape(len(SYMBOLS), len(SYMBOLS), **SIZES, decoder=True)
    recipe = replace(RULE, steps=400, learning_rate=3e-2, measures=40, stop_share=0.99)
    return ScanRun(shape, ("upto:1,2",), replace(recipe, batch=8), seeds=2, tests=8)


def program_run(kind, settings):
    entry = es.zoo.load("parity-sequential-relative")
    return kind(entry.program, [entry.encode("011"), entry.encode("10")], settings, seeds=2)


RUNS = {
    "parity": lambda: parity_run(RULE),
    "scan": scan_run,
    "traces": lambda: program_run(
        es.TraceRun, TraceSettings(1, 64, recipe=replace(RULE, steps=400, learning_rate=1e-2))
    ),
    "readable": lambda: program_run(es.ReadableRun, ReadableSettings(8, 8, 2, 4, RULE)),
}


@pytest.mark.parametrize("kind", RUNS)
def test_every_kind_stops_and_is_read_back(tmp_path, kind):
    run = RUNS[kind]()
    recipe = getattr(run, "recipe", None) or run.settings.recipe
    found = es.train(run, tmp_path, device="cpu")
    assert 0 < found.step < recipe.steps
    again = es.load(tmp_path)
    assert (again.step, again.rows) == (found.step, found.rows)
    assert all(torch.equal(w, again.weights.tensors[n]) for n, w in found.weights.tensors.items())
    read = getattr(again.config, "recipe", None) or again.config.settings.recipe
    assert read == recipe
    assert es.train(run, tmp_path, device="cpu").rows == found.rows


def test_parity_measures_training_strings_too():
    found = es.train(parity_run(replace(RULE, stop_share=None, stop_measures=3)), device="cpu")
    strings = parity_set(ParityConfig(3, 4))
    right = (found.models.predict(strings) == strings.parities).mean(1)
    last = [row["train_accuracy"] for row in found.rows if row["step"] == 20]
    assert last == pytest.approx(right.tolist())
