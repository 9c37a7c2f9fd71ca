"""Jobs give the same rows whoever does them, and a killed worker neither loses nor doubles any."""

import os
import random
import signal

import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.errors import ConfigError
from espalier.runs import HERE, Job, LostWorkersError, RunFolder, Workers, fill_table, run_jobs

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
def test_a_cluster_leaves_the_same_files_and_outlives_a_killed_worker(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    lengths, mark = [n % 7 for n in range(24)], tmp_path / "mark"
    fill(tmp_path / "here", jobs_of(lengths))
    mark.touch()
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        there = Workers(cluster=cluster.scheduler_address)
        fill(tmp_path / "there", jobs_of(lengths, mark, victim=11), there)
        assert not mark.exists()
        with pytest.raises(ConfigError, match=r"a wants a GPU.*--resources GPU=1"):
            list(run_jobs(divmod, [Job("a", (7, 2), gpu=True)], there))
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")


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


def _who():
    from distributed import get_worker

    return get_worker().name


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
    with pytest.raises(ZeroDivisionError):
        list(run_jobs(divmod, [Job("a", (1, 0)), Job("b", (1, 1))], Workers(1)))


def test_parts_are_marked_as_ours_and_read_as_one_table(tmp_path):
    fill(tmp_path, jobs_of([2, 1]))
    held = parquet.read_table(tmp_path / "rows")
    assert held.column_names == list(COLUMNS)
    assert len(held) == 3
