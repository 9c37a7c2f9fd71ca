import os
import signal
import threading
import time

import pytest

from espalier.errors import ConfigError
from espalier.nets.lstm import load_language_model
from espalier.runs import RunFolder, list_runs
from espalier.training import read_sweep, run_sweep
from espalier.training.sweep import is_finished

TOML = """
out = "{out}"
{more}
[corpus]
tokens = 3000
vocabulary = 20
rules = 100
scaffolds = 10
copies = 20
tests = 30
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


def plan(tmp_path, name, *, epochs=2, more=""):
    file = tmp_path / f"{name}.toml"
    out = tmp_path / name
    file.write_text(TOML.format(out=out.as_posix(), epochs=epochs, more=more))
    return read_sweep(file)


def rows_of(folder):
    return RunFolder(folder).rows()


def test_ensembles_and_workers_leave_the_same_folders(tmp_path):
    together = plan(tmp_path, "together")
    apart = plan(tmp_path, "apart", more="workers = 2")
    for sweep in (together, apart):
        folders = run_sweep(sweep, device="cpu")
        assert [folder.name for folder in folders] == [
            f"length={k}-setting={s}" for k in (2, 3) for s in ("familiar", "unfamiliar")
        ]
        assert sweep.pending() == []
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


def test_finished_cells_are_skipped(tmp_path):
    sweep = plan(tmp_path, "again")
    folders = run_sweep(sweep, device="cpu")
    before = [(f / "manifest.json").stat().st_mtime_ns for f in folders]
    run_sweep(sweep, device="cpu")
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
def test_a_cluster_survives_a_killed_worker(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    sweep = plan(tmp_path, "cluster", epochs=10)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def kill_one():
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if list(sweep.out.glob("*/epoch-3.safetensors")):
                    victim = cluster.workers[0]
                    os.kill(victim.process.process.pid, signal.SIGKILL)
                    return
                time.sleep(0.01)

        killer = threading.Thread(target=kill_one)
        killer.start()
        run_sweep(sweep, cluster=cluster.scheduler_address)
        killer.join()
    assert all(is_finished(sweep.out / cell.name) for cell in sweep.cells)
    alone = plan(tmp_path, "alone", epochs=10)
    run_sweep(alone, device="cpu")
    for cell in sweep.cells:
        mine, theirs = rows_of(sweep.out / cell.name), rows_of(alone.out / cell.name)
        assert len(mine) == 10
        assert mine[-1]["in_domain"] == pytest.approx(theirs[-1]["in_domain"], rel=1e-2)


def test_no_scheduler_is_said_so(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(ConfigError, match="no dask scheduler answers at"):
        run_sweep(plan(tmp_path, "none"), cluster="tcp://127.0.0.1:9")
