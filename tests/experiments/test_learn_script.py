"""The script for an accelerator: the experiments' rows without pandas, in calls of limited time."""

import json
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import torch
from benchmarks import attention, kernels, learn, learning
from benchmarks.parity_page import trained
from pandas.testing import assert_frame_equal

from espalier.experiments import load
from espalier.training.translation import TranslationTask
from experiments.test_scripts import SCRIPT


def test_it_makes_the_experiments_rows_where_there_is_little_but_torch(shelf, tmp_path):
    words = ["run", "--scale", "smoke", "--only", "traces", "--out", str(tmp_path)]
    words += ["--runs", str(shelf.path), "--device", "cpu"]
    experiment = load("alta-figure-4")
    direct = shelf.rows(experiment.run, experiment.config("smoke"))
    for folder in shelf.path.glob("traces-*"):
        for table in folder.glob("*.parquet"):
            table.unlink()  # as where nothing could read it
    command = [sys.executable, "-c", SCRIPT, learn.__file__, *words]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.rstrip().endswith("everything is done")
    found = pd.read_json(tmp_path / "alta-figure-4.jsonl", lines=True)
    keys = ["program", "version", "seed", "length", "ones"]
    one, other = (table.sort_values(keys, ignore_index=True) for table in (found, direct))
    assert_frame_equal(one, other[one.columns])
    manifests = json.loads((tmp_path / "manifests.json").read_text())
    assert {manifest["status"] for manifest in manifests.values()} == {"finished"}


def test_it_stops_when_time_is_up_and_goes_on(tmp_path, capsys):
    words = ["run", "--scale", "smoke", "--only", "parity", "--layers", "1", "--steps", "20"]
    words += ["--out", str(tmp_path / "out"), "--runs", str(tmp_path / "runs"), "--device", "cpu"]
    learn.main([*words, "--seconds", "0.02"])
    assert "time is up" in capsys.readouterr().out
    learn.main([*words, "--seconds", "500"])
    assert "everything is done" in capsys.readouterr().out
    rows = pd.read_json(tmp_path / "out/alta-table-3.jsonl", lines=True)
    assert set(rows["layers"]) == {1}
    assert rows.groupby(["sharing", "positions", "seed"]).ngroups == 8
    curves = pd.read_json(tmp_path / "out/curves.jsonl", lines=True)
    assert curves.groupby(["learner", "seed"])["step"].agg(list).tolist() == [[10, 20]] * 8


def test_time_is_up_also_where_ctrl_c_is_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), learn.deadline(0.01):
            time.sleep(60)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_biases_may_begin_elsewhere_and_are_told_apart(tmp_path):
    words = ["run", "--scale", "smoke", "--only", "parity", "--layers", "1", "--biases", "0"]
    words += ["--match", "own", "--out", str(tmp_path / "out"), "--runs", str(tmp_path / "runs")]
    learn.main([*words, "--device", "cpu"])
    assert not (tmp_path / "out/alta-table-3.jsonl").exists()
    curves = pd.read_json(tmp_path / "out/curves.jsonl", lines=True)
    assert set(curves["learner"]) == {
        "parity 1 own relative from 0",
        "parity 1 own absolute from 0",
    }
    rows = pd.read_json(tmp_path / "out/alta-table-3-biases.jsonl", lines=True)
    assert set(rows["sharing"]) == {"no"}
    manifests = json.loads((tmp_path / "out/manifests.json").read_text())
    assert all(one["config"]["shape"]["first_biases"] == 0 for one in manifests.values())
    assert trained(manifests).empty


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
    assert learn.flops(run) == 6 * run.seeds * run.recipe.batch * 4 * each


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
    assert learning.flops(run) == 6 * len(run.splits) * run.seeds * rows * each


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
