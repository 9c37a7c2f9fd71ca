import os
import shutil
import signal
import threading
import time
from functools import cache

import pytest
import torch

from espalier.errors import ConfigError
from espalier.nets.lstm import load_language_model, read_tensors
from espalier.runs import Interrupted, RunFolder, Workers, cluster, list_runs
from espalier.training import read_sweep, run_sweep, train
from espalier.training.sweep import is_finished, pending, running

TOML = """
out = "{out}"
{more}
[corpus]
tokens = 1500
vocabulary = 20
rules = 50
scaffolds = 10
copies = 20
tests = 20
[network]
hidden = 16
[recipe]
epochs = {epochs}
batch = 5
window = 10
[grid]
corpus.length = [2, 3]
corpus.setting = ["familiar", "unfamiliar"]
"""
PARITY = """
kind = "parity"
out = "{out}"
[shape]
width = 8
hidden = 8
heads = 2
head_width = 4
[train]
longest = 3
per_count = 4
[test]
longest = 6
per_count = 4
[recipe]
steps = 4
batch = 4
measures = 2
precision = "float32"
[grid]
shape.layers = [1, 2]
"""


def plan(tmp_path, name, *, epochs=2, more=""):
    file = tmp_path / f"{name}.toml"
    out = tmp_path / name
    file.write_text(TOML.format(out=out.as_posix(), epochs=epochs, more=more))
    return read_sweep(file)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A sweep of so many epochs, trained without a stop; where a name is given, a copy of it."""
    place = tmp_path_factory.mktemp("trained")

    @cache
    def whole(epochs):
        sweep = plan(place, f"epochs-{epochs}", epochs=epochs)
        run_sweep(sweep, device="cpu")
        return sweep

    def copied(epochs, path=None):
        if path is None:
            return whole(epochs)
        shutil.copytree(whole(epochs).out, path)
        return plan(path.parent, path.name, epochs=epochs)

    return copied


def rows_of(folder):
    return RunFolder(folder).rows()


def test_ensembles_and_workers_leave_the_same_folders(tmp_path, trained):
    together = trained(2)
    apart = plan(tmp_path, "apart", more="workers = 2")
    folders = run_sweep(apart, device="cpu")
    assert [folder.name for folder in folders] == [
        f"length={k}-setting={s}" for k in (2, 3) for s in ("familiar", "unfamiliar")
    ]
    assert pending(apart) == pending(together) == []
    for one, other in zip(together.cells, apart.cells, strict=True):
        mine, theirs = rows_of(together.out / one.name), rows_of(apart.out / other.name)
        assert [row["member"] for row in mine] == [row["member"] for row in theirs]
        for a, b in zip(mine, theirs, strict=True):
            assert a["in_domain"] == pytest.approx(b["in_domain"], rel=1e-4)
        manifests = [RunFolder(s.out / one.name).manifest() for s in (together, apart)]
        assert manifests[0]["config"] == manifests[1]["config"]
        assert manifests[0]["data"] == manifests[1]["data"]
        assert load_language_model(together.out / one.name / "epoch-2").shape.hidden == 16
    assert not list(together.out.glob(".ensemble*"))


def test_finished_cells_are_skipped(tmp_path, trained):
    sweep = trained(2, tmp_path / "again")
    folders = [sweep.out / cell.name for cell in sweep.cells]
    before = [(f / "manifest.json").stat().st_mtime_ns for f in folders]
    assert run_sweep(sweep, device="cpu") == folders
    for cell, folder in zip(sweep.cells, folders, strict=True):
        assert running.train_cell(cell, str(folder), "cpu") == ""
    assert [(f / "manifest.json").stat().st_mtime_ns for f in folders] == before
    listed = list_runs(sweep.out)
    assert [(run.status, run.epoch, run.epochs) for run in listed] == [("finished", 2.0, 2)] * 4
    assert 0 < listed[0].measures["in_domain"] < 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('kind = "scafold"', "did you mean 'scaffold'"),
        ("worker = 2", "did you mean 'workers'"),
        ("workers = -1", "workers is -1"),
        ("keep = 3", "keep is 3, a int"),
    ],
)
def test_a_wrong_table_is_refused_before_anything_runs(tmp_path, more, message):
    with pytest.raises(ConfigError, match=message):
        plan(tmp_path, "wrong", more=more)


def test_a_wrong_cell_is_refused_before_anything_runs(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text("[grid]\ncorpus.length = [2, 12]\ncorpus.setting = ['familiar']\n")
    with pytest.raises(ValueError, match="does not fit"):
        read_sweep(file)
    file.write_text("[grid]\ncorpus.length = 2\n")
    with pytest.raises(ConfigError, match=r"grid\.corpus\.length is 2; a list"):
        read_sweep(file)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_survives_a_killed_worker(tmp_path, trained):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    sweep = plan(tmp_path, "cluster", epochs=5)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def kill_one():
            deadline = time.monotonic() + 600
            while time.monotonic() < deadline:
                if list(sweep.out.glob("*/epoch-2.safetensors")):
                    victim = cluster.workers[0]
                    os.kill(victim.process.process.pid, signal.SIGKILL)
                    return
                time.sleep(0.01)

        killer = threading.Thread(target=kill_one)
        killer.start()
        run_sweep(sweep, cluster=cluster.scheduler_address)
        killer.join()
    assert all(is_finished(sweep.out / cell.name, cell) for cell in sweep.cells)
    for cell in sweep.cells:
        mine, theirs = rows_of(sweep.out / cell.name), rows_of(trained(5).out / cell.name)
        assert len(mine) == 5
        assert mine[-1]["in_domain"] == pytest.approx(theirs[-1]["in_domain"], rel=1e-2)


def test_no_scheduler_is_said_so(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.1)
    with pytest.raises(ConfigError, match="no dask scheduler answers at"):
        run_sweep(plan(tmp_path, "none"), cluster="tcp://127.0.0.1:9")


def tensors_of(folder):
    files = sorted(folder.glob("*.safetensors"))
    return {file.name: read_tensors(file)[0] for file in files}


def assert_same_folder(mine, theirs):
    assert rows_of(mine) == rows_of(theirs)
    ours, others = tensors_of(mine), tensors_of(theirs)
    assert ours.keys() == others.keys()
    for file, tensors in ours.items():
        assert tensors.keys() == others[file].keys()
        assert all(torch.equal(tensors[name], others[file][name]) for name in tensors), file


def test_more_epochs_go_on_and_end_as_if_they_had_been_asked_for_at_first(tmp_path, trained):
    at_once = trained(5)
    trained(2, tmp_path / "grown")
    steps = []
    more = plan(tmp_path, "grown", epochs=5)
    assert len(pending(more)) == 4
    run_sweep(more, device="cpu", progress=lambda moment: steps.append(moment.step))
    per_epoch = rows_of(more.out / more.cells[0].name)[0]["step"]
    assert min(steps) > 2 * per_epoch
    assert not pending(more)
    assert not list(more.out.glob(".ensemble*"))
    for cell in more.cells:
        assert_same_folder(more.out / cell.name, at_once.out / cell.name)


def test_one_cell_goes_on_alone(tmp_path, trained):
    """Out of its ensemble, it is the run that it would have been by itself, but for rounding."""
    sweep = trained(2, tmp_path / "sweep")
    config = plan(tmp_path, "sweep", epochs=4).cells[1].config()
    steps, folder = [], sweep.out / sweep.cells[1].name
    found = train(config, folder, device="cpu", progress=lambda moment: steps.append(moment.step))
    assert min(steps) > RunFolder(folder).rows()[0]["step"] * 2
    alone = train(config, device="cpu")
    assert [row["train_loss"] for row in found.rows] == pytest.approx(
        [row["train_loss"] for row in alone.rows], rel=1e-4
    )


def test_cells_at_different_steps_all_come_to_the_end(tmp_path, trained):
    """One cell alone was trained further, another was lost: the rest are resumed together."""
    sweep = trained(2, tmp_path / "mixed")
    ahead, gone = sweep.cells[0], sweep.cells[1]
    train(plan(tmp_path, "mixed", epochs=3).cells[0].config(), sweep.out / ahead.name, device="cpu")
    shutil.rmtree(sweep.out / gone.name)
    more = plan(tmp_path, "mixed", epochs=5)
    run_sweep(more, device="cpu")
    for cell in more.cells:
        mine, theirs = (rows_of(sweep.out / cell.name) for sweep in (more, trained(5)))
        assert [row["epoch"] for row in mine] == [1, 2, 3, 4, 5]
        assert [row["in_domain"] for row in mine] == pytest.approx(
            [row["in_domain"] for row in theirs], rel=1e-3
        )


@pytest.mark.parametrize("epochs", [(4, 4), (2, 4)])
def test_an_interrupted_ensemble_goes_on(tmp_path, trained, epochs):
    """Stopped on its way, be it to the first epochs or to more of them."""
    first, last = epochs
    name = "stopped"
    if first < last:
        trained(first, tmp_path / name)

    def stop(moment):
        if moment.rows and moment.step >= 3 * moment.steps_per_epoch:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"saved in .*\.ensemble-"):
        run_sweep(plan(tmp_path, name, epochs=last), device="cpu", progress=stop)
    steps, whole, resumed = [], trained(last + 1), plan(tmp_path, name, epochs=last + 1)
    run_sweep(resumed, device="cpu", progress=lambda moment: steps.append(moment.step))
    assert min(steps) > 3 * rows_of(whole.out / whole.cells[0].name)[0]["step"]
    for cell in whole.cells:
        assert_same_folder(resumed.out / cell.name, whole.out / cell.name)


def test_a_cell_of_other_settings_is_refused(tmp_path, trained):
    trained(2, tmp_path / "one")
    for change in ('keep = "epoch:2"', "gradients = true"):
        with pytest.raises(ConfigError, match=r"holds another run: (keep|gradients) "):
            run_sweep(plan(tmp_path, "one", epochs=2, more=change), device="cpu")
    with pytest.raises(ConfigError, match=r"recipe\.epochs 2 -> 1"):
        run_sweep(plan(tmp_path, "one", epochs=1), device="cpu")


def test_other_kinds_are_swept_cell_by_cell(tmp_path):
    file = tmp_path / "parity.toml"
    file.write_text(PARITY.format(out=(tmp_path / "parity").as_posix()))
    folders = run_sweep(read_sweep(file), device="cpu")
    assert [folder.name for folder in folders] == ["layers=1", "layers=2"]
    assert [run.kind for run in list_runs(tmp_path)] == ["parity", "parity"]


def test_workers_may_be_asked_for_in_place_of_the_sweeps_own(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        running, "_train_apart", lambda out, cells, workers, **_: asked.append(workers)
    )
    monkeypatch.setattr(running, "_train_groups", lambda *_, **__: asked.append(None))
    own = plan(tmp_path, "own", more="workers = 2")
    for given in ({}, {"workers": 3}, {"workers": 0}, {"cluster": "tcp://a:1"}):
        run_sweep(own, device="cpu", **given)
    run_sweep(own, device="cpu", workers="tcp://a:1")
    assert asked == [
        Workers(2), Workers(3), None, Workers(cluster="tcp://a:1"), Workers(cluster="tcp://a:1")
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="a cluster has workers of its own"):
        run_sweep(own, workers=2, cluster="tcp://a:1")
