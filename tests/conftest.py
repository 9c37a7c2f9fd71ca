"""Shapes are checked and every run draws the same; `HYPOTHESIS_PROFILE=deep` looks harder."""

import os
import signal

import jaxtyping
import pytest
from hypothesis import HealthCheck, Phase, settings

from repeatable import name_every_source, seed_everything, take_one_core
from shape_checks import modules_with_shapes

take_one_core()  # before torch is imported
os.environ["COLUMNS"] = "80"  # whatever terminal they are started in
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background
    signal.signal(signal.SIGINT, signal.default_int_handler)
name_every_source()
jaxtyping.install_import_hook(modules_with_shapes(), "shape_checks.check_shapes")

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=60,
    phases=set(Phase) - {Phase.explain},  # minutes for a failure of a long law
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
for profile, count in {"medium": 300, "deep": 2000}.items():
    settings.register_profile(
        profile, settings.get_profile("ci"), derandomize=False, max_examples=count
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """No test hangs on the numbers that tests before it drew."""
    seed_everything()


@pytest.fixture
def unchecked_shapes():
    """For tests that give a wrong shape on purpose, to read the refusal."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Where the models of the smoke scale are trained once for all tests of a process."""
    from espalier.experiments import RunCache

    return RunCache(tmp_path_factory.mktemp("runs"), device="cpu")
