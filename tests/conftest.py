"""Shapes are checked while tests run; `HYPOTHESIS_PROFILE=deep` looks harder for failures."""

import os

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

from shape_checks import modules_with_shapes

jaxtyping.install_import_hook(modules_with_shapes(), "shape_checks.check_shapes")

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("deep", settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


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
