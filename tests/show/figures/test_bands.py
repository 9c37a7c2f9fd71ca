import itertools
from dataclasses import replace

import pandas as pd
import pytest

from espalier.show.figures import Facets, Look, draw_bands
from espalier.show.figures.canvas import PAGE

LOOKS = {"a": Look("black", "-", "o", "first"), "b": Look("red", "--", "s")}


def table():
    keys = itertools.product((2, 4, 8), "ab", ("in", "out"), (1, 2, 3))
    return pd.DataFrame(
        [
            {"k": k, "s": s, "d": d, "x": x, "mean": x / k, "low": x / k - 0.1, "high": x / k + 0.1}
            for k, s, d, x in keys
        ]
    )


def test_every_group_has_its_panel_and_every_curve_its_band():
    facets = Facets(
        "x", "s", "k", "d", x_label="step", titles="length {}", looks=LOOKS,
        sides={"out": "second in the table, first here", "in": "other"},
    )  # fmt: skip
    figure = draw_bands(table(), facets)
    assert len(figure.axes) == 2 * 3
    first = figure.axes[0]
    assert first.get_title() == "length 2"
    assert first.get_ylabel() == "second in the table, first here"
    assert figure.axes[3].get_ylabel() == "other"
    for panel, k in zip(figure.axes, (2, 4, 8, 2, 4, 8), strict=True):
        assert [line.get_linestyle() for line in panel.lines] == ["-", "--"]
        assert panel.get_ylim() == pytest.approx((0, 1.05 * 1.6))  # all of the highest band is seen
        for line, band in zip(panel.lines, panel.collections, strict=True):
            assert list(line.get_ydata()) == pytest.approx([1 / k, 2 / k, 3 / k])
            heights = band.get_paths()[0].vertices[:, 1]
            assert (heights.min(), heights.max()) == pytest.approx((1 / k - 0.1, 3 / k + 0.1))
    legend = [text.get_text() for text in figure.legends[0].texts]
    assert legend == ["first", "b"]


def test_one_row_of_panels_and_a_logarithmic_axis():
    rows = table()
    facets = Facets("x", "s", "k", side="P", looks=LOOKS, logarithmic=True, columns=(8, 16))
    figure = draw_bands(rows[rows["d"] == "in"], facets)
    assert [panel.get_title() for panel in figure.axes] == ["8", "2", "4"]
    assert {panel.get_yscale() for panel in figure.axes} == {"log"}
    assert figure.axes[0].get_ylabel() == "P"


def test_a_panel_without_rows_says_so_and_panels_are_as_high_as_asked():
    rows = table()
    rows = rows[(rows["d"] == "in") | (rows["k"] == 2)]
    sides = {"in": "I", "out": "O"}
    facets = Facets("x", "s", "k", "d", looks=LOOKS, sides=sides, height=1.0)
    figure = draw_bands(rows, facets)
    told = [[text.get_text() for text in panel.texts] for panel in figure.axes]
    assert told == [[], [], [], [], ["no rows"], ["no rows"]]
    assert figure.get_size_inches()[1] == pytest.approx(2 * 1.0 + 0.95)


def test_columns_have_words_and_labels_of_their_own_and_bands_of_seeds_are_in_the_legend():
    words = {"titles": {"in": "inside"}, "x_labels": {"in": "bits", "out": "ones"}}
    figure = draw_bands(table().assign(seeds=3), Facets("x", "s", "d", looks=LOOKS, **words))
    assert [panel.get_title() for panel in figure.axes] == ["inside", "out"]
    assert [panel.get_xlabel() for panel in figure.axes] == ["bits", "ones"]
    legend = [text.get_text() for text in figure.legends[0].texts]
    assert legend == ["first", "b", "95% t interval over seeds"]
    single = table()[table()["s"] == "a"]
    looks = {"a": Look("black", "-", "o", "_only")}
    assert not draw_bands(single, Facets("x", "s", "d", looks=looks)).legends


def test_an_interval_that_reaches_zero_stays_on_a_logarithmic_axis():
    rows = table()[table()["d"] == "in"].assign(low=-1.0)
    figure = draw_bands(rows, Facets("x", "s", "d", looks=LOOKS, logarithmic=True))
    lowest = min(band.get_paths()[0].vertices[:, 1].min() for band in figure.axes[0].collections)
    assert lowest == pytest.approx(rows["mean"].min() / 10)


def test_a_legend_too_wide_for_its_figure_has_fewer_columns():
    looks = {name: Look("black", "-", "o", 30 * name) for name in "ab"}
    heights = []
    for most in (4, 10):
        rows = table()[table()["k"] < most]
        figure = draw_bands(rows, Facets("x", "s", "k", looks=looks))
        figure.canvas.draw()
        (shown,) = (legend.get_window_extent() for legend in figure.legends)
        assert 0 <= shown.x0 < shown.x1 <= figure.bbox.width
        heights.append(shown.height)
    assert heights[0] > 1.4 * heights[1]  # two lines above one panel, one above three


@pytest.mark.parametrize(("last", "told"), [(250, {"100", "150", "200"}), (102, {"100", "101"})])
def test_a_logarithmic_axis_of_less_than_a_decade_has_plain_numbers(last, told):
    rows = table()[(table()["d"] == "in") & (table()["k"] == 2)]
    rows = rows.assign(mean=100 + (last - 100) * (rows["x"] - 1) / 2)
    rows = rows.assign(low=rows["mean"], high=rows["mean"])
    figure = draw_bands(rows, Facets("x", "s", "k", looks=LOOKS, logarithmic=True))
    figure.canvas.draw()
    assert told <= {tick.get_text() for tick in figure.axes[0].get_yticklabels()}


def test_many_columns_are_narrower():
    """So that a page, as wide as it is, shows letters that can be read."""
    widths = []
    for count in (2, 4, 5, 7):
        rows = pd.concat([table().assign(s=f"column {n}") for n in range(count)])
        widths.append(draw_bands(rows, Facets("x", "d", "s")).get_size_inches()[0])
    assert widths == pytest.approx([5.7, PAGE, PAGE, 10.1])
    assert 8 / 72 * 700 / PAGE > 9  # pixels of the smallest letters, shown 700 wide


def test_limits_hold_on_a_logarithmic_axis_too():
    facets = Facets("x", "s", "k", "d", sides={"in": "", "out": ""}, looks=LOOKS)
    facets = replace(facets, logarithmic=True, limits=(0.01, 100))
    figure = draw_bands(table().assign(low=0.1), facets)
    assert {panel.get_ylim() for panel in figure.axes} == {(0.01, 100)}


def test_long_numbers_do_not_touch():
    rows = pd.concat([table().assign(s=f"column {n}") for n in range(4)])
    figure = draw_bands(rows.assign(x=10_000 * rows["x"]), Facets("x", "d", "s", looks=LOOKS))
    figure.draw_without_rendering()
    for panel in figure.axes:
        low, high = panel.get_xlim()
        shown = [one for one in panel.xaxis.get_major_ticks() if low <= one.get_loc() <= high]
        boxes = [tick.label1.get_window_extent() for tick in shown]
        assert len(boxes) > 1
        assert all(one.x1 + 3 < other.x0 for one, other in itertools.pairwise(boxes))
