"""Damaged or edited files are reported by name, and do not stop other runs."""

import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.errors import ConfigError, FileError
from espalier.runs import (
    RESUME,
    Job,
    Plan,
    RunFolder,
    Snapshot,
    fill_table,
    fit,
    list_runs,
    open_run,
)
from runs.test_loop import learner_of

ABOUT = {"kind": "k", "status": "finished", "config": {}, "data": {}, "began": "b", "seconds": 1.0}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"\xff\xfe", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"3", "it holds a int"),
        (json.dumps(ABOUT | {"seconds": "2 s"}).encode(), "its 'seconds' are '2 s'"),
        (json.dumps(ABOUT | {"data": None}).encode(), "its 'data' is 'None'"),
        (json.dumps(ABOUT | {"config": []}).encode(), r"its 'config' is '\[\]'"),
        (b'{"kind": "k"}', "it lacks 'status'"),
    ],
)
def test_a_manifest_edited_by_hand(tmp_path, text, says):
    whole = RunFolder.create(tmp_path / "whole")
    whole.write_manifest(ABOUT)
    whole.write_rows([{"step": 1, "epoch": 1.0, "loss": 0.5}])
    damaged = RunFolder.create(tmp_path / "damaged")
    (damaged.path / "manifest.json").write_bytes(text)
    for ask in (damaged.manifest, lambda: open_run(damaged, ABOUT), lambda: damaged.finished("k")):
        with pytest.raises(FileError, match=says):
            ask()
    found = {run.name: run for run in list_runs(tmp_path)}
    assert (found["damaged"].status, found["whole"].status) == ("damaged", "finished")
    assert "manifest.json" in found["damaged"].trouble


@pytest.mark.parametrize("text", ["[1]\n", '{"loss": 1.0}\n', "nonsense\n", "\udcff\n"])
def test_damaged_rows_stop_neither_the_list_nor_go_by_in_silence(tmp_path, text):
    folder = RunFolder.create(tmp_path / "run")
    folder.write_manifest(ABOUT | {"status": "running"})
    (folder.path / "metrics.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert [run.status for run in list_runs(tmp_path)] == ["damaged"]
    with pytest.raises(FileError, match=r"metrics"):
        fit(learner_of("alone"), Plan(1), folder=folder)


@settings(deadline=None)
@given(st.data())
def test_a_flipped_byte_is_refused_by_name(tmp_path_factory, data):
    folder = RunFolder.create(tmp_path_factory.mktemp("flip"))
    state = {"weights.w": torch.arange(6.0).reshape(2, 3), "taken": torch.tensor(7)}
    folder.save_resume(state, 7)
    folder.save_checkpoint("epoch-1", Snapshot(state, {"step": "7", "shape": "{}"}))
    for name, load in (
        (RESUME, folder.load_resume),
        ("epoch-1.safetensors", folder.last_checkpoint),
    ):
        file = folder.path / name
        whole = file.read_bytes()
        place = data.draw(st.integers(0, len(whole) - 1), label="place")
        bit = data.draw(st.integers(0, 7), label="bit")
        file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
        with pytest.raises(FileError, match=r"safetensors"):
            load()
        file.write_bytes(whole)
        load()


@settings(deadline=None)
@given(st.data())
def test_a_flipped_byte_of_a_table_is_told_or_changes_no_row(tmp_path_factory, data):
    pytest.importorskip("pyarrow")
    folder = RunFolder.create(tmp_path_factory.mktemp("flip"))
    rows = [{"step": n, "loss": 1 / (n + 1), "member": f"seed-{n % 3}"} for n in range(9)]
    folder.write_rows(rows)
    (file,) = folder.tidy()
    flip_data(file, data)
    with suppress(FileError):
        assert folder.rows() == rows


@settings(deadline=None)
@given(st.data())
def test_a_damaged_part_of_a_table_is_computed_again(tmp_path_factory, data):
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("parts")
    rows = [{"number": n, "root": n**0.5} for n in range(9)]
    columns = {"number": "int64", "root": "float64"}
    for _ in range(2):
        parts = list(fill_table(folder, lambda: rows, [Job("one")], columns=columns))
        assert [part.rows for part in parts] == [9]
        assert parquet.read_table(folder / "part-one.parquet").to_pylist() == rows
        flip_data(folder / "part-one.parquet", data)


def flip_data(file, data):
    """One bit of a Parquet file's pages, which end where its footer begins."""
    whole = file.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    place = data.draw(st.integers(4, len(whole) - footer - 1), label="place")
    bit = data.draw(st.integers(0, 7), label="bit")
    file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])


def test_the_state_of_another_network_is_refused_by_its_tensor(tmp_path):
    folder, learner = RunFolder.create(tmp_path), learner_of("ensemble")
    state = learner.state()
    wide = {name: t.repeat(2) if t.dim() == 1 else t for name, t in state.items()}
    fewer = {name: t for name, t in state.items() if name != "cell"}
    for wrong, says in (
        (wide, r"is torch.* there, torch.* here"),
        (fewer, "cell is nothing there"),
    ):
        folder.save_resume(wrong, 3)
        with pytest.raises(FileError, match=rf"resume.safetensors is of another network: .*{says}"):
            fit(learner_of("ensemble"), Plan(1), folder=folder)


@pytest.mark.parametrize("epochs", [None, "4", [], float("nan"), 1e400, True, 3])
def test_epochs_that_are_no_number_are_another_run(tmp_path, epochs):
    folder = RunFolder.create(tmp_path)
    folder.write_manifest(ABOUT | {"config": {"recipe": {"epochs": epochs}}})
    asked = ABOUT | {"config": {"recipe": {"epochs": 4}}}
    if epochs == 3:
        open_run(folder, asked)  # more of the same
    else:
        with pytest.raises(ConfigError, match=r"holds another run: recipe\.epochs"):
            open_run(folder, asked)


@pytest.mark.parametrize("name", [".lock", "metrics.jsonl", "metrics.parquet"])
def test_folders_in_place_of_files_do_not_stop_the_list(tmp_path, name):
    for run in ("first", "other"):
        RunFolder.create(tmp_path / run).write_manifest(ABOUT)
    (tmp_path / "first" / name).mkdir()
    found = {run.name: run.status for run in list_runs(tmp_path)}
    assert found["other"] == "finished"


@pytest.mark.parametrize("epochs", [float("inf"), "many", [4]])
def test_a_number_of_epochs_that_is_none_does_not_stop_the_list(tmp_path, epochs):
    RunFolder.create(tmp_path / "run").write_manifest(ABOUT | {"epochs": epochs})
    [run] = list_runs(tmp_path)
    assert (run.status, run.trouble[:39]) == ("damaged", "its epochs or measures are no numbers (")


def test_what_cannot_be_read_is_not_said_to_be_damaged(tmp_path, monkeypatch):
    """The error of a file without permission to read it does not say to remove it."""
    folder = RunFolder.create(tmp_path)
    folder.save_resume({"taken": torch.tensor(7)}, 7)
    folder.save_checkpoint("epoch-1", Snapshot({}, {"step": "7"}))
    folder.write_rows([{"step": 1}])
    folder.tidy()
    folder.write_rows([{"step": 1}], "lines")

    def refuse(self, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    lines = lambda: folder.rows("lines")  # noqa: E731
    for ask in (folder.load_resume, lambda: folder.load_checkpoint("epoch-1"), folder.rows, lines):
        with pytest.raises(FileError, match=r"^cannot read \S+: Permission denied$"):
            ask()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all names are Unicode")
def test_a_folder_whose_name_is_no_utf8_is_refused_and_not_said_to_be_damaged(tmp_path):
    """Parquet's library cannot open a file there."""
    place = tmp_path / os.fsdecode("naïve".encode("latin-1"))
    with pytest.raises(FileError, match="is no UTF-8; rename it"):
        RunFolder.create(place)
    assert not place.exists()
    whole = RunFolder.create(tmp_path / "whole")
    whole.write_manifest(ABOUT)
    whole.write_rows([{"step": 1, "epoch": 1.0, "loss": 0.5}])
    whole.tidy()
    whole.path.rename(place)
    assert ["is no UTF-8; rename it" in run.trouble for run in list_runs(tmp_path)] == [True]
    with pytest.raises(FileError, match="is no UTF-8; rename it"):
        list(fill_table(place / "rows", divmod, []))
