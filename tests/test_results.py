import doctest
from dataclasses import dataclass

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier.results
from espalier.errors import ConfigError, FileError
from espalier.results import MOST_CHARACTERS, MOST_LINES, Described, Result, View, fit, register


@dataclass(frozen=True, repr=False)
class Plain(Result):
    """Without a view."""

    held: object


@dataclass(frozen=True, repr=False)
class Listed(Result):
    """With one, and a table."""

    items: tuple[str, ...]

    def to_frame(self):
        return pd.DataFrame({"item": self.items})


class Inherited(Listed):
    """Shown as what it inherits from."""


def draw(result, ax):
    from matplotlib.figure import Figure

    panel = Figure().subplots() if ax is None else ax
    panel.plot(range(len(result.items)))
    return panel.figure


def text(result):
    return "\n".join(result.items)


register(Listed, View(text, lambda r: f"<p>{text(r)}</p>", lambda r: f"<html>{text(r)}", draw))


def test_the_examples_are_true():
    assert doctest.testmod(espalier.results).failed == 0


def test_a_view_is_inherited():
    assert str(Inherited(("a", "b"))) == "a\nb"
    assert Inherited(("a",))._repr_html_() == "<p>a</p>"
    assert Inherited(("a",)).to_html() == "<html>a"


def test_without_a_view_there_is_a_short_text_in_a_page(tmp_path):
    plain = Plain("x" * 10_000)
    assert str(plain).startswith("Plain(held='xxx")
    assert len(str(plain)) < 100
    assert "Plain(held=&#x27;xxx" in plain._repr_html_()
    for ask in (plain.plot, plain.to_frame):
        with pytest.raises(ConfigError, match="a Plain"):
            ask()
    with pytest.raises(FileError, match=r"cannot save a Plain as '\.csv'"):
        plain.save(tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "suffix", ["html", "htm", "png", "svg", "pdf", "csv", "parquet", "json", "CSV"]
)
def test_every_suffix_is_written(tmp_path, suffix):
    Listed(("a", "b")).save(tmp_path / f"x.{suffix}")
    assert (tmp_path / f"x.{suffix}").stat().st_size > 0


@pytest.mark.parametrize("name", ["x.doc", "x", "png", ".png"])
def test_an_unknown_suffix_is_refused_by_name(tmp_path, name):
    with pytest.raises(FileError, match=r"\.html, .*\.png, .*\.csv"):
        Listed(("a",)).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_given_panel_is_drawn_on():
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert Listed(("a", "b")).plot(ax=right) is figure
    assert not left.lines
    assert right.lines


@given(st.lists(st.text("ab\t é", max_size=4000), max_size=60))
def test_a_repr_fits_on_a_screen(items):
    whole, shown = "\n".join(items), repr(Listed(tuple(items)))
    assert len(shown) <= MOST_CHARACTERS
    assert len(shown.splitlines()) <= MOST_LINES
    if len(whole) <= MOST_CHARACTERS and len(whole.splitlines()) <= MOST_LINES:
        assert shown == whole
    else:
        assert "…" in shown


def test_what_is_left_out_is_counted():
    assert fit("\n".join(map(str, range(100)))).endswith("10\n… 89 more lines: print() shows all")


def test_described_values_name_their_fields():
    @dataclass(repr=False)
    class Held(Described):
        name: str
        numbers: list[int]

    assert repr(Held("a", list(range(10**6)))) == "Held(name='a', numbers=[0, 1, 2, 3, 4, 5, ...])"


@dataclass(frozen=True, repr=False)
class Drawn(Result):
    """With a text, a table and a figure of its own, and no view."""

    counts: tuple[int, ...]

    def __str__(self):
        return "counts <b>"

    def to_frame(self):
        return pd.DataFrame({"count": self.counts})

    def plot(self, *, ax=None):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().plot(self.counts)
        return figure


def test_what_a_result_has_of_its_own_is_on_its_page(tmp_path):
    page = Drawn((17, 23)).to_html()
    assert page.startswith("<!doctype html>")
    assert "counts &lt;b&gt;" in page
    assert "<svg" in page
    assert ">23</th>" in page
    for suffix in ("html", "png", "csv"):
        Drawn((17, 23)).save(tmp_path / f"x.{suffix}")
