"""What is timed on an accelerator: learners' steps, ways to attend, and ways to run layers."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from benchmarks import attention, kernels, layers, learn, learning

from espalier.nets import Dice
from espalier.nets.transformer import model
from espalier.training.scan import TranslationTask
from espalier.training.scan_batches import Packing

# As on a machine that has torch and little else.
SCRIPT = """
import runpy, sys
sys.modules |= dict.fromkeys(["cyclopts", "rich", "pandas", "pyarrow", "scipy", "matplotlib"])
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_it_checks_and_times_every_kind(tmp_path, capsys):
    learn.main(["check", "--device", "cpu"])
    told = capsys.readouterr().out
    assert told.count("resumed: True") == len(told.splitlines()) == 19
    words = ["bench", "--scale", "smoke", "--each", "0.01", "--only", "traces", "readable"]
    learn.main([*words, "--device", "cpu", "--out", str(tmp_path)])
    timed = json.loads((tmp_path / "learn-bench.json").read_text())["alone"]
    assert len(timed) == 6
    assert all(row["steps_per_second"] > 0 for row in timed)


def test_work_is_counted_product_by_product():
    """Against a multiplication at a time, for one string through one layer."""
    run = learn.end_to_end("smoke")[0]  # width 8, 2 heads of 4, hidden 8, one layer, 4 positions
    each = 3 * 8 * 8 + 8 * 8 + 2 * (4 * 4) * 2 + 2 * 8 * 8
    assert learn.flops(run) == 6 * len(run.seeds) * run.recipe.batch * 4 * each


def test_work_on_scan_is_counted_position_by_position():
    """Every position of every row as if it were alone, through both stacks of one layer."""
    run = learning.translators("smoke")[0]
    task = TranslationTask.of(run, torch.device("cpu"))
    (rows, beside), size = task.packing.slots.shape, task.packing.parts.shape[1]
    words, width, inner = task.pairs.commands.shape[1], run.shape.width, 2 * 4
    matrix, mlp = width * inner, 2 * width * run.shape.hidden
    each = sum(4 * matrix + 2 * words * inner + mlp for _ in range(beside * words))
    each += sum(4 * matrix + 2 * size * inner + mlp for _ in range(size))
    each += sum(2 * matrix + 2 * beside * words * inner for _ in range(size))
    each += sum(2 * matrix for _ in range(beside * words))
    assert (run.shape.heads, run.shape.head_width, run.shape.layers) == (2, 4, 1)
    assert learning.flops(run) == 6 * len(run.splits) * len(run.seeds) * rows * each


def test_ways_to_attend_agree_where_there_is_little_but_torch(tmp_path):
    words = ["--small", "--device", "cpu", "--out", str(tmp_path)]
    command = [sys.executable, "-c", SCRIPT, attention.__file__, *words]
    subprocess.run(command, check=True, capture_output=True)
    table = json.loads((tmp_path / "attention.json").read_text())
    assert [row["way"] for row in table] == list(attention.WAYS)
    timed = {row["way"]: row["error"] for row in table if not row["refused"]}
    assert timed.keys() >= {"product by product", "torch's choice", "math"}
    assert max(timed.values()) < 1e-5


def test_a_step_of_attention_keeps_no_graph_that_would_spoil_a_recording():
    values = attention.SMALL.values(torch.device("cpu"), torch.float32)
    attend = attention.apart(attention.reference, attention.SMALL.heads)
    found = attention.both_ways(attend, values)
    assert len(found) == 3
    assert not any(tensor.requires_grad for tensor in found)


def test_kernels_are_told_per_step_the_longest_first():
    total, first, second = kernels.lines([(20.0, 10, "short"), (30.0, 40, "long")])
    assert total.split() == ["5.0", "us", "5.0", "x", "all"]
    assert first.split() == ["3.0", "us", "4.0", "x", "long"]
    assert second.endswith("short")


def test_kernels_of_a_learner_are_listed(capsys):
    """A CPU has none; the step is taken all the same."""
    words = ["--scale", "smoke", "--only", "scan", "--layers", "1", "--match", "shared", "relative"]
    kernels.main([*words, "--device", "cpu"])
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "scan 1 shared relative"
    assert told[1].split()[-1] == "all"


@pytest.fixture
def short_run():
    """A small Transformer on SCAN in bfloat16."""
    run = learning.translators("smoke")[0]
    return replace(run, recipe=replace(run.recipe, precision="bfloat16"))


def test_layers_by_both_ways_have_a_row_each(short_run, monkeypatch):
    """On a CPU both are one by one, and as exact as each other."""
    seen = []
    monkeypatch.setattr(model, "is_narrow", lambda *_: seen.append(model.LAYERS) or False)
    for name in ("WARM_UP", "AT_ONCE"):
        monkeypatch.setattr(layers, name, 1)
    one, other = layers.rows(short_run, 0.01, torch.device("cpu"))
    assert set(seen) == {"kernels"}, "the other way does not ask"
    assert model.LAYERS == "kernels"
    assert (one["way"], other["way"]) == layers.WAYS
    assert one["times_as_fast"] == 1.0
    assert other["times_as_fast"] > 0
    told = [name for name in one if name.startswith("error")]
    assert [one[name] for name in told] == [other[name] for name in told]
    assert all(0 < one[name] < 0.1 for name in told)
    head, *cells = layers.lines([one, other])
    assert head.split() == list(one)
    assert ["kernels" in line for line in cells] == [False, True]


def test_errors_are_told_of_the_same_examples_however_they_lie(short_run):
    task = TranslationTask.of(
        replace(short_run, recipe=replace(short_run.recipe, precision="float32", batch=13)),
        torch.device("cpu"),
    )
    sizes = torch.bincount(task.packing.sequences[task.packing.filled]).tolist()
    blocks = Packing.in_blocks(sizes, 9)
    assert torch.equal(layers.with_little_padding(blocks).parts, task.packing.parts)
    weights = short_run.first_weights([0] * 4)
    dice = Dice(torch.zeros(4, dtype=torch.int64), torch.tensor(0))
    found, other = (
        layers.logits_and_gradients(replace(task, packing=one), weights, dice)
        for one in (task.packing, blocks)
    )
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, other[name], rtol=1e-4, atol=1e-5)
    assert layers.norm_share([(tensor, 2 * tensor) for tensor in found.values()]) == 0.5


def test_the_way_is_what_it_was_after_a_fault():
    with layers.run_by("one by one"):
        assert model.LAYERS == "one by one"
    with suppress(KeyError), layers.run_by("one by one"):
        raise KeyError
    assert model.LAYERS == "kernels"


def test_layers_need_cuda_and_little_but_torch():
    command = [sys.executable, "-c", SCRIPT, layers.__file__]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    told = "this needs Triton from 3.4 on and a CUDA device of capability 9.0 or more"
    assert done.stderr.strip() == told
