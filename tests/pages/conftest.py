"""What tests of pages have in common."""

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def unpainted(monkeypatch):
    """Figures are made and their files written, but not painted, which takes most of the time."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **how: path.touch())
