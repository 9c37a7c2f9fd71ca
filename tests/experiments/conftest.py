import pytest

from espalier.experiments import Shelf


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """Where the ensembles of the smoke scale are trained once for all tests of a process."""
    return Shelf(tmp_path_factory.mktemp("runs"), device="cpu")
