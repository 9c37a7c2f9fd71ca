"""Jobs give the same rows whoever does them, and a killed worker neither loses nor doubles any."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.errors import ConfigError, EspalierError, FileError
from espalier.runs import (
    HERE,
    LOCK,
    FolderLostError,
    Job,
    LostWorkersError,
    RunFolder,
    Workers,
    by_parts,
    cluster,
    fill_table,
    locked,
    remote,
    run_jobs,
)
from espalier.runs.lock import patience

COLUMNS = {"job": "int64", "value": "double", "word": "string"}


def rows_of(number, length):
    """Rows that depend on the arguments alone."""
    return [
        {"job": number, "value": (number + 1) ** 0.5 * n, "word": None if n % 2 else str(n)}
        for n in range(length)
    ]


def killed_once(mark, number, length):
    """The same, but the first process that meets this mark kills itself."""
    if mark and os.path.exists(mark):
        os.unlink(mark)
        os.kill(os.getpid(), signal.SIGKILL)
    return rows_of(number, length)


def jobs_of(lengths, mark="", victim=-1):
    return [
        Job(f"{n:05d}", (str(mark) if n == victim else "", n, length))
        for n, length in enumerate(lengths)
    ]


def fill(folder, jobs, workers=HERE):
    folder.mkdir(exist_ok=True)
    return list(fill_table(folder / "rows", killed_once, jobs, workers, columns=COLUMNS))


def bytes_of(folder):
    return {file.name: file.read_bytes() for file in sorted((folder / "rows").iterdir())}


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.data())
def test_what_is_there_and_whole_is_not_computed_again(tmp_path_factory, lengths, data):
    folder = tmp_path_factory.mktemp("fill")
    wanted = [row for n, length in enumerate(lengths) for row in rows_of(n, length)]
    parts = fill(folder, jobs_of(lengths))
    assert {part.name: part.rows for part in parts} == {
        f"{n:05d}": length for n, length in enumerate(lengths)
    }
    assert RunFolder(folder).rows("rows") == wanted
    assert RunFolder(folder).tables() == {"rows"}
    before = bytes_of(folder)
    files = sorted((folder / "rows").iterdir())
    gone = data.draw(st.sets(st.integers(0, len(files) - 1)))
    for number in gone:
        held = files[number].read_bytes()
        files[number].write_bytes(held[: data.draw(st.integers(0, len(held) - 1))])
    again = fill(folder, jobs_of(lengths))
    assert sum(part.peak_bytes > 0 for part in again) == len(gone)
    assert bytes_of(folder) == before


def test_a_killed_process_is_named_and_the_same_rows_are_there_in_the_end(tmp_path):
    lengths, mark, victim = [3, 1, 4, 1, 5, 9], tmp_path / "mark", random.Random().randrange(6)
    fill(tmp_path / "whole", jobs_of(lengths))
    mark.touch()
    jobs = jobs_of(lengths, mark, victim)
    with pytest.raises(LostWorkersError, match=rf"0000{victim}: its process was killed"):
        fill(tmp_path / "killed", jobs, Workers(2))
    assert len(bytes_of(tmp_path / "killed")) == 5
    fresh = [part.name for part in fill(tmp_path / "killed", jobs) if part.peak_bytes]
    assert fresh == [f"0000{victim}"]
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_leaves_the_same_files_and_outlives_a_killed_worker(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    lengths, mark = [n % 7 for n in range(24)], tmp_path / "mark"
    fill(tmp_path / "here", jobs_of(lengths))
    mark.touch()
    monkeypatch.delenv("ESPALIER_DATA", raising=False)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        there = Workers(cluster=cluster.scheduler_address)
        fill(tmp_path / "there", jobs_of(lengths, mark, victim=11), there)
        assert not mark.exists()
        with pytest.raises(ConfigError, match=r"a wants a GPU.*--resources GPU=1"):
            list(run_jobs(divmod, [Job("a", (7, 2), gpu=True)], there))
        with pytest.raises(ZeroDivisionError) as wrong:
            list(run_jobs(divmod, [Job("a", (1, 0)), Job("b", (1, 1))], there))
        assert re.fullmatch(r"by the worker \S+ at tcp://\S+:\d+ in a", " ".join(notes(wrong)))
        _works_as_if_it_were_here(tmp_path, there, monkeypatch)
        _is_interrupted_when_nobody_waits(tmp_path, there)
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")


@pytest.mark.filterwarnings("ignore")
def test_a_job_that_a_cluster_gives_up_is_given_once_more_alone(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    from dask import config

    mark = tmp_path / "mark"
    mark.touch()
    with (
        config.set({"distributed.scheduler.allowed-failures": 0}),  # a death is the last
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
    ):
        there, found = Workers(cluster=cluster.scheduler_address), []
        jobs = jobs_of([1, 2, 3, 4], mark, victim=1)
        assert dict(run_jobs(killed_once, jobs, there)) == dict(run_jobs(killed_once, jobs))
        jobs[2] = Job("deadly", ("", 0, 0))
        with pytest.raises(LostWorkersError, match=r"^a process was lost.* deadly: .*again"):
            found.extend(job.name for job, _ in run_jobs(_deadly_or_not, jobs, there))
    assert sorted(found) == ["00000", "00001", "00003"]


def _deadly_or_not(_, number, length):
    if not length:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def notes(wrong):
    return wrong.value.__notes__


def _works_as_if_it_were_here(tmp_path, there, monkeypatch):
    """In the same folder, with the same data, and only with the same code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ESPALIER_DATA", "data")
    assert [found for _, found in run_jobs(_where, [Job("a")], there)] == [
        (str(tmp_path), str(tmp_path / "data"))
    ]
    monkeypatch.delenv("ESPALIER_DATA")
    assert [found for _, found in run_jobs(_where, [Job("a")], there)] == [(str(tmp_path), None)]
    with monkeypatch.context() as other:
        other.setattr(remote, "code_here", lambda: "espalier 9.9.9")
        with pytest.raises(ConfigError, match=r"has espalier 0\..*this process espalier 9\.9\.9"):
            list(run_jobs(_where, [Job("a")], there))


def _where():
    return os.getcwd(), os.environ.get("ESPALIER_DATA")


def _is_interrupted_when_nobody_waits(tmp_path, there):
    """A job whose caller went away lets go of its folder, and the next caller waits for that."""
    jobs = [Job("short", ("", "")), Job("long", (str(tmp_path), str(tmp_path / "held")))]
    asked = run_jobs(_hold, jobs, there)
    assert next(asked)[0].name == "short"
    while not (tmp_path / "held").exists():
        time.sleep(0.01)
    asked.close()
    assert {job.name for job, _ in run_jobs(_hold, jobs, there)} == {"short", "long"}


def _hold(folder, mark):
    """The first to come works on the folder for ever."""
    if folder and not os.path.exists(mark):
        with locked(folder):
            Path(mark).touch()
            while True:
                time.sleep(0.01)
    elif folder:
        with locked(folder):
            pass


@pytest.mark.filterwarnings("ignore")
def test_jobs_for_a_device_go_to_the_workers_that_are_tagged_with_one():
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    plain = {"cls": distributed.Worker, "options": {"nthreads": 1}}
    tagged = {"cls": distributed.Worker, "options": {"nthreads": 1, "resources": {"GPU": 1}}}
    scheduler = {"cls": distributed.Scheduler, "options": {"port": 0, "dashboard": False}}
    workers = {"plain": plain, "tagged": tagged}
    with distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster:
        jobs = [Job(str(n), (), gpu=n % 2 == 0) for n in range(8)]
        found = list(run_jobs(_who, jobs, Workers(cluster=cluster.scheduler_address)))
    assert {name for job, name in found if job.gpu} == {"tagged"}
    assert len(found) == 8


@pytest.mark.filterwarnings("ignore")
def test_no_worker_and_no_scheduler_any_more_are_told(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    tagged = {"cls": distributed.Worker, "options": {"nthreads": 1, "resources": {"GPU": 1}}}
    scheduler = {"cls": distributed.Scheduler, "options": {"port": 0, "dashboard": False}}
    said = []
    with distributed.SpecCluster(worker=tagged, scheduler=scheduler) as there:
        address = there.scheduler_address

        def heard(text, **_):
            said.append(text)
            there.scale(1)  # the worker that is asked for comes late

        monkeypatch.setattr(cluster.warnings, "warn", heard)
        jobs = [Job(str(n), (), gpu=True) for n in range(8)]
        assert len(list(run_jobs(_who, jobs, Workers(cluster=address)))) == 8
        assert len(said) == 1
        assert "has no worker at present; waiting for one" in said[0]
        assert said[0].endswith(f"dask worker {address} --nthreads 1 --resources GPU=1")
        asked = run_jobs(_who, jobs * 9, Workers(cluster=address))
        next(asked)
        there.close()
        with pytest.raises(EspalierError, match=rf"scheduler at {address} is gone; what was done"):
            list(asked)


@pytest.mark.parametrize(
    ("address", "finding"),
    [
        ("tcp://127.0.0.1:{port}", "there was no reply in its protocol"),
        ("tls://127.0.0.1:{port}", "TLS expects"),
        ("http://127.0.0.1:{port}", "unknown address scheme 'http'"),
        ("tcp://127.0.0.1", "missing port number"),
    ],
)
def test_what_is_no_scheduler_is_told_in_a_line(address, finding, monkeypatch):
    pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        there = Workers(cluster=address.format(port=mute.getsockname()[1]))
        with pytest.raises(ConfigError, match=rf"no dask scheduler answers at .*{finding}"):
            list(run_jobs(divmod, [Job("a", (7, 2))], there))


def _who():
    from distributed import get_worker

    return get_worker().name


def test_workers_are_a_number_an_address_or_both_spelt_out(tmp_path):
    jobs = [Job("a", (7, 2)), Job("b", (9, 4))]
    assert dict(run_jobs(divmod, jobs, 1)) == dict(run_jobs(divmod, jobs))
    assert Workers.of("tcp://a:1") == Workers(cluster="tcp://a:1") == Workers.of(0, "tcp://a:1")
    assert Workers.of(Workers(3)) == Workers(3) == Workers.of(3)
    with pytest.raises(ConfigError, match=r"workers is 2\.5, of type float; int is expected"):
        Workers(2.5)
    with pytest.raises(ConfigError, match="cluster is 8786, of type int; str is expected"):
        Workers(cluster=8786)
    with pytest.raises(ConfigError, match="a cluster has workers of its own"):
        Workers.of(2, "tcp://a:1")
    with pytest.raises(ConfigError, match="two clusters: tcp://b:1 and tcp://a:1"):
        Workers.of("tcp://b:1", "tcp://a:1")


def test_what_is_there_is_told_before_anybody_is_asked_for_the_rest(tmp_path, monkeypatch):
    """A scheduler is not needed for a table that is whole; where it is not, what is comes first."""
    pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.1)
    fill(tmp_path, jobs_of([2, 1, 3]))
    nobody = Workers(cluster="tcp://127.0.0.1:1")
    assert [part.rows for part in fill(tmp_path, jobs_of([2, 1, 3]), nobody)] == [2, 1, 3]
    (tmp_path / "rows" / "part-00002.parquet").unlink()
    parts = fill_table(tmp_path / "rows", killed_once, jobs_of([2, 1, 3]), nobody, columns=COLUMNS)
    assert [next(parts).rows, next(parts).rows] == [2, 1]
    with pytest.raises(ConfigError, match="no dask scheduler answers"):
        next(parts)


def test_any_number_of_jobs_is_taken_up_a_few_at_a_time():
    taken, done = 0, 0

    def jobs():
        nonlocal taken
        for n in range(300):
            taken += 1
            assert taken - done <= 3
            yield Job(str(n), (n,))

    for job, found in run_jobs(abs, jobs(), Workers(2)):
        assert found == int(job.name)
        done += 1
    assert done == taken == 300


def test_more_workers_than_jobs_are_not_waited_for():
    jobs = [Job("a", (7, 2)), Job("b", (9, 4))]
    found = {job.name: result for job, result in run_jobs(divmod, jobs, Workers(10**25))}
    assert found == {"a": (3, 1), "b": (2, 1)}


def test_an_error_of_a_job_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError) as wrong:
        list(run_jobs(divmod, [Job("a", (1, 0)), Job("b", (1, 1))], Workers(1)))
    assert notes(wrong) == ["in a"]


def test_who_stops_early_ends_the_processes():
    """As Ctrl-C does; a job that is not ended would be waited for when Python ends."""
    jobs = [Job("quick", (0,)), Job("slow", (600,))]
    asked, began = run_jobs(_pid_after, jobs, 2), time.monotonic()
    (job, _) = next(asked)
    assert job.name == "quick"
    asked.close()
    assert time.monotonic() - began < 300


def _pid_after(seconds):
    time.sleep(seconds)
    return os.getpid()


def test_parts_are_marked_as_ours_and_read_as_one_table(tmp_path):
    fill(tmp_path, jobs_of([2, 1]))
    held = parquet.read_table(tmp_path / "rows")
    assert held.column_names == list(COLUMNS)
    assert len(held) == 3


def test_a_copied_part_doubles_no_row(tmp_path):
    """Some disks' synchronisation leaves copies behind."""
    jobs = jobs_of([2, 1])
    fill(tmp_path, jobs)
    copy = tmp_path / "rows" / "part-00000 (1).parquet"
    copy.write_bytes((tmp_path / "rows" / "part-00000.parquet").read_bytes())
    with pytest.raises(FileError, match=r"part-00000 \(1\)\.parquet is no part of this table"):
        fill(tmp_path, jobs)
    copy.unlink()
    assert [part.rows for part in fill(tmp_path, jobs)] == [2, 1]


def test_no_part_is_written_where_a_folder_was_moved_from(tmp_path):
    """Another process may have begun there, with something else."""
    folder, table = tmp_path / "run", tmp_path / "run" / "rows"
    folder.mkdir()

    def move():
        folder.rename(tmp_path / "moved")
        table.mkdir(parents=True)
        return [{"number": 1}]

    with pytest.raises(FolderLostError, match="run was moved"), locked(folder):
        list(fill_table(table, move, [Job("one"), Job("two")], columns={"number": "int64"}))
    assert not list(table.iterdir())


LONG = """
    import sys, time
    from espalier.runs import Job, Workers, locked, run_jobs

    def hold(folder):
        with locked(folder):
            time.sleep(600)

    list(run_jobs(hold, [Job("a", (sys.argv[1],))], Workers(1)))
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere processes cannot see who began them")
def test_processes_end_with_the_one_that_began_them(tmp_path):
    """Else they would hold their folders for as long as their jobs take."""
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LONG), str(tmp_path)])
    while not signature(tmp_path):
        assert parent.poll() is None
        time.sleep(0.01)
    parent.kill()
    assert parent.wait() == -signal.SIGKILL
    with pytest.warns(UserWarning, match="which is gone"), patience(60), locked(tmp_path):
        pass


def signature(folder):
    file = folder / LOCK
    return file.read_text() if file.exists() else ""


def ends_its_process(numbers):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_of_what_is_kept_nowhere_is_told_so():
    with pytest.raises(LostWorkersError, match=r"^2 processes were lost.*; nothing was saved, and"):
        by_parts(ends_its_process, range(4), size=2, workers=Workers(1))


@pytest.mark.parametrize("moment", ["before", "during", "after"])
def test_an_interrupt_while_a_worker_starts_leaves_none_behind(monkeypatch, moment):
    """Blocked in the main thread, it may come by another, at any time."""
    from joblib.externals.loky import ProcessPoolExecutor

    submit, started = ProcessPoolExecutor.submit, []

    def interrupted(pool, *work):
        if moment == "before":
            signal.getsignal(signal.SIGINT)(signal.SIGINT, None)
        future = submit(pool, *work)
        started.extend(process.pid for process in pool._processes.values())
        if moment == "during":
            signal.getsignal(signal.SIGINT)(signal.SIGINT, None)
        else:
            os.kill(os.getpid(), signal.SIGINT)
        return future

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(run_jobs(time.sleep, [Job("long", (100,)), Job("other", (100,))], Workers(2)))
    assert len(started) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
