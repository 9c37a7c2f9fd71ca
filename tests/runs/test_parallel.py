import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from espalier.runs import Job, Workers, interruptible, load_solvers, on_device, parallel, run_jobs

CUDA, CPU = torch.device("cuda"), torch.device("cpu")  # nothing is computed there


def test_work_is_done_at_the_same_time_where_there_is_an_accelerator():
    met = threading.Barrier(3, timeout=300)

    def work(number):
        met.wait()
        return number * number

    assert on_device(work, [3, 1, 2], device=CUDA) == [9, 1, 4]


@pytest.mark.parametrize(("device", "at_once"), [(CPU, 4), (CUDA, 1)])
def test_elsewhere_it_is_done_one_by_one(device, at_once):
    busy = threading.Lock()

    def work(number):
        assert busy.acquire(blocking=False)
        time.sleep(0.01)
        busy.release()
        return threading.current_thread() is threading.main_thread(), number

    found = on_device(work, [1, 2, 3], device=device, at_once=at_once)
    assert found == [(True, 1), (True, 2), (True, 3)]


class Solvers:
    """What torch does at the first call of CUDA's part of `torch.linalg`: once, by one thread."""

    def __init__(self, monkeypatch, *, slow=0.05):
        self.calls, self.loaded, self.slow = 0, False, slow
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("torch.linalg.qr", self.qr)
        monkeypatch.setattr("torch.eye", lambda n, device: None)
        parallel._solvers.cache_clear()

    def qr(self, matrix):
        self.calls += 1
        if not self.loaded and self.calls > 1:
            raise RuntimeError("lazy wrapper should be called at most once")
        time.sleep(self.slow)
        self.loaded = True


@pytest.fixture
def solvers(monkeypatch):
    yield Solvers(monkeypatch)
    parallel._solvers.cache_clear()


def test_solvers_are_loaded_before_threads_need_them(solvers):
    on_device(lambda _: torch.linalg.qr(None), range(8), device=CUDA)
    assert solvers.calls == 9


def test_threads_that_ask_for_solvers_at_the_same_time_load_them_once(solvers):
    together = threading.Barrier(8)

    def ask(_):
        together.wait(60)
        load_solvers(CUDA)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert solvers.calls == 1
    load_solvers(CPU)
    assert solvers.calls == 1


def wait_to_be_stopped():
    with interruptible() as interrupted:
        if not interrupted.wait(300):
            raise TimeoutError
    raise KeyboardInterrupt("saved")


def test_when_one_fails_the_others_are_told_and_its_error_is_raised():
    done = []

    def work(number):
        if number == 1:
            raise ValueError("this one")
        wait_to_be_stopped()
        done.append(number)

    with pytest.raises(ValueError, match="this one"):
        on_device(work, range(200), device=CUDA, at_once=2)
    assert not done


def hears_ctrl_c(number):
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_ctrl_c_is_not_heard_by_processes_which_this_one_ends():
    jobs = [Job(str(n), (n,)) for n in range(3)]
    assert [heard for _, heard in run_jobs(hears_ctrl_c, jobs, Workers(2))] == [False] * 3
    assert hears_ctrl_c(0)


def test_ctrl_c_is_heard_by_all():
    at_work = threading.Barrier(3, timeout=300)

    def work(number):
        at_work.wait()
        if number == 0:
            signal.raise_signal(signal.SIGINT)
        wait_to_be_stopped()

    with pytest.raises(KeyboardInterrupt, match="saved"):
        on_device(work, [0, 1, 2], device=CUDA)
    with interruptible() as interrupted:
        assert not interrupted.is_set()
