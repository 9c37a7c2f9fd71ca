"""What tests of pages have in common."""

import pytest
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo


@pytest.fixture
def unpainted(monkeypatch):
    """Figures are made and files of theirs written, with one pixel: painting takes most time."""

    def save(figure, path, *, format, dpi, metadata):
        said = PngInfo()
        for name, text in metadata.items():
            said.add_text(name, text)
        Image.new("RGB", (1, 1)).save(path, format, dpi=(dpi, dpi), pnginfo=said)

    monkeypatch.setattr(Figure, "savefig", save)
