import itertools
import json
import math
from dataclasses import replace

import pytest
import torch

import espalier as es
from espalier import zoo
from espalier.learnability.lessons import lessons
from espalier.learnability.supervision import (
    TraceRun,
    TraceSettings,
    TraceTrained,
    agreement,
)
from espalier.learnability.supervision.traces import TraceTask
from espalier.nets.noise import Dice
from espalier.show.figures import draw_weights
from espalier.training import StepRecipe, open_run

SHORT = ["".join(bits) for size in range(1, 5) for bits in itertools.product("01", repeat=size)]
LONG = ["1" * 9, "10" * 6, "0" * 11, "0111011101"]
ENTRY = zoo.load("parity-sequential-relative")


def teach(tmp_path=None, *, steps=500, seeds=(0, 1), measures=2, **more):
    recipe = StepRecipe(steps, 64, 3e-3, "adam", measures, "float32")
    inputs, sizes = [ENTRY.encode(text) for text in SHORT], TraceSettings(hidden=64, recipe=recipe)
    run = TraceRun(ENTRY.program, inputs, sizes, seeds=seeds)
    return es.train(run, tmp_path, device="cpu", **more)


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    place = tmp_path_factory.mktemp("traces") / "run"
    return place, teach(place)


def test_an_mlp_trained_on_short_strings_runs_long_ones(taught):
    """The paper's finding for Sequential (Relative): its minimal version generalises, and so it."""
    _, found = taught
    assert [row["right"] for row in found.rows if row["step"] == 500] == [1.0, 1.0]
    for model in found.models:
        runs = model.run_many([ENTRY.encode(text) for text in LONG], max_layers=30)
        assert [run.outputs[-1] for run in runs] == [text.count("1") % 2 for text in LONG]
        assert all(run.halted for run in runs)


def test_a_run_is_read_back_from_its_folder(taught):
    place, found = taught
    again = open_run(place, kinds=[TraceRun]).models
    z = torch.randn(2, 3, found.models[0].layout.width)
    for one, other in zip(found.models, again, strict=True):
        assert torch.equal(one.encoder.mlp(z), other.encoder.mlp(z))
    manifest = json.loads((place / "manifest.json").read_text())
    assert (manifest["kind"], manifest["status"]) == ("traces", "finished")
    (listed,) = es.list_runs(place)
    assert (listed.kind, listed.members, listed.epoch, listed.epochs) == ("traces", 2, 2.0, 2)
    with pytest.raises(es.ModelError, match="holds rules, not a trained MLP"):
        found.models[0].save(place / "model.safetensors")
    with pytest.raises(es.ConfigError, match=r"holds another run: .*seeds.1 1 -> None"):
        teach(place, seeds=(0,))


def test_a_folder_is_of_one_program(tmp_path):
    """Another output is read from the same lessons; the folder stays that of the first."""
    settings = TraceSettings(hidden=8, recipe=StepRecipe(2, 8, measures=1))
    inputs = [ENTRY.encode(text) for text in SHORT]
    es.train(TraceRun(ENTRY.program, inputs, settings), tmp_path, device="cpu")
    other = replace(ENTRY.program, output_name="done")
    with pytest.raises(es.ConfigError, match="was begun on another program"):
        es.train(TraceRun(other, inputs, settings), tmp_path, device="cpu")
    kept = open_run(tmp_path, kinds=[TraceRun])
    assert kept.config.program == ENTRY.program
    assert kept.model.program == ENTRY.program


def test_results_show_themselves(taught):
    _, found = taught
    assert str(found).startswith("traces, 2 trained for 500 steps, in ")
    assert "\ntrain_loss 0." in str(found)
    table = found.to_frame()
    assert table.step.tolist() == [250, 250, 500, 500]
    assert table.right.tolist() == [row["right"] for row in found.rows]
    assert "TraceTrained(2 heads, residual width 9, trained MLP of 64 and 64 units" in str(
        found.models[0]
    )
    # The rules that the MLP replaced are not shown as what it does.
    with pytest.raises(es.ModelError, match="its units stand for no rules"):
        draw_weights(found.models[0])


def test_agreement_is_the_share_of_inputs_answered_as_the_program_does(taught):
    compiled = es.compile_program(ENTRY.program)
    still = {"layer0_weight": torch.zeros(1, 9, 9), "layer0_bias": torch.zeros(1, 9)}
    idle = TraceTrained(compiled, still)  # every position keeps its own bit
    inputs = [ENTRY.encode(text) for text in ("0", "10", "11", "0001")]
    shares = agreement(ENTRY.program, [compiled, idle, taught[1].models[0]], inputs)
    assert shares == [1.0, 0.5, 1.0]


def test_the_loss_is_of_the_noisy_stream_against_the_clean_outcome():
    """By its definition, example by example, with a network that changes nothing."""
    model = es.compile_program(ENTRY.program)
    pairs = lessons(model, [ENTRY.encode(text) for text in SHORT])
    settings = TraceSettings(noise=0.2, recipe=StepRecipe(2, 5, measures=1))
    task = TraceTask.of(pairs, settings, torch.device("cpu"))
    dice = Dice(torch.tensor([4]), torch.tensor(9))
    still = {"layer0_weight": torch.zeros(1, 9, 9), "layer0_bias": torch.zeros(1, 9)}
    chosen = dice.choices(0, 5, torch.tensor([len(pairs)]))[0]
    noise = dice.gaussians(1, 45).view(5, 9)
    by_hand = [
        sum(
            float(pairs.before[row, d] + 0.2 * noise[n, d] - pairs.after[row, d]) ** 2
            for d in range(9)
        )
        for n, row in enumerate(chosen.tolist())
    ]
    assert float(task.losses(still, dice)[0]) == pytest.approx(sum(by_hand) / 45, rel=1e-5)


def test_the_compiled_rules_would_lose_nothing():
    """Lessons are consistent: the compiled sub-layer maps every `before` to its `after`."""
    model = es.compile_program(ENTRY.program)
    pairs = lessons(model, [ENTRY.encode(text) for text in SHORT])
    assert torch.equal(pairs.before + model.encoder.mlp(pairs.before), pairs.after)


def test_what_cannot_be_taught_is_refused(tmp_path):
    with pytest.raises(es.ProgramError, match="the training set is empty"):
        es.train(TraceRun(ENTRY.program, []))
    with pytest.raises(
        es.ConfigError, match=r"seeds are \(1, 1\); say how many, or give integers: at least one"
    ):
        teach(seeds=(1, 1))
    for seeds in (0, (0.5,), (True,), ("a",), (1 << 64,)):
        with pytest.raises(es.ConfigError, match="seeds are "):
            teach(seeds=seeds)
    for noise in (-1, math.nan, math.inf):
        with pytest.raises(es.ConfigError, match=f"noise is {noise}; a standard deviation is 0 or"):
            TraceSettings(noise=noise)
    with pytest.raises(es.ConfigError, match="hidden is 0; it must be at least 1"):
        TraceSettings(hidden=0)
