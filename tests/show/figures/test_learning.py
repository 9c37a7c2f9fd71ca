import pandas as pd

from espalier.show.figures import draw_learning


def test_every_length_and_setting_has_its_curve() -> None:
    rows = pd.DataFrame(
        [
            {
                "length": length,
                "setting": setting,
                "seed": seed,
                "epoch": epoch,
                "in_domain": epoch / 10 + seed / 100,
                "out_of_domain": 0.1 * length,
            }
            for length in (2, 4, 8)
            for setting in ("familiar", "unfamiliar")
            for seed in (0, 1)
            for epoch in (1, 2, 3)
        ]
    )
    figure = draw_learning(rows)
    assert len(figure.axes) == 6
    for panel in figure.axes:
        assert [line.get_label() for line in panel.lines] == ["unfamiliar", "familiar"]
    first = figure.axes[0].lines[0]
    assert list(first.get_xdata()) == [1, 2, 3]
    assert [round(y, 6) for y in first.get_ydata()] == [0.105, 0.205, 0.305]
