import pytest

from espalier.experiments import RunCache


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Where the models of the smoke scale are trained once for all tests of a process."""
    return RunCache(tmp_path_factory.mktemp("runs"), device="cpu")
