import math
import os
import signal

import pytest
import torch

from espalier.errors import ConfigError, FileError
from espalier.runs import Interrupted, Plan, RunFolder, fit
from espalier.training import StepRecipe, TaskLearner, by_seed

CPU = torch.device("cpu")


class Slopes:
    """Lines through noisy points: every member looks for slope 3."""

    def seen(self, weights):
        return weights

    def losses(self, weights, dice):
        x = dice.gaussians(0, 16)
        y = 3 * x + 0.1 * dice.gaussians(1, 16)
        return (x * weights["slope"].squeeze(1) - y).square().mean(1)

    def measure(self, weights):
        return [{"slope": float(slope)} for slope in weights["slope"].flatten()]


def learner_of(*seeds, optimiser="adam", steps=40):
    recipe = StepRecipe(steps, 16, 0.2, optimiser, measures=4)
    first = torch.tensor([float(seed) for seed in seeds]).view(-1, 1, 1)
    return TaskLearner(Slopes(), {"slope": first}, recipe, members=by_seed(seeds), device=CPU)


def test_members_learn_what_they_would_learn_alone():
    together = fit(learner_of(1, 2, 5), Plan(4))
    for seed in (1, 2, 5):
        alone = fit(learner_of(seed), Plan(4))
        assert [row for row in together if row["seed"] == seed] == alone
    last = [row for row in together if row["step"] == 40]
    assert all(abs(row["slope"] - 3) < 0.5 for row in last if row["seed"] != 5)


@pytest.mark.parametrize("optimiser", ["adam", "adafactor"])
@pytest.mark.parametrize("cut", [1, 10, 23])
def test_going_on_from_any_step_gives_the_same_numbers(tmp_path, optimiser, cut):
    whole = fit(learner_of(0, 1, optimiser=optimiser), Plan(4))
    folder = RunFolder.create(tmp_path)

    def stop_at(moment):
        if moment.step >= cut:
            os.kill(os.getpid(), signal.SIGINT)

    plan = Plan(4, slice_seconds=1e-9)
    with pytest.raises(Interrupted, match=f"interrupted at step {cut} of 40; saved in"):
        fit(learner_of(0, 1, optimiser=optimiser), plan, folder=folder, progress=stop_at)
    assert fit(learner_of(0, 1, optimiser=optimiser), plan, folder=folder) == whole


def test_a_state_of_other_models_is_refused(tmp_path):
    folder = RunFolder.create(tmp_path)
    folder.save_resume(learner_of(0, 1).state(), 0)
    with pytest.raises(FileError, match=r"is of another network: .* \(2,\) there, .* \(1,\) here"):
        fit(learner_of(0), Plan(4), folder=folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"steps": 10, "measures": 3}, "10 steps are not divided evenly by 3 measures"),
        ({"batch": 8.5}, "batch is 8.5, a float; a whole number is expected"),
        ({"learning_rate": math.inf}, "learning_rate is inf; use a number above 0"),
        ({"learning_rate": "a"}, "learning_rate is 'a'; use a number above 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; use a number above 0"),
        ({"optimiser": "adm"}, "optimiser is 'adm'; did you mean 'adam'"),
        ({"precision": "half"}, "precision is 'half'; known: 'bfloat16', 'float32', 'tf32'"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        StepRecipe(**changes)
