import errno
import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file

from espalier.errors import EspalierError, FileError
from espalier.files import (
    atomic_path,
    check_plain,
    check_readable,
    onto_disk,
    remove_leftovers,
    write_frame,
    write_text,
)
from espalier.nets import write_safetensors
from small_disk import small_disk

FRAME = pd.DataFrame({"name": ["a", "b"], "count": [1, 2], "share": [0.5, 0.25]})


def test_text_is_written_whole(tmp_path):
    path = tmp_path / "note.txt"
    write_text(path, "∅ is null\n")
    assert path.read_text(encoding="utf-8") == "∅ is null\n"
    write_text(str(path), "again")
    assert path.read_text(encoding="utf-8") == "again"
    assert os.listdir(tmp_path) == ["note.txt"]


def write_arrow(path, text):
    with atomic_path(path) as temporary:
        pd.DataFrame({"text": [text[n:] for n in range(1_000)]}).to_parquet(temporary)


def write_tensors(path, text):
    with atomic_path(path) as temporary:
        save_file({"text": np.frombuffer(text.encode(), dtype=np.uint8)}, temporary)


def write_half_and_fail(path):
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        assert temporary.parent == path.parent
        raise KeyboardInterrupt


@pytest.mark.parametrize("before", [None, "old"])
def test_what_was_there_stays_when_writing_fails(tmp_path, before):
    path = tmp_path / "note.txt"
    if before is not None:
        path.write_text(before)
    with pytest.raises(KeyboardInterrupt):
        write_half_and_fail(path)
    assert (path.read_text() if path.exists() else None) == before
    assert os.listdir(tmp_path) == ([] if before is None else ["note.txt"])


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("write", [write_text, write_arrow, write_tensors])
def test_a_full_disk_is_told_as_such(tmp_path, write):
    """By whichever library it was met; the old file stays, and there is no other."""
    path = tmp_path / "note"
    write_text(path, "old")
    with (
        small_disk(1_000),
        pytest.raises(FileError, match=r"cannot write .*note: .*File too large"),
    ):
        write(path, "x" * 100_000)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["note"]


@pytest.mark.parametrize("write", [write_text, write_arrow, write_tensors])
def test_what_takes_a_files_place_is_on_the_disk_before(tmp_path, write, monkeypatch):
    """Else a power cut could leave the name, and nothing behind it."""
    flushed, path, fsync, replace = set(), tmp_path / "note", os.fsync, Path.replace

    def noted(handle):
        fsync(handle)
        flushed.add(os.fstat(handle).st_ino)

    def checked(self, target):
        assert target != path or self.stat().st_ino in flushed
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", checked)
    write(path, "text")
    assert path.stat().st_ino in flushed


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EDQUOT])
def test_a_disk_that_cannot_be_waited_for_is_trusted_and_one_that_fails_then_is_named(
    tmp_path, code, monkeypatch
):
    path = tmp_path / "note"
    write_text(path, "old")
    monkeypatch.setattr(os, "fsync", lambda handle: fail(code))
    if code == errno.EINVAL:
        write_text(path, "new")
    else:
        with pytest.raises(FileError, match=r"cannot write .*note: .*quota"):
            write_text(path, "new")
    assert path.read_text() == ("new" if code == errno.EINVAL else "old")
    assert os.listdir(tmp_path) == ["note"]


def fail(code):
    raise OSError(code, os.strerror(code))


def test_other_errors_of_the_system_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "note"):
        (tmp_path / "absent").read_text()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        write_text(tmp_path / "nowhere" / "note.txt", "text")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises((EspalierError, OSError)):
        write_text(tmp_path / "taken", "text")
    assert os.listdir(tmp_path) == ["taken"]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_it_leads_to_is_written(tmp_path, there):
    (tmp_path / "kept").mkdir()
    file, link = tmp_path / "kept" / "whole.csv", tmp_path / "table.csv"
    if there:
        file.write_text("old")
    link.symlink_to(Path("kept") / "whole.csv")
    write_frame(link, FRAME)
    assert link.is_symlink()
    assert len(pd.read_csv(file)) == 2
    tensors = tmp_path / "model.safetensors"
    tensors.symlink_to(tmp_path / "kept" / "model.safetensors")
    write_safetensors(tensors, {"a": torch.zeros(2)}, {})
    assert sorted(os.listdir(tmp_path)) == ["kept", "model.safetensors", "table.csv"]
    assert sorted(os.listdir(tmp_path / "kept")) == ["model.safetensors", "whole.csv"]


def test_links_of_a_copied_run_do_not_lead_into_the_run(tmp_path):
    run, copy = tmp_path / "run", tmp_path / "copy"
    for folder in (run, copy):
        folder.mkdir()
    for name in ("manifest.json", "metrics.parquet", "resume.safetensors"):
        (run / name).write_text("of the run")
        (copy / name).symlink_to(run / name)
    write_frame(copy / "metrics.parquet", FRAME)
    write_safetensors(copy / "resume.safetensors", {"a": torch.zeros(2)}, {})
    write_text(copy / "manifest.json", "of the copy")
    assert {file.read_text() for file in run.iterdir()} == {"of the run"}
    assert not any(file.is_symlink() for file in copy.iterdir())


def test_links_that_lead_nowhere_are_refused(tmp_path):
    (tmp_path / "lost").symlink_to(tmp_path / "none" / "file")
    with pytest.raises(FileError, match=r"cannot write .*lost: the folder .*none does not exist"):
        write_text(tmp_path / "lost", "text")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(FileError, match=r"cannot write .*round: Too many levels.* another name"):
        write_text(tmp_path / "round", "text")


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match=r"pipe: it is a pipe; give the name of a file"):
        write_text(tmp_path / "pipe", "text")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    with pytest.raises(FileError, match=r"null\.csv: it is a device; give the name of a file"):
        write_frame(tmp_path / "null.csv", FRAME)
    assert (tmp_path / "pipe").is_fifo()


def test_the_file_can_be_read_by_whom_other_files_can(tmp_path):
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("text")
    write_text(ours, "text")
    assert ours.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".csv", pd.read_csv),
        (".CSV", pd.read_csv),
        (".parquet", pd.read_parquet),
        (".json", lambda path: pd.DataFrame(json.loads(path.read_text()))),
    ],
)
def test_a_frame_reads_back(tmp_path, suffix, read):
    path = tmp_path / f"rows{suffix}"
    write_frame(path, FRAME)
    pd.testing.assert_frame_equal(read(path), FRAME)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["rows.txt", "rows", "rows.csv.gz"])
def test_a_frame_of_an_unknown_kind_is_refused(tmp_path, name):
    with pytest.raises(FileError, match=r"\.parquet"):
        write_frame(tmp_path / name, FRAME)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "make room or choose another place"),
        (errno.EROFS, "choose a place that can be written"),
        (errno.EACCES, "choose a place that you may write to"),
        (errno.EPERM, "choose a place that you may write to"),
        (errno.ENAMETOOLONG, "choose a shorter name"),
    ],
)
def test_the_remedy_fits_what_the_system_said(tmp_path, code, said):
    with pytest.raises(FileError, match=said) as caught, onto_disk(tmp_path / "note"):
        raise OSError(code, os.strerror(code))
    assert ("make room" in str(caught.value)) == (code == errno.ENOSPC)


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(FileError, match="shorter name"):
        write_text(tmp_path / ("x" * 400), "text")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody may write")
@pytest.mark.parametrize("folder", ["/proc", "/sys"])
def test_a_folder_that_cannot_be_written_is_refused(folder):
    with pytest.raises(FileError, match=rf"cannot write {folder}/note: .*choose"):
        write_text(f"{folder}/note", "text")


def test_what_may_never_end_or_never_begin_is_no_file(tmp_path):
    from espalier.commands.learnability import _lines
    from espalier.data import read_conllu, stretches, text_corpus
    from espalier.data.scan import read_examples
    from espalier.data.treebank import load_treebank
    from espalier.training import read_toml

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (
        check_plain,
        check_readable,
        load_treebank,
        read_toml,
        text_corpus,
        read_examples,
        _lines,
        lambda file: next(read_conllu(file)),
        lambda file: stretches([file], pairs=9),
        lambda file: stretches([file], format="text", pairs=9),
    ):
        with pytest.raises(FileError, match=r"pipe is a pipe, not a file; save what comes from it"):
            read(pipe)
        with pytest.raises(FileError, match=r"/dev/zero is a device, not a file"):
            read(Path("/dev/zero"))
    for place in (tmp_path, pipe.with_name("absent")):
        check_plain(place)


def test_a_pipe_that_is_open_already_is_read_once():
    """As by `zcat treebank.gz | espalier probe -t /dev/stdin`, or a shell's <(...)."""
    from espalier.data import read_conllu, stretches
    from espalier.training import read_toml

    def piped(text):
        end, start = os.pipe()
        os.write(start, text.encode())
        os.close(start)
        return end

    token = "1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
    reads = {
        "[recipe]\nepochs = 3": lambda file: read_toml(file)["recipe"]["epochs"] == 3,
        token: lambda file: [one.words for one in read_conllu(file)] == [("Yes",)],
    }
    for text, read in reads.items():
        end = piped(text)
        assert read(f"/dev/fd/{end}")
        os.close(end)
    end = piped(token)
    with pytest.raises(FileError, match=r"is a pipe, not a file"):  # it would be read twice
        stretches([Path(f"/dev/fd/{end}")], pairs=9)
    os.close(end)


def test_what_a_killed_process_left_half_written_is_removed_and_nothing_else(tmp_path, monkeypatch):
    def killed(*given, **more):
        raise KeyboardInterrupt

    kept = [".lock", ".notes.json", "run.json.abcdefgh", ".hidden", "resume.safetensors"]
    kept += [".settings.json.20260101", ".cells.unfinished"]  # a user's, by a date or a word
    for name in kept:
        (tmp_path / name).write_text("")
    for name in ("resume.safetensors", "manifest.json", "figure.svg"):
        with suppress(KeyboardInterrupt), monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", killed)
            with atomic_path(tmp_path / name):
                raise KeyboardInterrupt
    half = tmp_path / ".epoch-1.safetensors.a1b2c3d4.unfinished"
    half.mkdir()
    (half / ".tmpa1b2c3").write_text("")  # as safetensors leaves it
    assert len(list(tmp_path.iterdir())) == len(kept) + 4
    remove_leftovers(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(kept)


def test_what_safetensors_writes_beside_its_file_goes_with_a_kill(tmp_path, monkeypatch):
    import safetensors.torch

    def killed(tensors, file, metadata):
        Path(file).with_name(".tmpa1b2c3").write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr(safetensors.torch, "save_file", killed)
    monkeypatch.setattr("shutil.rmtree", lambda *given, **more: None)  # of what a kill leaves
    with suppress(KeyboardInterrupt):
        write_safetensors(tmp_path / "epoch-1.safetensors", {"a": torch.zeros(2)}, {})
    monkeypatch.undo()
    assert [one.is_dir() for one in tmp_path.iterdir()] == [True]
    remove_leftovers(tmp_path)
    assert not list(tmp_path.iterdir())
